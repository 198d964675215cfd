package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFailuresAsJSON gives every verb a failure and -o json: one line on stdout that says
// what the report of a run says of its own failures.
func TestFailuresAsJSON(t *testing.T) {
	app := newShell(process{}, verbs{}).app
	for _, verb := range visible(app) {
		for args, code := range map[string]int{"--no-such-flag": exitUsage, "-c /no/such/pipeline.yaml": exitConfig} {
			line := verb.Name + " -o json " + args
			switch verb.Name {
			case "show", "rewind":
				line += " 1"
			case "ddl":
				line += " duckdb"
			case "dlq":
				line += " list"
			case "schema":
				line += " show"
			}
			p := play(wired(), strings.Fields(line)...)
			if p.code == exitOK || p.code != code && (verb.Name == "completion" || verb.Name == "version" || verb.Name == "help" || verb.Name == "init") {
				continue // it needs no pipeline file
			}
			var got failure
			if err := json.Unmarshal([]byte(p.stdout), &got); err != nil || strings.Count(p.stdout, "\n") != 1 {
				t.Errorf("%s: %v in %q", line, err, p.stdout)
				continue
			}
			if p.code != code || got.Error == nil || got.Error.Code != code || !strings.HasPrefix(p.stderr, "batcher: "+strings.SplitN(got.Error.Message, "\n", 2)[0]) {
				t.Errorf("%s: exit %d: %s %s", line, p.code, p.stdout, p.stderr)
			}
		}
	}
}

// TestAVerbThatPrintedItsResultPrintsNoFailure looks at status beyond its lag: its result
// says all, and is the only line.
func TestAVerbThatPrintedItsResultPrintsNoFailure(t *testing.T) {
	w := newWorld(t, nil, localFile)
	w.seedLocal("", 1, 10)
	w.run("run", "-q")
	w.seedLocal("more/", 1, 10)
	if r := w.run("status", "-o", "json", "--max-lag", "0s"); r.code != exitLag || strings.Count(r.stdout, "\n") != 1 || !strings.Contains(r.stdout, `"lag":{"objects":1`) {
		t.Errorf("exit %d: %s", r.code, r.stdout)
	}
}

// TestShowForPeople shows manifests by their names.
func TestShowForPeople(t *testing.T) {
	w := newWorld(t, nil, localFile)
	w.seedLocal("", 4, 10)
	w.run("run", "-q", "--set", "compact.after_run=0")
	for name, seq := range map[string]int{"head": 2, "latest": 2, "-1": 2, "-2": 1, "1": 1, "2": 2} {
		r := w.run("show", name)
		if !strings.HasPrefix(r.stdout, fmt.Sprintf("manifest %d   data, committed ", seq)) || strings.Count(r.stdout, "\n") > 20 {
			t.Errorf("%s: %s %s", name, r.stdout, r.stderr)
		}
	}
	first := w.run("show", "1").stdout
	for _, want := range []string{"\nread         30 records of 3 objects, ", "\nwrote        30 rows, 0 dead letters\n", ": 10 records, whole\n", "\ntable        events: 30 rows in 1 file, ", "\nnew columns  "} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in\n%s", want, first)
		}
	}
	if r := w.run("show", "-9"); r.code != exitUsage || !strings.Contains(r.stderr, "manifests 0 to 2 are there") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	stored, err := os.ReadFile(filepath.Join(w.dir, "lake/_batcher/events/manifests/00000000000000000002.json"))
	if err != nil {
		t.Fatal(err)
	}
	if r := w.run("show", "head", "--raw"); r.stdout != string(stored) {
		t.Errorf("not the bytes: %s", r.stdout)
	}
	if r := w.run("rewind", "-2"); !strings.Contains(r.stdout, "events: 40 rows now, 30 then\n") || !strings.Contains(r.stdout, "of manifest 2: 10 records of 1 object\n") {
		t.Errorf("rewind: %s %s", r.stdout, r.stderr)
	}
}

// TestEveryVerbHasAnExampleThatIsRight parses what the help of each verb ends with.
func TestEveryVerbHasAnExampleThatIsRight(t *testing.T) {
	shell := newShell(process{}, verbs{})
	for _, verb := range visible(shell.app) {
		if len(examples[verb.Name]) == 0 {
			t.Errorf("%s has no example", verb.Name)
		}
		for _, line := range examples[verb.Name] {
			if verb.Name != "help" && !strings.Contains(play(verbs{}, verb.Name, "--help").stdout, line) {
				t.Errorf("the help of %s has no %q", verb.Name, line)
			}
			words := strings.Fields(line)
			arranged, err := arrange(shell.app, words)
			if err != nil || arranged[1] != verb.Name {
				t.Errorf("%s: %v", line, err)
			}
			if p := play(wired(), append(words[1:], "--set", "no.such.key=1")...); p.code == exitUsage || p.code == exitBug {
				t.Errorf("%s: exit %d: %s", line, p.code, p.stderr)
			}
		}
	}
}
