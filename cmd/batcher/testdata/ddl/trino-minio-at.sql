-- Tables of pipeline web-shop as of manifest 7, committed 2026-11-30T08:00:00Z.
-- Readers of sold_items\nsee less.
-- Needs a catalog named delta: connector.name=delta_lake, delta.register-table-procedure.enabled=true, its metastore, and the file system for S3 with
--   s3.endpoint=http://minio:9000, s3.path-style-access=true, the credentials of Trino's own configuration.
-- The tables themselves are registered by: batcher ddl trino
CREATE OR REPLACE VIEW delta."web_shop"."sold_items_at_7" AS SELECT * FROM delta."web_shop"."sold_items" FOR VERSION AS OF 4;
CREATE OR REPLACE VIEW delta."web_shop"."sold_items__at_7" AS SELECT * FROM delta."web_shop"."sold_items_" FOR VERSION AS OF 0;
-- Nothing was written to dead by then.
-- The newest row is the one with the largest "head"."at", then the largest _source, then the largest _offset.
-- It lists its columns: create it again after a new one.
CREATE OR REPLACE VIEW delta."web_shop"."sold_items_latest_at_7" AS SELECT "_source", "_offset", "select", "_rank", "head" FROM (SELECT *, row_number() OVER (PARTITION BY "select" ORDER BY "head"."at" DESC NULLS LAST, "_source" DESC, "_offset" DESC) AS "_rank_" FROM delta."web_shop"."sold_items_at_7") AS ranked WHERE "_rank_" = 1;
