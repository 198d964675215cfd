package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"batcher/compact"
	"batcher/localdev"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/source"
)

// verb is what people do to a pipeline besides running it.
type verb struct {
	name string
	do   func(w *world, store object.Store) error
}

var verbs = []verb{
	{"gc", func(w *world, store object.Store) error {
		_, err := w.collect(store)
		return err
	}},
	{"fence", func(w *world, store object.Store) error {
		_, err := w.repairOn(store).Fence(w.t.Context())
		return err
	}},
	{"rewind", func(w *world, store object.Store) error {
		_, err := w.repairOn(store).Rewind(w.t.Context(), 2)
		return err
	}},
	{"expire", func(w *world, store object.Store) error {
		_, err := w.repairOn(store).Expire(w.t.Context(), 0)
		return err
	}},
}

// repairOn is the repair of a process that sees another store.
func (w *world) repairOn(store object.Store) *compact.Repair {
	seen := *w
	seen.store = store
	p := seen.invoke(source.Shard{})
	return &compact.Repair{Log: p.Log, Now: w.clock.Now, Logger: p.Logger}
}

func TestEveryCallOfEveryVerbMayFailInEveryWay(t *testing.T) {
	for _, v := range verbs {
		t.Run(v.name, func(t *testing.T) {
			littered, receipts := litteredWorld(t)
			plain := faultstore.New(littered.store.(*memstore.Store).Clone(), nil)
			before := len(list(t, plain))
			if err := v.do(littered, plain); err != nil || len(list(t, plain)) == before {
				t.Fatalf("it changed nothing: %v", err)
			}
			points, calls := localdev.OneIn(7), plain.Calls()
			for i, call := range calls {
				for _, c := range casesAt(i+1, call.Op) {
					if points.Take() {
						c.tryVerb(t, v, littered, slices.Clone(receipts))
					}
				}
			}
			t.Logf("%d calls, %v crash points", len(calls), points)
			localdev.Figure("crash points of "+v.name, fmt.Sprintf("%v (%d calls)", points, len(calls)))
		})
	}
}

// tryVerb lets a verb meet the fault on a copy of a world.
func (c crashCase) tryVerb(t *testing.T, v verb, littered *world, receipts []acked) {
	t.Helper()
	w := *littered
	w.t, w.store = t, littered.store.(*memstore.Store).Clone()
	faults := faultstore.New(w.store, faultstore.Script{c.rule})
	verbErr := v.do(&w, faults)
	if c.release == beforeRecovery {
		faults.Release(context.Background())
	}
	w.recover(&receipts)
	if c.release == afterCollection {
		faults.Release(context.Background())
		w.recover(&receipts)
	}
	w.prove(receipts, crashRecords)
	if t.Failed() {
		t.Fatalf("%s under %v said %v", v.name, c, verbErr)
	}
}

// litteredWorld is a crash world with a floor and a few batches, in which
// attempts died after they wrote files, and in which part of the source waits.
func litteredWorld(t *testing.T) (*world, []acked) {
	t.Helper()
	w := crashWorld(t, memstore.New())
	var receipts []acked
	inner := w.store
	for _, manifests := range []int{2, 2, 1} { // the genesis is the first
		w.store = faultstore.New(inner, faultstore.Script{{
			Op: faultstore.Put, Prefix: w.invoke(source.Shard{}).Log.Layout().Manifests(), Call: manifests, Fault: faultstore.CrashBefore,
		}})
		if _, err := w.invokeCrash(&receipts).Run(t.Context(), pipeline.Options{}); err == nil {
			t.Fatal("the run outlived its crash")
		}
		w.store = inner
		if manifests == 2 {
			if _, err := w.collect(inner); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := w.invokeCrash(&receipts).Run(t.Context(), pipeline.Options{MaxBatches: 1}); err != nil {
		t.Fatal(err)
	}
	return w, receipts
}
