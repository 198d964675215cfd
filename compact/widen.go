package compact

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"

	"batcher/column"
	"batcher/commit"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/output"
	"batcher/retype"
	"batcher/schema"
)

const (
	maxWidenRounds = 256 // proposals of one attempt: each follows files that came meanwhile
	maxWidenStarts = 8   // attempts: each follows a change of the table's columns
)

// Widen gives a column of a table another type: it writes every live file again
// and commits all of them in one manifest of kind rewrite. Writers go on meanwhile.
type Widen struct {
	Log       *commit.Log
	Store     object.Store
	Random    io.Reader // attempts
	Logger    *slog.Logger
	File      datafile.Options
	FileBytes int64 // a file is closed when it has so many bytes
	Naming    schema.Naming
}

// Widening is what a widening did, or would do.
type Widening struct {
	Head  manifest.Snapshot
	From  schema.Type
	To    schema.Type
	Files int64 // live files that are written again
	Rows  int64
	Bytes int64
	retype.Counts
}

// Already says that the column has the type: there is nothing to do.
func (w Widening) Already() bool { return sameType(w.From, w.To) }

// Plan says what Run would do, and refuses what it would refuse without a look at
// the values.
func (w *Widen) Plan(ctx context.Context, table string, at schema.Column, to schema.Type) (Widening, error) {
	head, err := w.Log.Head(ctx)
	if err != nil {
		return Widening{}, err
	}
	return w.plan(ctx, head, table, at, to)
}

func (w *Widen) plan(ctx context.Context, head manifest.Snapshot, table string, at schema.Column, to schema.Type) (Widening, error) {
	t, ok := head.Manifest.Tables[table]
	if !ok {
		return Widening{}, fmt.Errorf("table %q is not part of the pipeline", table)
	}
	s, err := w.Log.LoadSchema(ctx, t.Schema)
	if err != nil {
		return Widening{}, err
	}
	f, err := s.At(at)
	if err != nil {
		return Widening{}, err
	}
	out := Widening{Head: head, From: f.Type, To: to, Files: t.Live.Files, Rows: t.Live.Rows, Bytes: t.Live.Bytes}
	if out.Already() {
		return out, nil
	}
	if slices.Contains(head.Manifest.Config.PartitionBy(), string(at)) {
		return out, fmt.Errorf("%w: column %s splits the table", schema.ErrNotWider, at)
	}
	_, err = schema.Retype(s, at, to, w.Naming)
	return out, err
}

// sameType compares types but for the ids and names of their parts.
func sameType(a, b schema.Type) bool {
	if a.Kind != b.Kind || a.Precision != b.Precision || a.Scale != b.Scale || len(a.Fields) != len(b.Fields) {
		return false
	}
	parts := map[string]schema.Type{}
	for i, f := range a.Fields {
		if a.Kind != schema.Struct {
			f.Key = fmt.Sprint(i)
		}
		parts[f.Key] = f.Type
	}
	for i, f := range b.Fields {
		if b.Kind != schema.Struct {
			f.Key = fmt.Sprint(i)
		}
		if t, ok := parts[f.Key]; !ok || !sameType(t, f.Type) {
			return false
		}
	}
	return true
}

// Run gives the column the type. A column that has it already is a success without
// a manifest, so that it is safe to run again when the outcome was unknown. A
// value that would not be kept is a retype.RefusedError, and nothing is changed.
func (w *Widen) Run(ctx context.Context, table string, at schema.Column, to schema.Type) (Widening, error) {
	head, err := w.Log.Head(ctx)
	if err != nil {
		return Widening{}, err
	}
	for range maxWidenStarts {
		p, err := w.plan(ctx, head, table, at, to)
		if err != nil || p.Already() {
			return p, err
		}
		a := &widening{Widen: w, table: table, column: at, base: head, head: head, plan: p, done: map[string]*rewritten{}}
		if _, err := io.ReadFull(w.Random, a.attempt[:]); err != nil {
			return p, err
		}
		out, err := a.run(ctx)
		if err != nil {
			return p, err
		}
		if out.Verdict == commit.Committed {
			return a.committed(out), nil
		}
		a.drop(ctx)
		if out.Verdict != commit.Reencode {
			return p, &commit.SupersededError{Reason: fmt.Sprintf("rewrite: %s", out.Reason)}
		}
		w.Logger.Info("beginning anew on a newer head", "reason", out.Reason)
		head = out.Head
	}
	return Widening{}, fmt.Errorf("the columns of %s changed %d times meanwhile: %w", table, maxWidenStarts, commit.ErrUnresolved)
}

// widening is one attempt.
type widening struct {
	*Widen
	table   string
	column  schema.Column
	plan    Widening
	attempt manifest.Attempt
	base    manifest.Snapshot
	head    manifest.Snapshot // that the files account for
	done    map[string]*rewritten
	next    int // number of the next file
}

// rewritten is what became of one live file.
type rewritten struct {
	files *output.Files
	add   []manifest.File
	retype.Counts
}

// run proposes until the chain has decided. The steps of a round, and why no two
// may swap:
//  1. write every live file of the head that was not written yet, and give up what
//     replaces files that are no longer live: the manifest replaces all live files,
//     no more and no less;
//  2. propose on exactly this head: a file that comes meanwhile loses the race for
//     the slot, or the proposal does and another round follows.
//
// It returns Reencode when the columns themselves changed. Files that were proposed
// are given up only where the chain has proved that the proposal lost.
func (a *widening) run(ctx context.Context) (commit.Outcome, error) {
	for range maxWidenRounds {
		p, err := a.prepare(ctx)
		if err != nil {
			a.drop(ctx) // every earlier proposal was proved to have lost
			return commit.Outcome{}, a.Log.Absent(ctx, a.base, a.head, err)
		}
		out, err := a.Log.Append(ctx, p)
		if err != nil {
			return out, fmt.Errorf("rewrite: %w", err)
		}
		if out.Verdict != commit.Reencode || a.columnsChanged(out.Head) {
			return out, nil
		}
		a.Logger.Info("files came or went: following them", "reason", out.Reason)
		a.head = out.Head
	}
	a.drop(ctx)
	return commit.Outcome{}, fmt.Errorf("rewrite: files came faster than they could be written again: %w", commit.ErrUnresolved)
}

// columnsChanged says whether the table's columns are others than those that the
// attempt began with.
func (a *widening) columnsChanged(head manifest.Snapshot) bool {
	return head.Manifest.Tables[a.table].Schema.SHA256 != a.base.Manifest.Tables[a.table].Schema.SHA256
}

// prepare brings the files up to the head and makes the proposal.
func (a *widening) prepare(ctx context.Context) (commit.Proposal, error) {
	var delta commit.Delta
	t := a.head.Manifest.Tables[a.table]
	from, err := a.Log.LoadSchema(ctx, t.Schema)
	if err != nil {
		return commit.Proposal{}, err
	}
	live, err := a.Log.LoadLive(ctx, t.Live)
	if err != nil {
		return commit.Proposal{}, err
	}
	if delta.Schema, err = schema.Retype(from, a.column, a.plan.To, a.Naming); err != nil {
		return commit.Proposal{}, err
	}
	still := map[string]bool{}
	for i := range live {
		f := &live[i]
		if a.done[f.Key] == nil {
			if err := a.rewrite(ctx, from, f); err != nil {
				return commit.Proposal{}, fmt.Errorf("rewrite %s: %w", f.Key, err)
			}
		}
		still[f.Key] = true
		delta.Remove = append(delta.Remove, f.Key)
		delta.Add = append(delta.Add, a.done[f.Key].add...)
	}
	for _, key := range slices.Sorted(maps.Keys(a.done)) {
		if !still[key] {
			a.done[key].files.Drop(ctx)
			delete(a.done, key)
		}
	}
	return commit.Proposal{Kind: manifest.Rewrite, Attempt: a.attempt, Base: a.base, Seen: a.head,
		Tables: map[string]commit.Delta{a.table: delta}, Config: a.head.Manifest.Config}, nil
}

// rewrite writes the rows of one file again.
func (a *widening) rewrite(ctx context.Context, from *schema.Schema, f *manifest.File) error {
	change, err := retype.New(from, a.column, a.plan.To, a.Naming)
	if err != nil {
		return err
	}
	in, err := datafile.Open(object.NewReaderAt(ctx, a.Store, f.Key), f.Size)
	if err != nil {
		return err
	}
	r := &rewritten{files: output.New(output.Options{Store: a.Store, Table: a.table, Base: a.base.Manifest.Seq, Attempt: a.attempt,
		File: a.File, Bytes: a.FileBytes, Next: &a.next})}
	a.done[f.Key] = r
	read, written, err := in.Rewrite(from, change.Step, func(b *column.Block) error { return r.files.Write(ctx, b) })
	if err == nil {
		err = r.files.Close(ctx)
	}
	if err != nil {
		return err
	}
	if read != f.Rows || written != read {
		return fmt.Errorf("%w: %d rows, the manifest says %d", datafile.ErrDamaged, read, f.Rows)
	}
	r.add, r.Counts = r.files.Done(), change.Counts()
	for i := range r.add {
		r.add[i].Part = f.Part
	}
	return nil
}

// drop gives up all files of the attempt.
func (a *widening) drop(ctx context.Context) {
	for _, key := range slices.Sorted(maps.Keys(a.done)) {
		a.done[key].files.Drop(context.WithoutCancel(ctx))
	}
	clear(a.done)
}

// committed is the report of an attempt that stands in the chain.
func (a *widening) committed(out commit.Outcome) Widening {
	p := a.plan
	p.Head = out.Head
	removed := out.Head.Manifest.Tables[a.table].Remove
	p.Files, p.Rows, p.Bytes = removed.Count, 0, 0
	for i := range removed.Items {
		p.Rows += removed.Items[i].Rows
		p.Bytes += removed.Items[i].Size
	}
	for _, r := range a.done {
		p.Returned += r.Returned
		p.Left += r.Left
	}
	a.Logger.Info("column widened", "seq", int64(out.Receipt.Seq()), "table", a.table, "column", string(a.column),
		"from", p.From.String(), "to", p.To.String(), "files", p.Files, "rows", p.Rows, "returned", p.Returned, "left", p.Left)
	return p
}
