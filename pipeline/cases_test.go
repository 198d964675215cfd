package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"batcher/batch"
	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/source"
)

// The rows of the list of failures that peers were seen to have, each with the
// behaviour that batcher shows instead. Rows with a test elsewhere are named in
// docs/RELIABILITY.md.

const slots = "_batcher/events/manifests/"

// under returns the world over a store with faults.
func (w *world) under(script faultstore.Script) (*world, *faultstore.Store) {
	f := faultstore.New(w.store, script)
	faulty := *w
	faulty.store = f
	return &faulty, f
}

// TestP3_P4_AnUnknownOutcomeDeletesNothingAndTheNextRunFindsTheBatch loses every
// answer to the commit until the run gives up. The manifest is there; its files
// must be, too.
func TestP3_P4_AnUnknownOutcomeDeletesNothingAndTheNextRunFindsTheBatch(t *testing.T) {
	w := newWorld(t)
	w.drop("a", lines(0, 10))
	if _, err := w.invoke(source.Shard{}).Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	faulty, store := w.under(faultstore.Script{
		{Op: faultstore.Put, Prefix: slots + "00000000000000000001", Times: 1, Fault: faultstore.LoseAnswer},
		{Op: faultstore.Put, Prefix: slots, Times: -1, Fault: faultstore.Unavailable},
		{Op: faultstore.Get, Prefix: slots + "00000000000000000001", Call: 2, Times: -1, Fault: faultstore.Unavailable},
	})
	rep, err := faulty.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{})
	if !errors.Is(err, commit.ErrUnresolved) {
		t.Fatalf("%+v, %v", rep, err)
	}
	for _, c := range store.Calls() {
		if c.Op == faultstore.Delete {
			t.Errorf("deleted %s on an unknown outcome", c.Key)
		}
	}
	if again := w.run(); again.Outcome != pipeline.Empty {
		t.Errorf("the next run: %+v", again)
	}
	if v := w.verify(); v.Source.Verified != 10 {
		t.Errorf("%+v", v)
	}
}

// TestP5_AStormOfConflictsIsNoOutcome answers 409 a few times.
func TestP5_AStormOfConflictsIsNoOutcome(t *testing.T) {
	w := newWorld(t)
	w.drop("a", lines(0, 3))
	faulty, _ := w.under(faultstore.Script{{Op: faultstore.Put, Prefix: slots, Times: 5, Fault: faultstore.Conflict}})
	if rep, err := faulty.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{}); err != nil || rep.Outcome != pipeline.Committed {
		t.Fatalf("%+v, %v", rep, err)
	}
	w.verify()
}

// TestP7_P8_ACommitThatLandsAfterItsSenderDiedIsFoundOrLoses lets the PUT of a
// dead run land before and after its successor committed the same objects.
func TestP7_P8_ACommitThatLandsAfterItsSenderDiedIsFoundOrLoses(t *testing.T) {
	for _, order := range []string{"lands first", "lands last"} {
		t.Run(order, func(t *testing.T) {
			w := newWorld(t)
			w.drop("a", lines(0, 3))
			if _, err := w.invoke(source.Shard{}).Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			faulty, store := w.under(faultstore.Script{
				{Op: faultstore.Put, Prefix: slots, Call: 1, Fault: faultstore.LandLate},
				{Op: faultstore.Put, Prefix: slots, Call: 2, Fault: faultstore.CrashBefore},
			})
			if _, err := faulty.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{}); err == nil {
				t.Fatal("the dying run succeeded")
			}
			want := pipeline.Committed
			if order == "lands first" {
				store.Release(t.Context())
				want = pipeline.Empty
			}
			if rep := w.run(); rep.Outcome != want {
				t.Errorf("the successor: %+v", rep)
			}
			store.Release(t.Context())
			if v := w.verify(); v.Source.Verified != 3 || v.Batches != 1 {
				t.Errorf("%+v", v)
			}
		})
	}
}

// TestP12_AZombieThatWakesLateLeavesOnlyAnOrphan pauses a run before it writes
// its data file, and lets the file land long after a successor committed.
func TestP12_AZombieThatWakesLateLeavesOnlyAnOrphan(t *testing.T) {
	w := newWorld(t)
	w.drop("a", lines(0, 3))
	w.drop("b", lines(3, 3))
	if _, err := w.invoke(source.Shard{}).Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	mem := w.store.(*memstore.Store)
	inner := *w
	zombie := *w
	zombie.store = &beforeNextSlot{Store: mem, f: func() { // its data is written; somebody else commits first
		if rep := inner.run(); rep.Rows.Written != 6 {
			t.Errorf("%+v", rep)
		}
	}}
	rep, err := zombie.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{})
	if err != nil || rep.Outcome != pipeline.Already {
		t.Fatalf("%+v, %v", rep, err)
	}
	if v := w.verify(); v.Rows != 6 {
		t.Errorf("%+v", v)
	}
	keys := map[string]int{}
	for _, k := range mem.Keys() {
		if strings.HasPrefix(k, "events/data/") {
			keys[k] = len(mem.History(k))
		}
	}
	for k, versions := range keys {
		if versions > 2 || versions == 2 && mem.History(k)[1] != nil {
			t.Errorf("%s was written %d times", k, versions)
		}
	}
}

// TestP13_P14_ARetryCutsBatchesElsewhereAndIDsStay reads the same source with
// other bounds and at another time: the rows are the same.
func TestP13_P14_ARetryCutsBatchesElsewhereAndIDsStay(t *testing.T) {
	var want []string
	for i, limits := range []batch.Limits{{}, {Objects: 1}, {Records: 4}, {Bytes: 100}, {Records: 7, Objects: 2}} {
		w := newWorld(t)
		w.limits = limits
		w.clock.now = w.clock.now.AddDate(i, 0, 0)
		for o := range 6 {
			w.drop(fmt.Sprintf("o%d", o), lines(o*10, 10))
		}
		w.run()
		got := w.rows("events")
		if i == 0 {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("limits %+v give other rows or ids", limits)
		}
	}
}

// TestP17_P18_WithoutTheHintNothingIsReadAgain loses the only object that is not
// part of the chain, and replays an old range.
func TestP17_P18_WithoutTheHintNothingIsReadAgain(t *testing.T) {
	w := newWorld(t)
	w.limits = batch.Limits{Objects: 1}
	w.drop("a", lines(0, 2))
	w.drop("b", lines(2, 2))
	w.run()
	l := w.invoke(source.Shard{}).Log
	if err := w.store.Delete(t.Context(), l.Layout().Hint()); err != nil {
		t.Fatal(err)
	}
	if rep := w.run(); rep.Outcome != pipeline.Empty {
		t.Errorf("%+v", rep)
	}
	old, err := l.Slot(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{Ranges: old.Manifest.Batch.Ranges.Items})
	if err != nil || rep.Outcome != pipeline.Already {
		t.Errorf("an older batch: %+v, %v", rep, err)
	}
	w.verify()
}

// TestP32_AProcessThatDiesLeavesNothingThatBlocks kills a run at its commit and
// finds no trace of it in what the next one does.
func TestP32_AProcessThatDiesLeavesNothingThatBlocks(t *testing.T) {
	w := newWorld(t)
	w.drop("a", lines(0, 2))
	faulty, _ := w.under(faultstore.Script{{Op: faultstore.Put, Prefix: slots + "00000000000000000001", Fault: faultstore.CrashBefore}})
	if _, err := faulty.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{}); err == nil {
		t.Fatal("the dying run succeeded")
	}
	if rep := w.run(); rep.Outcome != pipeline.Committed || rep.Rows.Written != 2 {
		t.Errorf("%+v", rep)
	}
	w.verify()
}

// TestP33_NothingIsAcknowledgedBeforeTheCommit holds that hooks run only with a
// receipt, and not after a commit that failed.
func TestP33_NothingIsAcknowledgedBeforeTheCommit(t *testing.T) {
	w := newWorld(t)
	w.drop("a", lines(0, 2))
	acknowledged := 0
	hook := func(_ context.Context, r commit.Receipt, head manifest.Snapshot) error {
		acknowledged++
		if r.Seq() != head.Manifest.Seq {
			t.Errorf("receipt of %d with head %d", r.Seq(), head.Manifest.Seq)
		}
		return errors.New("acknowledging failed")
	}
	faulty, _ := w.under(faultstore.Script{{Op: faultstore.Put, Prefix: slots + "00000000000000000001", Fault: faultstore.Deny}})
	p := faulty.invoke(source.Shard{})
	p.Log.OnCommit(hook)
	_, err := p.Run(t.Context(), pipeline.Options{})
	if !errors.Is(err, object.ErrDenied) || acknowledged != 0 {
		t.Fatalf("%d acknowledged, %v", acknowledged, err)
	}
	if !strings.Contains(err.Error(), "not committed") { // P37
		t.Errorf("P37: the error does not say whether the batch is committed: %v", err)
	}
	p = w.invoke(source.Shard{})
	p.Log.OnCommit(hook)
	if rep, err := p.Run(t.Context(), pipeline.Options{}); err != nil || rep.Batches != 1 || acknowledged != 1 {
		t.Errorf("%+v, %v, %d acknowledged", rep, err, acknowledged)
	}
}

// TestP42_P43_ReadersSeeCommittedFilesOnly leaves the files of a dead run behind.
func TestP42_P43_ReadersSeeCommittedFilesOnly(t *testing.T) {
	w := newWorld(t)
	w.drop("a", lines(0, 2))
	faulty, _ := w.under(faultstore.Script{{Op: faultstore.Put, Prefix: slots + "00000000000000000001", Fault: faultstore.CrashBefore}})
	_, _ = faulty.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{})
	w.run()
	found := 0
	for key := range list(t, w.store) {
		if strings.HasPrefix(key, "events/data/") {
			found++
		}
	}
	if n := len(w.rows("events")); found != 2 || n != 2 {
		t.Errorf("%d files in the table's folder, %d live rows: want 2 files, of which one is live with 2 rows", found, n)
	}
}

// TestADeadlineNeverCutsAnExplicitRange gives explicit ranges less time than
// their batch takes: they are one batch, whole or not at all.
func TestADeadlineNeverCutsAnExplicitRange(t *testing.T) {
	w := newWorld(t)
	var ranges []source.Range
	for i := range 5 {
		w.drop(fmt.Sprintf("o%d", i), lines(i, 1))
	}
	for _, info := range list(t, w.input) {
		ranges = append(ranges, source.Range{Key: info.Key, ETag: info.ETag, Size: info.Size, Modified: info.Modified, To: source.Position(info.Size), Last: true})
	}
	if _, err := w.invoke(source.Shard{}).Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	rep, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{Ranges: ranges, Deadline: w.clock.Now()})
	if err != nil || rep.Rows.Written != 5 {
		t.Errorf("%+v, %v", rep, err)
	}
	w.verify()
}
