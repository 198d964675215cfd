-- Tables of pipeline web-shop as of manifest 7, committed 2026-11-30T08:00:00Z.
-- Readers of sold_items\nsee less.
-- All of them stay as they were then, whatever is committed later.
INSTALL delta; LOAD delta;
INSTALL httpfs; LOAD httpfs; INSTALL aws; LOAD aws;
-- Keys come from the AWS credential chain of this session. Without one: KEY_ID '…', SECRET '…' in the place of PROVIDER.
CREATE OR REPLACE SECRET batcher (TYPE s3, PROVIDER credential_chain, SCOPE 's3://lake/', ENDPOINT 'minio:9000', USE_SSL false, URL_STYLE 'path');
CREATE OR REPLACE TEMP VIEW "sold-items" AS SELECT * FROM delta_scan('s3://lake/shop/sold-items', version => 4);
CREATE OR REPLACE TEMP VIEW "sold_items" AS SELECT * FROM delta_scan('s3://lake/shop/sold_items', version => 0);
-- Nothing was written to dead by then.
CREATE OR REPLACE TEMP VIEW "dead" AS SELECT NULL::VARCHAR AS "_source", NULL::BIGINT AS "_offset", NULL::VARCHAR AS "select", NULL::VARCHAR AS "_rank", NULL::STRUCT("at" TIMESTAMPTZ) AS "head" WHERE false;
-- The newest row is the one with the largest "head"."at", then the largest _source, then the largest _offset.
CREATE OR REPLACE TEMP VIEW "sold-items_latest" AS SELECT * FROM "sold-items" QUALIFY row_number() OVER (PARTITION BY "select" ORDER BY "head"."at" DESC NULLS LAST, "_source" DESC, "_offset" DESC) = 1;
