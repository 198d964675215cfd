package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInitOfEveryCase looks at the input of every case: what init writes is a pipeline
// file that plan and run take. Where run refuses the input, init has warned of it.
func TestInitOfEveryCase(t *testing.T) {
	dirs, err := filepath.Glob("testdata/cases/*/in")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, "")
			if err := os.CopyFS(filepath.Join(w.dir, "in"), os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			first := w.run("init", "-c", "first.yaml", "--set", "source.files.settle=0s", "in")
			if first.code != exitOK {
				t.Fatalf("init: exit %d: %s", first.code, first.stderr)
			}
			if r := w.run("plan", "-c", "first.yaml"); r.code != exitOK {
				t.Errorf("plan: exit %d: %s", r.code, r.stderr)
			}
			switch r := w.run("run", "-c", "first.yaml"); {
			case r.code == exitBadRecords && strings.Contains(first.stdout, "warning: "):
			case r.code != exitOK:
				t.Errorf("run: exit %d after init said\n%s\n%s", r.code, first.stdout, r.stderr)
			}
		})
	}
}

// TestInitOfFoldersNamedLikePartitions warns that no columns are made of them.
func TestInitOfFoldersNamedLikePartitions(t *testing.T) {
	w := newWorld(t, nil, "")
	w.write("in/dt=2026-01-01/hour=1/a.json", `{"a":1}`+"\n")
	w.write("in/dt=2026-01-02/hour=2/a.json", `{"a":2}`+"\n")
	r := w.run("init", "-c", "first.yaml", "in")
	if r.code != exitOK || !strings.Contains(r.stdout, "warning: folders are named like partitions (dt=, hour=)") {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
}
