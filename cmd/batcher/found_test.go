package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestARunThatFindsNothingFoundsNothing looks at a pipeline before its first run, and
// has that find no object: nothing is created, and every setting may still change.
func TestARunThatFindsNothingFoundsNothing(t *testing.T) {
	w := newWorld(t, nil, localFile)
	w.write("in/_hidden/a.ndjson", "{}\n")
	for args, says := range map[string]string{
		"status": "has not run yet", "history": "has not run yet", "dlq list": "has not run yet", "files": "", "status -o json": `"new_pipeline":true`,
		"history -o json": "[]", "files -o json": "[]", "dlq list -o json": `"letters":0`,
		"run": "no objects to read under " + filepath.Join(w.dir, "in") + ": 1 object left out", "run -o json": `"outcome":"empty"`,
	} {
		if r := w.run(strings.Fields(args)...); r.code != exitOK || !strings.Contains(r.stdout, says) {
			t.Errorf("%s: exit %d: %s%s", args, r.code, r.stdout, r.stderr)
		}
	}
	if r := w.run("run", "--fail-on-empty"); r.code != exitEmpty {
		t.Errorf("--fail-on-empty: exit %d: %s", r.code, r.stderr)
	}
	for _, verb := range []string{"head", "show 0", "verify", "gc"} {
		if r := w.run(strings.Fields(verb)...); r.code != exitGap || !strings.Contains(r.stderr, "has not run yet") {
			t.Errorf("%s: exit %d: %s", verb, r.code, r.stderr)
		}
	}
	if found, err := os.ReadDir(filepath.Join(w.dir, "lake")); len(found) > 0 {
		t.Errorf("the store has %v (%v)", found, err)
	}
	if r := w.run("status", "--max-lag", "1ns"); r.code != exitOK {
		t.Errorf("nothing to read, and a lag: exit %d: %s", r.code, r.stderr)
	}
	// Where it begins is the first thing that such a pipeline remembers.
	if r := w.run("run", "--set", "source.files.start=now"); r.code != exitOK || !strings.HasPrefix(r.stdout, "nothing to do") {
		t.Errorf("start now: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	var st statusReport
	if w.must(&st, "status"); st.Seq != 0 || st.New {
		t.Errorf("start now: %+v", st)
	}
}

// TestAFirstBatchOfBadRecordsSaysWhatToDeclare commits nothing, names the setting, and
// leaves all of them free: table, format, source and partition.
func TestAFirstBatchOfBadRecordsSaysWhatToDeclare(t *testing.T) {
	for name, c := range map[string]struct{ file, text, set, says string }{
		"ragged":       {"a.csv", "a,b\n1\n2\n3,4\n5\n", "", "csv.pad"},
		"encoding":     {"a.csv", "a,b\nK\xf6ln,1\nM\xfcnchen,2\n", "", "source.files.encoding"},
		"format":       {"a.ndjson", "not json\nat all\n{}\n", "source.files.format=ndjson", "source.files.format"},
		"one of one":   {"a.ndjson", "x\n", "source.files.format=ndjson", "source.files.format"},
		"no container": {"a.parquet", "PAR1 and then no more", "", "format"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, localFile)
			w.write("in/"+c.file, c.text)
			args := []string{"run"}
			if c.set != "" {
				args = append(args, "--set", c.set)
			}
			r := w.run(args...)
			if r.code != exitBadRecords || !strings.Contains(r.stderr, "of the first batch are bad") || !strings.Contains(r.stderr, c.says) {
				t.Fatalf("exit %d: %s%s", r.code, r.stdout, r.stderr)
			}
			if again := w.run(args...); again.code != exitBadRecords {
				t.Errorf("again: exit %d: %s", again.code, again.stderr)
			}
			if r := w.run("head"); r.code != exitOK || r.stdout != "" {
				t.Errorf("head: exit %d: %s%s", r.code, r.stdout, r.stderr)
			}
			w.write("other/a.ndjson", "{\"n\":1}\n{\"n\":2}\nbad\n")
			other := []string{"--set", "source.files.path=./other", "--set", "source.files.format=lines", "--set", "table=others", "--set", "dead_letters.table=others_bad"}
			if r := w.run(append([]string{"head"}, other...)...); r.code != exitOK {
				t.Errorf("head of a table to be: exit %d: %s", r.code, r.stderr)
			}
			var rep report
			w.must(&rep, append([]string{"run"}, other...)...)
			if rep.Rows.Written != 3 {
				t.Errorf("%+v", rep.Rows)
			}
			if r := w.run(append([]string{"verify", "--source"}, other...)...); r.code != exitOK {
				t.Errorf("verify: exit %d: %s%s", r.code, r.stdout, r.stderr)
			}
			if r := w.run("run", "-q"); r.code != exitConfig {
				t.Errorf("with the settings from before: exit %d: %s%s", r.code, r.stdout, r.stderr)
			}
		})
	}
}

// TestAFirstBatchMayBeAcceptedAsItIs, and the budget decides about later ones.
func TestAFirstBatchMayBeAcceptedAsItIs(t *testing.T) {
	w := newWorld(t, nil, localFile)
	w.write("in/a.ndjson", "{}\nx\ny\n")
	var rep report
	if w.must(&rep, "run", "--accept-bad"); rep.Rows.Dead != 2 {
		t.Errorf("%+v", rep.Rows)
	}
	w.write("in/b.ndjson", "x\ny\n")
	if w.must(&rep, "run"); rep.Rows.Dead != 2 {
		t.Errorf("below min_records: %+v", rep.Rows)
	}
	w.proves(5)
}
