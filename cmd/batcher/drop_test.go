package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDropListsAndDeletes lists what a pipeline has, deletes it, with its Delta tables, and
// leaves other pipelines of the store alone; then everything about it may be other.
func TestDropListsAndDeletes(t *testing.T) {
	w := newWorld(t, nil, localFile)
	w.write("in/a.ndjson", "{\"n\":1}\n{\"n\":2}\nbad\n")
	other := []string{"--set", "pipeline=others", "--set", "table=others", "--set", "dead_letters.table=others_dead"}
	for _, args := range [][]string{{"run", "-q"}, append([]string{"run", "-q"}, other...)} {
		if r := w.run(args...); r.code != exitOK {
			t.Fatalf("%v: exit %d: %s", args, r.code, r.stderr)
		}
	}
	if r := w.run("drop"); r.code != exitOK || !strings.Contains(r.stdout, "would delete pipeline events") ||
		!strings.Contains(r.stdout, "events/_delta_log/: ") || !strings.Contains(r.stdout, "events_batches/data/: ") || strings.Contains(r.stdout, "others") {
		t.Fatalf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	w.proves(3)
	var did dropped
	if w.must(&did, "drop", "--confirm", "--set", "source.files.path=./elsewhere", "--set", "table=t2"); !did.Done || did.Objects < 10 {
		t.Errorf("%+v", did)
	}
	left, err := os.ReadDir(filepath.Join(w.dir, "lake"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if strings.HasPrefix(e.Name(), "events") {
			t.Errorf("%s is left", e.Name())
		}
	}
	if r := w.run("status"); r.code != exitOK || !strings.Contains(r.stdout, "has not run yet") {
		t.Errorf("status: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if r := w.run("drop", "--confirm"); r.code != exitGap {
		t.Errorf("again: exit %d: %s", r.code, r.stderr)
	}
	if r := w.run(append([]string{"verify", "--source", "--deep"}, other...)...); r.code != exitOK {
		t.Errorf("the other pipeline: exit %d: %s", r.code, r.stdout)
	}
	if r := w.run("run", "-q", "--set", "source.files.format=lines"); r.code != exitOK {
		t.Errorf("refounded: exit %d: %s", r.code, r.stderr)
	}
	if r := w.run("verify", "--source", "--set", "source.files.format=lines"); r.code != exitOK || !strings.Contains(r.stdout, "3 records verified") {
		t.Errorf("refounded: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
}
