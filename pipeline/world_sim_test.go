package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"batcher/audit"
	"batcher/batch"
	"batcher/commit"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/object/retry"
	"batcher/pipeline"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
	"batcher/source/files"
)

// simStats count what a simulation went through.
type simStats struct {
	worlds, runs, calls, batches, records, faults, kills, signals, late, collections, repairs, rewinds, appended, replaced, merges, merged, publications, versions int
}

func (s *simStats) add(o simStats) {
	s.worlds += o.worlds
	s.runs += o.runs
	s.calls += o.calls
	s.batches += o.batches
	s.records += o.records
	s.faults += o.faults
	s.kills += o.kills
	s.signals += o.signals
	s.late += o.late
	s.collections += o.collections
	s.repairs += o.repairs
	s.rewinds += o.rewinds
	s.appended += o.appended
	s.replaced += o.replaced
	s.merges += o.merges
	s.merged += o.merged
	s.publications += o.publications
	s.versions += o.versions
}

// String prints the counts.
func (s simStats) String() string {
	return fmt.Sprintf("%d worlds, %d runs, %d store calls, %d batches, %d records, %d faults, %d late writes, %d kills, %d signals, %d collections, %d fences and expiries, %d rewinds, %d contents appended, %d replaced, %d compactions of %d files, %d publications of %d versions",
		s.worlds, s.runs, s.calls, s.batches, s.records, s.faults, s.late, s.kills, s.signals, s.collections, s.repairs, s.rewinds, s.appended, s.replaced, s.merges, s.merged, s.publications, s.versions)
}

// simWorld is a source and a pipeline on which invocations work side by side.
// All lots are drawn while no invocation moves, so that a seed fixes them.
type simWorld struct {
	t         *testing.T
	seed      uint64
	lots      *rand.Rand
	turns     *scheduler
	clock     *clock
	random    *random
	store     *memstore.Store
	source    *simSource
	settle    time.Duration
	timePath  string
	onChange  files.OnChange // but for some runs
	draining  bool
	published bool // as Delta tables, after each commit
	receipts  []acked
	unsure    map[manifest.Attempt]bool // of processes that did not learn what became of them
	held      []*faultstore.Store       // whose late writes have not landed
	stats     simStats
}

// policies are the ways to meet a changed object that do not end a run.
var policies = []files.OnChange{files.SkipChanged, files.AppendChanged, files.ReplaceChanged}

func newSimWorld(t *testing.T, seed uint64) *simWorld {
	lots := rand.New(rand.NewPCG(seed, 1))
	w := &simWorld{
		t: t, seed: seed, unsure: map[manifest.Attempt]bool{}, lots: lots, turns: newScheduler(rand.New(rand.NewPCG(seed, 2))),
		clock:  &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		random: &random{r: rand.New(rand.NewPCG(seed, 3))},
		store:  memstore.New(memstore.WithShuffle(seed)),
		settle: []time.Duration{0, 0, 30 * time.Second}[lots.IntN(3)],
	}
	if lots.IntN(3) == 0 {
		w.timePath = "{yyyy}/{MM}/{dd}"
	}
	w.onChange = policies[lots.IntN(len(policies))]
	w.published = lots.IntN(3) > 0
	w.source = &simSource{
		lots: rand.New(rand.NewPCG(seed, 4)), dated: lots.IntN(2) == 0, bodies: map[string]map[string]string{},
		store: memstore.New(memstore.WithShuffle(seed+1), memstore.WithClock(w.clock.Now)),
	}
	w.turns.between = func() {
		if w.lots.IntN(60) == 0 {
			w.changeSource()
		}
	}
	return w
}

func (w *simWorld) changeSource() {
	if err := w.source.change(context.Background()); err != nil {
		w.errorf("change the source: %v", err)
	}
}

// errorf fails the test and says how to come back here.
func (w *simWorld) errorf(format string, args ...any) {
	w.t.Helper()
	w.t.Errorf("seed %d (replay: go test ./pipeline -run TestSimulation -seed %d): %s", w.seed, w.seed, fmt.Sprintf(format, args...))
}

// round lets a few invocations work side by side while the source changes.
func (w *simWorld) round() {
	for range w.lots.IntN(8) {
		w.changeSource()
	}
	shards := 1 + w.lots.IntN(4)
	var tasks []func()
	for i := range shards {
		shard := source.Shard{Index: i, Count: shards}
		if w.lots.IntN(3) == 0 {
			shard = source.Shard{} // overlaps with all others
		}
		tasks = append(tasks, w.task(len(tasks), shard))
	}
	w.turns.start(tasks)
	if w.lots.IntN(3) == 0 {
		w.release()
	}
	pause := []time.Duration{0, time.Second, time.Minute, time.Hour, 26 * time.Hour}[w.lots.IntN(5)]
	_ = w.clock.Sleep(context.Background(), pause)
}

// release lets all late writes land.
func (w *simWorld) release() {
	for _, f := range w.held {
		w.stats.late += len(f.Release(context.Background()))
	}
	w.held = nil
}

// process is one invocation: its stores, under faults and in turns.
type process struct {
	*simWorld
	ctx    context.Context
	store  object.Store
	input  object.Store
	faults []*faultstore.Store
	drawn  []manifest.Attempt
}

// Read draws an attempt and notes whose it is.
func (p *process) Read(b []byte) (int, error) {
	n, err := p.random.Read(b)
	p.drawn = append(p.drawn, manifest.Attempt(b))
	return n, err
}

// newProcess draws what will befall an invocation.
func (w *simWorld) newProcess(number int) *process {
	ctx, cancel := context.WithCancel(context.Background())
	signal := -1
	if w.lots.IntN(6) == 0 {
		signal = w.lots.IntN(80)
	}
	tick := func(string) {
		if signal--; signal == -1 {
			w.stats.signals++
			cancel()
		}
	}
	var script, reading faultstore.Script
	for range w.lots.IntN(4) {
		script = append(script, w.rule())
	}
	if w.lots.IntN(4) == 0 {
		faults := []faultstore.Fault{faultstore.Unavailable, faultstore.Deny, faultstore.Tear}
		reading = append(reading, faultstore.Rule{Call: 1 + w.lots.IntN(15), Times: 1 + w.lots.IntN(8), Fault: faults[w.lots.IntN(3)]})
	}
	main, input := faultstore.New(w.store, script), faultstore.New(w.source.view(), reading)
	w.held = append(w.held, main)
	p := &process{simWorld: w, ctx: ctx, faults: []*faultstore.Store{main, input}}
	p.store = &scheduled{inner: main, turns: w.turns, task: number, tick: tick}
	p.input = &scheduled{inner: input, turns: w.turns, task: number, name: "in:", tick: tick}
	if w.lots.IntN(2) == 0 {
		policy := retry.Policy{Tries: 4, FirstPause: time.Second, MaxPause: time.Minute}
		p.store = retry.New(p.store, policy, steadyClock{w.clock})
		p.input = retry.New(p.input, policy, steadyClock{w.clock})
	}
	return p
}

// steadyClock is a retry.Clock whose pauses are not scattered.
type steadyClock struct{ *clock }

func (steadyClock) Random() float64 { return 0.5 }

// rule draws a fault; half of them strike the commit itself.
func (w *simWorld) rule() faultstore.Rule {
	faults := []faultstore.Fault{
		faultstore.Unavailable, faultstore.Conflict, faultstore.Deny, faultstore.LoseAnswer, faultstore.LoseAnswer,
		faultstore.CrashBefore, faultstore.CrashAfter, faultstore.LandLate, faultstore.LandLate, faultstore.Tear,
	}
	ops := []faultstore.Op{faultstore.Any, faultstore.Put, faultstore.Get, faultstore.Complete, faultstore.Delete, faultstore.List}
	r := faultstore.Rule{Op: ops[w.lots.IntN(len(ops))], Call: 1 + w.lots.IntN(25), Times: 1 + w.lots.IntN(3), Fault: faults[w.lots.IntN(len(faults))]}
	if w.lots.IntN(2) == 0 {
		r.Op, r.Prefix, r.Call = faultstore.Put, manifest.Layout{Pipeline: "events"}.Manifests(), 1+w.lots.IntN(4)
		if w.lots.IntN(4) == 0 {
			r.Times = 30 // longer than anybody waits
		}
	}
	return r
}

// log opens the chain.
func (w *simWorld) log(store object.Store) *commit.Log {
	return commit.New(commit.Options{Store: store, Pipeline: "events", Clock: w.clock, Logger: w.logger()})
}

func (w *simWorld) logger() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// pipeline wires an invocation; settings that may differ between runs are drawn.
func (w *simWorld) pipeline(store, input object.Store, shard source.Shard) *pipeline.Pipeline {
	timePath := w.timePath
	if w.lots.IntN(4) == 0 {
		timePath = ""
	}
	onChange := w.onChange
	if onChange != files.SkipChanged && !w.draining && w.lots.IntN(8) == 0 {
		onChange = policies[w.lots.IntN(len(policies))]
	}
	src, err := files.New(input, files.Config{
		Location: "mem://in", Shard: shard, OnChange: onChange, Rehash: []int64{0, 0, 100}[w.lots.IntN(3)], Lookback: 72 * time.Hour, OnGap: files.SkipGap, Settle: w.settle,
		TimePath: timePath, Relist: time.Hour, MaxObjects: []int{0, 0, 3}[w.lots.IntN(3)],
	})
	if err != nil {
		w.t.Fatal(err)
	}
	log := w.publishes(w.log(store), store)
	log.OnCommit(func(_ context.Context, r commit.Receipt, _ manifest.Snapshot) error {
		w.receipts = append(w.receipts, acked{r.Seq(), r.Attempt()})
		return nil
	})
	return &pipeline.Pipeline{
		Log: log, Store: store, Source: src, Input: input, Set: src.NewSet(log),
		Config: manifest.Config{Hash: fmt.Sprintf("c%d", w.lots.IntN(8)/7), Source: "mem://in", Format: "ndjson", RecordID: "position", Table: "events", Dead: "events_dead"},
		Table:  "events", Dead: "events_dead", Rules: schema.Rules{MinRecords: 1}, Budget: batch.Budget{Ratio: 1}, Format: record.Format{Kind: record.NDJSON},
		Record: record.Limits{PrimeBytes: []int{0, 1, 300}[w.lots.IntN(3)], BlockRows: []int{0, 1, 5}[w.lots.IntN(3)]},
		Limits: batch.Limits{
			Objects: int64(1 + w.lots.IntN(5)), Records: []int64{0, 0, 3, 7}[w.lots.IntN(4)], Bytes: []int64{0, 0, 40, 300}[w.lots.IntN(4)],
		},
		File: datafile.Options{RowGroupRows: []int{0, 1, 4}[w.lots.IntN(3)]}, FileBytes: []int64{1, 500, 1 << 20}[w.lots.IntN(3)],
		Clock: w.clock, Random: w.random, Logger: w.logger(),
	}
}

// quiet says whether nothing befell the process.
func (p *process) quiet() bool {
	quiet := p.ctx.Err() == nil
	for _, f := range p.faults {
		for _, c := range f.Calls() {
			if c.Fault != 0 {
				quiet = false
			}
		}
	}
	return quiet
}

// count adds up what befell the process.
func (p *process) count() {
	for _, f := range p.faults {
		for _, c := range f.Calls() {
			if c.Fault != 0 {
				p.stats.faults++
			}
			if c.Fault == faultstore.CrashBefore || c.Fault == faultstore.CrashAfter {
				p.stats.kills++
			}
		}
	}
}

// judge says whether a process may end with an error. Some it never may: those
// say that the chain is damaged, or that batcher contradicts itself.
func (p *process) judge(what string, err error, allowed ...error) {
	p.count()
	if errors.Is(err, commit.ErrUnresolved) || errors.Is(err, faultstore.ErrCrashed) {
		for _, a := range p.drawn {
			p.unsure[a] = true
		}
	}
	var violation *manifest.ViolationError
	var mismatch *manifest.MismatchError
	for _, never := range []error{commit.ErrDamaged, commit.ErrForeign, files.ErrDamaged, files.ErrNotLoaded, pipeline.ErrNoProgress, batch.ErrSealed} {
		if errors.Is(err, never) {
			p.errorf("%s: %v", what, err)
			return
		}
	}
	if errors.As(err, &violation) || errors.As(err, &mismatch) {
		p.errorf("%s: %v", what, err)
		return
	}
	if err == nil || !p.quiet() {
		return
	}
	for _, a := range allowed {
		if errors.Is(err, a) {
			return
		}
	}
	p.errorf("%s: nothing befell it, and it failed: %v", what, err)
}

// verifier proves everything.
func (w *simWorld) verify() audit.Report {
	p := w.pipeline(w.store, w.source.view(), source.Shard{})
	v := audit.Verifier{Log: p.Log, Store: w.store, Source: p.Source, Set: p.Set, Rules: p.Rules, Format: p.Format, Table: "events", Dead: "events_dead", Logger: p.Logger}
	rep, err := v.Verify(context.Background(), audit.Options{Checks: everyCheck})
	if err != nil {
		w.errorf("verify: %v", err)
	}
	for _, x := range rep.Violations {
		w.errorf("violation %s at manifest %d: %s", x.Invariant, x.Seq, x.Detail)
	}
	return rep
}
