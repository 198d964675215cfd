package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batcher/audit"
	"batcher/localdev"
)

// truth is what independent readers say of a sample file.
type truth struct {
	Files map[string]struct {
		Records int64 `json:"records"`
		JSON    struct {
			Fields map[string]truthField `json:"fields"`
		} `json:"json"`
	} `json:"files"`
}

type truthField struct {
	Null      int64   `json:"null"`
	Missing   int64   `json:"missing"`
	MinString *string `json:"min_string"`
	MaxString *string `json:"max_string"`
}

// TestRealEventsReadInDuckDBEqualTheirTruth sends real GitHub events through the
// program and holds what DuckDB reads against ground truth made without batcher.
func TestRealEventsReadInDuckDBEqualTheirTruth(t *testing.T) {
	samples := os.Getenv("BATCHER_SAMPLES")
	if samples == "" {
		localdev.Skip(t, "BATCHER_SAMPLES is not set, so the real events are not read")
	}
	dir := filepath.Join(samples, "github-events-ndjson")
	text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want truth
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, nil, fmt.Sprintf("pipeline: gh\nstore: ./lake\nsource: {files: {path: %q, include: [\"*.ndjson\"], settle: 0s}}\n", dir))
	var rep report
	w.must(&rep, "run")
	duck, err := localdev.OpenDuckDB(t.Context())
	if err != nil {
		t.Fatalf("this test needs DuckDB: %v", err)
	}
	checked := 0
	for name, file := range want.Files {
		if rep.Rows.Read != file.Records || rep.Rows.Written+rep.Rows.Dead != file.Records || rep.Rows.Dead != 0 {
			t.Errorf("%s: %+v, truth says %d records", name, rep.Rows, file.Records)
		}
		from := fmt.Sprintf("read_parquet([%s], union_by_name = true)", strings.Join(w.localFiles(), ","))
		for field, f := range file.JSON.Fields {
			checked += w.holds(t, duck, from, field, file.Records, f)
		}
	}
	var proof audit.Report
	w.must(&proof, "verify", "--source", "--deep")
	if proof.Source.Verified != rep.Rows.Read {
		t.Errorf("verify: %+v", proof)
	}
	figure := fmt.Sprintf("%d records, %d facts of truth.json equal in DuckDB", rep.Rows.Read, checked)
	t.Log(figure)
	localdev.Figure("real GitHub events", figure)
}

// holds compares one column with its truth, and returns how many facts it
// compared.
func (w *world) holds(t *testing.T, duck *localdev.DuckDB, from, field string, records int64, f truthField) int {
	t.Helper()
	column := ident(strings.ToLower(field))
	text := column + "::VARCHAR"
	if f.MinString != nil && strings.HasSuffix(*f.MinString, "Z") {
		text = "strftime(" + column + " AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ')"
	}
	got, err := duck.Query(t.Context(), fmt.Sprintf("SELECT count(*) AS n, count(*) - count(%s) AS nulls, min(%s) AS least, max(%s) AS most FROM %s", column, text, text, from))
	if err != nil {
		t.Fatalf("%s: %v", field, err)
	}
	facts := 2
	if n := number(t, got[0]["n"]); n != records {
		t.Errorf("%s: %d rows, want %d", field, n, records)
	}
	if n := number(t, got[0]["nulls"]); n != f.Null+f.Missing {
		t.Errorf("%s: %d nulls, want %d", field, n, f.Null+f.Missing)
	}
	for key, want := range map[string]*string{"least": f.MinString, "most": f.MaxString} {
		if want == nil {
			continue
		}
		facts++
		if got[0][key] != *want {
			t.Errorf("%s: %s is %v, want %s", field, key, got[0][key], *want)
		}
	}
	return facts
}

// localFiles are the live files of a directory store, as SQL literals.
func (w *world) localFiles() []string {
	var out []string
	for _, path := range strings.Fields(w.run("files").stdout) {
		out = append(out, literal(path))
	}
	return out
}

// TestTheDuckDBScriptRuns plays what `ddl duckdb --no-extension` prints, with the
// dead-letter table and a view of the newest rows.
func TestTheDuckDBScriptRuns(t *testing.T) {
	w := newWorld(t, nil, localFile)
	w.write("in/a.ndjson", "{\"k\":1,\"v\":\"old\"}\n{\"k\":2,\"v\":\"it's\"}\nbroken\n")
	w.write("in/b.ndjson", "{\"k\":1,\"v\":\"new\"}\n")
	var rep report
	w.must(&rep, "run")
	duck, err := localdev.OpenDuckDB(t.Context())
	if err != nil {
		t.Fatalf("this test needs DuckDB: %v", err)
	}
	script := w.run("ddl", "duckdb", "--no-extension", "--latest-by", "k").stdout
	for query, want := range map[string]int64{
		"SELECT count(*) AS n FROM events":                                    3,
		"SELECT count(DISTINCT _source || ':' || _offset) AS n FROM events":   3,
		"SELECT count(*) AS n FROM events_dead":                               1,
		"SELECT count(*) AS n FROM events_latest":                             2,
		"SELECT count(*) AS n FROM events_latest WHERE v IN ('new', 'it''s')": 2,
	} {
		got, err := duck.Query(t.Context(), script+query)
		if err != nil {
			t.Fatalf("%s: %v\n%s", query, err, script)
		}
		if n := number(t, got[0]["n"]); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
	if r := w.run("ddl", "duckdb", "--no-extension", "--latest-by", "kk"); r.code != exitUsage || !strings.Contains(r.stderr, `table events has no column "kk"`) || r.stdout != "" {
		t.Errorf("--latest-by what is not there: exit %d: %s%s", r.code, r.stderr, r.stdout)
	}
	if strings.Contains(script, "REPLACE VIEW") {
		t.Errorf("a view outlives the session of the others that it reads:\n%s", script)
	}
	if r := w.run("ddl", "duckdb", "--set", "publish=[]"); r.code != exitUsage || !strings.Contains(r.stderr, "--no-extension") {
		t.Errorf("ddl without the projection: exit %d: %s", r.code, r.stderr)
	}
}

// TestTheNewestRowIsThatOfTheLatestEvent holds the view of newest rows to the event
// time, nested here, where the pipeline has one.
func TestTheNewestRowIsThatOfTheLatestEvent(t *testing.T) {
	w := newWorld(t, nil, localFile+"event_time: {field: head.at}\n")
	w.write("in/a.ndjson", `{"k":1,"v":"new","head":{"at":"2026-03-01T00:00:00Z","n":1}}`+"\n")
	w.write("in/b.ndjson", `{"k":1,"v":"old","head":{"at":"2026-01-01T00:00:00Z","n":2}}`+"\n"+`{"k":1,"v":"undated"}`+"\n")
	w.must(&report{}, "run")
	duck, err := localdev.OpenDuckDB(t.Context())
	if err != nil {
		t.Fatalf("this test needs DuckDB: %v", err)
	}
	script := w.run("ddl", "duckdb", "--no-extension", "--latest-by", "k").stdout
	got, err := duck.Query(t.Context(), script+"SELECT v FROM events_latest")
	if err != nil || len(got) != 1 || got[0]["v"] != "new" {
		t.Errorf("%v %v\n%s", got, err, script)
	}
	if !strings.Contains(script, `-- The newest row is the one with the largest "head"."at", then the largest _source, then the largest _offset.`) {
		t.Errorf("the script does not say what newest means:\n%s", script)
	}
}

// TestTheViewOfAnEmptyTableHasItsColumns replaces all rows of a table of every kind by
// none.
func TestTheViewOfAnEmptyTableHasItsColumns(t *testing.T) {
	w := newWorld(t, nil, localFile+"schema: {columns: [{path: d, type: \"decimal(9,2)\"}, {path: m, type: \"map<string,int32>\"}, {path: x, type: bytes}, {path: j, type: json}, {path: day, type: date}]}\ndead_letters: {fail_above: {ratio: 1}}\n")
	w.write("in/a.ndjson", `{"k":1,"f":1.5,"b":true,"t":"2026-03-01T00:00:00Z","s":{"a":1,"l":["x"]},"d":1,"m":{"q":1},"x":"AA==","j":{},"day":"2026-03-01"}`+"\n")
	w.must(&report{}, "run")
	duck, err := localdev.OpenDuckDB(t.Context())
	if err != nil {
		t.Fatalf("this test needs DuckDB: %v", err)
	}
	describe := func(table string) string {
		script := w.run("ddl", "duckdb", "--no-extension", "--latest-by", "k").stdout
		got, err := duck.Query(t.Context(), script+"SELECT count(*) AS n, string_agg(column_name || ' ' || data_type, ', ' ORDER BY column_name) AS columns FROM (SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = '"+table+"')")
		if err != nil {
			t.Fatalf("%v\n%s", err, script)
		}
		return fmt.Sprint(got[0]["columns"])
	}
	full, letters := describe("events"), describe("events_dead")
	if !strings.Contains(letters, "_offset BIGINT") || !strings.Contains(letters, "message VARCHAR") {
		t.Errorf("the view of no letters has %s", letters)
	}
	w.write("in/a.ndjson", "broken\n")
	w.must(&report{}, "run", "--set", "source.files.on_change=replace")
	if empty := describe("events"); empty != full {
		t.Errorf("a table without rows has\n%s\nwant\n%s", empty, full)
	}
	if again := describe("events_dead"); again != letters {
		t.Errorf("letters have\n%s\nwant\n%s", again, letters)
	}
}
