// Package audit reads a whole store and proves the invariants of the protocol,
// from the chain down to single rows and back to the source.
//
// Duty: be the oracle behind `batcher verify` and behind the tests.
//
// Invariants: it trusts nothing that it can compute: counts, sums, hashes and
// lists are taken from the objects themselves and held against what manifests
// say. What garbage collection may have deleted, because no retained snapshot
// needs it, is not missed: the rows are held against the source where they are now.
// A finding names the invariant, the manifest and the object. A damaged
// chain is a finding, never a reason to give up; only a store that does not
// answer is. Memory grows with objects, files and batches, never with rows.
//
// Verify never writes to the store. Admit and Doctor write below
// _batcher/_probe/ alone, each in a folder of its own that it removes when it
// ends. What a probe that was killed leaves there is not swept by a later one:
// nobody can tell it from the folder of a probe that is running. Nothing reads
// it, and it may be deleted by hand when no doctor runs.
package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/record"
	"batcher/schema"
	"batcher/segment"
	"batcher/source"
	"batcher/source/files"
)

// Verifier proves the invariants of one pipeline.
type Verifier struct {
	Log    *commit.Log
	Store  object.Store
	Source *files.Source // without it neither CheckSource nor the identities of consumed objects are proved
	Set    *files.Set
	Rules  schema.Rules
	Record record.Limits
	Format record.Format
	// Config is the hash of the configuration that Rules, Record and Format are part
	// of (manifest.Config.Hash). What a batch wrote under another one need not be what
	// the source gives under this one: such rows are unverifiable, unless they agree.
	// "" stands for every configuration.
	Config string
	Table  string
	Dead   string
	Logger *slog.Logger
	Step   func(what string, done, total int64) // how far the proof is, of manifests, then of ranges of the source; may be nil
}

// step tells how far the proof is.
func (v *Verifier) step(what string, done, total int64) {
	if v.Step != nil {
		v.Step(what, done, total)
	}
}

// Check is a part of the proof that costs extra reads.
type Check uint8

// The checks, to be or-ed.
const (
	CheckRows   Check = 1 << iota // ids of all rows against the ranges
	CheckHashes                   // SHA-256 of every file and state run
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
	Rows       int64        `json:"rows"`      // read back from the files of batches, as far as they are kept; main and dead
	Live       int64        `json:"live_rows"` // that readers see at the head; main and dead
	Lost       int64        `json:"lost"`      // records without a row, at least: rows are summed by object
	Doubled    int64        `json:"doubled"`   // rows without a record of their own, at least
	Hashed     int64        `json:"hashed_files"`
	Source     SourceReport `json:"source"`
	Violations []Violation  `json:"violations"`
}

// SourceReport counts records whose row was compared with the source.
type SourceReport struct {
	Verified     int64 `json:"verified"`
	Unverifiable int64 `json:"unverifiable"` // the object is gone or has changed since, or the configuration has, or nobody knows the range any more
	Mismatch     int64 `json:"mismatch"`
	Reconfigured int64 `json:"reconfigured"` // of the unverifiable: written under another configuration, and other rows under this one
}

// maxViolations bounds the report, not the search.
const maxViolations = 100

// walk is one proof under way.
type walk struct {
	*Verifier
	opts      Options
	report    Report
	slots     []manifest.Seq // that were listed, in order
	head      manifest.Snapshot
	attempts  map[manifest.Attempt]manifest.Seq
	batches   map[manifest.BatchID]manifest.Seq
	objects   map[string]standing // what of each object is consumed
	files     map[string]manifest.Seq
	live      map[string]map[string]manifest.SHA256 // table → key → hash of the file's entry
	schemas   map[string]known                      // by table
	sizes     map[string]int64                      // objects in the data and state folders
	runs      map[segment.Ref]bool                  // state runs that were looked at
	changes   []change                              // what was done to objects, in order
	marked    map[string][]string                   // names with a mark that were ever seen of a key
	sources   map[string]SourceReport               // what was counted of each key
	uncounted []uncount
	later     later           // what is held against the source at the head
	whole     map[string]bool // live files of which every column was read there
	total     tally           // rows that all tables have to have, content apart
	partly    bool            // the walk does not know the rows of every object
	skipped   bool            // rows were not read because their files may be gone
	retained  map[string]bool // files live at retain_from
	blind     bool            // below retain_from, and what the state follows from was deleted
	outrun    bool            // a file was deleted between the listing and its reading, by right
	done      int64
	sum       source.Hash // of the identities of consumed objects
	gen       manifest.Generation
}

// standing is what of an object is consumed, and which rows it has to have. A name
// that is not its object's key has rows alone, and counts as consumed.
type standing struct {
	next source.Position
	was  source.Hash // content that the one at hand follows
	rows tally       // content apart
}

// doneObject stands for the next position of an object that is consumed.
const doneObject source.Position = -1

// maxWalks bounds how often a proof begins again because snapshots that it was
// reading expired.
const maxWalks = 4

// Verify proves the invariants of the chain as it was listed at the start. An error
// means that the proof could not be brought to an end; broken invariants are in the
// report. What looks broken while snapshots expire may be garbage collected by right:
// the proof begins again then, and says object.ErrChanged when that happened each time.
func (v *Verifier) Verify(ctx context.Context, o Options) (Report, error) {
	for range maxWalks {
		w := &walk{Verifier: v, opts: o,
			attempts: map[manifest.Attempt]manifest.Seq{}, batches: map[manifest.BatchID]manifest.Seq{},
			objects: map[string]standing{}, marked: map[string][]string{}, sources: map[string]SourceReport{}, files: map[string]manifest.Seq{},
			live: map[string]map[string]manifest.SHA256{}, schemas: map[string]known{},
			sizes: map[string]int64{}, runs: map[segment.Ref]bool{}, retained: map[string]bool{}, whole: map[string]bool{},
		}
		w.report.Since = o.Since
		if err := w.prove(ctx); err != nil {
			return w.report, err
		}
		expired, err := w.overtaken(ctx)
		if err != nil || !expired {
			return w.report, err
		}
		v.Logger.InfoContext(ctx, "snapshots expired, or their files were deleted, while they were verified", "seq", int64(w.report.Head))
	}
	return Report{Since: o.Since}, fmt.Errorf("verify: snapshots expired, or their files were deleted, each of %d times that the store was read: %w", maxWalks, object.ErrChanged)
}

// prove makes one walk.
func (w *walk) prove(ctx context.Context) error {
	if found, err := w.find(ctx); err != nil || !found {
		return err
	}
	w.report.Head = w.head.Manifest.Seq
	for _, t := range w.head.Manifest.Tables {
		w.report.Live += t.Live.Rows
	}
	if err := w.list(ctx, w.Log.Layout().States()); err != nil {
		return err
	}
	if whole, err := w.chain(ctx); err != nil || !whole {
		return err
	}
	if err := w.state(ctx); err != nil {
		return err
	}
	if err := w.atSource(ctx); err != nil {
		return err
	}
	return w.liveRows(ctx)
}

// overtaken says whether what was found broken may be so by right: because fewer
// snapshots are retained by now than at the head of the walk, or because files that
// none of them needs were there when the walk began, and no longer when it read them.
// That the head cannot be read for damage changes nothing about what was found.
func (w *walk) overtaken(ctx context.Context) (bool, error) {
	if w.outrun {
		return true, nil
	}
	if len(w.report.Violations) == 0 || w.head.Manifest == nil {
		return false, nil
	}
	now, err := w.Log.Refresh(ctx, w.head)
	switch {
	case err == nil:
		return now.Manifest.RetainFrom > w.head.Manifest.RetainFrom, nil
	case unproved(err):
		return false, err
	}
	return false, nil
}

// unproved says whether an error leaves open what the store holds. Any other
// error is a fact about its bytes, and so a finding.
func unproved(err error) bool {
	for _, e := range []error{
		context.Canceled, context.DeadlineExceeded,
		object.ErrUnknown, object.ErrDenied, object.ErrConflict, object.ErrUnsupported,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// damage turns damage into a finding: that is what a proof is for. The invariant
// is that of the place, unless the error names one itself.
func (w *walk) damage(err error, invariant string, seq manifest.Seq) error {
	var v *manifest.ViolationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &v):
		w.violation(v.Invariant, v.Seq, "%s", v.Detail)
		return nil
	case unproved(err):
		return err
	}
	w.violation(invariant, seq, "%v", err)
	return nil
}

func (w *walk) violation(invariant string, seq manifest.Seq, format string, args ...any) {
	v := Violation{invariant, seq, fmt.Sprintf(format, args...)}
	if len(w.report.Violations) < maxViolations && !slices.Contains(w.report.Violations, v) { // a file may be read more than once
		w.report.Violations = append(w.report.Violations, v)
	}
}
