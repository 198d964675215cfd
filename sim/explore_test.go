package sim_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"batcher/localdev"
	"batcher/sim"
)

// scenario is a set of processes and what goes wrong with them.
type scenario struct {
	name    string
	faults  int // of one schedule at most
	nightly int // the same in a nightly run
	quick   bool
	history int // batches that were committed before, and orphans beside them
	objects int // new ones in the source
	make    func(w *world) []sim.Process
}

// never is for scenarios that are too dear for the one mode or dull in the other.
const never = -1

// first and second are shards: each drains another object. all overlaps with both.
var (
	first  = invocation{include: "o0.ndjson"}
	second = invocation{include: "o1.ndjson"}
	all    = invocation{}
	single = invocation{objects: 1} // all, an object in a batch
	hasty  = invocation{tries: 1}   // all, its budget spent by one unknown outcome
)

// scenarios are explored to the end, every interleaving with every choice of
// faults. Crashes need no fault, see package sim.
var scenarios = []scenario{
	{"shards", 2, 3, true, 1, 2, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", first), w.writer("b", second)}
	}},
	{"columns", 2, never, false, 0, 2, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", first), w.writer("b", second)}
	}},
	{"overlap", 2, 3, true, 0, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.writer("b", all)}
	}},
	{"batches", 2, 3, false, 0, 2, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", single), w.writer("b", all)}
	}},
	{"budget spent", 2, 3, true, 0, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", hasty), w.writer("b", hasty)}
	}},
	{"gc twice", 1, 2, false, 1, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.collector("gc", 2)}
	}},
	{"rewind", 2, 3, true, 1, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.repairer("rewind", rewindTo(0))}
	}},
	{"three writers", 1, 2, false, 0, 2, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", first), w.writer("b", second), w.writer("c", all)}
	}},
	{"overlap and gc", 1, 2, false, 1, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.writer("b", all), w.collector("gc", 1)}
	}},
	{"shards and gc", 1, 2, false, 1, 2, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", first), w.writer("b", second), w.collector("gc", 1)}
	}},
	{"rewind and gc", 1, 2, false, 1, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.repairer("rewind", rewindTo(0)), w.collector("gc", 1)}
	}},
	{"fence and gc", 1, 2, false, 1, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.fencer("fence"), w.collector("gc", 1)}
	}},
	{"expire and gc", 1, 2, false, 2, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.repairer("expire", expire), w.collector("gc", 1)}
	}},
	{"spill", 2, 2, false, 1, 2, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", first), w.writer("b", second)}
	}},
	{"spill and gc", never, 1, false, 1, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.collector("gc", 2)}
	}},
	{"spill and rewind", 1, 1, false, 1, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.repairer("rewind", rewindTo(1)), w.collector("gc", 1)}
	}},
	{"widen", 2, 3, true, 1, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.widener("widen", 0)}
	}},
	{"hasty widening", 2, 3, false, 1, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", hasty), w.widener("widen", 1)}
	}},
	{"widen beside shards", 1, 2, false, 1, 2, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", first), w.writer("b", second), w.widener("widen", 0)}
	}},
	{"two widenings", 2, 3, false, 1, 0, func(w *world) []sim.Process {
		return []sim.Process{w.widener("a", 0), w.widener("b", 0)}
	}},
	{"widen and gc", 0, 1, false, 1, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.widener("widen", 0), w.collector("gc", 1)}
	}},
	{"widen and rewind", 1, 2, false, 1, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.widener("widen", 0), w.repairer("rewind", rewindTo(1))}
	}},
	{"merge", 2, 3, true, 2, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.merger("merge", 0)}
	}},
	{"hasty merge", 2, 3, false, 2, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", hasty), w.merger("merge", 1)}
	}},
	{"two merges", 2, 3, false, 2, 0, func(w *world) []sim.Process {
		return []sim.Process{w.merger("a", 0), w.merger("b", 0)}
	}},
	{"two merges and a writer", 1, 2, false, 2, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.merger("b", 0), w.merger("c", 0)}
	}},
	{"merge beside shards", 1, 2, false, 2, 2, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", first), w.writer("b", second), w.merger("merge", 0)}
	}},
	{"merge and gc", 0, 1, false, 2, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.merger("merge", 0), w.collector("gc", 1)}
	}},
	{"merge, expire and gc", 1, 2, false, 2, 0, func(w *world) []sim.Process {
		return []sim.Process{w.merger("merge", 0), w.repairer("expire", expire), w.collector("gc", 1)}
	}},
	{"merge and rewind", 1, 2, false, 2, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.merger("merge", 0), w.repairer("rewind", rewindTo(1))}
	}},
	{"merge and widen", 1, 2, false, 2, 0, func(w *world) []sim.Process {
		return []sim.Process{w.merger("merge", 0), w.widener("widen", 0)}
	}},
	// With one fault this one has more than 12 million states.
	{"three writers and gc", 0, never, false, 1, 2, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", first), w.writer("b", second), w.writer("c", all), w.collector("gc", 1)}
	}},
	{"three overlap and gc", 0, 1, false, 1, 1, func(w *world) []sim.Process {
		return []sim.Process{w.writer("a", all), w.writer("b", all), w.writer("c", all), w.collector("gc", 1)}
	}},
}

// explorer sets a scenario up.
func (c scenario) explorer(t *testing.T, faults int) (sim.Explorer, *oracle) {
	t.Helper()
	columns := sameColumns
	if c.name == "columns" {
		columns = ownColumns
	}
	w := newWorld(t, c.objects, columns)
	if strings.HasPrefix(c.name, "spill") {
		w.bulk = full
	}
	o := newOracle(w)
	return sim.Explorer{
		Start: w.after(t, c.history), Faults: faults, Processes: c.make(w), Recover: w.recoverer(),
		MaxStates: 12_000_000, Checks: o.checks(), Enter: withRandom(t),
	}, o
}

// leastStates is below what the scenarios have: fewer are a scenario that lost its
// point. leastStatesOfSmall is the same for the small ones.
const (
	leastStates        = 5_000_000
	leastStatesOfSmall = 50_000
)

// TestExplore explores the real pipeline, commit, source, garbage collection and
// repairs. Where the tests do not prove, and under the race detector, only the small
// scenarios are run; BATCHER_NIGHTLY=1 spends more faults, and more
// than ten minutes.
func TestExplore(t *testing.T) {
	nightly := os.Getenv("BATCHER_NIGHTLY") != ""
	small := !localdev.Proving() || underRace
	var total sim.Result
	complete := true // no scenario of this mode was left out by -run
	begun := time.Now()
	for _, c := range scenarios {
		faults := c.faults
		switch {
		case small && c.quick:
			faults = min(faults, 2)
		case small:
			faults = never
		case nightly:
			faults = c.nightly
		}
		if faults == never {
			t.Logf("%s: not in this mode", c.name)
			continue
		}
		ran := false
		t.Run(c.name, func(t *testing.T) {
			ran = true
			e, o := c.explorer(t, faults)
			began := time.Now()
			r, err := e.Run()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("at most %d faults: %d states, %d steps, %.2g schedules, %d contents, %d states of recovery, real code run %d times, %d chains audited, %.1f s",
				faults, r.States, r.Steps, r.Schedules, r.Contents, r.Recoveries, r.Runs, len(o.audited), time.Since(began).Seconds())
			if strings.HasPrefix(c.name, "spill") && !o.spilled {
				t.Error("no consumed set ever left its manifest: the scenario has lost its point")
			}
			total.States += r.States + r.Recoveries
			total.Schedules += r.Schedules
		})
		complete = complete && ran
	}
	if !complete {
		return
	}
	localdev.Figure("invariants checked while exploring", "on every content I1 I2 I3 I4 I5 I7 I8 I9 I10 I11 I12 I16 I19 I20, on every write I13, on every acknowledgement I6, at rest I14 I15 I18 and each object once; I17 has nothing to check yet")
	localdev.Figure("interleavings explored", fmt.Sprintf("%d states, %.2g schedules, %.0f s", total.States, total.Schedules, time.Since(begun).Seconds()))
	least := leastStates
	if small {
		least = leastStatesOfSmall
	}
	if !t.Failed() && total.States < least {
		t.Errorf("%d states: the exploration has become smaller than %d", total.States, least)
	}
}
