package delta_test

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"batcher/batch"
	"batcher/commit"
	"batcher/compact"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/schema"
	"batcher/source/files"
	"batcher/table/delta"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// clock goes on by a step with every look, and by Sleep.
type clock struct {
	mu   sync.Mutex
	now  time.Time
	step time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(c.step)
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.add(d)
	return ctx.Err()
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// counter is randomness that repeats: attempts are numbered.
type counter struct{ n uint64 }

func (c *counter) Read(b []byte) (int, error) {
	c.n++
	clear(b)
	binary.BigEndian.PutUint64(b, c.n)
	return len(b), nil
}

// lake is a pipeline that reads objects from memory and writes into a store.
type lake struct {
	t      testing.TB
	input  *memstore.Store
	store  object.Store
	clock  *clock
	random *counter
	config manifest.Config
	rules  schema.Rules
	bytes  int64 // after which a file is closed
}

func newLake(t testing.TB, store object.Store) *lake {
	return &lake{t: t, input: memstore.New(), store: store, random: &counter{}, bytes: 128 << 20,
		clock:  &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), step: time.Second},
		config: manifest.Config{Hash: "c1", Source: "mem://in", Format: "ndjson", RecordID: "position", Table: "events", Dead: "events_dead"},
		rules:  schema.Rules{MinRecords: 1}}
}

// log opens the chain through a store.
func (l *lake) log(store object.Store) *commit.Log {
	return commit.New(commit.Options{Store: store, Pipeline: "events", Clock: l.clock, Logger: quiet,
		Writer: manifest.Writer{Version: "test", Host: "h", PID: 1}})
}

// projector is a fresh one that works through a store.
func (l *lake) projector(store object.Store) *delta.Projector {
	return delta.New(delta.Options{Log: l.log(store), Store: store, Clock: l.clock, Logger: quiet})
}

// head reads the head anew.
func (l *lake) head() manifest.Snapshot {
	l.t.Helper()
	head, err := l.log(l.store).Head(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	return head
}

// run drops an object into the source and drains that.
func (l *lake) run(key, body string) manifest.Snapshot {
	l.t.Helper()
	if _, err := l.input.Put(l.t.Context(), key, []byte(body), object.Always); err != nil {
		l.t.Fatal(err)
	}
	src, err := files.New(l.input, files.Config{Location: "mem://in", Lookback: 72 * time.Hour})
	if err != nil {
		l.t.Fatal(err)
	}
	log := l.log(l.store)
	p := &pipeline.Pipeline{
		Log: log, Store: l.store, Source: src, Input: l.input, Set: src.NewSet(log), Config: l.config,
		Table: "events", Dead: "events_dead", Rules: l.rules, Budget: batch.Budget{Ratio: 1, MinRecords: 1000},
		FileBytes: l.bytes, Clock: l.clock, Random: l.random, Logger: quiet,
	}
	if _, err := p.Run(l.t.Context(), pipeline.Options{}); err != nil {
		l.t.Fatal(err)
	}
	return l.head()
}

// merge makes one file of all that are small.
func (l *lake) merge() manifest.Snapshot {
	l.t.Helper()
	m := compact.Merge{Log: l.log(l.store), Store: l.store, Random: l.random, Now: l.clock.Now, Logger: quiet,
		Rules: compact.Rules{Target: 1 << 30, FanIn: 4}}
	head, did, err := m.Run(l.t.Context(), l.head(), "events", compact.Until{})
	if err != nil || did.Files == 0 {
		l.t.Fatalf("merged %+v, %v", did, err)
	}
	return head
}

// widen gives a column of the main table another type.
func (l *lake) widen(column schema.Column, to schema.Type) manifest.Snapshot {
	l.t.Helper()
	w := compact.Widen{Log: l.log(l.store), Store: l.store, Random: l.random, Logger: quiet, FileBytes: 128 << 20}
	out, err := w.Run(l.t.Context(), "events", column, to)
	if err != nil {
		l.t.Fatal(err)
	}
	return out.Head
}

// rewind restores a snapshot.
func (l *lake) rewind(seq manifest.Seq) manifest.Snapshot {
	l.t.Helper()
	r := compact.Repair{Log: l.log(l.store), Now: l.clock.Now, Logger: quiet}
	head, err := r.Rewind(l.t.Context(), seq)
	if err != nil {
		l.t.Fatal(err)
	}
	return head
}

// publish projects the head and wants no error.
func (l *lake) publish() []delta.State {
	l.t.Helper()
	states, err := l.projector(l.store).Publish(l.t.Context(), l.head())
	if err != nil {
		l.t.Fatal(err)
	}
	return states
}
