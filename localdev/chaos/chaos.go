// Package chaos tortures real processes on a real store, and proves afterwards
// that nothing was lost, doubled or falsely acknowledged.
//
// Duty: run batcher processes side by side, in shards of changing number and
// unsharded, while new objects keep arriving; kill them with SIGKILL, at a
// random moment or at one of their requests; stop them with SIGSTOP, collect
// garbage with the least retention that there is, and let them go on; put a
// proxy between each of them and the store that loses, delays, repeats, refuses
// and tears what passes; let late requests land long after; then end everything
// and prove.
//
// Invariants: every choice comes from one seed, which the figures name (what the
// machine makes of it differs from run to run); only processes that this package
// started are signalled, by their own handle, and none outlives Run; every loop
// and every process has an end in time, and to reach it is a finding.
//
// It never takes batcher's word alone: the chain, the acknowledgements, the
// counts and the store's own history are judged by code that shares nothing
// with what wrote them.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"batcher/localdev"
)

// The buckets that a server needs.
const (
	lakeBucket  = "lake"
	inputBucket = "input"
)

// Buckets are those that the server of Options has to have.
func Buckets() []string { return []string{lakeBucket, inputBucket} }

// Options set up a run. Zero fields take the defaults.
type Options struct {
	Server   *localdev.Server
	Programs Programs
	Folder   string        // for the pipeline file and downloads
	Kills    int           // processes to kill; default 25
	Writers  int           // processes at a time; default 4
	Seed     uint64        // of every choice
	Limit    time.Duration // for all before the proof; default 10 minutes
	Logger   *slog.Logger  // default: none

	// Sabotage, if set, is asked about each request first, so that a test can
	// show that a store which breaks its promises is found out.
	Sabotage localdev.Decide
}

func (o Options) withDefaults() Options {
	if o.Kills == 0 {
		o.Kills = 25
	}
	if o.Writers == 0 {
		o.Writers = 4
	}
	if o.Limit == 0 {
		o.Limit = 10 * time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// world is one run.
type world struct {
	Options
	place   string // prefix in both buckets
	faults  *faults
	history *history
	feed    *feed
	workers []*worker

	mu       sync.Mutex
	figures  Figures
	acks     []ack
	findings []error
	giveUp   context.CancelFunc // ends the torture
	ended    func() bool        // whether it was ended before its time
}

// ack is a batch that a process said it committed.
type ack struct {
	Seq     int64
	Attempt string
	Report  string // in full
}

// maxFindings is how many findings end the torture early.
const maxFindings = 5

// pipelineFile is the pipeline under torture, at a place.
const pipelineFile = `
pipeline: chaos
store: s3://lake/%[1]s
source: {files: {path: s3://input/%[1]s}}
batch: {max_objects: 3}
`

// Run tortures and proves. The error joins every finding; the figures count what
// was done until then. The steps:
//  1. workers run processes and let things happen to them until enough were
//     killed, while objects arrive;
//  2. late requests land, and undisturbed runs drain the source;
//  3. the proof.
func Run(ctx context.Context, o Options) (Figures, error) {
	w := &world{Options: o.withDefaults()}
	w.place = fmt.Sprintf("chaos-%d", w.Seed)
	w.figures.Seed = w.Seed
	w.history = &history{}
	w.faults = newFaults(rand.New(rand.NewPCG(w.Seed, 1)))
	w.feed = &feed{server: w.Server, place: w.place, rnd: rand.New(rand.NewPCG(w.Seed, 2))}
	if err := os.WriteFile(w.file(), fmt.Appendf(nil, pipelineFile, w.place), 0o644); err != nil {
		return w.figures, err
	}
	begun := time.Now()
	if err := w.torture(ctx); err != nil {
		return w.figures, err
	}
	w.figures.Torture = time.Since(begun).Round(time.Millisecond)
	w.findings = append(w.findings, w.prove(ctx))
	w.figures.Proof = time.Since(begun).Round(time.Millisecond) - w.figures.Torture
	w.faults.count(&w.figures)
	return w.figures, errors.Join(w.findings...)
}

func (w *world) file() string { return filepath.Join(w.Folder, "pipeline.yaml") }

// torture is steps 1 and 2. Findings are noted; the error is one of the set-up.
func (w *world) torture(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.Limit)
	defer cancel()
	w.giveUp, w.ended = cancel, func() bool { return ctx.Err() != nil }
	for range 4 {
		if err := w.feed.arrive(ctx, 3); err != nil {
			return err
		}
	}
	var running sync.WaitGroup
	for i := range w.Writers {
		worker := w.newWorker(i)
		w.workers = append(w.workers, worker)
		defer worker.close()
		running.Go(func() { worker.work(ctx) })
	}
	running.Wait()
	w.faults.quiet()
	for range 2 { // what lands late may have to be drained, too
		w.drain(ctx)
		for _, worker := range w.workers {
			worker.release()
		}
	}
	w.drain(ctx)
	if ctx.Err() != nil && len(w.findings) == 0 {
		w.find(fmt.Errorf("the torture did not end in %s: %d of %d processes killed", w.Limit, w.figures.Kills, w.Kills))
	}
	return nil
}

// maxDrain is how many undisturbed runs may be needed to drain the source.
const maxDrain = 20

// drain runs undisturbed until nothing is left to read.
func (w *world) drain(ctx context.Context) {
	worker := w.workers[0]
	for range maxDrain {
		end := worker.run(ctx, worker.batcher(ctx, "run", "-q", "-o", "json"), spare())
		worker.judge(end)
		if end.empty() || ctx.Err() != nil {
			return
		}
	}
	w.find(fmt.Errorf("the source was not drained by %d undisturbed runs", maxDrain))
}

// find notes a finding.
func (w *world) find(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Logger.Error("finding", "error", err)
	w.findings = append(w.findings, err)
	if len(w.findings) == maxFindings {
		w.giveUp()
	}
}

// tally changes the figures.
func (w *world) tally(change func(*Figures)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.figures)
}

// enough says whether all kills were done.
func (w *world) enough() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.figures.Kills >= w.Kills
}
