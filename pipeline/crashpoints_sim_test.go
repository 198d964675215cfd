package pipeline_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"batcher/batch"
	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/record"
	"batcher/source"
)

// accident is a crash point of the commit protocol under its own name. do brings
// it about and proves what is special about it.
type accident struct {
	name string
	do   func(t *testing.T, w *world, receipts *[]acked)
}

// accidents are the crash points of a run and of gc from which a fresh run and a
// collection recover. Those that are alarms follow in a test of their own; a loss
// of power between link and fsync is tested in filestore.
var accidents = []accident{
	{"before genesis", struckOnce(manifestPut(1, faultstore.CrashBefore))},
	{"during upload", struckOnce(faultstore.Rule{Op: faultstore.Complete, Call: 2, Fault: faultstore.CrashBefore})},
	{"files complete, no manifest", filesComplete},
	{"manifest PUT never sent", struckOnce(manifestPut(2, faultstore.CrashBefore))},
	{"sent, process dead, lands later, slot free", landsLater},
	{"same, slot taken", landsOnATakenSlot},
	{"stored, answer lost, alive", answerLost},
	{"stored, dead", struckOnce(manifestPut(2, faultstore.CrashAfter))},
	{"hint not written", hintNotWritten},
	{"hint of an older writer lands last", oldHintLandsLast},
	{"committed, source not acknowledged", notAcknowledged},
	{"lost race before clean-up", lostRace},
	{"paused any length then rebase", pausedThenRebase},
	{"paused then first PUT", pausedThenPut},
	{"gc dies before floor, with ambiguous floor, mid-delete", gcDies},
	{"gc paused across a rewind", gcAcrossRewind},
	{"stale attempt across a rewind", staleAttempt},
	{"late data PUT after gc", lateData},
	{"segment written, unreferenced", segmentUnreferenced},
	{"budget spent while ambiguous", budgetSpent},
}

func TestCrashPoints(t *testing.T) {
	for _, a := range accidents {
		t.Run(a.name, func(t *testing.T) {
			w := crashWorld(t, memstore.New())
			var receipts []acked
			a.do(t, w, &receipts)
			w.recover(&receipts)
			w.prove(receipts, crashRecords)
		})
	}
}

func (w *world) layout() manifest.Layout { return manifest.Layout{Pipeline: "events"} }

// manifestPut is a fault of the nth PUT of a manifest; the first is the genesis.
func manifestPut(n int, f faultstore.Fault) faultstore.Rule {
	return faultstore.Rule{Op: faultstore.Put, Prefix: manifest.Layout{Pipeline: "events"}.Manifests(), Call: n, Fault: f}
}

// struckOnce is a run that one rule ends.
func struckOnce(rule faultstore.Rule) func(*testing.T, *world, *[]acked) {
	return func(t *testing.T, w *world, receipts *[]acked) {
		if _, err := w.strike(pipelineStore, faultstore.Script{rule}, receipts); err == nil {
			t.Error("the run outlived it")
		}
	}
}

// filesComplete crashes just before the call that puts the first batch's manifest.
func filesComplete(t *testing.T, w *world, receipts *[]acked) {
	puts := 0
	for i, c := range callsOf(t, pipelineStore) {
		if c.Op == faultstore.Put && strings.HasPrefix(c.Key, w.layout().Manifests()) {
			if puts++; puts == 2 {
				struckOnce(faultstore.Rule{Call: i, Fault: faultstore.CrashAfter})(t, w, receipts)
				return
			}
		}
	}
	t.Fatal("a run without a batch")
}

// sentAndDead is a manifest on its way while its sender dies.
func sentAndDead(t *testing.T, w *world, receipts *[]acked) *faultstore.Store {
	faults, err := w.strike(pipelineStore, faultstore.Script{manifestPut(2, faultstore.LandLate), manifestPut(3, faultstore.CrashBefore)}, receipts)
	if err == nil || len(*receipts) != 0 {
		t.Errorf("acknowledged %v, %v", *receipts, err)
	}
	return faults
}

func landsLater(t *testing.T, w *world, receipts *[]acked) {
	if landed := sentAndDead(t, w, receipts).Release(context.Background()); len(landed) != 1 || landed[0] != nil {
		t.Errorf("landed: %v", landed)
	}
}

func landsOnATakenSlot(t *testing.T, w *world, receipts *[]acked) {
	late := sentAndDead(t, w, receipts)
	w.recover(receipts)
	if landed := late.Release(context.Background()); len(landed) != 1 || !errors.Is(landed[0], object.ErrExists) {
		t.Errorf("landed: %v", landed)
	}
}

func answerLost(t *testing.T, w *world, receipts *[]acked) {
	if _, err := w.strike(pipelineStore, faultstore.Script{manifestPut(2, faultstore.LoseAnswer)}, receipts); err != nil || len(*receipts) == 0 || (*receipts)[0].seq != 1 {
		t.Errorf("acknowledged %v, %v", *receipts, err)
	}
}

func hintNotWritten(t *testing.T, w *world, receipts *[]acked) {
	rule := faultstore.Rule{Op: faultstore.Put, Prefix: w.layout().Hint(), Times: -1, Fault: faultstore.Unavailable}
	if _, err := w.strike(pipelineStore, faultstore.Script{rule}, receipts); err != nil {
		t.Error(err)
	}
	if _, ok := list(t, w.store)[w.layout().Hint()]; ok {
		t.Error("the hint was written")
	}
}

func oldHintLandsLast(t *testing.T, w *world, receipts *[]acked) {
	rule := faultstore.Rule{Op: faultstore.Put, Prefix: w.layout().Hint(), Fault: faultstore.LandLate}
	faults, err := w.strike(pipelineStore, faultstore.Script{rule}, receipts)
	if err != nil {
		t.Error(err)
	}
	faults.Release(context.Background())
	body, _, err := object.ReadAll(t.Context(), w.store, w.layout().Hint(), object.GetOptions{}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if hint, err := manifest.DecodeHint(body); err != nil || hint.Seq != 1 {
		t.Errorf("the hint is %+v, %v", hint, err)
	}
}

func notAcknowledged(t *testing.T, w *world, receipts *[]acked) {
	p := w.invokeCrash(receipts)
	p.Log.OnCommit(func(context.Context, commit.Receipt, manifest.Snapshot) error {
		return errors.New("the source does not answer")
	})
	if rep, err := p.Run(t.Context(), pipeline.Options{}); err != nil || rep.Batches == 0 {
		t.Errorf("%+v, %v", rep, err)
	}
}

// pause makes a run, and f while the run is about to put its first batch.
func (w *world) pause(receipts *[]acked, script faultstore.Script, f func(rival *world)) ([]faultstore.Call, error) {
	rival, seen := *w, *w
	hook := &beforeSlot{Store: w.store.(*memstore.Store), f: func() { f(&rival) }}
	faults := faultstore.New(hook, script)
	seen.store = faults
	_, err := seen.invokeCrash(receipts).Run(w.t.Context(), pipeline.Options{})
	return faults.Calls(), err
}

func lostRace(t *testing.T, w *world, receipts *[]acked) {
	calls, _ := w.pause(receipts, faultstore.Script{{Op: faultstore.Delete, Fault: faultstore.CrashBefore}}, func(rival *world) {
		if _, err := rival.invokeCrash(receipts).Run(t.Context(), pipeline.Options{}); err != nil {
			t.Error(err)
		}
	})
	if last := calls[len(calls)-1]; last.Op != faultstore.Delete {
		t.Errorf("it went on after its clean-up began: %+v", last)
	}
}

func pausedThenRebase(t *testing.T, w *world, receipts *[]acked) {
	_, err := w.pause(receipts, nil, func(rival *world) {
		p := rival.invoke(source.Shard{})
		head, err := p.Log.Head(t.Context())
		for range 40 {
			if err != nil {
				t.Fatal(err)
			}
			var out commit.Outcome
			out, err = p.Log.Append(t.Context(), commit.Proposal{Kind: manifest.Floor, Attempt: w.attempt(), Base: head, Config: head.Manifest.Config})
			head = out.Head
		}
	})
	if err != nil || len(*receipts) == 0 || (*receipts)[0].seq != 41 {
		t.Errorf("acknowledged %v, %v", *receipts, err)
	}
}

func pausedThenPut(t *testing.T, w *world, receipts *[]acked) {
	_, err := w.pause(receipts, nil, func(rival *world) {
		rival.recover(receipts)
	})
	var superseded *commit.SupersededError
	if !errors.As(err, &superseded) {
		t.Errorf("an attempt below the floor ended with %v", err)
	}
}

func gcDies(t *testing.T, w *world, receipts *[]acked) {
	littered, earlier := litteredWorld(t)
	*w, *receipts = *littered, earlier
	w.t = t
	for _, rule := range []faultstore.Rule{
		manifestPut(1, faultstore.CrashBefore),
		manifestPut(1, faultstore.CrashAfter),
		{Op: faultstore.Delete, Call: 2, Fault: faultstore.CrashBefore},
	} {
		if _, err := w.collect(faultstore.New(w.store, faultstore.Script{rule})); err == nil {
			t.Errorf("gc outlived %v", rule)
		}
	}
}

func gcAcrossRewind(t *testing.T, w *world, receipts *[]acked) {
	littered, earlier := litteredWorld(t)
	*w, *receipts = *littered, earlier
	w.t = t
	if _, err := w.invokeCrash(receipts).Run(t.Context(), pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	hook := &deleteHook{Store: w.store.(*memstore.Store), f: func() {
		once.Do(func() {
			if _, err := w.repairOn(w.store).Rewind(t.Context(), 2); err != nil {
				t.Error(err)
			}
		})
	}}
	if rep, err := w.collect(hook); err != nil || rep.Deleted == 0 {
		t.Errorf("gc: %+v, %v", rep, err)
	}
}

func staleAttempt(t *testing.T, w *world, receipts *[]acked) {
	if _, err := w.invokeCrash(receipts).Run(t.Context(), pipeline.Options{MaxBatches: 2}); err != nil {
		t.Fatal(err)
	}
	_, err := w.pause(receipts, nil, func(rival *world) {
		if _, err := rival.repairOn(rival.store).Rewind(t.Context(), 1); err != nil {
			t.Error(err)
		}
	})
	var superseded *commit.SupersededError
	if !errors.As(err, &superseded) {
		t.Errorf("an attempt of an older generation ended with %v", err)
	}
}

func lateData(t *testing.T, w *world, receipts *[]acked) {
	faults, err := w.strike(pipelineStore, faultstore.Script{{Op: faultstore.Complete, Fault: faultstore.LandLate}}, receipts)
	if err == nil {
		t.Error("a file whose fate is unknown was committed")
	}
	w.recover(receipts)
	faults.Release(context.Background())
}

// segmentUnreferenced needs a batch whose lists do not fit into a manifest.
func segmentUnreferenced(t *testing.T, w *world, receipts *[]acked) {
	w.limits, w.input = batch.Limits{}, memstore.New()
	w.drop("long", lines(0, crashRecords))
	many := func() *pipeline.Pipeline {
		p := w.invokeCrash(receipts)
		p.Record, p.FileBytes = record.Limits{BlockRows: 1}, 1
		return p
	}
	inner := w.store
	w.store = faultstore.New(inner, faultstore.Script{{Op: faultstore.Put, Prefix: w.layout().States(), Fault: faultstore.CrashAfter}})
	if _, err := many().Run(t.Context(), pipeline.Options{}); err == nil {
		t.Error("no segment was written")
	}
	w.store = inner
	if _, err := many().Run(t.Context(), pipeline.Options{}); err != nil {
		t.Error(err)
	}
}

func budgetSpent(t *testing.T, w *world, receipts *[]acked) {
	rule := manifestPut(2, faultstore.LandLate)
	rule.Times = -1
	faults, err := w.strike(pipelineStore, faultstore.Script{rule}, receipts)
	if !errors.Is(err, commit.ErrUnresolved) || len(*receipts) != 0 {
		t.Errorf("acknowledged %v, %v", *receipts, err)
	}
	faults.Release(context.Background())
}
