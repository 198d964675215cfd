package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"batcher/audit"
	"batcher/batch"
	"batcher/commit"
	"batcher/compact"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/source/files"
	"batcher/table/delta"
)

// How the pipeline is run: a batch a minute.
const (
	compactEvery = 100                // batches
	collectEvery = 1440               // batches: once a day
	snapshots    = 7 * 24 * time.Hour // that are retained
	sourceKeeps  = 100                // objects, before the source is cleaned
	table        = "events"
	dead         = "events_dead"
)

// clock goes on by hand.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

// world is a pipeline's store, its source and what was done so far.
type world struct {
	clock   *clock
	random  *rand.ChaCha8
	store   *meter
	input   *memstore.Store
	dropped []dropped // everything that was ever put into the source
	batches int
}

// dropped is one object of the source.
type dropped struct {
	key  string
	body []byte
	at   time.Time
}

func newWorld() *world {
	w := &world{clock: &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, random: rand.NewChaCha8([32]byte{1})}
	w.store = &meter{Store: memstore.New(memstore.WithClock(w.clock.Now))}
	w.clean()
	return w
}

// clean empties the source, as a user's own retention does.
func (w *world) clean() { w.input = memstore.New(memstore.WithClock(w.clock.Now)) }

// invoke wires an invocation that remembers nothing.
func (w *world) invoke() (*pipeline.Pipeline, error) {
	quiet := slog.New(slog.DiscardHandler)
	src, err := files.New(w.input, files.Config{Location: "mem://in", Lookback: 72 * time.Hour})
	if err != nil {
		return nil, err
	}
	log := commit.New(commit.Options{Store: w.store, Pipeline: table, Clock: w.clock, Logger: quiet})
	tables := delta.New(delta.Options{Log: log, Store: w.store, Clock: w.clock, Logger: quiet})
	publish := func(ctx context.Context, head manifest.Snapshot) error {
		_, err := tables.Publish(ctx, head)
		return err
	}
	log.OnCommit(func(ctx context.Context, _ commit.Receipt, head manifest.Snapshot) error { return publish(ctx, head) })
	return &pipeline.Pipeline{
		Log: log, Store: w.store, Source: src, Input: w.input, Set: src.NewSet(log), Table: table, Dead: dead,
		Config: manifest.Config{Hash: "c", Source: "mem://in", Format: "ndjson", RecordID: "position", Table: table, Dead: dead},
		Limits: batch.Limits{Objects: 10_000}, Budget: batch.Budget{Ratio: 0.1, MinRecords: 1000}, FileBytes: 128 << 20,
		Clock: w.clock, Random: w.random, Logger: quiet, Opened: publish,
	}, nil
}

// drop puts one object of a few records into the source.
func (w *world) drop(ctx context.Context) error {
	at := w.clock.now.Format(time.RFC3339Nano)
	var body []byte
	for i := range 10 {
		body = fmt.Appendf(body, "{\"id\":%d,\"user\":\"u%d\",\"kind\":\"click\",\"amount\":%d.5,\"ts\":%q}\n", w.batches*10+i, w.random.Uint64()%1000, i, at)
	}
	d := dropped{fmt.Sprintf("%s/%09d.ndjson", w.clock.now.Format("2006/01/02"), w.batches), body, w.clock.now}
	w.dropped = append(w.dropped, d)
	_, err := w.input.Put(ctx, d.key, d.body, object.Always)
	return err
}

// keepAll makes a source that has everything that was ever put into it.
func (w *world) keepAll(ctx context.Context) error {
	now := w.clock.now
	defer func() { w.clock.now = now }()
	w.clean()
	for _, d := range w.dropped {
		w.clock.now = d.at
		if _, err := w.input.Put(ctx, d.key, d.body, object.Always); err != nil {
			return err
		}
	}
	return nil
}

// run is one invocation.
func (w *world) run(ctx context.Context) error {
	p, err := w.invoke()
	if err != nil {
		return err
	}
	_, err = p.Run(ctx, pipeline.Options{})
	return err
}

// one is a batch of one object.
func (w *world) one(ctx context.Context) error {
	w.clock.now = w.clock.now.Add(time.Minute)
	if w.batches%sourceKeeps == 0 {
		w.clean()
	}
	if err := w.drop(ctx); err != nil {
		return err
	}
	w.batches++
	return w.run(ctx)
}

// grow plays batches, and what an operator schedules beside them.
func (w *world) grow(ctx context.Context, to int) error {
	for w.batches < to {
		if err := w.one(ctx); err != nil {
			return fmt.Errorf("batch %d: %w", w.batches, err)
		}
		if w.batches%compactEvery == 0 && w.batches < to {
			if err := w.compact(ctx); err != nil {
				return fmt.Errorf("compact after batch %d: %w", w.batches, err)
			}
		}
		if w.batches%collectEvery == 0 {
			if err := w.collect(ctx); err != nil {
				return fmt.Errorf("collect after batch %d: %w", w.batches, err)
			}
		}
	}
	return nil
}

// compact merges small files of both tables.
func (w *world) compact(ctx context.Context) error {
	p, err := w.invoke()
	if err != nil {
		return err
	}
	m := compact.Merge{Log: p.Log, Store: w.store, Random: w.random, Now: w.clock.Now, Logger: p.Logger}
	head, err := p.Log.Head(ctx)
	for _, name := range []string{table, dead} {
		if err == nil {
			head, _, err = m.Run(ctx, head, name, compact.Until{})
		}
	}
	return err
}

// collect expires snapshots and deletes what only they needed.
func (w *world) collect(ctx context.Context) error {
	p, err := w.invoke()
	if err != nil {
		return err
	}
	r := compact.Repair{Log: p.Log, Now: w.clock.Now, Logger: p.Logger}
	if _, err := r.Expire(ctx, snapshots); err != nil {
		return err
	}
	gc := compact.GC{Log: p.Log, Store: w.store, Now: w.clock.Now, Logger: p.Logger}
	if _, err := gc.Run(ctx, compact.GCOptions{Mode: compact.Confirm, Keep: snapshots}); err != nil {
		return err
	}
	return w.cleanLogs(ctx)
}

// begin wires an invocation and finds the head.
func (w *world) begin(ctx context.Context) (*pipeline.Pipeline, manifest.Snapshot, error) {
	p, err := w.invoke()
	if err != nil {
		return nil, manifest.Snapshot{}, err
	}
	head, err := p.Log.Head(ctx)
	return p, head, err
}

// look is what status asks the store for, but for the listing of the source and of
// the table folders.
func (w *world) look(ctx context.Context) error {
	p, head, err := w.begin(ctx)
	if err != nil {
		return err
	}
	_, err = p.Source.Plan(ctx, head.Manifest.Progress.Files, p.Set, w.clock.now)
	return err
}

// verify proves the last hundred manifests.
func (w *world) verify(ctx context.Context) error {
	p, head, err := w.begin(ctx)
	if err != nil {
		return err
	}
	v := audit.Verifier{Log: p.Log, Store: w.store, Source: p.Source, Set: p.Set, Table: table, Dead: dead, Logger: p.Logger}
	rep, err := v.Verify(ctx, audit.Options{Since: max(head.Manifest.Seq-100, 0), Checks: audit.CheckRows})
	if err == nil && len(rep.Violations) > 0 {
		err = fmt.Errorf("violation: %v", rep.Violations[0])
	}
	return err
}

// open reads the Delta log of the table as a reader does: the hint, the checkpoint
// that it names, and the versions after that until there is none.
func (w *world) open(ctx context.Context) error {
	version := int64(0)
	get := func(key string) ([]byte, error) {
		body, _, err := object.ReadAll(ctx, w.store, table+"/_delta_log/"+key, object.GetOptions{}, 1<<30)
		return body, err
	}
	hint, err := get("_last_checkpoint")
	if err == nil {
		var h struct{ Version int64 }
		if err := json.Unmarshal(hint, &h); err != nil {
			return err
		}
		if _, err := get(fmt.Sprintf("%020d.checkpoint.parquet", h.Version)); err != nil {
			return err
		}
		version = h.Version + 1
	}
	for err = nil; err == nil; version++ {
		_, err = get(fmt.Sprintf("%020d.json", version))
	}
	if errors.Is(err, object.ErrNotFound) {
		return nil
	}
	return err
}

// cleanLogs deletes what no reader needs from the Delta logs.
func (w *world) cleanLogs(ctx context.Context) error {
	p, err := w.invoke()
	if err != nil {
		return err
	}
	tables := delta.New(delta.Options{Log: p.Log, Store: w.store, Clock: w.clock, Logger: p.Logger})
	for _, name := range []string{table, dead, delta.BatchesTable(table)} {
		if _, err := tables.Clean(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// list reads what the live files of the table are.
func (w *world) list(ctx context.Context) error {
	p, head, err := w.begin(ctx)
	if err != nil {
		return err
	}
	_, err = p.Log.LoadLive(ctx, head.Manifest.Tables[table].Live)
	return err
}
