package dlq

import (
	"context"
	"errors"
	"fmt"

	"batcher/batch"
	"batcher/column"
	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/output"
	"batcher/record"
	"batcher/schema"
	"batcher/segment"
	"batcher/source"
	"batcher/source/files"
)

// RetryReport says what became of quarantined objects.
type RetryReport struct {
	Objects []Retried `json:"objects"`
}

// Retried is what became of one quarantined object.
type Retried struct {
	ID
	Result Result             `json:"result"`
	Seq    manifest.Seq       `json:"seq,omitempty"` // manifest that has its rows
	Rows   manifest.RowCounts `json:"rows,omitzero"`
	Reason string             `json:"reason,omitempty"` // why it is not read
}

// Result is how the retry of one object ended.
type Result string

// The results.
const (
	Read        Result = "read"    // its rows stand in the place of its letter
	StillBroken Result = "broken"  // it cannot be read now, either
	Gone        Result = "gone"    // nothing stands under its key
	Skipped     Result = "refused" // it cannot be retried
	Settled     Result = "already" // it is not quarantined any more
)

// Retry reads quarantined objects again, as they are now. Where one can be read its
// rows, and its own dead letters, stand in the place of the letter that stood for
// all of it, and its entry in the consumed set has its identity of now: in one
// manifest of kind replace for each object. Others stay as they are.
func (q *Queue) Retry(ctx context.Context, f Filter) (RetryReport, error) {
	out := RetryReport{Objects: []Retried{}}
	f.Stages = []string{quarantine}
	var ids []ID
	err := q.Letters(ctx, f, func(l *record.DeadLetter) error {
		ids = append(ids, idOf(l))
		return nil
	})
	if err != nil {
		return out, err
	}
	for _, id := range ids {
		var done Retried
		report, err := q.settle(ctx, func(ctx context.Context, a *attempt) error {
			done = Retried{ID: id, Result: Settled}
			return a.retry(ctx, &done)
		})
		if err != nil {
			return out, fmt.Errorf("retry %s: %w", id.Source, err)
		}
		if done.Result == Read {
			done.Seq = report.Seq
		}
		out.Objects = append(out.Objects, done)
	}
	return out, nil
}

// retry reads one object again, and proposes its rows if it can be read.
func (a *attempt) retry(ctx context.Context, done *Retried) error {
	if err := a.head.Manifest.Config.Admits(a.Config); err != nil {
		return err
	}
	was, touched, err := a.quarantined(ctx, done)
	if err != nil || was == nil {
		return err
	}
	now, err := a.Source.Stat(ctx, was.Key)
	if errors.Is(err, object.ErrNotFound) {
		done.Result, done.Reason = Gone, "nothing stands under its key"
		return nil
	}
	if err != nil {
		return err
	}
	o := files.Object{Info: now, Name: done.Source, Was: a.Source.Identity(was.Key, was.ETag, was.Size), Replaces: true}
	sealed, err := a.reread(ctx, o)
	var broken *record.BrokenError
	switch {
	case errors.As(err, &broken):
		done.Result, done.Reason = StillBroken, broken.Error()
		return nil
	case gone(err):
		done.Result, done.Reason = StillBroken, "it changed while it was read: try again"
		return nil
	case err != nil:
		return err
	}
	sealed.Batch.Rows.Replaced = 1 // the letter that stood for all of it
	done.Result, done.Rows = Read, sealed.Batch.Rows
	return a.replace(ctx, done.ID, touched, sealed)
}

// quarantined returns the range with which an object was set aside, and the file
// that has its letter; nil if it cannot be retried, and why in done.
func (a *attempt) quarantined(ctx context.Context, done *Retried) (*source.Range, map[int]bool, error) {
	var found []*chosen
	touched := map[int]bool{}
	err := a.visit(ctx, a.live, Filter{IDs: []ID{done.ID}, Stages: []string{quarantine}}, func(at int, l *record.DeadLetter) error {
		found, touched[at] = append(found, &chosen{ID: idOf(l), at: at, way: bySource}), true
		return nil
	})
	if err != nil || len(found) == 0 {
		return nil, nil, err
	}
	if err := a.locate(ctx, found); err != nil {
		return nil, nil, err
	}
	refuse := func(reason string) (*source.Range, map[int]bool, error) {
		done.Result, done.Reason = Skipped, reason
		return nil, nil, nil
	}
	r := found[0].origin
	switch {
	case r == nil:
		return refuse(found[0].why)
	case r.From > 0 || r.Broken == "":
		return refuse("a part of it was consumed before it could not be read any further")
	case source.Marked(done.Source):
		return refuse("it was consumed beside other content of its key")
	}
	e, ok, err := a.Set.Find(ctx, a.head.Manifest.Progress.Files, r.Key)
	if err != nil {
		return nil, nil, err
	}
	if !ok || e.Identity != a.Source.Identity(r.Key, r.ETag, r.Size) {
		return refuse("another content of its key was consumed since")
	}
	return r, touched, nil
}

// reread decodes an object whole into the attempt's files.
func (a *attempt) reread(ctx context.Context, o files.Object) (batch.Sealed, error) {
	var learned *schema.Schema
	for range maxRestarts {
		g := batch.New(batch.Options{
			Schema: a.published, Learned: learned, Rules: a.Rules, Record: a.Record, Format: a.Format,
			Main: func(b *column.Block) (*column.Block, error) { return nil, a.main.Write(ctx, b) },
			Dead: func(b *column.Block) (*column.Block, error) { return nil, a.dead.Write(ctx, b) },
		})
		sealed, err := a.gather(ctx, g, o)
		if !errors.Is(err, record.ErrRestart) {
			return sealed, err
		}
		learned = g.Schema()
		a.main.Drop(ctx)
		a.dead.Drop(ctx)
	}
	return batch.Sealed{}, ErrNoProgress
}

// gather reads the object once.
func (a *attempt) gather(ctx context.Context, g *batch.Gather, o files.Object) (batch.Sealed, error) {
	body, err := a.Source.Open(ctx, o)
	if err != nil {
		return batch.Sealed{}, err
	}
	defer body.Close()
	if err := g.Read(ctx, batch.Object{Info: o.Range(), Whole: true}, body); err != nil {
		return batch.Sealed{}, err
	}
	sealed, err := g.Seal(nil)
	if err != nil {
		return sealed, err
	}
	for _, f := range []*output.Files{a.main, a.dead} {
		if err := f.Close(ctx); err != nil {
			return sealed, err
		}
	}
	return sealed, nil
}

// replace proposes the rows of an object in the place of the letter that stood for
// it, which is the one row that it had.
func (a *attempt) replace(ctx context.Context, id ID, touched map[int]bool, sealed batch.Sealed) error {
	away, err := a.rewrite(ctx, touched, func(l *record.DeadLetter) move {
		if idOf(l) == id {
			return leaves
		}
		return stays
	})
	if err != nil {
		return err
	}
	b := sealed.Batch
	b.Replaced = segment.Of([]manifest.Replaced{{
		Key: b.Ranges.Items[0].Key, Rows: b.Rows.Replaced, IDSum: record.IDHash(id.Source, id.Offset),
	}})
	delta := files.Delta{Ranges: b.Ranges.Items}
	a.proposal = &commit.Proposal{
		Kind: manifest.Replace, Attempt: a.id, Base: a.head, Batch: &b, Config: a.Config,
		Tables: map[string]commit.Delta{
			a.Table: {Schema: sealed.Schema, Add: a.main.Done()},
			a.Dead:  {Add: a.dead.Done(), Remove: away},
		},
		Advance: func(ctx context.Context, parent *source.FilesProgress, pack *segment.Pack) (*source.FilesProgress, []manifest.Touched, error) {
			if err := a.Set.Prepare(ctx, parent, delta); err != nil {
				return nil, nil, err
			}
			after, err := a.Set.Advance(parent, delta, pack)
			return after, nil, err
		},
	}
	return nil
}
