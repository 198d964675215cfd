package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestASourceDirectoryMoves is moved, taken over at its new place, and read on there.
func TestASourceDirectoryMoves(t *testing.T) {
	w := newWorld(t, nil, localFile)
	for i := range 5 {
		w.write(fmt.Sprintf("in/d/o%d.ndjson", i), fmt.Sprintf("{\"n\":%d}\n", i))
	}
	there := []string{"--set", "source.files.path=./archive/in"}
	if r := w.run(append([]string{"adopt", "--source"}, there...)...); r.code != exitUnavailable && r.code != exitGap {
		t.Errorf("before the first run: exit %d: %s", r.code, r.stderr)
	}
	var rep report
	w.must(&rep, "run")
	if r := w.run("adopt", "--source"); r.code != exitGap || !strings.Contains(r.stderr, "set source.files.path") {
		t.Errorf("it did not move: exit %d: %s", r.code, r.stderr)
	}
	if err := os.Mkdir(filepath.Join(w.dir, "archive"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(w.dir, "in"), filepath.Join(w.dir, "archive/in")); err != nil {
		t.Fatal(err)
	}
	w.write("archive/in/d/new.ndjson", "{\"n\":9}\n")
	if r := w.run(append([]string{"run", "-q"}, there...)...); r.code != exitConfig || !strings.Contains(r.stderr, "adopt --source") {
		t.Errorf("not taken over: exit %d: %s", r.code, r.stderr)
	}
	if r := w.run(append([]string{"adopt", "--source"}, there...)...); r.code != exitOK || !strings.Contains(r.stdout, "would take over") || !strings.Contains(r.stdout, "5 consumed objects are there") || !strings.Contains(r.stdout, "1 objects are new") {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	var did movedSource
	if w.must(&did, append([]string{"adopt", "--source", "--confirm"}, there...)...); !did.Done || did.Same != 5 || did.New != 1 || did.Missing != 0 {
		t.Errorf("%+v", did)
	}
	if w.must(&rep, append([]string{"run"}, there...)...); rep.Rows.Written != 1 {
		t.Errorf("%+v", rep.Rows)
	}
	if r := w.run(append([]string{"verify", "--source", "--deep"}, there...)...); r.code != exitOK || !strings.Contains(r.stdout, "6 records verified, 0 unverifiable") {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
}
