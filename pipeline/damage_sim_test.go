package pipeline_test

import (
	"context"
	"errors"
	"testing"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/pipeline"
)

// TestCrashPointsThatAreAlarms are the crash points of the commit protocol from
// which nothing recovers: a run stops and writes nothing on top of the damage.
func TestCrashPointsThatAreAlarms(t *testing.T) {
	for _, a := range []accident{
		{"store ignores the condition", conditionIgnored},
		{"manifest deleted by a human", manifestDeleted},
		{"bucket restored", bucketRestored},
		{"torn manifest", manifestTorn},
	} {
		t.Run(a.name, func(t *testing.T) {
			w := crashWorld(t, memstore.New())
			var receipts []acked
			a.do(t, w, &receipts)
		})
	}
}

// careless overwrites the first batch's slot once.
type careless struct {
	*beforeSlot
	done bool
}

// Put implements object.Store.
func (c *careless) Put(ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
	if key == (manifest.Layout{Pipeline: "events"}).Manifest(1) && !c.done {
		c.done, cond = true, object.Always
	}
	return c.beforeSlot.Put(ctx, key, body, cond)
}

func conditionIgnored(t *testing.T, w *world, receipts *[]acked) {
	rival, seen := *w, *w
	seen.store = &careless{beforeSlot: &beforeSlot{Store: w.store.(*memstore.Store), f: func() {
		if _, err := rival.invokeCrash(receipts).Run(t.Context(), pipeline.Options{}); err != nil {
			t.Error(err)
		}
	}}}
	_, err := seen.invokeCrash(receipts).Run(t.Context(), pipeline.Options{})
	if !errors.Is(err, commit.ErrDamaged) {
		t.Errorf("two chains in one place, and the run ends with %v", err)
	}
}

// alarmed proves that a run stops and writes nothing.
func (w *world) alarmed(receipts *[]acked) {
	w.t.Helper()
	faults, err := w.strike(pipelineStore, nil, receipts)
	if !errors.Is(err, commit.ErrDamaged) {
		w.t.Errorf("a damaged chain, and the run ends with %v", err)
	}
	for _, c := range faults.Calls() {
		if c.Op != faultstore.Get {
			w.t.Errorf("%s %s on top of the damage", c.Op, c.Key)
		}
	}
}

func manifestDeleted(t *testing.T, w *world, receipts *[]acked) {
	if _, err := w.invokeCrash(receipts).Run(t.Context(), pipeline.Options{MaxBatches: 3}); err != nil {
		t.Fatal(err)
	}
	middle := *w
	middle.store = w.store.(*memstore.Store).Clone()
	if err := middle.store.Delete(t.Context(), w.layout().Manifest(1)); err != nil {
		t.Fatal(err)
	}
	if len(middle.violations()) == 0 {
		t.Error("a manifest is gone and verify passes")
	}
	if err := w.store.Delete(t.Context(), w.layout().Manifest(3)); err != nil {
		t.Fatal(err)
	}
	w.alarmed(receipts)
}

// restored is a store whose content was put back to an earlier state.
type restored struct {
	object.Store
	object.Uploader
	earlier *memstore.Store
}

func bucketRestored(t *testing.T, w *world, receipts *[]acked) {
	if _, err := w.invokeCrash(receipts).Run(t.Context(), pipeline.Options{MaxBatches: 1}); err != nil {
		t.Fatal(err)
	}
	now := w.store.(*memstore.Store)
	seen := *w
	place := &restored{Store: now, Uploader: now, earlier: now.Clone()}
	seen.store = place
	p := seen.invokeCrash(receipts)
	p.Log.OnCommit(func(context.Context, commit.Receipt, manifest.Snapshot) error {
		place.Store, place.Uploader = place.earlier, place.earlier // while the run is alive
		return nil
	})
	if _, err := p.Run(t.Context(), pipeline.Options{}); !errors.Is(err, commit.ErrDamaged) {
		t.Errorf("the head was taken back, and the run ends with %v", err)
	}
	// A restore that left the hint alone is seen by everybody.
	hint, _, err := object.ReadAll(t.Context(), now, w.layout().Hint(), object.GetOptions{}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.earlier.Put(t.Context(), w.layout().Hint(), hint, object.Always); err != nil {
		t.Fatal(err)
	}
	w.store = place.earlier
	w.alarmed(receipts)
}

func manifestTorn(t *testing.T, w *world, receipts *[]acked) {
	if _, err := w.invokeCrash(receipts).Run(t.Context(), pipeline.Options{MaxBatches: 2}); err != nil {
		t.Fatal(err)
	}
	key := w.layout().Manifest(2)
	body, _, err := object.ReadAll(t.Context(), w.store, key, object.GetOptions{}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Put(t.Context(), key, body[:len(body)/2], object.Always); err != nil {
		t.Fatal(err)
	}
	w.alarmed(receipts)
}
