package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestWhatIsLeftOutIsSaid puts all kinds of names into a folder. Plan, run and status say
// the same of them, in JSON and in words, before the first run and after it.
func TestWhatIsLeftOutIsSaid(t *testing.T) {
	w := newWorld(t, nil, strings.Replace(localFile, "settle: 0s", `settle: 0s, exclude: ["no/**"]`, 1))
	read := []string{"A.NDJSON", "a b.ndjson", "a\nb.ndjson", "a#b?c.ndjson", "a%20b.ndjson", "a+b.ndjson", "a~b.ndjson", `back\slash.ndjson`,
		"emoji😀.ndjson", `q'u"o.ndjson`, "tr .ndjson ", "u\u0308.ndjson", "\u00fc.ndjson", strings.Repeat("x", 240) + ".ndjson"}
	for _, name := range append(read, "b.ndjson.tmp", "c.ndjson.filepart", "d.ndjson.crdownload", "e._COPYING_", ".dot.ndjson", "no/n.ndjson") {
		w.write(filepath.Join("in", name), `{"a":1}`+"\n")
	}
	w.write("elsewhere/f.ndjson", `{"a":2}`+"\n")
	for name, to := range map[string]string{"linked": "../elsewhere", "loop": ".", "gone": "nowhere", "file.ndjson": "../elsewhere/f.ndjson"} {
		if err := os.Symlink(to, filepath.Join(w.dir, "in", name)); err != nil {
			t.Fatal(err)
		}
	}
	want := []reportLeftOut{
		{"globs", 1, []string{"no/n.ndjson"}},
		{"hidden", 1, []string{".dot.ndjson"}},
		{"unfinished", 4, []string{"b.ndjson.tmp", "c.ndjson.filepart", "d.ndjson.crdownload"}},
		{"dead_link", 1, []string{"gone"}},
		{"folder_link", 2, []string{"linked", "loop"}},
	}
	for _, verb := range []string{"status", "plan", "run", "plan", "status", "run"} {
		var said struct {
			LeftOut []reportLeftOut `json:"left_out"`
		}
		w.must(&said, verb)
		if !reflect.DeepEqual(said.LeftOut, want) {
			t.Errorf("%s -o json says %+v, want %+v", verb, said.LeftOut, want)
		}
		out := w.run(verb).stdout
		for _, line := range []string{`4 left out by name: still being written, or a copy of an editor ("b.ndjson.tmp", "c.ndjson.filepart", "d.ndjson.crdownload", …)`,
			`1 left out by name: "." or "_" begins it, or a folder above it (".dot.ndjson")`, `1 left out by include or exclude ("no/n.ndjson")`,
			`2 left out: a symbolic link to a folder is not followed ("linked", "loop")`, `1 left out: a symbolic link that leads nowhere ("gone")`} {
			if !strings.Contains(out, line+"\n") {
				t.Errorf("%s does not say %q:\n%s", verb, line, out)
			}
		}
	}
	if rows := strings.Count(w.run("head", "-n", "100").stdout, "\n"); rows != len(read)+1 {
		t.Errorf("%d rows of %d objects", rows, len(read)+1)
	}
	// What was being written gets its name, and is read.
	if err := os.Rename(filepath.Join(w.dir, "in/c.ndjson.filepart"), filepath.Join(w.dir, "in/c.ndjson")); err != nil {
		t.Fatal(err)
	}
	var rep report
	if w.must(&rep, "run"); rep.Rows.Written != 1 {
		t.Errorf("after the rename: %+v", rep.Rows)
	}
}

// TestAFolderOfNothingButLeftOutNamesSaysSo is the first run on a folder in which nothing
// is ready, as a mailbox gets it too.
func TestAFolderOfNothingButLeftOutNamesSaysSo(t *testing.T) {
	w := newWorld(t, nil, localFile)
	w.write("in/a.csv.filepart", "a\n1\n")
	for _, args := range [][]string{{"run"}, {"run", "-q"}} {
		r := w.run(args...)
		if r.code != exitOK || !strings.Contains(r.stdout, "1 object left out") || !strings.Contains(r.stdout, `"a.csv.filepart"`) {
			t.Errorf("%q: exit %d: %s%s", args, r.code, r.stdout, r.stderr)
		}
	}
}
