package main

import (
	"strings"
	"testing"
)

// TestAPipelineFileThatDoesNotFitTheChainIsNoDamage holds every verb that reads a chain
// to the answer that run gives: 78 with the key and both values, and nothing done.
func TestAPipelineFileThatDoesNotFitTheChainIsNoDamage(t *testing.T) {
	w := newWorld(t, nil, localFile)
	w.write("in/a.ndjson", "{\"a\":1}\n")
	w.write("other/a.ndjson", "{\"a\":1}\n")
	w.must(&report{}, "run")
	verbs := [][]string{{"verify"}, {"status"}, {"plan"}, {"compact"}, {"history"}, {"show", "1"}, {"files"}, {"head"},
		{"ddl", "duckdb", "--no-extension"}, {"schema", "show"}, {"schema", "diff"}, {"dlq", "list"}, {"gc"}, {"fence"}, {"rewind", "0"}, {"expire"}, {"adopt"}}
	for _, verb := range verbs {
		r := w.run(append(verb, "--set", "source.files.path=./other")...)
		if r.code != exitConfig || r.stdout != "" || !strings.Contains(r.stderr, "source.files.path of an existing pipeline changed from") ||
			!strings.Contains(r.stderr, w.dir+`/in"`) || !strings.Contains(r.stderr, w.dir+`/other"`) {
			t.Errorf("%v: exit %d %s%s", verb, r.code, r.stdout, r.stderr)
		}
	}
	for setting, want := range map[string]string{
		"source.files.format=lines": `source.files.format of an existing pipeline changed from "auto" to "lines"`,
		"table=others":              `table of an existing pipeline changed from "events" to "others"`,
		"dead_letters.table=others": `dead_letters.table of an existing pipeline changed from "events_dead" to "others"`,
		"source.files={path: ./in, unnest: Records, format: json}": `source.files.format of an existing pipeline changed from "auto" to "json unnest Records"`,
	} {
		if r := w.run("verify", "--set", setting); r.code != exitConfig || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit %d: %s", setting, r.code, r.stderr)
		}
	}
	w.proves(1)
}

// TestWhatOnlyLooksCountsChangedObjects: with on_change: fail a run ends with 66, and
// the verbs that say so beforehand do not.
func TestWhatOnlyLooksCountsChangedObjects(t *testing.T) {
	w := newWorld(t, nil, localFile)
	w.write("in/a.ndjson", "{\"a\":1}\n")
	w.must(&report{}, "run")
	w.write("in/a.ndjson", "{\"a\":1234}\n")
	w.write("in/b.ndjson", "{\"a\":2}\n")
	fail := []string{"--set", "source.files.on_change=fail"}
	if r := w.run(append(fail, "run")...); r.code != exitGap {
		t.Errorf("run: exit %d: %s", r.code, r.stderr)
	}
	var seen struct {
		Changed int64 `json:"changed_objects"`
		Lag     reportLag
	}
	for _, verb := range []string{"status", "plan"} {
		w.must(&seen, append(fail, verb)...)
		if seen.Changed != 1 || seen.Lag.Objects != 1 {
			t.Errorf("%s: %+v", verb, seen)
		}
	}
	if r := w.run(append(fail, "plan")...); !strings.Contains(r.stdout, "1 consumed objects changed since (source.files.on_change: fail ends a run there, exit code 66)\n") {
		t.Errorf("plan: %s", r.stdout)
	}
	if r := w.run(append(fail, "schema", "diff")...); r.code != exitOK {
		t.Errorf("schema diff: exit %d: %s", r.code, r.stderr)
	}
	w.must(&seen, "status", "--set", "source.files.on_change=replace")
	if seen.Lag.Objects != 2 {
		t.Errorf("status under replace: %+v", seen)
	}
}
