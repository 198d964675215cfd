-- Tables of pipeline web-shop as of manifest 7, committed 2026-11-30T08:00:00Z.
-- Readers of sold_items\nsee less.
-- The session needs Delta Lake for its version of Spark, for Spark 4.0:
--   spark-sql --packages io.delta:delta-spark_2.13:4.0.1,org.apache.hadoop:hadoop-aws:3.4.1
--   --conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension
--   --conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog
--   --conf spark.hadoop.fs.s3a.endpoint=http://minio:9000
--   --conf spark.hadoop.fs.s3a.path.style.access=true
-- Keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the role of the machine.
CREATE OR REPLACE TEMPORARY VIEW `sold_items_at_7` AS SELECT * FROM delta.`s3a://lake/shop/sold-items` VERSION AS OF 4;
CREATE OR REPLACE TEMPORARY VIEW `sold_items__at_7` AS SELECT * FROM delta.`s3a://lake/shop/sold_items` VERSION AS OF 0;
-- Nothing was written to dead by then.
-- The newest row is the one with the largest `head`.`at`, then the largest _source, then the largest _offset.
-- It lists its columns: create it again after a new one.
CREATE OR REPLACE TEMPORARY VIEW `sold_items_latest_at_7` AS SELECT `_source`, `_offset`, `select`, `_rank`, `head` FROM (SELECT *, row_number() OVER (PARTITION BY `select` ORDER BY `head`.`at` DESC NULLS LAST, `_source` DESC, `_offset` DESC) AS `_rank_` FROM `sold_items_at_7`) AS ranked WHERE `_rank_` = 1;
