package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"batcher/audit"
	"batcher/localdev"
	"batcher/record"
	"batcher/schema"
)

// smallSample is how many bytes a sample may have that goes into the table of
// all: rows of thousands of columns cost.
const smallSample = 4 << 10

// TestSamplesInOneTableAreAllThere sends a thousand real files of all formats at
// once through the program, into one table, and counts in DuckDB what came of
// each: as many rows and dead letters as the decoder makes of that file alone,
// which package record holds against the truth of each. Then verify reads all of
// them again.
func TestSamplesInOneTableAreAllThere(t *testing.T) {
	samples := os.Getenv("BATCHER_SAMPLES")
	if samples == "" {
		localdev.Skip(t, "BATCHER_SAMPLES is not set, so the real files are not read")
	}
	w := newWorld(t, nil, strings.Replace(shapesFile, "shapes", "all", 1))
	want, broken := map[string]int64{}, int64(0)
	paths, err := filepath.Glob(filepath.Join(samples, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(path) == "truth.json" || len(text) > smallSample {
			continue
		}
		key := filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path)
		w.write("in/"+key, string(text))
		n, ok := alone(t, path)
		if !ok {
			broken++
			n = 1 // its dead letter
		}
		if n > 0 {
			want[key] = n
		}
	}
	var rep report
	w.must(&rep, "run")
	duck, err := localdev.OpenDuckDB(t.Context())
	if err != nil {
		t.Fatalf("this test needs DuckDB: %v", err)
	}
	rows, err := duck.Query(t.Context(), fmt.Sprintf("SELECT _source, count(*) AS n, count(DISTINCT _offset) AS d FROM (SELECT _source, _offset FROM %s UNION ALL SELECT _source, _offset FROM %s) GROUP BY ALL",
		w.from(), w.from("--table", "all_dead")))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		key := row["_source"].(string)
		if n := number(t, row["n"]); n != want[key] || number(t, row["d"]) != n {
			t.Errorf("%s: %d rows and dead letters at %v places, alone it has %d", key, n, row["d"], want[key])
		}
		delete(want, key)
	}
	for key, n := range want {
		t.Errorf("%s: all %d records are lost", key, n)
	}
	var proof audit.Report
	w.must(&proof, "verify", "--source")
	if proof.Lost+proof.Doubled+proof.Source.Mismatch+proof.Source.Unverifiable != 0 || len(proof.Violations) > 0 {
		t.Errorf("verify: %+v", proof)
	}
	if t.Failed() {
		return
	}
	figure := fmt.Sprintf("%d files in one table: %d records are %d rows and %d dead letters, %d files refused as a whole; %d verified against their source",
		rep.Objects.Read, rep.Rows.Read, rep.Rows.Written, rep.Rows.Dead, broken, proof.Source.Verified)
	t.Log(figure)
	localdev.Figure("all samples through the program", figure)
}

// alone counts the records of one file, or says that it is broken.
func alone(t *testing.T, path string) (records int64, whole bool) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	opt := record.Options{Table: schema.New(), Format: record.Format{Kind: record.Auto}}
	for range 50 {
		if _, err := f.Seek(0, 0); err != nil {
			t.Fatal(err)
		}
		d := record.NewDecoder(opt)
		res, err := d.Decode(t.Context(), record.Object{Source: filepath.Base(path)}, f)
		if err == nil {
			err = d.Flush()
		}
		var broken *record.BrokenError
		switch {
		case errors.As(err, &broken):
			return 0, false
		case errors.Is(err, record.ErrRestart):
			opt.Learned = d.Schema()
		case err != nil:
			t.Fatalf("%s: %v", path, err)
		default:
			return res.Records, true
		}
	}
	t.Fatalf("%s: no end of restarts", path)
	return 0, false
}

// plainTypes are those of DuckDB whose values compare with what batcher writes.
var plainTypes = map[string]bool{"TINYINT": true, "SMALLINT": true, "INTEGER": true, "BIGINT": true, "VARCHAR": true, "DOUBLE": true, "FLOAT": true, "BOOLEAN": true, "DATE": true}

// plainName are names that batcher does not change but for their case.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// TestSamplesReadInDuckDBEqualTheirSource sends real files through the program,
// each into a table of its own, and lets DuckDB compare all rows with what it
// reads of the source itself: EXCEPT ALL, both ways, over the columns whose types
// compare.
func TestSamplesReadInDuckDBEqualTheirSource(t *testing.T) {
	samples := os.Getenv("BATCHER_SAMPLES")
	if samples == "" {
		localdev.Skip(t, "BATCHER_SAMPLES is not set, so the real files are not read")
	}
	var questions []question
	columns := 0
	for _, key := range []string{
		"csvkit/iris.csv", "polars-foods/foods1.csv", "csvkit-real/acs2012_5yr_population.csv", "miller-csv/natural-sort.csv",
		"arrow-csv/uk_cities_with_headers.csv", "dlt-fixtures/common__storages__samples__csv__mlb_teams_2012.csv", "duckdb-csv/error__mismatch__part1.csv",
		"github-events-ndjson/github-events.ndjson", "debezium-orders-ndjson/aggregate_updates.json", "dlt-github-issue-events/github_events.json",
		"polars-foods/foods1.ndjson",
		"duckdb-parquet/spark-store.parquet", "duckdb-parquet/filter_bug1391.parquet", "duckdb-parquet/p2strings.parquet",
		"iceberg-parquet-encodings/BYTE_STREAM_SPLIT__double_with_nulls.parquet", "iceberg-parquet-encodings/DELTA_BYTE_ARRAY__string_with_nulls.parquet",
		"pinot-parquet/test-comparison.snappy.parquet", "parquet-testing/sort_columns.parquet", "parquet-testing/overflow_i16_page_cnt.parquet",
	} {
		path := filepath.Join(samples, key)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, nil, shapesFile)
		w.write("in/"+filepath.Base(key), string(text))
		w.must(&report{}, "run")
		source := literal(path)
		if !strings.HasSuffix(key, ".parquet") {
			source = fmt.Sprintf("read_json(%s)", literal(path))
			if strings.Contains(key, ".csv") {
				source = fmt.Sprintf("read_csv(%s)", literal(path))
			}
		}
		var names []string
		for _, name := range plainColumns(t, filepath.Dir(path), filepath.Base(path)) {
			names = append(names, ident(name)+" AS "+ident(strings.ToLower(name)))
		}
		columns += len(names)
		theirs := "SELECT " + strings.Join(names, ", ") + " FROM " + source
		ours := "SELECT " + strings.Join(lowered(names), ", ") + " FROM " + w.from()
		questions = append(questions,
			question{key + ": rows of the source that are missing", "SELECT count(*) FROM (" + theirs + " EXCEPT ALL " + ours + ")", "0"},
			question{key + ": rows out of nothing", "SELECT count(*) FROM (" + ours + " EXCEPT ALL " + theirs + ")", "0"})
	}
	if ask(t, questions); t.Failed() {
		return
	}
	figure := fmt.Sprintf("%d files, %d columns: EXCEPT ALL both ways is empty", len(questions)/2, columns)
	t.Log(figure)
	localdev.Figure("real files, DuckDB on batcher's tables against DuckDB on the source", figure)
}

// plainColumns returns the columns that DuckDB reads in a plain type, as the truth
// says.
func plainColumns(t *testing.T, dir, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	type reading struct {
		Count   int64
		Columns map[string]struct {
			Type  string
			Nulls int64
		}
	}
	var truth struct {
		Files map[string]struct {
			DuckDB struct {
				CSV     reading `json:"read_csv_auto"`
				JSON    reading `json:"read_json_auto"`
				Parquet reading `json:"read_parquet"`
			}
		}
	}
	if err := json.Unmarshal(text, &truth); err != nil {
		t.Fatal(err)
	}
	duck := truth.Files[name].DuckDB
	var names []string
	for _, r := range []reading{duck.CSV, duck.JSON, duck.Parquet} {
		for column, c := range r.Columns {
			if plainTypes[c.Type] && plainName.MatchString(column) && c.Nulls < r.Count { // null alone makes no column
				names = append(names, column)
			}
		}
	}
	if len(names) == 0 {
		t.Fatalf("%s/%s has no column to compare", dir, name)
	}
	sort.Strings(names)
	return names
}

// lowered returns the names behind AS.
func lowered(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		_, out[i], _ = strings.Cut(name, " AS ")
	}
	return out
}
