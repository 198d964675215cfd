package compact_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"batcher/audit"
	"batcher/commit"
	"batcher/compact"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/memstore"
	"batcher/schema"
	"batcher/segment"
	"batcher/source"
	"batcher/source/files"
)

var (
	quiet  = slog.New(slog.NewTextHandler(io.Discard, nil))
	layout = manifest.Layout{Pipeline: "events"}
	config = manifest.Config{Hash: "c1", Source: "mem://in", Format: "ndjson", RecordID: "position", Table: "events", Dead: "events_dead"}
)

// clock goes on by hand and by Sleep.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

// world is one pipeline's store, its writers and what they have under way.
type world struct {
	t       testing.TB
	random  *rand.Rand
	bytes   *memstore.Store
	clock   *clock
	writers []*writer
	objects int // names given so far
	foreign map[string]string
}

// writer is one process that makes attempts.
type writer struct {
	log *commit.Log
	set *files.Set
}

// attempt has its files in the store and is not proposed yet.
type attempt struct {
	*writer
	proposal commit.Proposal
}

func newWorld(t testing.TB, seed uint64) *world {
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 7)), bytes: memstore.New(memstore.WithShuffle(seed)),
		clock: &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		foreign: map[string]string{
			"events/data/readme.txt":                    "no base",
			"events/data/00000000000000000000/note.txt": "no attempt",
			"events/data/00000000000000000000/00000000000000000000000000000000/part-0.parquet":   "no number",
			"events/data/00000000000000000000/0000000000000000000000000000000A/000000.parquet":   "no lower case",
			"events/data/00000000000000000000/00000000000000000000000000000000/000000.csv":       "no data file",
			"events/data/00000000000000000000/00000000000000000000000000000000/x/000000.parquet": "too deep",
			"events/data/18446744073709551616/00000000000000000000000000000000/000000.parquet":   "no 63 bits",
			"events/data/day=2026-01-01/000000.parquet":                                          "a partition",
			"events/other/00000000000000000000/00000000000000000000000000000000/000000.parquet":  "no data folder",
			"events_dead/data/x": "no base",
			"_batcher/events/state/00000000000000000000/00000000000000000000000000000000/000000.parquet":        "no segment",
			"_batcher/other/state/00000000000000000000/00000000000000000000000000000000/000000.seg":             "another pipeline",
			"other/data/00000000000000000000/00000000000000000000000000000000/000000.parquet":                   "another table",
			"_batcher/_probe/0123456789abcdef/create-race/00000000000000000000/" + strings.Repeat("0", 32) + "": "a probe",
		},
	}
	for key, body := range w.foreign {
		w.put(key, []byte(body))
	}
	for range 3 {
		w.writers = append(w.writers, w.writer(w.bytes))
	}
	_, err := w.writers[0].log.Create(t.Context(), commit.Genesis{
		Attempt: manifest.Attempt{0xff}, Config: config,
		Tables: map[string]*schema.Schema{"events": schema.New(), "events_dead": schema.DeadLetters()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// clone is an independent copy of the store and the clock, with no writers.
func (w *world) clone(t testing.TB) *world {
	c := *w.clock
	return &world{t: t, random: w.random, bytes: w.bytes.Clone(), clock: &c, foreign: w.foreign}
}

func (w *world) writer(store object.Store) *writer {
	l := commit.New(commit.Options{Store: store, Pipeline: "events", Clock: w.clock, Logger: quiet})
	return &writer{l, w.source().NewSet(l)}
}

func (w *world) source() *files.Source {
	src, err := files.New(memstore.New(), files.Config{Location: "mem://in"})
	if err != nil {
		w.t.Fatal(err)
	}
	return src
}

func (w *world) put(key string, body []byte) {
	w.t.Helper()
	if _, err := w.bytes.Put(w.t.Context(), key, body, object.Always); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) head() manifest.Snapshot {
	w.t.Helper()
	head, err := w.writer(w.bytes).log.Head(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return head
}

// size is what an attempt consumes and writes.
type size struct{ objects, files, columns int }

// begin writes the files of an attempt on the present head, with statistics so
// long that few of them fit into a manifest.
func (w *world) begin(by *writer, s size) *attempt {
	w.t.Helper()
	head, err := by.log.Head(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	p := commit.Proposal{Kind: manifest.Data, Base: head, Config: config}
	binary.BigEndian.PutUint64(p.Attempt[:], w.random.Uint64())
	binary.BigEndian.PutUint64(p.Attempt[8:], w.random.Uint64())
	var ranges []source.Range
	for range s.objects {
		w.objects++
		ranges = append(ranges, source.Range{
			Key: fmt.Sprintf("in/%06d.ndjson", w.objects), ETag: "e", Size: 10, To: 10, Last: true, Records: 1,
			Modified: w.clock.now.AddDate(0, 0, -w.random.IntN(3)),
		})
	}
	var list []manifest.File
	for n := range s.files {
		f := manifest.File{Key: manifest.DataFile("events", head.Manifest.Seq, p.Attempt, n)}
		if n == 0 {
			f.Rows = int64(s.objects)
		}
		for c := range s.columns {
			f.Columns = append(f.Columns, manifest.ColumnStats{ID: int32(17 + c), Min: json.RawMessage(`"` + strings.Repeat("a", 32) + `"`), Max: json.RawMessage(`"` + strings.Repeat("z", 32) + `"`)})
		}
		body := fmt.Appendf(nil, "file %d of attempt %s", n, p.Attempt)
		f.Size, f.SHA256 = int64(len(body)), manifest.Sum(body)
		w.put(f.Key, body)
		list = append(list, f)
	}
	p.Batch = &manifest.Batch{Ranges: segment.Of(ranges), Objects: int64(s.objects), Rows: manifest.RowCounts{Read: int64(s.objects), Written: int64(s.objects)}}
	p.Tables = map[string]commit.Delta{"events": {Add: list}}
	p.Advance = func(ctx context.Context, parent *source.FilesProgress, pack *segment.Pack) (*source.FilesProgress, []manifest.Touched, error) {
		d := files.Delta{Ranges: ranges}
		if err := by.set.Prepare(ctx, parent, d); err != nil {
			return nil, nil, err
		}
		after, err := by.set.Advance(parent, d, pack)
		return after, nil, err
	}
	return &attempt{by, p}
}

// lose leaves what an attempt wrote, a state object too, as a process does that
// dies before it proposes.
func (w *world) lose(a *attempt) {
	w.put(layout.State(a.proposal.Base.Manifest.Seq, a.proposal.Attempt, 0), []byte("never named"))
}

// files says whether all files of an attempt are there.
func (w *world) complete(a *attempt) bool {
	held := w.bytes.Objects()
	return !slices.ContainsFunc(a.proposal.Tables["events"].Add, func(f manifest.File) bool { return held[f.Key] == nil })
}

// propose ends an attempt, and holds its end against the floor.
func (w *world) propose(a *attempt) commit.Verdict {
	w.t.Helper()
	out, err := a.log.Append(w.t.Context(), a.proposal)
	if err != nil {
		w.t.Fatalf("append: %v", err)
	}
	base, head := a.proposal.Base.Manifest, out.Head.Manifest
	want := commit.Committed
	if base.Seq < head.GCFloor || base.Generation != head.Generation {
		want = commit.Abort
	}
	if out.Verdict != want {
		w.t.Errorf("an attempt with base %d of generation %d under floor %d of generation %d: %s (%s), want %s",
			base.Seq, base.Generation, head.GCFloor, head.Generation, out.Verdict, out.Reason, want)
	}
	if out.Verdict == commit.Committed && !w.complete(a) {
		w.t.Errorf("manifest %d was committed and its files are not there", out.Receipt.Seq())
	}
	return out.Verdict
}

// commit makes and commits an attempt.
func (w *world) commit(s size) {
	w.t.Helper()
	if v := w.propose(w.begin(w.writers[0], s)); v != commit.Committed {
		w.t.Fatal(v)
	}
}

// gc is a fresh collector over a store.
func (w *world) gc(store object.Store) *compact.GC {
	return &compact.GC{Log: w.writer(store).log, Store: store, Now: w.clock.Now, Logger: quiet}
}

func (w *world) collect(o compact.GCOptions) compact.GCReport {
	w.t.Helper()
	rep, err := w.gc(w.bytes).Run(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return rep
}

// audit proves the store, every hash included, and that foreign objects stand.
func (w *world) audit() audit.Report {
	w.t.Helper()
	wr := w.writer(w.bytes)
	v := audit.Verifier{Log: wr.log, Store: w.bytes, Source: w.source(), Set: wr.set, Table: "events", Dead: "events_dead", Logger: quiet}
	rep, err := v.Verify(w.t.Context(), audit.Options{Checks: audit.CheckHashes})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, x := range rep.Violations {
		w.t.Errorf("violation %s at manifest %d: %s", x.Invariant, x.Seq, x.Detail)
	}
	held := w.bytes.Objects()
	for key, body := range w.foreign {
		if string(held[key]) != body {
			w.t.Errorf("foreign object %s is gone", key)
		}
	}
	return rep
}

// referenced lists every key that some retained snapshot needs, found without any
// of the code under test: by looking for members called key in all the JSON there
// is. Only what a manifest removes is not needed for its sake; the list of it is.
func (w *world) referenced() map[string]bool {
	w.t.Helper()
	held := w.bytes.Objects()
	keys := map[string]bool{}
	seen := map[string]bool{}
	retained := layout.Manifest(w.head().Manifest.RetainFrom)
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				visit(x)
			}
		case map[string]any:
			for name, x := range v {
				if name != "remove" {
					visit(x)
				} else if list, away := x.(map[string]any); away {
					keys[list["ref"].(map[string]any)["key"].(string)] = true
				}
			}
			key, _ := v["key"].(string)
			if !strings.HasPrefix(key, "events/") && !strings.HasPrefix(key, "_batcher/") {
				return
			}
			keys[key] = true
			offset, isRun := v["offset"].(float64)
			if at := fmt.Sprint(key, offset); isRun && !seen[at] && held[key] != nil {
				seen[at] = true
				run := held[key][int(offset):int(offset+v["size"].(float64))]
				if bytes.HasPrefix(run, []byte(`{"format":1,"kind":"consumed"`)) {
					return
				}
				for line := range bytes.Lines(run) {
					var x any
					if err := json.Unmarshal(line, &x); err != nil {
						w.t.Fatalf("%s: %v", key, err)
					}
					visit(x)
				}
			}
		}
	}
	for key, body := range held {
		if !strings.HasPrefix(key, layout.Manifests()) || key < retained {
			continue
		}
		var m any
		if err := json.Unmarshal(body, &m); err != nil {
			w.t.Fatal(err)
		}
		visit(m)
	}
	return keys
}

// versions counts how often each key was written or deleted.
func (w *world) versions() map[string]int {
	out := map[string]int{}
	for _, key := range w.bytes.Keys() {
		out[key] = len(w.bytes.History(key))
	}
	return out
}

// unchanged runs f and wants the store's history to be as before.
func (w *world) unchanged(f func()) {
	w.t.Helper()
	before := w.versions()
	f()
	if after := w.versions(); !maps.Equal(before, after) {
		w.t.Error("the store was written to")
	}
}
