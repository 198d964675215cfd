package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// oneEach is a pipeline with a batch for each object.
const oneEach = "pipeline: events\nstore: ./lake\nsource: {files: {path: ./in, settle: 0s}}\nbatch: {max_objects: 1}\n"

// dropped writes objects of one record each.
func (w *world) dropped(from, to int) {
	for i := from; i < to; i++ {
		w.write(fmt.Sprintf("in/%03d.ndjson", i), fmt.Sprintf("{\"n\":%d,\"ts\":\"2026-01-%02dT00:00:00Z\"}\n", i, 1+(i*7)%28))
	}
}

func TestARunMergesSmallFilesWhenTheyAreMany(t *testing.T) {
	w := newWorld(t, nil, oneEach+"event_time: {field: ts}\n")
	live := func() int { return strings.Count(w.run("files").stdout, "\n") }
	w.dropped(0, 7)
	var rep report
	w.must(&rep, "run")
	if rep.Merged != (reportMerged{}) || live() != 7 {
		t.Errorf("%+v merged, %d files", rep.Merged, live())
	}
	w.dropped(7, 9)
	w.must(&rep, "run")
	if rep.Merged != (reportMerged{9, 1}) || live() != 1 {
		t.Errorf("%+v merged, %d files", rep.Merged, live())
	}
	w.proves(9)
	var order []string
	for line := range strings.Lines(w.run("head", "-o", "json").stdout) {
		_, rest, _ := strings.Cut(line, `"ts":"`)
		order = append(order, rest[:10])
	}
	if len(order) != 9 || !slices.IsSorted(order) {
		t.Errorf("rows stand in the order %v", order)
	}
}

func TestCompact(t *testing.T) {
	w := newWorld(t, nil, oneEach+"compact: {after_run: 0}\n")
	w.dropped(0, 10)
	w.must(&report{}, "run")
	type answer struct {
		Done   bool
		Seq    int64
		Tables []compacted
	}
	var got answer
	for _, c := range []struct {
		args        []string
		done        bool
		seq         int64
		files, into int64
		left        int
	}{
		{[]string{"compact", "--dry-run"}, false, 10, 10, 1, 1},
		{[]string{"compact", "--table", "events_dead"}, true, 10, 0, 0, 0},
		{[]string{"compact", "--deadline", "1ns"}, true, 10, 0, 0, 1},
		{[]string{"compact", "--table", "events"}, true, 11, 10, 1, 0},
		{[]string{"compact"}, true, 11, 0, 0, 0},
	} {
		got = answer{}
		w.must(&got, c.args...)
		files, into, left := int64(0), int64(0), 0
		for _, x := range got.Tables {
			files, into, left = files+x.Files, into+x.Into, left+x.Left
		}
		if got.Done != c.done || got.Seq != c.seq || files != c.files || into != c.into || left != c.left {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
	w.proves(10)
	w.dropped(10, 11)
	w.must(&report{}, "run")
	w.must(&got, "compact")
	if got.Seq != 12 {
		t.Errorf("two files of one class were merged: %+v", got)
	}
	w.must(&got, "compact", "--all")
	if got.Seq != 13 || got.Tables[0].Files != 2 {
		t.Errorf("--all: %+v", got)
	}
	w.proves(11)
	if text := w.run("compact").stdout; text != "events: nothing to merge\nevents_dead: nothing to merge\n" {
		t.Errorf("%q", text)
	}
	for _, args := range [][]string{{"compact", "--table", "nobody"}, {"compact", "--deadline", "-1s"}, {"compact", "x"}} {
		if r := w.run(args...); r.code != exitUsage {
			t.Errorf("%v: exit %d, %s", args, r.code, r.stderr)
		}
	}
}

// TestNothingIsWrittenBesideAForeignCommit has every verb that writes files end like run
// where the Delta log does not name them, because a VACUUM may delete them.
func TestNothingIsWrittenBesideAForeignCommit(t *testing.T) {
	w := newWorld(t, nil, oneEach+"compact: {after_run: 0}\npublish: [delta]\n")
	w.dropped(0, 2)
	w.write("in/bad.ndjson", "{broken\n")
	var rep report
	w.must(&rep, "run", "--accept-bad")
	head := *rep.Seq
	w.write("lake/events/_delta_log/00000000000000000002.json", `{"commitInfo":{"engineInfo":"other"}}`+"\n")
	verbs := [][]string{
		{"compact", "--all"}, {"schema", "widen", "n", "double", "--confirm"},
		{"dlq", "replay"}, {"dlq", "retry"}, {"dlq", "discard", "--all", "--confirm"},
	}
	for _, args := range verbs {
		if r := w.run(args...); r.code != exitUnavailable || !strings.Contains(r.stderr, "foreign commit by other") {
			t.Errorf("%v: exit %d: %s%s", args, r.code, r.stdout, r.stderr)
		}
	}
	for _, args := range [][]string{{"compact", "--all", "--dry-run"}, {"schema", "widen", "n", "double"}, {"dlq", "replay", "--dry-run"}, {"dlq", "discard", "--all"}, {"dlq", "list"}} {
		if r := w.run(args...); r.code != exitOK {
			t.Errorf("%v: exit %d: %s%s", args, r.code, r.stdout, r.stderr)
		}
	}
	var s struct{ Seq int64 }
	w.must(&s, "compact", "--dry-run")
	if s.Seq != head {
		t.Errorf("manifest %d is the head, want %d", s.Seq, head)
	}
	for _, args := range verbs {
		if r := w.run(append(args, "--set", "publish_on_conflict=continue")...); r.code != exitOK {
			t.Errorf("%v, continuing: exit %d: %s%s", args, r.code, r.stdout, r.stderr)
		}
	}
}
