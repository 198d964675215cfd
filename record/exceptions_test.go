package record_test

import "batcher/record"

// declared are the samples whose name and head do not say what they are, and
// what their reader has to say.
var declared = map[string]record.Format{
	"arrow-testing-csv/fuzzing__clusterfuzz-testcase-minimized-arrow-csv-fuzz-4523557272223744": {Kind: record.CSV},
	"arrow-testing-csv/fuzzing__clusterfuzz-testcase-minimized-arrow-csv-fuzz-5003506164760576": {Kind: record.CSV},
	"arrow-testing-csv/fuzzing__clusterfuzz-testcase-minimized-arrow-csv-fuzz-5279410447253504": {Kind: record.CSV},
	"duckdb-csv-real/lineitem1k.tbl.gz":                {Kind: record.CSV},
	"duckdb-csv/error__banklist.csv":                   {Kind: record.Auto, Encoding: "iso-8859-1"},
	"duckdb-csv/escape.csv":                            {Kind: record.CSV, CSV: record.Dialect{Escape: ']'}},
	"duckdb-csv/test__invalid_utf.csv":                 {Kind: record.Auto, Encoding: "iso-8859-1"},
	"duckdb-csv/test__invalid_utf_header.csv":          {Kind: record.Auto, Encoding: "iso-8859-1"},
	"duckdb-csv/unescaped_quotes__end_quote_3.csv":     {Kind: record.CSV, CSV: record.Dialect{Quote: record.NoQuote}},
	"duckdb-csv/unescaped_quotes__end_quote_mixed.csv": {Kind: record.CSV, CSV: record.Dialect{Quote: record.NoQuote}},
	"flink-cdc/debezium-json-with-schema.txt":          {Kind: record.NDJSON},
	"gzip-multi/test__bgzf.gz":                         {Kind: record.CSV},
	"gzip-multi/test__concat.gz":                       {Kind: record.CSV},
	"zstd-duckdb/lineitem1k.tbl.zst":                   {Kind: record.CSV},
}

// exception is a sample that comes out otherwise than its truth says.
type exception struct{ is, why string }

// exceptions names each of them. The test fails when one is not needed.
var exceptions = map[string]exception{
	"arrow-testing-csv/fuzzing__clusterfuzz-testcase-minimized-arrow-csv-fuzz-5600990083743744": {"broken: binary data, not text", "bytes 0: text has none"},
	"arrow-testing-csv/fuzzing__clusterfuzz-testcase-minimized-arrow-csv-fuzz-6261070185693184": {"broken: binary data, not text", "bytes 0: text has none"},
	"duckdb-csv/fuzzing__3.csv":                     {"broken: binary data, not text", "bytes 0: text has none"},
	"duckdb-csv/null_terminator.csv":                {"broken: binary data, not text", "bytes 0: text has none"},
	"duckdb-csv/quoted_comment_buffer_boundary.csv": {"broken: binary data, not text", "bytes 0: text has none"},
	"arrow-testing-csv/fuzzing__clusterfuzz-testcase-minimized-arrow-csv-fuzz-5279410447253504": {"broken: the first row cannot be read: invalid UTF-8 at byte 0", "random bytes"},
	"csvkit-real/Datagov_FY10_EDU_recp_by_State.csv":                                            {"55 rows", "a row without values and a title above the table, filled up with commas: the truth counts both, and takes the first for the header"},
	"duckdb-csv/comments__error.csv":                                                            {"2726 rows, 5 ragged", "comments that nobody declared: two before the table are its preamble, the truth counts lines"},
	"drill-json/store__json__complex_repeated_map.json":                                         {"0 rows, 3 syntax", "keys without quotes over several lines: the truth counts 43 lines, batcher values, each one dead letter"},
	"duckdb-csv/evil_nullpadding.csv":                                                           {"0 rows, 2 ragged", "a quote that opens ends lines below: the truth reads it under another delimiter"},
	"duckdb-csv/evil_nullpadding_2.csv":                                                         {"0 rows, 2 ragged", "the same"},
	"duckdb-json/malformed__empty_array_trailing.json":                                          {"0 rows, 1 not_object", "an empty array has no records; the 42 after it is the only one"},
	"duckdb-json/multi_file_hang__my3.json":                                                     {"0 rows, 4 not_object", "arrays at the top: their elements are the records, the truth counts the arrays"},
	"duckdb-json/top_level_two_arrays.json":                                                     {"4 rows", "arrays at the top: their elements are the records, the truth counts the arrays"},
	"fluentbit-encodings/unicode_c.log":                                                         {"1 rows", "UTF-16: the truth counts bytes 0x0A, one of which is half of a letter"},
	"fluentbit-encodings/unicode_j.log":                                                         {"1 rows", "the same"},
	"vector-text/utf-16le.log":                                                                  {"5 rows", "UTF-16: the truth counts the zero byte after the last newline"},
	"zstd-golden/golden-decompression__zeroSeq_2B.zst":                                          {"1 rows", "the command that made the truth refuses it; its project says that it must decode"},
	"duckdb-parquet-bad/parquet_column_num_values_mismatch.parquet":                             {"broken: column x: corrupt Parquet file: it ends before the row group does", "the footer counts more values than there are: DuckDB makes up the rest"},
	"parquet-bad/ARROW-GH-45185.parquet":                                                        {"broken: column x.element: corrupt Parquet file: levels 1 and 1 where 0 and 1 are due", "a first value inside of no list: DuckDB does not notice"},
	"parquet-bad/ARROW-RS-GH-6229-LEVELS.parquet":                                               {"broken: column outer.item.c: corrupt Parquet file: page before byte 53: 21 values, 1 are left of the column", "a page holds more values than its column: DuckDB does not notice"},
	"parquet-testing/repeated_no_annotation.parquet":                                            {"6 rows", "the footer counts no rows; DuckDB finds six, too"},
	"parquet-testing/rle-dict-uncompressed-corrupt-checksum.parquet":                            {"broken: column long_field: corrupt Parquet file: wrong checksum of a page before byte 31", "a wrong checksum: DuckDB checks none"},
}
