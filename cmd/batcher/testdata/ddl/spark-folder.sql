-- Tables of pipeline web-shop as of manifest 7, committed 2026-11-30T08:00:00Z.
-- Readers of sold_items\nsee less.
-- The session needs Delta Lake for its version of Spark, for Spark 4.0:
--   spark-sql --packages io.delta:delta-spark_2.13:4.0.1
--   --conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension
--   --conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog
CREATE TABLE IF NOT EXISTS `sold_items` USING DELTA LOCATION 'file:///srv/it\'s\\here/sold-items';
CREATE TABLE IF NOT EXISTS `sold_items_` USING DELTA LOCATION 'file:///srv/it\'s\\here/sold_items';
-- dead has no Delta log: nothing was written to it yet. Run this again when something is.
-- The newest row is the one with the largest `head`.`at`, then the largest _source, then the largest _offset.
-- It lists its columns: create it again after a new one.
CREATE OR REPLACE VIEW `sold_items_latest` AS SELECT `_source`, `_offset`, `select`, `_rank`, `head` FROM (SELECT *, row_number() OVER (PARTITION BY `select` ORDER BY `head`.`at` DESC NULLS LAST, `_source` DESC, `_offset` DESC) AS `_rank_` FROM `sold_items`) AS ranked WHERE `_rank_` = 1;
