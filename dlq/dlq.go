// Package dlq takes care of dead letters: records that could not become rows, and
// quarantined objects of which no record could be read.
//
// Duty: list and show letters, put them out as lines that may be edited, bring
// them back as rows (replay), read quarantined objects again (retry), and drop
// letters for good (discard).
//
// Invariants: every change is one manifest, and the files of the dead-letter table
// that it takes away are its read set: whatever happens beside it, a letter leaves
// the table once, as one row or as one that was counted as discarded. A row has
// the id of its letter. A letter that stays dead keeps its bytes as they were
// received, whatever was tried in their place, and stands with the newest reason.
// The source is read only as it was consumed, but by a retry.
//
// It never moves progress, but for a retry, which puts the content that could be
// read in the place of the one that could not. It never plans, and never guesses
// how a text is laid out: where the letter does not tell, its object does, or
// nobody.
package dlq

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"

	"batcher/commit"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/record"
	"batcher/schema"
	"batcher/source/files"
)

// Queue is the dead-letter queue of one pipeline. Its fields are set once.
type Queue struct {
	Log    *commit.Log
	Store  object.Store // holds the pipeline
	Source *files.Source
	Set    *files.Set
	Config manifest.Config // of the pipeline file, under which records are decoded
	Table  string
	Dead   string

	Rules     schema.Rules
	Record    record.Limits
	Format    record.Format
	File      datafile.Options
	FileBytes int64 // a data file is closed when it has so many bytes

	Random io.Reader // attempts
	Logger *slog.Logger
}

// quarantine is the stage of letters that stand for whole objects.
const quarantine = "container"

// isQuarantined says whether a letter stands for an object none of whose records
// could be read.
func isQuarantined(l *record.DeadLetter) bool { return l.Stage == quarantine }

// isCut says whether a letter does not have all of its record's text.
func isCut(l *record.DeadLetter) bool {
	return !isQuarantined(l) && l.Length > int64(len(l.Raw))
}

// ErrNoProgress says that the letters could not be decoded in a bounded number of
// tries.
var ErrNoProgress = errors.New("types widened again and again")

// live returns the live files of the dead-letter table, oldest first.
func (q *Queue) live(ctx context.Context, head manifest.Snapshot) ([]manifest.File, error) {
	t, ok := head.Manifest.Tables[q.Dead]
	if !ok {
		return nil, fmt.Errorf("pipeline %s has no table %q: %w", head.Manifest.Pipeline, q.Dead, commit.ErrForeign)
	}
	return q.Log.LoadLive(ctx, t.Live)
}

// letters yields the letters of a file; each is valid until the next one.
func (q *Queue) letters(ctx context.Context, f *manifest.File) iter.Seq2[record.DeadLetter, error] {
	return func(yield func(record.DeadLetter, error) bool) {
		file, err := datafile.Open(object.NewReaderAt(ctx, q.Store, f.Key), f.Size)
		if err != nil {
			yield(record.DeadLetter{}, fmt.Errorf("%s: %w", f.Key, err))
			return
		}
		for b, err := range file.Blocks(schema.DeadLetters()) {
			var in *rows
			if err == nil {
				in, err = rowsOf(b)
			}
			if err != nil {
				yield(record.DeadLetter{}, fmt.Errorf("%s: %w", f.Key, err))
				return
			}
			for range b.Rows {
				if !yield(in.next(), nil) {
					return
				}
			}
		}
	}
}

// Letters calls visit with each letter of the head that the filter chooses, in the
// order of the table. A letter is valid until visit returns.
func (q *Queue) Letters(ctx context.Context, f Filter, visit func(*record.DeadLetter) error) error {
	head, err := q.Log.Head(ctx)
	if err != nil {
		return err
	}
	live, err := q.live(ctx, head)
	if err == nil {
		err = q.visit(ctx, live, f, func(_ int, l *record.DeadLetter) error { return visit(l) })
	}
	return q.Log.Absent(ctx, head, head, err)
}

// visit goes through the letters of files that the filter chooses; at is the
// file's index.
func (q *Queue) visit(ctx context.Context, live []manifest.File, f Filter, visit func(at int, l *record.DeadLetter) error) error {
	c := f.compile()
	for i := range live {
		if !c.mayHold(&live[i]) {
			continue
		}
		for l, err := range q.letters(ctx, &live[i]) {
			if err != nil {
				return err
			}
			if !c.chooses(&l) {
				continue
			}
			if err := visit(i, &l); err != nil {
				return err
			}
			if c.left--; c.left == 0 {
				return nil
			}
		}
	}
	return nil
}
