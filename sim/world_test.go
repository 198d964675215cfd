package sim_test

import (
	"context"
	crypto "crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"batcher/batch"
	"batcher/commit"
	"batcher/compact"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/schema"
	"batcher/sim"
	"batcher/source/files"
)

var (
	quiet  = slog.New(slog.DiscardHandler)
	noon   = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	config = manifest.Config{Hash: "c1", Source: "mem://in", Format: "ndjson", RecordID: "position", Table: "events", Dead: "events_dead"}
)

// clock stands still and counts how often it was slept on: no time passes in a
// simulation, so that none can matter.
type clock struct{ sleeps int }

func (c *clock) Now() time.Time { return noon }

func (c *clock) Sleep(context.Context, time.Duration) error {
	c.sleeps++
	return nil
}

// ack is what a process was promised: its attempt stands in the slot.
type ack struct {
	seq     manifest.Seq
	attempt manifest.Attempt
}

// fenced says that no attempt from before seq can commit any more.
type fenced struct{ seq manifest.Seq }

// ended is how a run ended, and which objects it was to drain.
type ended struct {
	err    error
	drains []string
	drawn  []manifest.Attempt // of the run, in order
}

// columns says whether objects share their columns.
type columns uint8

const (
	sameColumns columns = iota
	ownColumns
)

// world is a source and the invocations that share a store.
type world struct {
	input *memstore.Store
	keys  []string // of the source, in order
	own   bool     // every object brings a column of its own
	bulk  int      // objects of the first batch before; 0: one
}

// full is how many consumed objects a manifest has in place at most: the next
// one moves all of them into a segment.
const full = files.RecentLimit / files.RecentSize

// recordsPerObject is how many records each object of a source has.
const recordsPerObject = 2

// newWorld has a source of n objects, with the same columns or each with its own.
func newWorld(t *testing.T, n int, columns columns) *world {
	t.Helper()
	w := &world{own: columns == ownColumns, input: memstore.New(memstore.WithClock(func() time.Time { return noon.Add(-time.Hour) }))}
	for i := range n {
		w.drop(t, fmt.Sprintf("o%d.ndjson", i))
	}
	return w
}

func (w *world) drop(t *testing.T, key string) {
	t.Helper()
	column := "n"
	if w.own {
		column = strings.TrimSuffix(key, ".ndjson")
	}
	body := fmt.Sprintf("{\"k\":%q,%q:1}\n{\"k\":%q,%q:true}\n", key, column, key, column)
	if _, err := w.input.Put(t.Context(), key, []byte(body), object.Always); err != nil {
		t.Fatal(err)
	}
	w.keys = append(w.keys, key)
}

// draws notes the attempts that a run draws.
type draws struct {
	random io.Reader
	drawn  []manifest.Attempt
}

func (d *draws) Read(b []byte) (int, error) {
	n, err := io.ReadFull(d.random, b)
	if len(b) == 16 {
		d.drawn = append(d.drawn, manifest.Attempt(b))
	}
	return n, err
}

// invocation is what one run is told on its command line.
type invocation struct {
	include string // glob over keys; "" means all
	objects int64  // in a batch; 0: no bound
	tries   int    // of one slot; 0: the default
}

// newLog is the chain on a store, with budgets that no real time uses up. tries
// bounds the PUTs of a slot; 0 stands for the default.
func newLog(store object.Store, tries int) *commit.Log {
	return commit.New(commit.Options{Store: store, Pipeline: "events", Clock: &clock{}, Logger: quiet,
		Budget: commit.Budget{Tries: tries, Time: 100 * time.Hour, Try: 100 * time.Hour}})
}

// invoke wires one invocation as cmd does, but for the vendors.
func (w *world) invoke(store object.Store, random io.Reader, o invocation) *pipeline.Pipeline {
	l := newLog(store, o.tries)
	cfg := files.Config{Location: "mem://in", Lookback: 72 * time.Hour}
	if o.include != "" {
		cfg.Include = []string{o.include}
	}
	src, err := files.New(w.input, cfg)
	if err != nil {
		panic(err)
	}
	return &pipeline.Pipeline{
		Log: l, Store: store, Source: src, Input: w.input, Set: src.NewSet(l), Config: config,
		Table: "events", Dead: "events_dead", Rules: schema.Rules{MinRecords: 1},
		Limits: batch.Limits{Objects: o.objects}, Budget: batch.Budget{Ratio: 0.1, MinRecords: 1000},
		File: datafile.Options{}, FileBytes: 128 << 20, Clock: &clock{}, Random: random, Logger: quiet,
	}
}

// writer is a process that makes one whole run of the real pipeline.
func (w *world) writer(name string, o invocation) sim.Process {
	return sim.Process{Name: name, Run: func(c *sim.Client) {
		d := &draws{random: c.Random()}
		p := w.invoke(c, d, o)
		p.Log.OnCommit(func(_ context.Context, r commit.Receipt, _ manifest.Snapshot) error {
			c.Note(ack{r.Seq(), r.Attempt()})
			return nil
		})
		_, err := p.Run(context.Background(), pipeline.Options{})
		c.Note(ended{err, w.drains(o), d.drawn})
	}}
}

// recoverer is a process that runs until nothing fences it any more, as a
// scheduler does that starts a failed run again.
func (w *world) recoverer() sim.Process {
	return sim.Process{Name: "recover", Run: func(c *sim.Client) {
		d := &draws{random: c.Random()}
		var err error
		for range 4 {
			var superseded *commit.SupersededError
			if _, err = w.invoke(c, d, invocation{}).Run(context.Background(), pipeline.Options{}); !errors.As(err, &superseded) {
				break
			}
		}
		c.Note(ended{err, w.keys, d.drawn})
	}}
}

// drains are the objects that an invocation is to consume.
func (w *world) drains(o invocation) []string {
	if o.include == "" {
		return w.keys
	}
	return []string{o.include}
}

// collector is a process that collects garbage so many times, keeping nothing
// that need not be kept.
func (w *world) collector(name string, times int) sim.Process {
	return sim.Process{Name: name, Run: func(c *sim.Client) {
		for range times {
			gc := compact.GC{Log: newLog(c, 0), Store: c, Now: func() time.Time { return noon }, Logger: quiet}
			if _, err := gc.Run(context.Background(), compact.GCOptions{Mode: compact.Confirm}); err != nil {
				c.Note(ended{err: err})
				return
			}
		}
		c.Note(ended{})
	}}
}

// repairer is a process that appends one repair to the chain.
func (w *world) repairer(name string, verb func(context.Context, *compact.Repair) error) sim.Process {
	return sim.Process{Name: name, Run: func(c *sim.Client) {
		r := &compact.Repair{Log: newLog(c, 0), Now: func() time.Time { return noon }, Logger: quiet}
		c.Note(ended{err: verb(context.Background(), r)})
	}}
}

// fencer is a process that fences off all attempts in flight.
func (w *world) fencer(name string) sim.Process {
	return sim.Process{Name: name, Run: func(c *sim.Client) {
		r := &compact.Repair{Log: newLog(c, 0), Now: func() time.Time { return noon }, Logger: quiet}
		head, err := r.Fence(context.Background())
		if err == nil {
			c.Note(fenced{head.Manifest.Seq})
		}
		c.Note(ended{err: err})
	}}
}

// merger is a process that makes one file of all small ones of each table.
func (w *world) merger(name string, tries int) sim.Process {
	return sim.Process{Name: name, Run: func(c *sim.Client) {
		m := &compact.Merge{Log: newLog(c, tries), Store: c, Random: c.Random(), Now: (&clock{}).Now, Logger: quiet, Ahead: 1, Rules: compact.Rules{FanIn: 2}}
		head, err := m.Log.Head(context.Background())
		for _, table := range []string{"events", "events_dead"} {
			if err == nil {
				head, _, err = m.Run(context.Background(), head, table, compact.Until{})
			}
		}
		c.Note(ended{err: err})
	}}
}

// widened says that the column k is JSON from seq on.
type widened struct{ seq manifest.Seq }

// widener is a process that writes the whole table again, with another type for
// one column.
func (w *world) widener(name string, tries int) sim.Process {
	return sim.Process{Name: name, Run: func(c *sim.Client) {
		v := &compact.Widen{Log: newLog(c, tries), Store: c, Random: c.Random(), Logger: quiet, FileBytes: 128 << 20}
		out, err := v.Run(context.Background(), "events", "k", schema.Type{Kind: schema.JSON})
		if err == nil {
			c.Note(widened{out.Head.Manifest.Seq})
		}
		c.Note(ended{err: err})
	}}
}

func expire(ctx context.Context, r *compact.Repair) error {
	_, err := r.Expire(ctx, 0)
	return err
}

func rewindTo(seq manifest.Seq) func(context.Context, *compact.Repair) error {
	return func(ctx context.Context, r *compact.Repair) error {
		_, err := r.Rewind(ctx, seq)
		return err
	}
}

// after is a store whose chain has so many batches of one object (the first of
// w.bulk), of objects that are added to the source, and one orphan for each.
func (w *world) after(t *testing.T, batches int) map[string][]byte {
	t.Helper()
	store := memstore.New()
	random := rand.NewChaCha8([32]byte{'h'})
	founder := w.invoke(store, random, invocation{})
	founder.BeginsNow = true // there is nothing to read yet
	if _, err := founder.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range batches {
		include := fmt.Sprintf("p%d.*", i)
		w.drop(t, fmt.Sprintf("p%d.ndjson", i))
		for n := 1; i == 0 && n < w.bulk; n++ {
			w.drop(t, fmt.Sprintf("p0.%d.ndjson", n))
		}
		if _, err := w.invoke(store, random, invocation{include: include}).Run(t.Context(), pipeline.Options{}); err != nil {
			t.Fatal(err)
		}
		orphan := manifest.DataFile("events", manifest.Seq(i), manifest.Attempt{0xdd, byte(i)}, 0)
		if _, err := store.Put(t.Context(), orphan, []byte("orphan"), object.Always); err != nil {
			t.Fatal(err)
		}
	}
	return store.Objects()
}

// withRandom makes crypto/rand a function of the process that runs.
func withRandom(t *testing.T) func(*sim.Client) {
	t.Helper()
	real := crypto.Reader
	t.Cleanup(func() { crypto.Reader = real })
	return func(c *sim.Client) { crypto.Reader = c.Random() }
}

// harmless says whether a run may end with an error: the store failed, or the
// attempt was fenced. A chain that is said to be damaged is never harmless here.
func harmless(err error) bool {
	var superseded *commit.SupersededError
	if errors.Is(err, commit.ErrDamaged) {
		return false
	}
	for _, e := range []error{commit.ErrUnresolved, object.ErrUnknown, object.ErrConflict, object.ErrDenied} {
		if errors.Is(err, e) {
			return true
		}
	}
	return err == nil || errors.As(err, &superseded) || errors.Is(err, commit.ErrExpired)
}
