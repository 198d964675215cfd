package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"batcher/batch"
	"batcher/column"
	"batcher/commit"
	"batcher/compact"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/pipeline"
	"batcher/source"
)

func (w *world) repair() *compact.Repair {
	p := w.invoke(source.Shard{})
	return &compact.Repair{Log: p.Log, Now: w.clock.Now, Logger: p.Logger}
}

// rows returns the hashes of all live rows of a table, sorted. The hash of a row
// leaves out columns that are null, so later columns do not matter.
func (w *world) rows(table string) []string {
	w.t.Helper()
	l := w.invoke(source.Shard{}).Log
	head, err := l.Head(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	live, err := l.LoadLive(w.t.Context(), head.Manifest.Tables[table].Live)
	if err != nil {
		w.t.Fatal(err)
	}
	want, err := l.LoadSchema(w.t.Context(), head.Manifest.Tables[table].Schema)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, f := range live {
		body, _, err := object.ReadAll(w.t.Context(), w.store, f.Key, object.GetOptions{}, 1<<30)
		if err != nil {
			w.t.Fatal(err)
		}
		r, err := datafile.Open(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			w.t.Fatal(err)
		}
		for b, err := range r.Blocks(want) {
			if err != nil {
				w.t.Fatal(err)
			}
			for rows := column.NewCursor(b); rows.Next(); {
				out = append(out, fmt.Sprintf("%x", rows.Hash()))
			}
		}
	}
	slices.Sort(out)
	return out
}

// evolving drops n objects whose columns and defects change from one to the next.
func (w *world) evolving(from, n int) {
	for i := from; i < from+n; i++ {
		w.drop(fmt.Sprintf("e%02d.ndjson", i), lines(i*10, 5)+
			fmt.Sprintf(`{"n":%d,"extra%02d":{"deep":[%d,null]},"late":%t}`+"\n", i, i, i, i%2 == 0)+
			"{broken\n"+fmt.Sprintf(`{"n":"no number %d"}`+"\n", i))
	}
}

// TestP15_RewindRestoresWhatStoodThenAndRunningOnEndsWithEveryRecordOnce rewinds
// over history with new columns, rescued values and dead letters.
func TestP15_RewindRestoresWhatStoodThenAndRunningOnEndsWithEveryRecordOnce(t *testing.T) {
	w := newWorld(t)
	w.budget, w.limits = batch.Budget{Ratio: 1}, batch.Limits{Objects: 1}
	w.evolving(0, 12)
	w.run()
	all := map[string][]string{"events": w.rows("events"), "events_dead": w.rows("events_dead")}

	fresh := newWorld(t)
	fresh.budget, fresh.limits = w.budget, w.limits
	fresh.evolving(0, 5)
	fresh.run()

	head, err := w.repair().Rewind(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	if head.Manifest.Generation != 1 || head.Manifest.Kind != manifest.Rewind {
		t.Fatalf("%+v", head.Manifest)
	}
	for _, table := range []string{"events", "events_dead"} {
		if got, want := w.rows(table), fresh.rows(table); !slices.Equal(got, want) {
			t.Errorf("%s after the rewind has %d rows, a fresh run to that point %d, or others", table, len(got), len(want))
		}
	}
	w.verify()
	rep := w.run()
	if rep.Objects.Read != 7 {
		t.Errorf("the run after the rewind read %d objects, want 7", rep.Objects.Read)
	}
	for table, want := range all {
		if got := w.rows(table); !slices.Equal(got, want) {
			t.Errorf("%s in the end has %d rows, without a rewind %d, or others", table, len(got), len(want))
		}
	}
	w.verify()
	if again := w.run(); again.Outcome != pipeline.Empty {
		t.Errorf("again: %+v", again)
	}
}

func TestAnAttemptFromBeforeARewindOrAFenceCannotCommit(t *testing.T) {
	for name, repair := range map[string]func(r *compact.Repair) error{
		"rewind": func(r *compact.Repair) error { _, err := r.Rewind(t.Context(), 1); return err },
		"fence":  func(r *compact.Repair) error { _, err := r.Fence(t.Context()); return err },
		"adopt":  func(r *compact.Repair) error { _, err := r.Adopt(t.Context()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.limits = batch.Limits{Objects: 1}
			w.drop("a", lines(0, 1))
			w.drop("b", lines(1, 1))
			w.run()
			w.drop("c", lines(2, 1))
			inner := w.store
			hooked := *w
			hooked.store = &beforeNextSlot{Store: inner, f: func() {
				if err := repair(w.repair()); err != nil {
					t.Error(err)
				}
			}}
			_, err := hooked.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{})
			var superseded *commit.SupersededError
			if !errors.As(err, &superseded) {
				t.Fatalf("got %v", err)
			}
			if rep := w.run(); rep.Rows.Written == 0 {
				t.Errorf("the run after it: %+v", rep)
			}
			w.verify()
		})
	}
}

func TestARewindToAnExpiredSnapshotIsRefused(t *testing.T) {
	w := newWorld(t)
	w.limits = batch.Limits{Objects: 1}
	for i := range 6 {
		w.drop(fmt.Sprintf("o%d", i), lines(i, 1))
	}
	w.run()
	p := w.invoke(source.Shard{})
	gc := compact.GC{Log: p.Log, Store: w.store, Now: w.clock.Now, Logger: p.Logger}
	if _, err := gc.Run(t.Context(), compact.GCOptions{Mode: compact.Confirm}); err != nil {
		t.Fatal(err)
	}
	head, err := w.repair().Expire(t.Context(), 0)
	if err != nil || head.Manifest.RetainFrom == 0 {
		t.Fatalf("%+v, %v", head.Manifest, err)
	}
	if _, err := w.repair().Rewind(t.Context(), 2); !errors.Is(err, commit.ErrExpired) {
		t.Errorf("got %v", err)
	}
	if rep, err := gc.Run(t.Context(), compact.GCOptions{Mode: compact.Confirm}); err != nil || rep.Garbage != 0 {
		t.Errorf("live files are garbage: %+v, %v", rep, err)
	}
	w.verify()
}

// TestGarbageAfterRewindAndExpireIsCollectedAndNothingElse rewinds, expires what
// was rewound over, collects, and proves the rest.
func TestGarbageAfterRewindAndExpireIsCollectedAndNothingElse(t *testing.T) {
	w := newWorld(t)
	w.limits = batch.Limits{Objects: 1}
	w.evolvingClean(20)
	w.run()
	if _, err := w.repair().Rewind(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	w.run()
	_ = w.clock.Sleep(t.Context(), 48*time.Hour)
	p := w.invoke(source.Shard{})
	gc := compact.GC{Log: p.Log, Store: w.store, Now: w.clock.Now, Logger: p.Logger}
	for _, step := range []func() error{
		func() error {
			_, err := gc.Run(t.Context(), compact.GCOptions{Mode: compact.Confirm, Keep: time.Hour})
			return err
		},
		func() error { _, err := w.repair().Expire(t.Context(), time.Hour); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	rep, err := gc.Run(t.Context(), compact.GCOptions{Mode: compact.Confirm, Keep: time.Hour, MaxShare: 1})
	if err != nil || rep.Deleted < 12 {
		t.Fatalf("%+v, %v: the files of 12 batches that were rewound over are garbage", rep, err)
	}
	if v := w.verify(); v.Source.Mismatch+v.Lost+v.Doubled != 0 {
		t.Errorf("%+v", v)
	}
	if n := len(w.rows("events")); n != 60 {
		t.Errorf("%d live rows, want 60", n)
	}
}

func (w *world) evolvingClean(n int) {
	for i := range n {
		w.drop(fmt.Sprintf("c%02d", i), lines(i*3, 3))
	}
}

// beforeNextSlot calls f before the next manifest is put.
type beforeNextSlot struct {
	object.Store
	f func()
}

func (b *beforeNextSlot) Put(ctx context.Context, key string, body []byte, c object.Condition) (object.Info, error) {
	if f := b.f; f != nil && strings.Contains(key, "/manifests/") {
		b.f = nil
		f()
	}
	return b.Store.Put(ctx, key, body, c)
}
