package dlq_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"batcher/compact"
	"batcher/dlq"
	"batcher/localdev"
	"batcher/object/faultstore"
	"batcher/object/memstore"
)

// crashFaults are what befalls each single call.
var crashFaults = []faultstore.Fault{
	faultstore.CrashBefore, faultstore.CrashAfter, faultstore.LoseAnswer, faultstore.LandLate,
	faultstore.Unavailable, faultstore.Deny, faultstore.Conflict, faultstore.Tear,
}

// change is one thing that is done to dead letters.
type change struct {
	name string
	do   func(w *world) error
}

// changes are all there are, in worlds made by crashWorld.
var changes = []change{
	{"replay", func(w *world) error {
		edits, err := dlq.ReadEdits(strings.NewReader(strings.Join([]string{
			`{` + id("o.ndjson", 8) + `,"record":{"a":2}}`,
			`{` + id("o.ndjson", 18) + `,"raw":"[1]"}`, // bad again
			`{` + id("o.csv", 4) + `,"raw":"2"}`,       // under the header
			`{` + id("long.ndjson", 0) + `}`,           // read from its object
			`{` + id("nowhere", 0) + `}`,
			`{` + id("p.ndjson", 0) + `,"record":{"a":"text","more":[{"x":1}]}}`, // the types of what is new widen
			`{` + id("p.ndjson", 2) + `,"record":{"more":"x"}}`,
		}, "\n")))
		if err != nil {
			return err
		}
		_, err = w.queue().Replay(w.t.Context(), dlq.ReplayOptions{Edits: edits, Mode: dlq.Confirm})
		return err
	}},
	{"discard", func(w *world) error {
		_, err := w.queue().Discard(w.t.Context(), dlq.Filter{Codes: []string{"syntax"}}, dlq.Confirm)
		return err
	}},
	{"retry", func(w *world) error {
		_, err := w.queue().Retry(w.t.Context(), dlq.Filter{})
		return err
	}},
}

// crashWorld has letters of many kinds, in several files.
func crashWorld(t *testing.T) *world {
	w := newWorld(t)
	w.drop("o.ndjson", badLines)
	w.drop("o.csv", "a\n1\n2,3\n")
	w.drop("q.gz", whole[:30])
	w.drop("r.gz", whole[:30])
	w.limits.MaxRecordBytes = 70 << 10
	w.drop("long.ndjson", `{"text":"`+strings.Repeat("x", 80<<10)+`"}`+"\n")
	w.run()
	w.drop("p.ndjson", "{\n{\n{\n")
	w.run()
	w.limits.MaxRecordBytes, w.limits.PrimeBytes, w.limits.BlockRows = 0, 1, 1
	w.drop("q.gz", whole)
	w.drop("r.gz", whole)
	return w
}

// again is a world of its own with the same content.
func (w *world) again() *world {
	c := *w
	c.input, c.store = w.input.Clone(), w.store.(*memstore.Store).Clone()
	at := *w.clock
	c.clock = &at
	return &c
}

// state is what a world shows of its rows and letters.
func (w *world) state() []string { return append(w.rows("events"), w.letters()...) }

// collect removes all garbage below the newest manifest.
func (w *world) collect() {
	w.t.Helper()
	gc := compact.GC{Log: w.log(), Store: w.store, Now: w.clock.Now, Logger: slog.New(slog.DiscardHandler)}
	if _, err := gc.Run(w.t.Context(), compact.GCOptions{Mode: compact.Confirm, MaxShare: 1}); err != nil {
		w.t.Errorf("gc: %v", err)
	}
}

// strike makes a change whose calls to the pipeline's store are struck.
func (w *world) strike(c change, script faultstore.Script) (*faultstore.Store, error) {
	struck := *w
	faults := faultstore.New(w.store, script)
	struck.store = faults
	return faults, c.do(&struck)
}

// TestEveryCallOfAChangeMayFailInEveryWay strikes each call by each fault, alone
// and with all that follow, makes the change again, collects garbage, lets writes
// land that were on their way, and ends with what no fault would have ended with.
func TestEveryCallOfAChangeMayFailInEveryWay(t *testing.T) {
	base := crashWorld(t)
	points, all := localdev.OneIn(7), 0
	for _, c := range changes {
		fine := base.again()
		faults, err := fine.strike(c, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		want := fine.state()
		if slices.Equal(want, base.state()) {
			t.Fatalf("%s changes nothing", c.name)
		}
		fine.verify()
		calls := faults.Calls()
		all += len(calls)
		for n, call := range calls {
			writes := call.Op != faultstore.Get && call.Op != faultstore.List
			for _, f := range crashFaults {
				if f == faultstore.LandLate && !writes || f == faultstore.Tear && writes {
					continue
				}
				for _, times := range []int{1, -1} {
					if times < 0 && !writes {
						continue
					}
					if !points.Take() {
						continue
					}
					x := base.crash(c, faultstore.Rule{Call: n + 1, Times: times, Fault: f}, want)
					if points.Taken%provenShare == 0 {
						x.verify()
					}
				}
			}
		}
	}
	t.Logf("%d calls, %v crash points", all, points)
	localdev.Figure("crash points of replay, discard and retry", fmt.Sprintf("%v (%d calls)", points, all))
}

// provenShare says which share of the crash points is proved by verify, besides that
// all end with the same rows and letters: one in so many, which comes by every
// call and by every fault.
const provenShare = 5

// crash tries one fault in a world of its own, which it returns.
func (w *world) crash(c change, rule faultstore.Rule, want []string) *world {
	w.t.Helper()
	x := w.again()
	faults, struck := x.strike(c, faultstore.Script{rule})
	if err := c.do(x); err != nil {
		w.t.Errorf("again: %v", err)
	}
	x.collect()
	faults.Release(context.Background()) // writes whose place is taken fail
	if err := c.do(x); err != nil {
		w.t.Errorf("a third time: %v", err)
	}
	x.collect()
	if got := x.state(); !slices.Equal(got, want) {
		w.t.Errorf("ends with %d lines, want %d:\n%q\n%q", len(got), len(want), got, want)
	}
	if w.t.Failed() {
		w.t.Fatalf("%s under %v, which said: %v", c.name, faultstore.Script{rule}, struck)
	}
	return x
}
