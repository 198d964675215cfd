package commit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object/memstore"
	"batcher/schema"
)

// swap is a proposal of a kind that puts one file in the place of others, with the
// same number of rows.
func swap(kind manifest.Kind, base manifest.Snapshot, attempt byte, rows int64, keys ...string) commit.Proposal {
	a := manifest.Attempt{attempt}
	return commit.Proposal{Kind: kind, Attempt: a, Base: base, Config: config,
		Tables: map[string]commit.Delta{"events": {Remove: keys, Add: []manifest.File{{
			Key: manifest.DataFile("events", base.Manifest.Seq, a, 0), Size: 500, Rows: rows,
		}}}}}
}

// appended commits objects one by one, and returns the head and the files' keys.
func appended(t *testing.T, l *commit.Log, head manifest.Snapshot, n int) (manifest.Snapshot, []string) {
	t.Helper()
	var keys []string
	for i := range n {
		p := proposal(head, byte(i+1), fmt.Sprintf("o%d", i))
		out, err := l.Append(t.Context(), p)
		if err != nil || out.Verdict != commit.Committed {
			t.Fatalf("%+v, %v", out.Decision, err)
		}
		head = out.Head
		keys = append(keys, p.Tables["events"].Add[0].Key)
	}
	return head, keys
}

func liveKeys(t *testing.T, l *commit.Log, head manifest.Snapshot) []string {
	t.Helper()
	files, err := l.LoadLive(context.Background(), head.Manifest.Tables["events"].Live)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for i := range files {
		keys = append(keys, files[i].Key)
	}
	return keys
}

func TestAKindThatReplacesFilesTakesThemAway(t *testing.T) {
	l, head := create(t, memstore.New())
	head, keys := appended(t, l, head, 3)
	p := swap(manifest.Compact, head, 50, 20, keys[0], keys[2])
	out, err := l.Append(t.Context(), p)
	if err != nil || out.Verdict != commit.Committed {
		t.Fatalf("%+v, %v", out.Decision, err)
	}
	want := []string{keys[1], p.Tables["events"].Add[0].Key}
	if got := liveKeys(t, l, out.Head); !slices.Equal(got, want) {
		t.Errorf("live %v, want %v", got, want)
	}
	table := out.Head.Manifest.Tables["events"]
	if table.Live.Files != 2 || table.Live.Rows != 30 || table.Live.Bytes != 1500 || table.Remove.Count != 2 || table.Remove.Items[0].Size != 1000 {
		t.Errorf("table %+v", table)
	}
}

// TestOfTwoThatReplaceAFileOneCommits has two compactions of the same file: the
// rows of the second would stand twice.
func TestOfTwoThatReplaceAFileOneCommits(t *testing.T) {
	l, head := create(t, memstore.New())
	head, keys := appended(t, l, head, 3)
	if out, err := l.Append(t.Context(), swap(manifest.Compact, head, 50, 20, keys[0], keys[1])); err != nil || out.Verdict != commit.Committed {
		t.Fatalf("%+v, %v", out.Decision, err)
	}
	out, err := l.Append(t.Context(), swap(manifest.Compact, head, 51, 20, keys[1], keys[2]))
	if err != nil || out.Verdict != commit.Reencode {
		t.Fatalf("%+v, %v", out.Decision, err)
	}
	if out, err = l.Append(t.Context(), swap(manifest.Compact, head, 52, 10, keys[2])); err != nil || out.Verdict != commit.Committed {
		t.Fatalf("of another file: %+v, %v", out.Decision, err)
	}
}

func TestAFileThatIsNotLiveCannotBeReplaced(t *testing.T) {
	l, head := create(t, memstore.New())
	head, _ = appended(t, l, head, 1)
	_, err := l.Append(t.Context(), swap(manifest.Compact, head, 50, 10, "events/data/nowhere"))
	var missing *manifest.NotLiveError
	if !errors.As(err, &missing) {
		t.Fatalf("got %v", err)
	}
}

// TestARewriteTakesAllThatCameMeanwhile proposes a rewrite that lost a race to an
// append: it is refused until the file that came is rewritten too, under the same
// attempt. The appender that began before it writes again.
func TestARewriteTakesAllThatCameMeanwhile(t *testing.T) {
	l, base := create(t, memstore.New())
	base, keys := appended(t, l, base, 2)
	late := proposal(base, 70, "late")
	other := proposal(base, 71, "other")
	wide := reserved()
	wide.LastID = 17
	wide.Fields = append(wide.Fields, schema.Field{ID: 17, Name: "n", Key: "n", Type: schema.Type{Kind: schema.String}})
	sum, err := manifest.SchemaHash(wide)
	if err != nil {
		t.Fatal(err)
	}
	p := swap(manifest.Rewrite, base, 60, 20, keys...)
	as := func(rows int64, remove []string) {
		d := p.Tables["events"]
		d.Schema, d.Remove, d.Add[0].Rows, d.Add[0].Schema = wide, remove, rows, sum
		p.Tables["events"] = d
	}
	as(20, keys)
	if out, err := l.Append(t.Context(), late); err != nil || out.Verdict != commit.Committed {
		t.Fatalf("%+v, %v", out.Decision, err)
	}
	out, err := l.Append(t.Context(), p)
	if err != nil || out.Verdict != commit.Reencode {
		t.Fatalf("%+v, %v", out.Decision, err)
	}
	p.Seen = out.Head
	as(30, append(slices.Clone(keys), late.Tables["events"].Add[0].Key))
	if out, err = l.Append(t.Context(), p); err != nil || out.Verdict != commit.Committed || out.Head.Manifest.Base != base.Manifest.Seq {
		t.Fatalf("%+v, %v", out.Decision, err)
	}
	if got := liveKeys(t, l, out.Head); len(got) != 1 || out.Head.Manifest.Tables["events"].Rewritten != out.Receipt.Seq() {
		t.Fatalf("live %v, table %+v", got, out.Head.Manifest.Tables["events"])
	}
	if out, err = l.Append(t.Context(), other); err != nil || out.Verdict != commit.Reencode {
		t.Fatalf("an append from before: %+v, %v", out.Decision, err)
	}
	back, err := l.Append(t.Context(), commit.Proposal{Kind: manifest.Rewind, Attempt: manifest.Attempt{80}, Base: out.Head, Config: config,
		Repair: commit.Repair{To: &base}})
	if err == nil {
		t.Fatalf("files that no store holds came back: %+v", back.Decision)
	}
}

// TestALiveListWithRunsLosesFiles lets a long live list lose files from its middle
// and from its end, and follows it through the store.
func TestALiveListWithRunsLosesFiles(t *testing.T) {
	l, head := create(t, memstore.New())
	const n = 400
	head, keys := appended(t, l, head, n)
	before := head.Manifest.Tables["events"].Live
	if before.Segments.Count < 2 {
		t.Fatalf("%d segments: the list is too short for this test", before.Segments.Count)
	}
	want := slices.Clone(keys)
	for i, gone := range [][]string{keys[n-2:], keys[3:5], keys[100 : n-10], keys[:3], {keys[5], keys[n-3]}} {
		p := swap(manifest.Compact, head, byte(i), int64(10*len(gone)), gone...)
		p.Attempt[1] = 0xcc
		d := p.Tables["events"]
		d.Add[0].Key = manifest.DataFile("events", head.Manifest.Seq, p.Attempt, 0)
		out, err := l.Append(t.Context(), p)
		if err != nil || out.Verdict != commit.Committed {
			t.Fatalf("%+v, %v", out.Decision, err)
		}
		head = out.Head
		want = append(slices.DeleteFunc(want, func(k string) bool { return slices.Contains(gone, k) }), d.Add[0].Key)
		if got := liveKeys(t, l, head); !slices.Equal(got, want) {
			t.Fatalf("after %d: live %d files, want %d", i, len(got), len(want))
		}
		live := head.Manifest.Tables["events"].Live
		if live.Files != int64(len(want)) || live.Rows != 10*n {
			t.Fatalf("after %d: totals %d files %d rows", i, live.Files, live.Rows)
		}
	}
	if live := head.Manifest.Tables["events"].Live; live.Segments.Count > before.Segments.Count {
		t.Errorf("%d segments, before %d", live.Segments.Count, before.Segments.Count)
	}
}
