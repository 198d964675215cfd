package pipeline_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"batcher/commit"
	"batcher/compact"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/source"
)

// dropper wires a drop over a store.
func (w *world) dropper(s object.Store) *compact.Drop {
	l := commit.New(commit.Options{Store: s, Pipeline: "events", Clock: w.clock, Logger: slog.New(slog.DiscardHandler)})
	return &compact.Drop{Log: l, Store: s, Tables: []string{"events", "events_dead"}, Logger: slog.New(slog.DiscardHandler)}
}

// dropWorld has a pipeline with rows, dead letters, state objects, and beside it what is
// not its own.
func dropWorld(t *testing.T) (*world, *memstore.Store) {
	w := newWorld(t)
	s := memstore.New()
	w.store = s
	for i := range 3 {
		w.drop(fmt.Sprintf("o%d.ndjson", i), lines(i*10, 10)+strings.Repeat("bad\n", 2))
		w.run()
	}
	for _, key := range []string{"events/readme.txt", "events_other/data/x", "_batcher/eventsx/format.json", "_batcher/_tables/others.json"} {
		if _, err := s.Put(t.Context(), key, []byte("foreign"), object.Always); err != nil {
			t.Fatal(err)
		}
	}
	return w, s
}

// onlyForeign wants nothing of the pipeline to be left, and all that is not its own.
func onlyForeign(t *testing.T, s *memstore.Store) {
	t.Helper()
	for key, body := range s.Objects() {
		if string(body) != "foreign" {
			t.Fatalf("%s is left", key)
		}
	}
	if n := len(s.Objects()); n != 4 {
		t.Fatalf("%d keys are left", n)
	}
}

// refounds runs the pipeline anew, and proves it.
func (w *world) refounds() {
	w.t.Helper()
	if rep := w.run(); rep.Rows.Written != 30 || rep.Rows.Dead != 6 {
		w.t.Errorf("refounded: %+v", rep.Rows)
	}
	if v := w.verify(); v.Source.Verified != 36 {
		w.t.Errorf("refounded: %+v", v)
	}
}

// TestADropDeletesWhatThePipelineOwns lists it first.
func TestADropDeletesWhatThePipelineOwns(t *testing.T) {
	w, s := dropWorld(t)
	before := len(s.Objects())
	listed, err := w.dropper(s).List(t.Context())
	if err != nil || listed.Objects != int64(before-4) || len(s.Objects()) != before {
		t.Fatalf("%+v, %v: %d of %d keys", listed, err, len(s.Objects()), before)
	}
	if _, err := w.dropper(s).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	onlyForeign(t, s)
	if _, err := w.dropper(s).Run(t.Context()); !errors.Is(err, commit.ErrNoChain) {
		t.Errorf("again: %v", err)
	}
	w.refounds()
}

// TestADropMayDieAtEveryCall leaves a pipeline that is known for half dropped, until it is
// dropped again. A writer that was slow may have overwritten the hint meanwhile.
func TestADropMayDieAtEveryCall(t *testing.T) {
	for _, fault := range []faultstore.Fault{faultstore.CrashBefore, faultstore.CrashAfter, faultstore.LoseAnswer} {
		for call := 1; ; call++ {
			w, s := dropWorld(t)
			hint := s.Objects()["_batcher/events/head.json"]
			faults := faultstore.New(s, faultstore.Script{{Call: call, Fault: fault}})
			_, err := w.dropper(faults).Run(t.Context())
			if len(faults.Calls()) < call {
				break
			}
			if err == nil { // a lost answer that nobody missed
				onlyForeign(t, s)
				continue
			}
			head, err := w.invoke(source.Shard{}).Log.Head(t.Context())
			switch {
			case err == nil: // nothing was done yet
				if v := w.verify(); head.Manifest.Seq != 3 || v.Source.Verified != 36 {
					t.Fatalf("%s at call %d: manifest %d, %+v", fault, call, head.Manifest.Seq, v)
				}
			case errors.Is(err, commit.ErrNoChain): // all was done
				onlyForeign(t, s)
				w.refounds()
				continue
			case !errors.Is(err, commit.ErrDropped):
				t.Fatalf("%s at call %d: %v", fault, call, err)
			default:
				if _, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{}); !errors.Is(err, commit.ErrDropped) {
					t.Fatalf("%s at call %d: a run: %v", fault, call, err)
				}
			}
			if call%2 == 0 && err != nil {
				if _, err := s.Put(t.Context(), "_batcher/events/head.json", hint, object.Always); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.dropper(s).Run(t.Context()); err != nil {
				t.Fatalf("%s at call %d, again: %v", fault, call, err)
			}
			onlyForeign(t, s)
			w.refounds()
		}
	}
}

// TestADropHasRivals runs the pipeline, or another drop, between any two calls of a drop:
// what runs commits before the end of the chain or not at all, and all is deleted.
func TestADropHasRivals(t *testing.T) {
	for _, second := range []bool{false, true} {
		committed, refused := 0, 0
		for call := 1; ; call++ {
			w, s := dropWorld(t)
			w.drop("late.ndjson", lines(100, 10))
			calls := 0
			between := onCall(s, func() {
				if calls++; calls != call {
					return
				}
				if second {
					if _, err := w.dropper(s).Run(t.Context()); err != nil {
						t.Fatalf("at call %d: the second drop: %v", call, err)
					}
					return
				}
				rep, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{})
				switch {
				case errors.Is(err, commit.ErrDropped):
					refused++
				case err != nil || rep.Rows.Written != 10:
					t.Fatalf("at call %d: %v, %+v", call, err, rep.Rows)
				default:
					committed++
				}
			})
			_, err := w.dropper(between).Run(t.Context())
			if calls < call {
				break
			}
			if err != nil && !errors.Is(err, commit.ErrNoChain) {
				t.Fatalf("at call %d: %v", call, err)
			}
			onlyForeign(t, s)
		}
		if !second && (committed == 0 || refused == 0) {
			t.Errorf("%d rivals committed, %d were refused", committed, refused)
		}
	}
}

// TestAWriterInFlightCannotCommitAfterTheEnd has a drop between any two calls of a run.
func TestAWriterInFlightCannotCommitAfterTheEnd(t *testing.T) {
	for call := 1; ; call++ {
		w, s := dropWorld(t)
		w.drop("late.ndjson", lines(100, 10))
		calls := 0
		var end error
		w.store = onCall(s, func() {
			if calls++; calls == call {
				d := w.dropper(s)
				head, err := d.Log.Head(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				out, err := d.Log.Append(t.Context(), commit.Proposal{Kind: manifest.Drop, Attempt: w.attempt(), Base: head, Config: head.Manifest.Config})
				if end = err; err == nil && out.Verdict != commit.Committed {
					t.Fatalf("at call %d: %+v", call, out.Decision)
				}
			}
		})
		rep, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{})
		w.store = s
		if calls < call {
			return
		}
		last, lastErr := w.dropper(s).Log.Last(t.Context())
		if end != nil || lastErr != nil || last.Manifest.Kind != manifest.Drop {
			t.Fatalf("at call %d: %v, %v", call, end, lastErr)
		}
		var superseded *commit.SupersededError
		if err == nil && rep.Batches != 1 || err != nil && !errors.As(err, &superseded) && !errors.Is(err, commit.ErrDropped) {
			t.Fatalf("at call %d: %d batches, %v", call, rep.Batches, err)
		}
		if _, err := w.dropper(s).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		onlyForeign(t, s)
	}
}
