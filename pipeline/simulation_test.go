package pipeline_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"batcher/batch"
	"batcher/compact"
	"batcher/localdev"
	"batcher/pipeline"
	"batcher/source"
)

var seedFlag = flag.Uint64("seed", 0, "simulate the one world of this seed (or set BATCHER_SEED)")

const (
	simRounds    = 10
	simWorlds    = 15  // unless a time is given
	provenWorlds = 240 // where the tests prove
)

// nightlyTime is for how long to simulate when BATCHER_NIGHTLY is set and
// BATCHER_SIM_TIME is not.
const nightlyTime = 3 * time.Hour

// TestSimulation lets whole pipelines run in worlds drawn from seeds: several
// invocations at a time, shards whose number changes, a source that changes
// under them, faults, late writes, kills, signals, gc, fences, expiries and
// rewinds; then it drains each world and proves everything.
func TestSimulation(t *testing.T) {
	seed, single := simSeed(t)
	worlds, limit := simBounds(t)
	t.Logf("first seed %d", seed)
	var total simStats
	begun := time.Now()
	for total.worlds < worlds && time.Since(begun) < limit && !t.Failed() {
		stats, _ := simulate(t, seed+uint64(total.worlds))
		total.add(stats)
		if single {
			break
		}
	}
	t.Log(total)
	if !single {
		localdev.Figure("simulation", fmt.Sprintf("seeds from %d on: %v", seed, total))
	}
}

// TestASeedFixesAWholeWorld runs worlds twice: all calls and all answers are
// the same, in the same order.
func TestASeedFixesAWholeWorld(t *testing.T) {
	seed, _ := simSeed(t)
	seen := map[string]uint64{}
	worlds := uint64(1)
	if localdev.Proving() {
		worlds = 3
	}
	for i := seed; i < seed+worlds; i++ {
		_, first := simulate(t, i)
		_, second := simulate(t, i)
		if first != second {
			t.Errorf("seed %d made the traces %s and %s", i, first, second)
		}
		if other, ok := seen[first]; ok {
			t.Errorf("seeds %d and %d made the same trace", other, i)
		}
		seen[first] = i
	}
}

// simSeed is the seed to begin with, and whether it was asked for.
func simSeed(t *testing.T) (seed uint64, single bool) {
	if *seedFlag != 0 {
		return *seedFlag, true
	}
	if text := os.Getenv("BATCHER_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("BATCHER_SEED: %v", err)
		}
		return seed, true
	}
	return rand.Uint64N(1 << 40), false
}

// simBounds are the number of worlds and the time at which to stop. There is a time
// only where one was asked for: a slow machine simulates as much as a fast one.
func simBounds(t *testing.T) (worlds int, limit time.Duration) {
	text := os.Getenv("BATCHER_SIM_TIME")
	switch {
	case text != "":
		limit, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("BATCHER_SIM_TIME: %v", err)
		}
		return 1 << 40, limit
	case os.Getenv("BATCHER_NIGHTLY") != "":
		return 1 << 40, nightlyTime
	case localdev.Proving():
		return provenWorlds, math.MaxInt64
	}
	return simWorlds, math.MaxInt64
}

// simulate runs one world from its beginning to its proof. It returns the hash
// of all calls and answers.
func simulate(t *testing.T, seed uint64) (simStats, string) {
	cryptotest.SetGlobalRandom(t, seed)
	var stats simStats
	var trace string
	synctest.Test(t, func(t *testing.T) {
		w := newSimWorld(t, seed)
		for range simRounds {
			w.round()
		}
		trace = w.turns.sum()
		w.drain()
		w.verify()
		w.account()
		w.writtenOnce()
		w.stats.worlds, w.stats.calls = 1, w.turns.made
		stats = w.stats
	})
	return stats, trace
}

// drain lets all late writes land and all objects settle, and consumes what is
// left, with nothing in the way.
func (w *simWorld) drain() {
	w.draining = true
	w.release()
	_ = w.clock.Sleep(context.Background(), 48*time.Hour)
	for range 10 {
		p := w.pipeline(w.store, w.source.view(), source.Shard{})
		p.Limits = batch.Limits{Objects: 20}
		rep, err := p.Run(context.Background(), pipeline.Options{})
		w.stats.runs++
		w.stats.batches += rep.Batches
		if err != nil {
			w.errorf("the run after all is over: %v", err)
			return
		}
		if rep.Objects.Read == 0 {
			w.sweep()
			return
		}
		_ = w.clock.Sleep(context.Background(), 2*time.Hour) // lists everything again
	}
	w.errorf("runs find something to read again and again")
}

// sweep collects all garbage. The files that are live stay, as verify proves.
func (w *simWorld) sweep() {
	log := w.log(w.store)
	gc := compact.GC{Log: log, Store: w.store, Now: w.clock.Now, Logger: w.logger()}
	if _, err := gc.Run(context.Background(), compact.GCOptions{Mode: compact.Confirm, MaxShare: 1}); err != nil {
		w.errorf("gc after all is over: %v", err)
	}
}
