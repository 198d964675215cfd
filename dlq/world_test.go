package dlq_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"batcher/audit"
	"batcher/batch"
	"batcher/column"
	"batcher/commit"
	"batcher/datafile"
	"batcher/dlq"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/record"
	"batcher/schema"
	"batcher/source/files"
)

// clock goes on only by being asked, and by Sleep.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time {
	c.now = c.now.Add(time.Millisecond)
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

// random is a seeded source of attempts.
type random struct{ r *rand.Rand }

func (r random) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.r.Uint32())
	}
	return len(b), nil
}

// world is a source, and a store with a pipeline.
type world struct {
	t        *testing.T
	input    *memstore.Store
	store    object.Store
	clock    *clock
	random   random
	limits   record.Limits
	consumed record.Limits // under which the last run read
	format   record.Format
	onChange files.OnChange
	config   manifest.Config
}

func newWorld(t *testing.T) *world {
	return &world{t: t, config: config, input: memstore.New(), store: memstore.New(),
		clock: &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, random: random{rand.New(rand.NewPCG(1, 2))}}
}

func (w *world) log() *commit.Log {
	return commit.New(commit.Options{Store: w.store, Pipeline: "events", Clock: w.clock, Logger: slog.New(slog.DiscardHandler)})
}

func (w *world) source(input object.Store) *files.Source {
	w.t.Helper()
	src, err := files.New(input, files.Config{Location: "mem://in", OnChange: w.onChange})
	if err != nil {
		w.t.Fatal(err)
	}
	return src
}

var config = manifest.Config{Hash: "c1", Source: "mem://in", Format: "auto", RecordID: "position", Table: "events", Dead: "events_dead"}

// pipeline wires a run.
func (w *world) pipeline() *pipeline.Pipeline {
	w.consumed = w.limits
	l, src := w.log(), w.source(w.input)
	return &pipeline.Pipeline{
		Log: l, Store: w.store, Source: src, Input: w.input, Set: src.NewSet(l), Config: w.config, Table: "events", Dead: "events_dead",
		Rules: schema.Rules{MinRecords: 1}, Record: w.limits, Format: w.format, Budget: batch.Budget{Ratio: 1}, FileBytes: 128 << 20,
		Clock: w.clock, Random: w.random, Logger: slog.New(slog.DiscardHandler),
	}
}

// run lets the pipeline consume what is there.
func (w *world) run() pipeline.Report {
	w.t.Helper()
	rep, err := w.pipeline().Run(w.t.Context(), pipeline.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return rep
}

// queue wires the dead-letter queue.
func (w *world) queue() *dlq.Queue {
	l, src := w.log(), w.source(w.input)
	return &dlq.Queue{
		Log: l, Store: w.store, Source: src, Set: src.NewSet(l), Config: w.config, Table: "events", Dead: "events_dead",
		Rules: schema.Rules{MinRecords: 1}, Record: w.limits, Format: w.format, FileBytes: 128 << 20,
		Random: w.random, Logger: slog.New(slog.DiscardHandler),
	}
}

func (w *world) drop(key, body string) {
	w.t.Helper()
	if _, err := w.input.Put(w.t.Context(), key, []byte(body), object.Always); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(key string) {
	w.t.Helper()
	if err := w.input.Delete(w.t.Context(), key); err != nil {
		w.t.Fatal(err)
	}
}

// replay replays edited letters.
func (w *world) replay(lines ...string) dlq.Report {
	w.t.Helper()
	edits, err := dlq.ReadEdits(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		w.t.Fatal(err)
	}
	return w.replayAll(dlq.ReplayOptions{Edits: edits, Mode: dlq.Confirm})
}

func (w *world) replayAll(o dlq.ReplayOptions) dlq.Report {
	w.t.Helper()
	rep, err := w.queue().Replay(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return rep
}

// verify proves the store, the source included.
func (w *world) verify() audit.Report {
	w.t.Helper()
	l, src := w.log(), w.source(w.input)
	v := audit.Verifier{Log: l, Store: w.store, Source: src, Set: src.NewSet(l), Rules: schema.Rules{MinRecords: 1}, Record: w.consumed,
		Format: w.format, Table: "events", Dead: "events_dead", Logger: slog.New(slog.DiscardHandler)}
	rep, err := v.Verify(w.t.Context(), audit.Options{Checks: audit.CheckRows | audit.CheckHashes | audit.CheckSource})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, x := range rep.Violations {
		w.t.Errorf("violation %s at manifest %d: %s", x.Invariant, x.Seq, x.Detail)
	}
	if rep.Lost+rep.Doubled+rep.Source.Mismatch > 0 {
		w.t.Errorf("verify %+v", rep)
	}
	return rep
}

// rows are the rows of a table as JSON, sorted.
func (w *world) rows(table string) []string {
	w.t.Helper()
	l := w.log()
	head, err := l.Head(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	t := head.Manifest.Tables[table]
	want, err := l.LoadSchema(w.t.Context(), t.Schema)
	if err != nil {
		w.t.Fatal(err)
	}
	live, err := l.LoadLive(w.t.Context(), t.Live)
	if err != nil {
		w.t.Fatal(err)
	}
	var rows []string
	for i := range live {
		f, err := datafile.Open(object.NewReaderAt(w.t.Context(), w.store, live[i].Key), live[i].Size)
		if err != nil {
			w.t.Fatal(err)
		}
		for b, err := range f.Blocks(want) {
			if err != nil {
				w.t.Fatal(err)
			}
			for c := column.NewCursor(b); c.Next(); {
				rows = append(rows, string(c.AppendJSON(nil)))
			}
		}
	}
	slices.Sort(rows)
	return rows
}

// letters are the dead letters as the lines that people get.
func (w *world) letters() []string {
	w.t.Helper()
	var lines []string
	err := w.queue().Letters(w.t.Context(), dlq.Filter{}, func(l *record.DeadLetter) error {
		b, err := dlq.AppendLine(nil, l)
		lines = append(lines, strings.TrimSpace(string(b)))
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

// head is the number of the newest manifest.
func (w *world) head() manifest.Seq {
	w.t.Helper()
	s, err := w.log().Head(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Manifest.Seq
}

// packed is text as gzip.
func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

// hooked does something before the first commit of a manifest.
type hooked struct {
	object.Store
	before func()
}

func (h *hooked) Put(ctx context.Context, key string, body []byte, c object.Condition) (object.Info, error) {
	if f := h.before; f != nil && strings.Contains(key, "/manifests/") {
		h.before = nil
		f()
	}
	return h.Store.Put(ctx, key, body, c)
}

func expect[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func contain(t *testing.T, what string, lines []string, parts ...string) {
	t.Helper()
	for _, line := range lines {
		found := true
		for _, p := range parts {
			found = found && strings.Contains(line, p)
		}
		if found {
			return
		}
	}
	t.Errorf("%s: none of %q has all of %q", what, lines, parts)
}

func id(source string, offset int) string {
	return fmt.Sprintf(`"_source":%q,"_offset":%d`, source, offset)
}
