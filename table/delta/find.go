package delta

import (
	"context"
	"errors"
	"fmt"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
)

// logFolder is the folder of a table's Delta log.
func logFolder(table string) string { return table + "/_delta_log/" }

func commitKey(table string, v Version) string {
	return fmt.Sprintf("%s%020d.json", logFolder(table), int64(v))
}

func checkpointKey(table string, v Version) string {
	return fmt.Sprintf("%s%020d.checkpoint.parquet", logFolder(table), int64(v))
}

func hintKey(table string) string { return logFolder(table) + "_last_checkpoint" }

const (
	authorBytes = 16 << 10 // of a commit file hold the two lines that tell its author
	maxHint     = 1 << 20  // foreign hints carry a schema
)

// author reads who wrote a version, if it is there.
func (p *Projector) author(ctx context.Context, table string, v Version) (author, bool, error) {
	start, _, err := object.ReadAll(ctx, p.store, commitKey(table, v), object.GetOptions{Limit: authorBytes}, authorBytes)
	if errors.Is(err, object.ErrNotFound) {
		return author{}, false, nil
	}
	if err != nil {
		return author{}, false, fmt.Errorf("read version %d of the Delta log: %w", v, err)
	}
	return parseAuthor(start), true, nil
}

// hint reads _last_checkpoint; its version is -1 if there is none.
func (p *Projector) hint(ctx context.Context, table string) (Hint, error) {
	b, _, err := object.ReadAll(ctx, p.store, hintKey(table), object.GetOptions{}, maxHint)
	if errors.Is(err, object.ErrNotFound) {
		return Hint{Version: -1}, nil
	}
	if err != nil {
		return Hint{}, fmt.Errorf("read the hint to the last checkpoint: %w", err)
	}
	h, _ := parseHint(b)
	return h, nil
}

// place is where a Delta log ends.
type place struct {
	version Version      // -1: before its first version
	seq     manifest.Seq // manifest that made it; -1 if none of ours did
}

var nowhere = place{-1, -1}

// find returns the last version of a table after it has proved that it is ours, or
// that the chain publishes the table anew right behind it. In the order of what is
// likely: the log is where the chain is; it lags by one; it lags by more. Versions are
// contiguous, so the last one is found by galloping from a version that is known to be
// there.
func (p *Projector) find(ctx context.Context, head manifest.Snapshot, table string) (place, error) {
	want := p.of(table).stands(head.Manifest).version
	who, there, err := p.author(ctx, table, want)
	if err != nil {
		return nowhere, err
	}
	if there {
		return p.findAbove(ctx, head, table, who)
	}
	at := want - 1
	if at >= 0 {
		if who, there, err = p.author(ctx, table, at); err != nil {
			return nowhere, err
		}
	}
	if !there {
		if at, who, err = p.gallop(ctx, table, at, p.of(table).first(head)); err != nil || at < 0 {
			return nowhere, err
		}
	}
	if !who.Ours {
		passed, err := p.passed(ctx, head, table, at)
		if err != nil || passed {
			return place{at, -1}, err
		}
	}
	return place{at, who.Seq}, p.prove(ctx, head, table, at, who)
}

// findAbove ends find where the log is as far as the chain, or further.
func (p *Projector) findAbove(ctx context.Context, head manifest.Snapshot, table string, who author) (place, error) {
	at := place{p.of(table).stands(head.Manifest).version, who.Seq}
	if err := p.prove(ctx, head, table, at.version, who); err != nil {
		return nowhere, err
	}
	who, there, err := p.author(ctx, table, at.version+1)
	if err != nil || !there {
		return at, err
	}
	return place{at.version + 1, who.Seq}, p.prove(ctx, head, table, at.version+1, who)
}

// gallop finds the last version below one that was absent, from the one that the hint
// names or, without one, from the one that a log most likely has. Where the hint names a
// later one, somebody went on between the two looks or knows a newer head. Where it names
// a version that is not there, the log was not written by us alone.
func (p *Projector) gallop(ctx context.Context, table string, free, likely Version) (Version, author, error) {
	h, err := p.hint(ctx, table)
	if err != nil {
		return -1, author{}, err
	}
	p.hinted[table] = h.Version
	low, last := Version(-1), author{}
	look := func(v Version) (bool, error) {
		who, there, err := p.author(ctx, table, v)
		if there {
			low, last = v, who
		} else {
			free = v
		}
		return there, err
	}
	if h.Version >= 0 && h.Version >= free {
		free = h.Version + 1
	}
	from := h.Version
	if from < 0 {
		from = likely
	}
	for v, step := from, Version(1); v < free; v, step = low+step, 2*step {
		there, err := look(v)
		if err != nil {
			return -1, author{}, err
		}
		if !there && v == h.Version {
			return -1, author{}, &ConflictError{Table: table, Version: v}
		}
	}
	for free-low > 1 {
		if _, err := look(low + (free-low)/2); err != nil {
			return -1, author{}, err
		}
	}
	return low, last, nil
}

// prove shows that a version was made from this chain. Otherwise it is a
// *ConflictError, or damage where a pipeline of this name made it from another chain.
func (p *Projector) prove(ctx context.Context, head manifest.Snapshot, table string, v Version, who author) error {
	conflict := &ConflictError{table, v, who.Engine}
	if !who.Ours || who.Seq < 0 {
		return conflict
	}
	ours := application(head.Manifest.Pipeline)
	if p.of(table).stands(head.Manifest) == (place{v, who.Seq}) && who.Seq < head.Manifest.Seq-1 && who.App == ours {
		return nil // the log is as far as the chain: no read for a hash that was compared when it was written
	}
	made, err := p.slot(ctx, head, who.Seq)
	switch {
	case errors.Is(err, commit.ErrDamaged) && who.App != ours:
		return conflict // it was made by another pipeline, whose chain is longer
	case err != nil:
		return fmt.Errorf("version %d of the Delta log says what it was made from: %w", v, err)
	}
	return p.compare(made, table, v, who)
}

// compare holds the author of a version against the manifest that should have made
// it.
func (p *Projector) compare(made manifest.Snapshot, table string, v Version, who author) error {
	m := made.Manifest
	switch {
	case !who.Ours || who.App != application(m.Pipeline):
		return &ConflictError{table, v, who.Engine}
	case who.Seq != m.Seq || who.SHA256 != made.SHA256:
		return fmt.Errorf("%w: version %d of the Delta log was made from manifest %d with sha256 %s, the chain has manifest %d with %s",
			commit.ErrDamaged, v, int64(who.Seq), who.SHA256, int64(m.Seq), made.SHA256)
	case p.of(table).stands(m) != (place{v, m.Seq}):
		return fmt.Errorf("%w: version %d of the Delta log was made from manifest %d, which made version %d of %s",
			commit.ErrDamaged, v, int64(m.Seq), p.of(table).stands(m).version, table)
	}
	return nil
}

// maxForeign bounds how many foreign versions are passed to find ours.
const maxForeign = 256

// ours returns the last version of a table in conflict that is ours, for people to
// know; -1 if it is far away or there is none, or where err is no conflict.
func (p *Projector) ours(ctx context.Context, head manifest.Snapshot, table string, err error) Version {
	var conflict *ConflictError
	if !errors.As(err, &conflict) {
		return -1
	}
	for v := conflict.Version - 1; v >= max(0, conflict.Version-maxForeign); v-- {
		who, there, err := p.author(ctx, table, v)
		if err != nil {
			return -1
		}
		if there && p.prove(ctx, head, table, v, who) == nil {
			return v
		}
		if there {
			conflict.Version, conflict.Engine = v, who.Engine
		}
	}
	return -1
}

// path returns the manifests that made the versions of a table after at, in order.
func (p *Projector) path(ctx context.Context, head manifest.Snapshot, table string, at Version) ([]manifest.Seq, error) {
	return p.of(table).path(ctx, head, at)
}

// passed says whether the chain publishes a table anew right behind a foreign version.
func (p *Projector) passed(ctx context.Context, head manifest.Snapshot, table string, foreign Version) (bool, error) {
	if p.of(table).stands(head.Manifest).version <= foreign {
		return false, nil
	}
	seqs, err := p.path(ctx, head, table, foreign)
	if err != nil {
		return false, err
	}
	next, err := p.slot(ctx, head, seqs[0])
	if err != nil {
		return false, err
	}
	r := next.Manifest.Republish
	return r != nil && r.Table == table && Version(r.Version) == foreign+1, nil
}
