package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerifyHoldsDeltaLogsAgainstTheChain tampers with what was published, and with
// nothing of the chain.
func TestVerifyHoldsDeltaLogsAgainstTheChain(t *testing.T) {
	w := newWorld(t, nil, localFile+"publish: [delta]\n")
	for i := range 13 {
		w.write(fmt.Sprintf("in/%02d.ndjson", i), ndjson(10*i, 3))
		w.must(&report{}, "run", "--set", "compact.after_run=0")
	}
	log := filepath.Join(w.dir, "lake", "events", "_delta_log")
	name := func(v int, kind string) string { return filepath.Join(log, fmt.Sprintf("%020d.%s", v, kind)) }
	hint := filepath.Join(log, "_last_checkpoint")
	read := func(path string) string {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	// put writes what may be written once only.
	put := func(path, body string) {
		_ = os.Remove(path)
		if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const (
		foreign = `{"commitInfo":{"engineInfo":"other"}}` + "\n"
		config  = "publish_on_conflict=continue"
	)
	for _, c := range []struct {
		name   string
		tamper func()
		args   []string
		code   int
		want   string // in the output
	}{
		{"nothing", func() {}, nil, exitOK, "published events: 13 versions compared up to 12, 1 checkpoint, 13 files\n"},
		{"a version tampered with", func() { put(name(4, "json"), strings.Replace(read(name(4, "json")), `"size":`, `"size":7`, 1)) }, nil,
			exitDamaged, "VIOLATION I16 at manifest 5: events/_delta_log/00000000000000000004.json: version 4 shows 0 files"},
		{"the same, of which nothing is to be judged", func() { put(name(4, "json"), strings.Replace(read(name(4, "json")), `"size":`, `"size":7`, 1)) },
			[]string{"--since", "11"}, exitOK, "published events: 2 versions compared up to 12"},
		{"a version removed", func() { os.Remove(name(5, "json")) }, nil, exitDamaged, "events/_delta_log/00000000000000000005.json: version 5 is missing"},
		{"a checkpoint tampered with", func() { put(name(10, "checkpoint.parquet"), read(name(10, "checkpoint.parquet"))[8:]) }, nil,
			exitDamaged, "events/_delta_log/00000000000000000010.checkpoint.parquet: checkpoint 10 cannot be read"},
		{"a hint to a checkpoint that is not there", func() { put(hint, `{"version":11,"size":3}`) }, nil,
			exitDamaged, "events/_delta_log/_last_checkpoint: it names checkpoint 11"},
		{"no hint", func() { os.Remove(hint) }, nil, exitOK, "up to 12"},
		{"a foreign commit", func() { put(name(13, "json"), foreign) }, nil, exitUnavailable, "in conflict: table events has a foreign commit by other: version 13"},
		{"a foreign commit that is let be", func() { put(name(13, "json"), foreign) }, []string{"--set", config}, exitOK, "in conflict"},
		{"a foreign commit in the place of ours", func() { put(name(6, "json"), foreign) }, nil, exitDamaged, "00000000000000000006.json: version 6 is a foreign commit"},
		{"lag", func() { os.Remove(name(12, "json")); os.Remove(name(11, "json")) }, nil, exitOK, "compared up to 10, 1 checkpoint, 11 files, 2 behind\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept := t.TempDir()
			if err := os.CopyFS(kept, os.DirFS(log)); err != nil {
				t.Fatal(err)
			}
			c.tamper()
			r := w.run(append([]string{"verify"}, c.args...)...)
			if r.code != c.code || !strings.Contains(r.stdout, c.want) {
				t.Errorf("exit %d, want %d with %q: %s%s", r.code, c.code, c.want, r.stdout, r.stderr)
			}
			var p proof
			out := w.run(append([]string{"verify", "-o", "json"}, c.args...)...)
			if err := json.Unmarshal([]byte(out.stdout), &p); err != nil {
				t.Fatal(err)
			}
			if (len(p.Violations) > 0) != (c.code == exitDamaged) || len(p.Delta) != 3 || p.Delta[0].Version != 12 {
				t.Errorf("%+v", p)
			}
			if err := os.RemoveAll(log); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(log, os.DirFS(kept)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestVerifyAfterMergeExpireAndGC: what was merged and collected stays verifiable.
func TestVerifyAfterMergeExpireAndGC(t *testing.T) {
	w := newWorld(t, nil, localFile)
	for i := range 12 {
		w.write(fmt.Sprintf("in/%02d.ndjson", i), ndjson(10*i, 5)+"{broken\n")
		w.must(&report{}, "run", "--accept-bad", "--set", "compact.after_run=0")
	}
	w.must(&struct{}{}, "compact", "--all")
	for range 2 {
		w.must(&struct{}{}, "gc", "--keep", "1ns", "--confirm")
		w.must(&struct{}{}, "expire", "--keep", "1ns", "--confirm")
	}
	var p proof
	w.must(&p, "verify", "--source", "--deep")
	if p.Source.Verified != 72 || p.Source.Unverifiable+p.Source.Mismatch != 0 || len(p.Violations) > 0 {
		t.Errorf("%+v", p)
	}
	data := filepath.Join(w.dir, "lake", "events", "data")
	if dirs, err := os.ReadDir(data); err != nil || len(dirs) > 2 {
		t.Errorf("%d folders of bases are left, %v", len(dirs), err)
	}
}
