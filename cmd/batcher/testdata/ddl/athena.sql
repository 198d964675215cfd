-- Tables of pipeline web-shop as of manifest 7, committed 2026-11-30T08:00:00Z.
-- Readers of sold_items\nsee less.
-- For engine version 3, which takes one statement at a time. They may be run again, and need not: nothing is to be run per commit, queries read the Delta log.
-- Views, Lake Formation, and row and column filters need the schema in Glue, which knows nothing of a new column until it is refreshed:
-- by a Glue crawler for Delta tables, or by DROP TABLE, which deletes no data of an external table, and this again.
CREATE DATABASE IF NOT EXISTS `web_shop`;
CREATE EXTERNAL TABLE IF NOT EXISTS `web_shop`.`sold_items` LOCATION 's3://lake/shop/sold-items/' TBLPROPERTIES ('table_type' = 'DELTA');
CREATE EXTERNAL TABLE IF NOT EXISTS `web_shop`.`sold_items_` LOCATION 's3://lake/shop/sold_items/' TBLPROPERTIES ('table_type' = 'DELTA');
-- dead has no Delta log: nothing was written to it yet. Run this again when something is.
-- The newest row is the one with the largest "head"."at", then the largest _source, then the largest _offset.
-- It lists its columns: create it again after a new one.
CREATE OR REPLACE VIEW "web_shop"."sold_items_latest" AS SELECT "_source", "_offset", "select", "_rank", "head" FROM (SELECT *, row_number() OVER (PARTITION BY "select" ORDER BY "head"."at" DESC NULLS LAST, "_source" DESC, "_offset" DESC) AS "_rank_" FROM "web_shop"."sold_items") AS ranked WHERE "_rank_" = 1;
