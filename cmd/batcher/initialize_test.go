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

// TestInitOfFoldersNamedLikePartitions makes columns of those that all objects have, and
// warns of the others.
func TestInitOfFoldersNamedLikePartitions(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		want string
	}{
		"alike":        {[]string{"dt=2026-01-01/hour=1/a.json", "dt=2026-01-02/hour=22/b/a.json"}, "source.files.key_columns: 'dt={dt:date}/hour={hour:int64}/**' (set)"},
		"texts":        {[]string{"Day=20260101/hour=01/a.json", "Day=__HIVE_DEFAULT_PARTITION__/hour=02/a.json"}, "'Day={day:int64}/hour={hour}/**' (set)"},
		"below others": {[]string{"x/dt=2026-01-01/a.json", "y/dt=2026-02-30/a.json"}, "'*/dt={dt}/**' (set)"},
		"not alike":    {[]string{"dt=2026-01-01/a.json", "hour=2/a.json"}, "warning: folders are named like partitions (dt=, hour=)"},
		"not all":      {[]string{"dt=2026-01-01/a.json", "a.json"}, "warning: folders are named like partitions (dt=)"},
		"in part":      {[]string{"dt=2026-01-01/x=1/a.json", "dt=2026-01-01/y=1/a.json"}, "warning: folders are named like partitions (x=, y=)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, "")
			for _, key := range c.keys {
				w.write("in/"+key, `{"a":1}`+"\n")
			}
			r := w.run("init", "-c", "first.yaml", "--set", "source.files.settle=0s", "in")
			if r.code != exitOK || !strings.Contains(r.stdout, c.want) {
				t.Errorf("exit %d: %s%s, want %s", r.code, r.stdout, r.stderr, c.want)
			}
			if r := w.run("run", "-c", "first.yaml"); r.code != exitOK {
				t.Errorf("run: exit %d: %s", r.code, r.stderr)
			}
		})
	}
}
