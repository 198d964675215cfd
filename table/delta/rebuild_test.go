package delta_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"batcher/commit"
	"batcher/localdev"
	"batcher/manifest"
	"batcher/object/filestore"
	"batcher/table/delta"
)

// rebuild publishes the main table anew.
func (l *lake) rebuild(head manifest.Snapshot) (manifest.Snapshot, error) {
	l.random.n++
	return l.projector(l.store).Rebuild(l.t.Context(), head, "events", manifest.Attempt{0xee, byte(l.random.n)})
}

// TestRebuild_AfterAStranger has delta-rs write into a table while the chain goes on:
// both readers then see the rows of the chain again, and no version was written over.
func TestRebuild_AfterAStranger(t *testing.T) {
	dir := t.TempDir()
	store, err := filestore.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	l := newLake(t, store)
	for i := range 6 {
		l.run(record(i))
		l.publish()
	}
	d, err := localdev.OpenDeltaReaders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "events")
	last, err := d.Disturb(t.Context(), folder, "n = 3")
	if err != nil || last != 8 {
		t.Fatalf("version %d, %v", last, err)
	}
	l.run(record(6))
	l.merge()
	for i := range 4 {
		l.run(record(7 + i)) // the chain's own count passes the stranger's
	}
	states, err := l.projector(l.store).Publish(t.Context(), l.head())
	var conflict *delta.ConflictError
	if !errors.As(err, &conflict) || conflict.Version != 6 || states[0].Projected != 5 || !strings.Contains(conflict.Engine, "delta-rs") {
		t.Fatalf("%+v, %v", states[0], err)
	}
	head, err := l.rebuild(l.head())
	if err != nil {
		t.Fatal(err)
	}
	if table := head.Manifest.Tables["events"]; table.Version != 9 || table.LastSeq != head.Manifest.Seq {
		t.Errorf("version %d of manifest %d", table.Version, table.LastSeq)
	}
	status, err := l.projector(l.store).Status(t.Context(), head)
	if err != nil || status[0].Conflict != nil || status[0].Lag() != 1 {
		t.Errorf("%+v, %v", status[0], err)
	}
	l.publish()
	rows := "SELECT _source, n, s FROM t ORDER BY n"
	both(t, folder, nil, l.parquet(dir, "events", l.head().Manifest, rows), rows)
	for i := range 12 {
		l.run(record(20 + i))
		l.publish()
	}
	both(t, folder, nil, l.parquet(dir, "events", l.head().Manifest, rows), rows)
	if again, err := l.rebuild(l.head()); err != nil || again.Manifest.Seq != l.head().Manifest.Seq {
		t.Errorf("without a conflict: manifest %d, %v", again.Manifest.Seq, err)
	}
	if last, err = d.Disturb(t.Context(), folder, "n = 3"); err != nil || last != 24 {
		t.Fatalf("version %d, %v", last, err)
	}
	if _, err := l.rebuild(l.head()); err != nil {
		t.Fatal(err)
	}
	if states := l.publish(); states[0].Projected != 25 {
		t.Errorf("%+v", states[0])
	}
	both(t, folder, nil, l.parquet(dir, "events", l.head().Manifest, rows), rows)
}

// TestRebuild_BesideRivals: files that came or went since the look at the log are
// accounted for, and of two rebuilds one stands.
func TestRebuild_BesideRivals(t *testing.T) {
	l, store := clone(story(t))
	l.publish()
	l.put(versionKey(15), `{"add":{"path":"data/stranger.parquet"}}`+"\n")
	head := l.head()
	l.run("late", `{"n":100}`+"\n")
	l.merge()
	if _, err := l.rebuild(head); err != nil {
		t.Fatal(err)
	}
	var superseded *commit.SupersededError
	if _, err := l.rebuild(head); !errors.As(err, &superseded) {
		t.Errorf("a second one: %v", err)
	}
	states := l.publish()
	if states[0].Projected != 16 || states[0].Lag() != 0 {
		t.Errorf("%+v", states[0])
	}
	live, err := l.log(l.store).LoadLive(t.Context(), l.head().Manifest.Tables["events"].Live)
	if err != nil {
		t.Fatal(err)
	}
	got := replayed(t, store, "events")
	for i := range live {
		if path := strings.TrimPrefix(live[i].Key, "events/"); !got[path] {
			t.Errorf("%s is live and not shown", path)
		}
	}
	if len(got) != len(live) {
		t.Errorf("%d files are shown, %d are live: %v", len(got), len(live), got)
	}
}

// TestRebuild_WhereNothingIsWrong changes nothing, also where versions wait.
func TestRebuild_WhereNothingIsWrong(t *testing.T) {
	l, store := clone(story(t))
	for range 2 {
		before := len(store.Objects())
		if head, err := l.rebuild(l.head()); err != nil || head.Manifest.Seq != l.head().Manifest.Seq || len(store.Objects()) != before {
			t.Errorf("manifest %d, %v", head.Manifest.Seq, err)
		}
		l.publish()
	}
}

// TestRebuild_WhatCannotBeUndone leaves everything as it is.
func TestRebuild_WhatCannotBeUndone(t *testing.T) {
	for name, body := range map[string]string{
		"a raised protocol":  `{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"]}}`,
		"writers are bound":  `{"protocol":{"minReaderVersion":1,"minWriterVersion":4}}`,
		"what is not a line": `{"add":`,
	} {
		l, store := clone(story(t))
		l.publish()
		l.put(versionKey(15), foreign+body+"\n")
		before := len(store.Objects())
		head, err := l.rebuild(l.head())
		var beyond *delta.BeyondError
		if !errors.As(err, &beyond) || beyond.Version != 15 || head.Manifest.Seq != l.head().Manifest.Seq || len(store.Objects()) != before {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRebuild_ManyFiles names so many files that they leave the manifest.
func TestRebuild_ManyFiles(t *testing.T) {
	l, store := clone(story(t))
	l.publish()
	var body strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&body, `{"add":{"path":"part-%05d-%%20.snappy.parquet"}}`+"\n", i)
	}
	l.put(versionKey(15), body.String())
	head, err := l.rebuild(l.head())
	if err != nil || head.Manifest.Republish.Foreign.Ref == nil {
		t.Fatal(err)
	}
	l.publish()
	live := l.head().Manifest.Tables["events"].Live.Files
	if got := replayed(t, store, "events"); int64(len(got)) != live {
		t.Errorf("%d files are shown, %d are live", len(got), live)
	}
}

// TestRebuild_OldHeadsWriteNothing: versions that were never projected, because their
// numbers were taken, stay unwritten, whoever still knows the chain of then.
func TestRebuild_OldHeadsWriteNothing(t *testing.T) {
	l, store := clone(story(t))
	early, err := l.log(l.store).Slot(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	knows := l.projector(l.store) // that version 4 was the last
	if _, err := knows.Publish(t.Context(), early); err != nil {
		t.Fatal(err)
	}
	l.put(versionKey(5), foreign)
	old := l.head()
	var conflict *delta.ConflictError
	if _, err := l.projector(l.store).Publish(t.Context(), old); !errors.As(err, &conflict) {
		t.Fatal(err)
	}
	if _, err := l.rebuild(old); err != nil {
		t.Fatal(err)
	}
	l.run(record(20))
	l.publish()
	want := deltaLog(store)
	if n := len(within(want, "events/", "events_dead/")); n != 8+1 { // versions 0 to 7, and the dead letters
		t.Fatalf("%d objects", n)
	}
	for name, p := range map[string]*delta.Projector{"new": l.projector(l.store), "that knows": knows} {
		for _, head := range []manifest.Snapshot{old, early} {
			if _, err := p.Publish(t.Context(), head); err != nil && !errors.As(err, &conflict) {
				t.Errorf("a projector %s: %v", name, err)
			}
			if got := deltaLog(store); !maps.Equal(got, want) {
				t.Fatalf("a projector %s wrote", name)
			}
		}
	}
	if states, err := knows.Publish(t.Context(), l.head()); err != nil || states[0].Projected != 7 {
		t.Errorf("%+v, %v", states, err)
	}
}
