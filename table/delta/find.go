package delta

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
// that the chain publishes the table anew right behind it. In the order of what is likely: the log is where the chain is; it
// lags by one; it lags by more. Versions are contiguous, so the last one is found
// by galloping from a version that is known to be there.
func (p *Projector) find(ctx context.Context, head manifest.Snapshot, table string) (place, error) {
	want := Version(head.Manifest.Tables[table].Version)
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
		if at, who, err = p.gallop(ctx, table, at); err != nil || at < 0 {
			return nowhere, err
		}
	}
	if !who.Ours {
		passed, err := p.passed(ctx, head, table, at)
		if err != nil || passed {
			return place{at, -1}, err
		}
	}
	return place{at, who.Seq}, p.check(ctx, head, table, at, who)
}

// findAbove ends find where the log is as far as the chain, or further.
func (p *Projector) findAbove(ctx context.Context, head manifest.Snapshot, table string, who author) (place, error) {
	at := place{Version(head.Manifest.Tables[table].Version), who.Seq}
	if err := p.check(ctx, head, table, at.version, who); err != nil {
		return nowhere, err
	}
	who, there, err := p.author(ctx, table, at.version+1)
	if err != nil || !there {
		return at, err
	}
	return place{at.version + 1, who.Seq}, p.check(ctx, head, table, at.version+1, who)
}

// gallop finds the last version below one that was absent, from the one that the
// hint names or from the first. Where the hint names a later one, somebody went on
// between the two looks or knows a newer head. Where it names a version that is not
// there, the log was not written by us alone.
func (p *Projector) gallop(ctx context.Context, table string, free Version) (Version, author, error) {
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
	for v, step := max(h.Version, 0), Version(1); v < free; v, step = low+step, 2*step {
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

// check proves that a version was made from this chain. Otherwise it is a
// *ConflictError, or damage where a pipeline of this name made it from another chain.
func (p *Projector) check(ctx context.Context, head manifest.Snapshot, table string, v Version, who author) error {
	conflict := &ConflictError{table, v, who.Engine}
	if !who.Ours || who.Seq < 0 {
		return conflict
	}
	ours := application(head.Manifest.Pipeline)
	t := head.Manifest.Tables[table]
	if Version(t.Version) == v && who.Seq == t.LastSeq && who.Seq < head.Manifest.Seq-1 && who.App == ours {
		return nil // the log is as far as the chain: no read for a hash that was compared when it was written
	}
	made, err := p.slot(ctx, head, who.Seq)
	switch {
	case errors.Is(err, commit.ErrDamaged) && who.App != ours:
		return conflict // it was made by another pipeline, whose chain is longer
	case err != nil:
		return fmt.Errorf("version %d of the Delta log says what it was made from: %w", v, err)
	}
	return compare(made, table, v, who)
}

// compare holds the author of a version against the manifest that should have made
// it.
func compare(made manifest.Snapshot, table string, v Version, who author) error {
	m := made.Manifest
	switch {
	case !who.Ours || who.App != application(m.Pipeline):
		return &ConflictError{table, v, who.Engine}
	case who.Seq != m.Seq || who.SHA256 != made.SHA256:
		return fmt.Errorf("%w: version %d of the Delta log was made from manifest %d with sha256 %s, the chain has manifest %d with %s",
			commit.ErrDamaged, v, int64(who.Seq), who.SHA256, int64(m.Seq), made.SHA256)
	case Version(m.Tables[table].Version) != v || m.Tables[table].LastSeq != m.Seq:
		return fmt.Errorf("%w: version %d of the Delta log was made from manifest %d, which made version %d of %s",
			commit.ErrDamaged, v, int64(m.Seq), m.Tables[table].Version, table)
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
		if there && p.check(ctx, head, table, v, who) == nil {
			return v
		}
		if there {
			conflict.Version, conflict.Engine = v, who.Engine
		}
	}
	return -1
}

// path returns the manifests that made the versions of a table after at, in order.
// Each manifest says which one touched the table last, so that none between is read.
// It goes back no further than to the manifest that published the table anew: then
// the first version may be above at+1.
func (p *Projector) path(ctx context.Context, head manifest.Snapshot, table string, at Version) ([]manifest.Seq, error) {
	var seqs []manifest.Seq
	for t := head.Manifest.Tables[table]; Version(t.Version) > at; {
		seqs = append(seqs, t.LastSeq)
		before, err := p.slot(ctx, head, t.LastSeq-1)
		if err != nil {
			return nil, err
		}
		last, ok := before.Manifest.Tables[table]
		if !ok {
			last.Version = -1
		}
		if last.Version != t.Version-1 {
			made, err := p.slot(ctx, head, t.LastSeq)
			if err != nil {
				return nil, err
			}
			if r := made.Manifest.Republish; r != nil && r.Table == table {
				break
			}
			return nil, fmt.Errorf("%w: manifest %d made version %d of %s, the one before has version %d (I16)",
				commit.ErrDamaged, int64(t.LastSeq), t.Version, table, last.Version)
		}
		t = last
	}
	slices.Reverse(seqs)
	return seqs, nil
}

// passed says whether the chain publishes a table anew right behind a foreign version.
func (p *Projector) passed(ctx context.Context, head manifest.Snapshot, table string, foreign Version) (bool, error) {
	if Version(head.Manifest.Tables[table].Version) <= foreign {
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
