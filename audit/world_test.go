package audit_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
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
	"batcher/manifest"
	"batcher/object"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/record"
	"batcher/schema"
	"batcher/segment"
	"batcher/source"
	"batcher/source/files"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// clock goes on with every look and every sleep.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time {
	c.now = c.now.Add(time.Millisecond)
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

// seeded is a source of attempts that repeats.
type seeded struct{ r *rand.ChaCha8 }

func (s seeded) Read(b []byte) (int, error) { return s.r.Read(b) }

// world is a source and a store. The tests tamper with what stands in either.
type world struct {
	t      testing.TB
	input  object.Store
	bytes  *memstore.Store // behind store, unless a test puts something between
	store  object.Store
	clock  *clock
	random seeded
	limits batch.Limits
	rules  schema.Rules
	format record.Format
	config string // hash
	change files.OnChange
}

func newWorld(t testing.TB) *world {
	s := memstore.New()
	return &world{
		t: t, input: memstore.New(), bytes: s, store: s,
		clock:  &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		random: seeded{rand.NewChaCha8([32]byte{1})},
		rules:  schema.Rules{MinRecords: 1}, config: "c1",
	}
}

// clone is an independent copy of the store over the same source.
func (w *world) clone(t testing.TB) *world {
	c := *w
	c.t, c.bytes = t, w.bytes.Clone()
	c.store = c.bytes
	return &c
}

// invoke wires one invocation, with nothing remembered of earlier ones.
func (w *world) invoke() *pipeline.Pipeline {
	l := commit.New(commit.Options{Store: w.store, Pipeline: "events", Clock: w.clock, Logger: quiet})
	src, err := files.New(w.input, files.Config{Location: "mem://in", Lookback: 72 * time.Hour, OnChange: w.change})
	if err != nil {
		w.t.Fatal(err)
	}
	return &pipeline.Pipeline{
		Log: l, Store: w.store, Source: src, Input: w.input, Set: src.NewSet(l),
		Config: manifest.Config{Hash: w.config, Source: "mem://in", Format: "ndjson", RecordID: "position", Table: "events", Dead: "events_dead"},
		Table:  "events", Dead: "events_dead", Rules: w.rules, Format: w.format, Limits: w.limits,
		Budget: batch.Budget{Ratio: 1}, FileBytes: 128 << 20, Clock: w.clock, Random: w.random, Logger: quiet,
	}
}

// run drains the source.
func (w *world) run() {
	w.t.Helper()
	if _, err := w.invoke().Run(w.t.Context(), pipeline.Options{}); err != nil {
		w.t.Fatal(err)
	}
}

// drop puts an object into the source.
func (w *world) drop(key, body string) {
	w.t.Helper()
	if _, err := w.input.Put(w.t.Context(), key, []byte(body), object.Always); err != nil {
		w.t.Fatal(err)
	}
}

const all = audit.CheckRows | audit.CheckHashes | audit.CheckSource

// try proves what it is told to.
func (w *world) try(o audit.Options) (audit.Report, error) {
	p := w.invoke()
	v := audit.Verifier{Log: p.Log, Store: w.store, Source: p.Source, Set: p.Set, Rules: p.Rules, Format: p.Format, Config: w.config,
		Table: p.Table, Dead: p.Dead, Logger: quiet}
	return v.Verify(w.t.Context(), o)
}

// verify proves what it is told to, and wants violations of just these
// invariants.
func (w *world) verify(o audit.Options, want ...string) audit.Report {
	w.t.Helper()
	rep, err := w.try(o)
	if err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for _, v := range rep.Violations {
		w.t.Logf("%s at manifest %d: %s", v.Invariant, v.Seq, v.Detail)
		got = append(got, v.Invariant)
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		w.t.Errorf("violations of %q, want %q", got, want)
	}
	return rep
}

func (w *world) layout() manifest.Layout { return manifest.Layout{Pipeline: "events"} }

// put overwrites an object of the store.
func (w *world) put(key string, body []byte) {
	w.t.Helper()
	if _, err := w.bytes.Put(w.t.Context(), key, body, object.Always); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) delete(key string) {
	w.t.Helper()
	if w.bytes.Objects()[key] == nil {
		w.t.Fatalf("%s is not there to be deleted", key)
	}
	if err := w.bytes.Delete(w.t.Context(), key); err != nil {
		w.t.Fatal(err)
	}
}

// slot reads a manifest as it stands.
func (w *world) slot(seq manifest.Seq) *manifest.Manifest {
	w.t.Helper()
	m, err := manifest.DecodeManifest(w.bytes.Objects()[w.layout().Manifest(seq)])
	if err != nil {
		w.t.Fatalf("manifest %d: %v", seq, err)
	}
	return m
}

// head is the last manifest.
func (w *world) head() manifest.Seq {
	n := manifest.Seq(-1)
	for key := range w.bytes.Objects() {
		if strings.HasPrefix(key, w.layout().Manifests()) {
			n++
		}
	}
	return n
}

// edit changes the manifests from a sequence number on, and the links of all
// that follow, so that nothing but the edit is wrong.
func (w *world) edit(from manifest.Seq, change func(m *manifest.Manifest)) {
	w.t.Helper()
	var parent *manifest.Parent
	for seq := from; seq <= w.head(); seq++ {
		m := w.slot(seq)
		if parent != nil {
			m.Parent = parent
		}
		change(m)
		parent = w.write(m)
	}
	w.hint(*parent)
}

// only limits an edit to one manifest.
func only(seq manifest.Seq, change func(m *manifest.Manifest)) func(*manifest.Manifest) {
	return func(m *manifest.Manifest) {
		if m.Seq == seq {
			change(m)
		}
	}
}

// write encodes a manifest into its slot and returns what the next one says of it.
func (w *world) write(m *manifest.Manifest) *manifest.Parent {
	w.t.Helper()
	body, err := manifest.EncodeManifest(m)
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(w.layout().Manifest(m.Seq), body)
	return &manifest.Parent{Seq: m.Seq, Attempt: m.Attempt, SHA256: manifest.Sum(body)}
}

// hint writes the hint.
func (w *world) hint(p manifest.Parent) {
	w.t.Helper()
	body, err := manifest.EncodeHint(manifest.HintFile{Format: manifest.Format, Seq: p.Seq, SHA256: p.SHA256})
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(w.layout().Hint(), body)
}

// table changes one table of a manifest.
func table(m *manifest.Manifest, name string, change func(t *manifest.Table)) {
	t := m.Tables[name]
	change(&t)
	m.Tables[name] = t
}

// forge appends a manifest that consumes ranges without any file, as a writer
// without a memory would.
func (w *world) forge(ranges []source.Range) {
	w.t.Helper()
	before := w.slot(w.head())
	body := w.bytes.Objects()[w.layout().Manifest(before.Seq)]
	m := *before
	m.Seq, m.Base = before.Seq+1, before.Seq
	m.Attempt = manifest.Attempt{0xf0, byte(m.Seq)}
	m.Parent = &manifest.Parent{Seq: before.Seq, Attempt: before.Attempt, SHA256: manifest.Sum(body)}
	p := *before.Progress.Files
	m.Progress.Files = &p
	m.Tables = map[string]manifest.Table{}
	for name, t := range before.Tables {
		t.Add, t.Remove = segment.List[manifest.File]{}, segment.List[manifest.File]{}
		m.Tables[name] = t
	}
	m.Batch = &manifest.Batch{Ranges: segment.Of(ranges), Objects: int64(len(ranges))}
	m.Batch.ID = manifest.NewBatchID(m.Pipeline, m.Generation, ranges)
	for _, x := range ranges {
		m.Batch.Rows.Read += x.Records
		if x.Last {
			p.Count++
		}
	}
	m.Batch.Rows.Duplicate = m.Batch.Rows.Read
	w.hint(*w.write(&m))
}

// move gives the files that a manifest added other keys.
func (w *world) move(m *manifest.Manifest, key func(table string, n int) string) {
	w.t.Helper()
	for name := range m.Tables {
		table(m, name, func(t *manifest.Table) {
			for i := range t.Add.Items {
				was := t.Add.Items[i].Key
				now := key(name, i)
				w.put(now, w.bytes.Objects()[was])
				t.Add.Items[i].Key = now
				for j := range t.Live.Recent {
					if t.Live.Recent[j].Key == was {
						t.Live.Recent[j].Key = now
					}
				}
			}
		})
	}
}

// blocks reads the rows of the first file that manifest 1 added to a table.
func (w *world) blocks(name string, take func(*column.Block)) {
	w.t.Helper()
	m := w.slot(1)
	r, err := datafile.Open(bytes.NewReader(w.bytes.Objects()[m.Tables[name].Add.Items[0].Key]), m.Tables[name].Add.Items[0].Size)
	if err != nil {
		w.t.Fatal(err)
	}
	for b, err := range r.Blocks(m.Tables[name].Schema.Inline) {
		if err != nil {
			w.t.Fatal(err)
		}
		take(b)
	}
}

// replace puts the rows of other worlds in the place of the first file of a
// table in manifest 1, and makes the manifest agree with what is there.
func (w *world) replace(name string, from ...*world) {
	w.t.Helper()
	var body bytes.Buffer
	out := datafile.NewWriter(&body, datafile.Options{})
	for _, o := range from {
		o.blocks(name, func(b *column.Block) {
			if err := out.Write(b); err != nil {
				w.t.Fatal(err)
			}
		})
	}
	made, err := out.Close()
	if err != nil {
		w.t.Fatal(err)
	}
	w.edit(1, func(m *manifest.Manifest) {
		table(m, name, func(t *manifest.Table) {
			was := t.Live.Recent[0]
			now := was
			now.Size, now.Rows, now.SHA256, now.Columns = made.Size, made.Rows, made.SHA256, made.Columns
			t.Live.Recent[0] = now
			t.Live.Rows += now.Rows - was.Rows
			t.Live.Bytes += now.Size - was.Size
			if m.Seq == 1 {
				t.Add.Items[0] = now
				m.Batch.Rows.Duplicate -= now.Rows - was.Rows
				m.Batch.Rows.Written += now.Rows - was.Rows
			}
		})
	})
	w.put(w.slot(1).Tables[name].Add.Items[0].Key, body.Bytes())
}

// lines makes n records from number from on.
func lines(from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, `{"n":%d,"user":"u%d","tags":["a","b%d"],"at":"2026-01-01T00:00:%02dZ"}`+"\n", i, i%7, i%3, i%60)
	}
	return b.String()
}

// history is a good store with six manifests: three plain batches, of which the
// second adds a column and has a bad record, one whose ranges stand in a state
// object, a floor, and a last batch.
func history(t testing.TB) *world {
	w := newWorld(t)
	w.drop("a.ndjson", lines(0, 10))
	w.drop("b.ndjson", lines(10, 10))
	w.run()
	w.drop("c.ndjson", lines(20, 10)+`{"n":1,"extra":true}`+"\n{broken\n")
	w.run()
	w.drop("d.ndjson", lines(30, 10))
	w.run()
	for i := range 80 {
		w.drop(fmt.Sprintf("many/%03d.ndjson", i), lines(100+i, 1))
	}
	w.run()
	p := w.invoke()
	head, err := p.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Log.Append(t.Context(), commit.Proposal{Kind: manifest.Floor, Attempt: manifest.Attempt{1}, Base: head, Repair: commit.Repair{Floor: 4}, Config: p.Config})
	if err != nil || out.Verdict != commit.Committed {
		t.Fatal(out.Decision, err)
	}
	w.drop("e.ndjson", lines(300, 10))
	w.run()
	if w.head() != 6 || w.slot(4).Batch.Ranges.Ref == nil || w.slot(2).Batch.Rows.Dead != 1 {
		t.Fatalf("the history is not what the tests need: head %d", w.head())
	}
	return w
}
