package main

import (
	"maps"
	"strings"
	"testing"
)

// splitFile is a pipeline that splits its table by day and country.
const splitFile = `
pipeline: events
store: ./lake
source: {files: {path: ./in, settle: 0s, on_change: replace}}
event_time: {field: ts}
schema: {columns: [{path: c, type: string}]}
partition_by: [{day: ts}, {column: c}]
dead_letters: {fail_above: {ratio: 1}}
compact: {after_run: 0}
`

// partitions gives the rows of each partition as the listing of files tells them, by
// the values of ts_day and c.
func (w *world) partitions() map[string]int64 {
	w.t.Helper()
	var files []fileRow
	w.must(&files, "files")
	rows := map[string]int64{}
	for _, f := range files {
		values := make([]string, 0, 2)
		for _, column := range []string{"ts_day", "c"} {
			v, there := f.Part[column]
			switch {
			case !there || len(f.Part) != 2:
				w.t.Errorf("%s: partition %v", f.URI, f.Part)
			case v == nil:
				values = append(values, "null")
			default:
				values = append(values, *v)
			}
		}
		rows[strings.Join(values, "/")] += f.Rows
	}
	return rows
}

// TestAReplacedFileChangesPartitions corrects a file: a row goes to another day, one
// to another country, one comes into a new partition, one empties the one it leaves,
// and the record that could not be read becomes a row.
func TestAReplacedFileChangesPartitions(t *testing.T) {
	w := newWorld(t, nil, splitFile)
	expect := func(when string, letters int64, want map[string]int64) {
		t.Helper()
		if got := w.partitions(); !maps.Equal(got, want) {
			t.Errorf("%s: rows by partition %v, want %v", when, got, want)
		}
		var dead struct{ Letters int64 }
		w.must(&dead, "dlq", "list")
		if dead.Letters != letters {
			t.Errorf("%s: %d letters, want %d", when, dead.Letters, letters)
		}
		sum := letters
		for _, n := range want {
			sum += n
		}
		w.proves(sum)
		var rep report
		if w.must(&rep, "run"); rep.Outcome != outcomeEmpty {
			t.Errorf("%s: a run after all: %+v", when, rep)
		}
	}
	w.write("in/a.ndjson", `{"ts":"2026-01-01T10:00:00Z","c":"de","n":1}
{"ts":"2026-01-01T11:00:00Z","c":"fr","n":2}
{"ts":"2026-01-02T10:00:00Z","c":"de","n":3}
{"ts":"2026-01-02T11:00:00Z","n":4}
{"ts":"2026-01-03T10:00:00Z","c":"it","n":
`)
	w.write("in/b.ndjson", `{"ts":"2026-01-01T10:00:00Z","c":"de","n":10}
{"ts":"2026-01-02T11:00:00Z","n":11}
{broken
`)
	w.must(&report{}, "run")
	expect("before", 2, map[string]int64{"2026-01-01/de": 2, "2026-01-01/fr": 1, "2026-01-02/de": 1, "2026-01-02/null": 2})

	w.write("in/a.ndjson", `{"ts":"2026-01-02T10:00:00Z","c":"de","n":1}
{"ts":"2026-01-01T11:00:00Z","c":"de","n":2}
{"ts":"2026-01-02T10:00:00Z","c":"de","n":3}
{"ts":"2026-01-02T11:00:00Z","n":4}
{"ts":"2026-01-03T10:00:00Z","c":"it","n":5}
`)
	var rep report
	w.must(&rep, "run")
	if rep.Objects.Replaced != 1 || rep.Rows.Replaced != 5 || rep.Rows.Written != 5 || rep.Rows.Dead != 0 {
		t.Errorf("%+v", rep)
	}
	expect("after", 1, map[string]int64{"2026-01-01/de": 2, "2026-01-02/de": 2, "2026-01-02/null": 2, "2026-01-03/it": 1})
	if script := w.run("ddl", "duckdb", "--no-extension").stdout; !strings.Contains(script, "\n-- Each file of events has the rows of one partition, by columns that stand in it: ts_day, c.\n") {
		t.Errorf("the script does not tell the partitions:\n%s", script)
	}
	if dead := w.run("files", "--table", "events_dead", "-o", "json").stdout; !strings.Contains(dead, `"uri"`) || strings.Contains(dead, `"partition"`) {
		t.Errorf("a table that is not split: %s", dead)
	}
}
