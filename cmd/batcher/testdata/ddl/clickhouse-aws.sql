-- Tables of pipeline web-shop as of manifest 7, committed 2026-11-30T08:00:00Z.
-- Readers of sold_items\nsee less.
-- The server's own credentials reach the bucket (use_environment_credentials or <s3> in its configuration).
-- Without any: add 'KEY', 'SECRET' behind each address.
CREATE TABLE IF NOT EXISTS `sold-items` ENGINE = DeltaLake('https://lake.s3.eu-central-1.amazonaws.com/shop/sold-items/');
CREATE TABLE IF NOT EXISTS `sold_items` ENGINE = DeltaLake('https://lake.s3.eu-central-1.amazonaws.com/shop/sold_items/');
-- dead has no Delta log: nothing was written to it yet. Run this again when something is.
-- The newest row is the one with the largest `head`.`at`, then the largest _source, then the largest _offset.
CREATE OR REPLACE VIEW `sold-items_latest` AS SELECT * FROM `sold-items` QUALIFY row_number() OVER (PARTITION BY `select` ORDER BY `head`.`at` DESC NULLS LAST, `_source` DESC, `_offset` DESC) = 1;
