-- Tables of pipeline web-shop as of manifest 7, committed 2026-11-30T08:00:00Z.
-- Readers of sold_items\nsee less.
-- Needs a catalog named delta: connector.name=delta_lake, delta.register-table-procedure.enabled=true, its metastore, and the file system for S3 with
--   s3.region=eu-central-1, the credentials of Trino's own configuration.
-- It may be run again: the CALL of a table that is registered fails, and changes nothing.
CREATE SCHEMA IF NOT EXISTS delta."web_shop";
CALL delta.system.register_table(schema_name => 'web_shop', table_name => 'sold_items', table_location => 's3://lake/shop/sold-items');
CALL delta.system.register_table(schema_name => 'web_shop', table_name => 'sold_items_', table_location => 's3://lake/shop/sold_items');
-- dead has no Delta log: nothing was written to it yet. Run this again when something is.
-- The newest row is the one with the largest "head"."at", then the largest _source, then the largest _offset.
-- It lists its columns: create it again after a new one.
CREATE OR REPLACE VIEW delta."web_shop"."sold_items_latest" AS SELECT "_source", "_offset", "select", "_rank", "head" FROM (SELECT *, row_number() OVER (PARTITION BY "select" ORDER BY "head"."at" DESC NULLS LAST, "_source" DESC, "_offset" DESC) AS "_rank_" FROM delta."web_shop"."sold_items") AS ranked WHERE "_rank_" = 1;
