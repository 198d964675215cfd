-- Tables of pipeline web-shop as of manifest 7, committed 2026-11-30T08:00:00Z.
-- Readers of sold_items\nsee less.
-- The server's own credentials reach the bucket (use_environment_credentials or <s3> in its configuration).
-- Without any: add 'KEY', 'SECRET' behind each address.
CREATE OR REPLACE VIEW `sold-items_at_7` AS SELECT * FROM deltaLake('http://minio:9000/lake/shop/sold-items/') SETTINGS delta_lake_snapshot_version = 4;
CREATE OR REPLACE VIEW `sold_items_at_7` AS SELECT * FROM deltaLake('http://minio:9000/lake/shop/sold_items/') SETTINGS delta_lake_snapshot_version = 0;
-- Nothing was written to dead by then.
-- The newest row is the one with the largest `head`.`at`, then the largest _source, then the largest _offset.
CREATE OR REPLACE VIEW `sold-items_latest_at_7` AS SELECT * FROM `sold-items_at_7` QUALIFY row_number() OVER (PARTITION BY `select` ORDER BY `head`.`at` DESC NULLS LAST, `_source` DESC, `_offset` DESC) = 1;
