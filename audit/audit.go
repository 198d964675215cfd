// Package audit reads a whole store and proves the invariants of the protocol,
// from the chain down to single rows and back to the source.
//
// Duty: be the oracle behind `batcher verify` and behind the tests.
//
// Invariants: it trusts nothing that it can compute: counts, sums, hashes and
// lists are taken from the objects themselves and held against what manifests
// say. A finding names the invariant, the manifest and the object.
//
// It never writes to the store.
package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
	"batcher/source/files"
)

// Verifier proves the invariants of one pipeline.
type Verifier struct {
	Log    *commit.Log
	Store  object.Store
	Source *files.Source // needed for CheckSource only
	Set    *files.Set
	Rules  schema.Rules
	Record record.Limits
	Table  string
	Dead   string
	Logger *slog.Logger
}

// Check is a part of the proof that costs extra reads.
type Check uint8

// The checks, to be or-ed.
const (
	CheckRows   Check = 1 << iota // ids of all rows against the ranges
	CheckHashes                   // SHA-256 of every live file
	CheckSource                   // every record of the source against its row
)

// Options choose what is proved.
type Options struct {
	Since  manifest.Seq // rows, hashes and source only of later manifests; the chain is walked from here
	Checks Check
}

// Violation is one broken invariant.
type Violation struct {
	Invariant string       `json:"invariant"`
	Seq       manifest.Seq `json:"seq"`
	Detail    string       `json:"detail"`
}

// Report is what was proved and what was found broken.
type Report struct {
	Head       manifest.Seq `json:"head"`
	Since      manifest.Seq `json:"since"`
	Manifests  int64        `json:"manifests"`
	Batches    int64        `json:"batches"`
	Objects    int64        `json:"objects"`
	Records    int64        `json:"records"` // in committed ranges
	Files      int64        `json:"files"`
	Rows       int64        `json:"rows"` // read back from files, main and dead
	Lost       int64        `json:"lost"`
	Doubled    int64        `json:"doubled"`
	Hashed     int64        `json:"hashed_files"`
	Source     SourceReport `json:"source"`
	Violations []Violation  `json:"violations"`
}

// SourceReport counts records whose row was compared with the source.
type SourceReport struct {
	Verified     int64 `json:"verified"`
	Unverifiable int64 `json:"unverifiable"` // the object is gone or has changed since
	Mismatch     int64 `json:"mismatch"`
}

// maxViolations bounds the report, not the search.
const maxViolations = 100

// walk is one proof under way.
type walk struct {
	*Verifier
	opts     Options
	report   Report
	head     manifest.Snapshot
	attempts map[manifest.Attempt]manifest.Seq
	batches  map[manifest.BatchID]manifest.Seq
	objects  map[string]source.Position // next position; done is doneObject
	files    map[string]manifest.Seq
	live     map[string]map[string]manifest.File // table → key → file
	sizes    map[string]int64                    // objects in the data folders
	done     int64
	gen      manifest.Generation
}

// doneObject stands for the next position of an object that is consumed.
const doneObject source.Position = -1

// Verify proves the invariants. An error means that the proof could not be
// brought to an end; broken invariants are in the report.
func (v *Verifier) Verify(ctx context.Context, o Options) (Report, error) {
	w := &walk{Verifier: v, opts: o,
		attempts: map[manifest.Attempt]manifest.Seq{}, batches: map[manifest.BatchID]manifest.Seq{},
		objects: map[string]source.Position{}, files: map[string]manifest.Seq{},
		live: map[string]map[string]manifest.File{}, sizes: map[string]int64{},
	}
	w.report.Since = o.Since
	head, err := v.Log.Head(ctx)
	if err != nil {
		return w.report, w.damage(err)
	}
	w.head, w.report.Head = head, head.Manifest.Seq
	if err := w.list(ctx); err != nil {
		return w.report, err
	}
	if err := w.chain(ctx); err != nil {
		return w.report, w.damage(err)
	}
	return w.report, w.state(ctx)
}

// damage turns damage of the chain into a finding: that is what a proof is for.
func (w *walk) damage(err error) error {
	var v *manifest.ViolationError
	switch {
	case errors.As(err, &v):
		w.violation(v.Invariant, v.Seq, "%s", v.Detail)
		return nil
	case errors.Is(err, commit.ErrDamaged):
		w.violation("I13", w.report.Head, "%v", err)
		return nil
	}
	return err
}

func (w *walk) violation(invariant string, seq manifest.Seq, format string, args ...any) {
	if len(w.report.Violations) < maxViolations {
		w.report.Violations = append(w.report.Violations, Violation{invariant, seq, fmt.Sprintf(format, args...)})
	}
}

// list notes the size of every object in the data folders.
func (w *walk) list(ctx context.Context) error {
	for name := range w.head.Manifest.Tables {
		for info, err := range w.Store.List(ctx, manifest.TableData(name), object.Deep) {
			if err != nil {
				return fmt.Errorf("list table %s: %w", name, err)
			}
			w.sizes[info.Key] = info.Size
		}
	}
	return nil
}

// chain walks the manifests from Since to the head.
func (w *walk) chain(ctx context.Context) error {
	prev, err := w.Log.Slot(ctx, w.opts.Since)
	if err != nil {
		return err
	}
	if w.opts.Since == 0 {
		if prev, err = manifest.Begin(prev.Manifest, prev.SHA256); err != nil {
			return err
		}
	}
	w.begin(prev.Manifest)
	for seq := w.opts.Since + 1; seq <= w.head.Manifest.Seq; seq++ {
		next, err := w.Log.Slot(ctx, seq)
		if errors.Is(err, object.ErrNotFound) {
			w.violation("I1", seq, "the slot is empty below the head")
			return nil
		}
		if err != nil {
			return err
		}
		if err := w.Log.LoadRanges(ctx, next.Manifest); err != nil {
			return err
		}
		if prev, err = prev.Apply(next.Manifest, next.SHA256); err != nil {
			return err
		}
		if err := w.one(ctx, prev.Manifest); err != nil {
			return err
		}
	}
	if prev.SHA256 != w.head.SHA256 {
		w.violation("I13", w.head.Manifest.Seq, "the head's bytes changed while they were read")
	}
	return nil
}

// begin takes over the state that the walk starts from.
func (w *walk) begin(m *manifest.Manifest) {
	w.gen = m.Generation
	for name := range m.Tables {
		w.live[name] = map[string]manifest.File{}
	}
	if f := m.Progress.Files; f != nil {
		w.done = f.Count
		for _, o := range f.Open {
			w.objects[o.Key] = o.Next
		}
	}
}

// one proves what one manifest says about itself.
func (w *walk) one(ctx context.Context, m *manifest.Manifest) error {
	w.report.Manifests++
	if before, ok := w.attempts[m.Attempt]; ok {
		w.violation("I7", m.Seq, "attempt %s also holds manifest %d", m.Attempt, before)
	}
	w.attempts[m.Attempt] = m.Seq
	if m.Generation != w.gen {
		w.gen = m.Generation
		clear(w.batches)
	}
	added, err := w.added(ctx, m)
	if err != nil {
		return err
	}
	for _, g := range m.Gaps {
		w.objects[g.Key] = doneObject
		w.done++
	}
	if m.Batch == nil {
		return nil
	}
	w.ranges(m)
	return w.rows(ctx, m, added)
}

// added loads the files that a manifest made live and checks that each exists
// once and in full.
func (w *walk) added(ctx context.Context, m *manifest.Manifest) (map[string][]manifest.File, error) {
	out := map[string][]manifest.File{}
	for name, t := range m.Tables {
		list, err := w.Log.LoadFiles(ctx, t.Add)
		if err != nil {
			return nil, err
		}
		removed, err := w.Log.LoadFiles(ctx, t.Remove)
		if err != nil {
			return nil, err
		}
		for _, f := range removed {
			if _, ok := w.live[name][f.Key]; !ok && w.opts.Since == 0 {
				w.violation("I11", m.Seq, "%s is removed but not live", f.Key)
			}
			delete(w.live[name], f.Key)
		}
		for _, f := range list {
			w.report.Files++
			if before, ok := w.files[f.Key]; ok {
				w.violation("I11", m.Seq, "%s was already added by manifest %d", f.Key, before)
			}
			w.files[f.Key] = m.Seq
			w.live[name][f.Key] = f
			if size, ok := w.sizes[f.Key]; !ok {
				w.violation("I10", m.Seq, "%s is absent", f.Key)
			} else if size != f.Size {
				w.violation("I10", m.Seq, "%s has %d bytes, the manifest says %d", f.Key, size, f.Size)
			} else {
				out[name] = append(out[name], f)
			}
		}
	}
	return out, nil
}

// ranges proves that no record is consumed twice in a generation.
func (w *walk) ranges(m *manifest.Manifest) {
	w.report.Batches++
	if before, ok := w.batches[m.Batch.ID]; ok && len(m.Batch.Ranges.Items) > 0 {
		w.violation("I5", m.Seq, "batch %s is also committed by manifest %d", m.Batch.ID, before)
	}
	w.batches[m.Batch.ID] = m.Seq
	records := int64(0)
	for i := range m.Batch.Ranges.Items {
		x := &m.Batch.Ranges.Items[i]
		w.report.Objects++
		records += x.Records
		next, known := w.objects[x.Key]
		if known && next != x.From {
			w.violation("I4", m.Seq, "object %q is read from %d; %s", x.Key, x.From, position(next))
		}
		w.objects[x.Key] = x.To
		if x.Last {
			w.objects[x.Key] = doneObject
			w.done++
		}
	}
	w.report.Records += records
	if records != m.Batch.Rows.Read {
		w.violation("I14", m.Seq, "ranges hold %d records, the batch says %d", records, m.Batch.Rows.Read)
	}
}

func position(p source.Position) string {
	if p == doneObject {
		return "it was consumed before"
	}
	return fmt.Sprintf("its next position is %d", p)
}

// state proves the cumulative lists of the head against the walk.
func (w *walk) state(ctx context.Context) error {
	f := w.head.Manifest.Progress.Files
	if f == nil {
		return nil
	}
	if f.Count != w.done {
		w.violation("I4", w.head.Manifest.Seq, "progress counts %d consumed objects, the chain %d", f.Count, w.done)
	}
	if err := w.Set.Verify(ctx, f); err != nil {
		if errors.Is(err, object.ErrDenied) || errors.Is(err, object.ErrUnknown) || ctx.Err() != nil {
			return err
		}
		w.violation("I10", w.head.Manifest.Seq, "consumed set: %v", err)
	}
	for name, t := range w.head.Manifest.Tables {
		live, err := w.Log.LoadLive(ctx, t.Live)
		if err != nil {
			return w.damage(err)
		}
		w.lives(name, live)
	}
	return nil
}

// lives holds the live list of the head against the adds and removes of the
// chain.
func (w *walk) lives(table string, live []manifest.File) {
	seq := w.head.Manifest.Seq
	seen := map[string]bool{}
	for i := range live {
		f := &live[i]
		if seen[f.Key] {
			w.violation("I11", seq, "%s is live twice", f.Key)
		}
		seen[f.Key] = true
		if f.Seq <= w.opts.Since && w.opts.Since > 0 {
			continue
		}
		if walked, ok := w.live[table][f.Key]; !ok || walked.SHA256 != f.SHA256 {
			w.violation("I16", seq, "%s is in the live list of %s but not in the chain", f.Key, table)
		}
	}
	for key := range w.live[table] {
		if !seen[key] {
			w.violation("I16", seq, "%s is live by the chain but not in the live list of %s", key, table)
		}
	}
}

// readerAt reads ranges of an object; parquet files are read through it.
type readerAt struct {
	ctx   context.Context
	store object.Store
	key   string
}

// ReadAt implements io.ReaderAt.
func (r readerAt) ReadAt(b []byte, off int64) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	body, _, err := r.store.Get(r.ctx, r.key, object.GetOptions{From: off, Limit: int64(len(b))})
	if err != nil {
		return 0, err
	}
	defer body.Close()
	n, err := io.ReadFull(body, b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}
