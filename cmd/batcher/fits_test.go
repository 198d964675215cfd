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
