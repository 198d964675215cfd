package pipeline_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"batcher/audit"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/source"
	"batcher/source/files"
)

// moveWorld has consumed twenty objects at mem://in, and returns the store that has their
// copies, in another order of time and so under other ETags.
func moveWorld(t *testing.T) (*world, *memstore.Store) {
	w := newWorld(t)
	w.limits.Objects = 8
	for i := range 20 {
		w.drop(fmt.Sprintf("o%02d.ndjson", i), lines(i*3, 3))
	}
	w.run()
	to := memstore.New(memstore.WithClock(func() time.Time { return time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC) }))
	for key, body := range w.input.Objects() {
		if _, err := to.Put(t.Context(), key, body, object.Always); err != nil {
			t.Fatal(err)
		}
	}
	return w, to
}

// at makes an invocation that reads the source at another place.
func (w *world) at(input object.Store, location string) *pipeline.Pipeline {
	w.t.Helper()
	p := w.invoke(source.Shard{})
	src, err := files.New(input, files.Config{Location: location, OnChange: w.change})
	if err != nil {
		w.t.Fatal(err)
	}
	p.Source, p.Input, p.Set = src, input, src.NewSet(p.Log)
	p.Config.Source, p.Config.Hash = location, location
	return p
}

// provesAt verifies the source at a place.
func (w *world) provesAt(input object.Store, location string) audit.Report {
	w.t.Helper()
	p := w.at(input, location)
	v := audit.Verifier{Log: p.Log, Store: w.store, Source: p.Source, Set: p.Set, Rules: p.Rules, Table: "events", Dead: "events_dead", Logger: slog.New(slog.DiscardHandler)}
	rep, err := v.Verify(w.t.Context(), audit.Options{Checks: audit.CheckRows | audit.CheckSource})
	if err != nil || len(rep.Violations) > 0 {
		w.t.Fatalf("%+v, %v", rep.Violations, err)
	}
	return rep
}

// TestASourceThatMovedIsKnownAgain reads nothing twice, whatever on_change says, and what
// is new and changed as ever.
func TestASourceThatMovedIsKnownAgain(t *testing.T) {
	for _, policy := range []files.OnChange{files.SkipChanged, files.AppendChanged, files.ReplaceChanged} {
		w, to := moveWorld(t)
		w.change = policy
		put := func(key, body string) {
			if _, err := to.Put(t.Context(), key, []byte(body), object.Always); err != nil {
				t.Fatal(err)
			}
		}
		put("new.ndjson", lines(100, 3))
		put("o03.ndjson", lines(200, 4))
		if err := to.Delete(t.Context(), "o04.ndjson"); err != nil {
			t.Fatal(err)
		}
		p := w.at(to, "mem://out")
		var mismatch *manifest.MismatchError
		if _, err := p.Run(t.Context(), pipeline.Options{}); !errors.As(err, &mismatch) {
			t.Fatalf("before it is taken over: %v", err)
		}
		want := pipeline.Moved{From: "mem://in", To: "mem://out", Same: 18, Changed: 1, New: 1, Missing: 1}
		got, err := p.Look(t.Context())
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%+v, %v", got, err)
		}
		if got, err = w.at(to, "mem://out").Move(t.Context()); err != nil || got.Seq != 4 || got.Same != 18 {
			t.Fatalf("%+v, %v", got, err)
		}
		rep, err := w.at(to, "mem://out").Run(t.Context(), pipeline.Options{})
		rows := int64(3)
		if policy != files.SkipChanged {
			rows += 4
		}
		if err != nil || rep.Rows.Written != rows || rep.Objects.Changed != 1 {
			t.Fatalf("%s: %+v, %v", policy, rep.Rows, err)
		}
		if again, err := w.at(to, "mem://out").Run(t.Context(), pipeline.Options{}); err != nil || again.Outcome != pipeline.Empty {
			t.Fatalf("%s, again: %s, %v", policy, again.Outcome, err)
		}
		if _, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{}); !errors.As(err, &mismatch) {
			t.Fatalf("%s, at the place from before: %v", policy, err)
		}
		w.provesAt(to, "mem://out")
		var no *pipeline.MovedError
		if _, err := w.at(to, "mem://out").Move(t.Context()); !errors.As(err, &no) {
			t.Fatalf("%s: taken over twice: %v", policy, err)
		}
	}
}

// TestASourceThatIsAnotherIsNotTakenOver has other keys, other contents, or an object that
// is consumed in part.
func TestASourceThatIsAnotherIsNotTakenOver(t *testing.T) {
	for name, change := range map[string]func(w *world, to *memstore.Store){
		"nothing there": func(_ *world, to *memstore.Store) {
			for key := range to.Objects() {
				_ = to.Delete(t.Context(), key)
			}
		},
		"other keys": func(_ *world, to *memstore.Store) {
			for key, body := range to.Objects() {
				_ = to.Delete(t.Context(), key)
				_, _ = to.Put(t.Context(), "sub/"+key, body, object.Always)
			}
		},
		"one renamed": func(_ *world, to *memstore.Store) {
			body := to.Objects()["o07.ndjson"]
			_ = to.Delete(t.Context(), "o07.ndjson")
			_, _ = to.Put(t.Context(), "renamed.ndjson", body, object.Always)
		},
		"read in part": func(w *world, _ *memstore.Store) {
			w.limits.Records = 10
			w.drop("big.ndjson", lines(500, 95))
			if _, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{MaxBatches: 2}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		w, to := moveWorld(t)
		change(w, to)
		before, err := w.invoke(source.Shard{}).Log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var no *pipeline.MovedError
		if got, err := w.at(to, "mem://out").Move(t.Context()); !errors.As(err, &no) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if now, err := w.invoke(source.Shard{}).Log.Head(t.Context()); err != nil || now.SHA256 != before.SHA256 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTakingOverMayDieAtEveryCallAndHasRivals has it crash, and has a run at the place
// from before between any two calls: that commits before it or not at all.
func TestTakingOverMayDieAtEveryCallAndHasRivals(t *testing.T) {
	for _, fault := range []faultstore.Fault{0, faultstore.CrashBefore, faultstore.CrashAfter, faultstore.LoseAnswer} {
		for call := 1; ; call++ {
			w, to := moveWorld(t)
			plain, calls := w.store, 0
			if fault == 0 {
				w.drop("late.ndjson", lines(300, 3))
				_, _ = to.Put(t.Context(), "late.ndjson", []byte(lines(300, 3)), object.Always)
				v := *w
				w.store = onCall(plain, func() {
					if calls++; calls != call {
						return
					}
					var mismatch *manifest.MismatchError
					if _, err := v.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{}); err != nil && !errors.As(err, &mismatch) {
						t.Fatalf("at call %d: %v", call, err)
					}
				})
			} else {
				faults := faultstore.New(plain, faultstore.Script{{Call: call, Fault: fault}})
				w.store = faults
				_, _ = w.at(to, "mem://out").Move(t.Context())
				calls = len(faults.Calls())
				w.store = plain
			}
			if fault == 0 {
				if _, err := w.at(to, "mem://out").Move(t.Context()); err != nil {
					t.Fatalf("at call %d: %v", call, err)
				}
				w.store = plain
			}
			if calls < call {
				break
			}
			var no *pipeline.MovedError
			if _, err := w.at(to, "mem://out").Move(t.Context()); err != nil && !errors.As(err, &no) {
				t.Fatalf("%s at call %d, again: %v", fault, call, err)
			}
			if _, err := w.at(to, "mem://out").Run(t.Context(), pipeline.Options{}); err != nil {
				t.Fatalf("%s at call %d: %v", fault, call, err)
			}
			head, err := w.at(to, "mem://out").Log.Head(t.Context())
			want := int64(60)
			if fault == 0 {
				want += 3
			}
			if err != nil || head.Manifest.Tables["events"].Live.Rows != want {
				t.Fatalf("%s at call %d: %d rows, want %d, %v", fault, call, head.Manifest.Tables["events"].Live.Rows, want, err)
			}
			w.provesAt(to, "mem://out")
		}
	}
}
