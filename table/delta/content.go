package delta

import (
	"context"
	"fmt"
	"slices"

	"batcher/commit"
	"batcher/manifest"
	"batcher/segment"
)

// content is what the versions of one table are made of. Everything else about a Delta
// log is the same for all tables.
type content interface {
	// stands returns the version at which a manifest leaves the table, and the manifest
	// that made that version.
	stands(m *manifest.Manifest) place
	// first returns the version that a log has which has any.
	first(head manifest.Snapshot) Version
	// path returns the manifests that made the versions of a table after at, in order.
	path(ctx context.Context, head manifest.Snapshot, at Version) ([]manifest.Seq, error)
	// commit gives the bytes of the version that a manifest made, where at is the last
	// one that is there; -1: none. It puts what the version names.
	commit(ctx context.Context, head, before, made manifest.Snapshot, at Version) ([]byte, error)
	// checkpoint gives the bytes of the checkpoint of a version, and its hint. It fails
	// with commit.ErrExpired if the version is not of this chain or no longer retained.
	checkpoint(ctx context.Context, head manifest.Snapshot, v Version) ([]byte, Hint, error)
}

// of returns what a table is made of.
func (p *Projector) of(table string) content {
	if table == p.batches.name {
		return p.batches
	}
	return chainTable{p, table}
}

// chainTable is a table of the chain: manifests say which files they add and remove.
type chainTable struct {
	p    *Projector
	name string
}

func (t chainTable) stands(m *manifest.Manifest) place {
	state, ok := m.Tables[t.name]
	if !ok {
		return nowhere
	}
	return place{Version(state.Version), state.LastSeq}
}

func (t chainTable) first(manifest.Snapshot) Version { return 0 }

// path reads no manifest that did not touch the table: each says which one did last.
// It goes back no further than to the manifest that published the table anew: then
// the first version may be above at+1.
func (t chainTable) path(ctx context.Context, head manifest.Snapshot, at Version) ([]manifest.Seq, error) {
	var seqs []manifest.Seq
	for now := t.stands(head.Manifest); now.version > at; {
		seqs = append(seqs, now.seq)
		before, err := t.p.slot(ctx, head, now.seq-1)
		if err != nil {
			return nil, err
		}
		last := t.stands(before.Manifest)
		if last.version != now.version-1 {
			made, err := t.p.slot(ctx, head, now.seq)
			if err != nil {
				return nil, err
			}
			if r := made.Manifest.Republish; r != nil && r.Table == t.name {
				break
			}
			return nil, fmt.Errorf("%w: manifest %d made version %d of %s, the one before has version %d (I16)",
				commit.ErrDamaged, int64(now.seq), now.version, t.name, last.version)
		}
		now = last
	}
	slices.Reverse(seqs)
	return seqs, nil
}

func (t chainTable) commit(ctx context.Context, head, before, made manifest.Snapshot, at Version) ([]byte, error) {
	if t.stands(made.Manifest).version != at+1 {
		// It was published anew behind versions that are no longer there.
		return nil, &ConflictError{Table: t.name, Version: at + 1}
	}
	c, err := t.change(ctx, head, before, made)
	if err != nil {
		return nil, err
	}
	return RenderCommit(c)
}

// change gathers what a version says.
func (t chainTable) change(ctx context.Context, head, before, made manifest.Snapshot) (Change, error) {
	origin, err := t.p.begin(ctx, head)
	if err != nil {
		return Change{}, err
	}
	m := *made.Manifest
	state := m.Tables[t.name]
	for _, list := range []*segment.List[manifest.File]{&state.Add, &state.Remove} {
		if list.Items, err = t.p.log.LoadFiles(ctx, *list); err != nil {
			return Change{}, err
		}
	}
	m.Tables = map[string]manifest.Table{t.name: state}
	c := Change{Table: t.name, Manifest: &m, SHA256: made.SHA256, Before: before.Manifest.Tables[t.name], Origin: origin}
	if c.Schema, err = t.p.log.LoadSchema(ctx, state.Schema); err != nil || m.Republish == nil {
		return c, err
	}
	if c.Live, err = t.p.log.LoadLive(ctx, state.Live); err != nil {
		return c, err
	}
	c.Foreign, err = t.p.log.LoadPaths(ctx, m.Republish.Foreign)
	return c, err
}

func (t chainTable) checkpoint(ctx context.Context, head manifest.Snapshot, v Version) ([]byte, Hint, error) {
	s, err := t.snapshot(ctx, head, v)
	if err != nil {
		return nil, Hint{}, err
	}
	return RenderCheckpoint(s)
}

// snapshot gathers the whole table at a version of the chain.
func (t chainTable) snapshot(ctx context.Context, head manifest.Snapshot, v Version) (Snapshot, error) {
	seqs, err := t.path(ctx, head, v-1)
	if err != nil {
		return Snapshot{}, err
	}
	made, err := t.p.slot(ctx, head, seqs[0])
	if err != nil {
		return Snapshot{}, err
	}
	if t.stands(made.Manifest).version != v {
		return Snapshot{}, fmt.Errorf("version %d is not of this chain: %w", v, commit.ErrExpired)
	}
	state := made.Manifest.Tables[t.name]
	s := Snapshot{Table: t.name, Manifest: made.Manifest}
	if s.Origin, err = t.p.begin(ctx, head); err != nil {
		return s, err
	}
	if s.Schema, err = t.p.log.LoadSchema(ctx, state.Schema); err != nil {
		return s, expired(head, seqs[0], err)
	}
	if s.Live, err = t.p.log.LoadLive(ctx, state.Live); err != nil {
		return s, expired(head, seqs[0], err)
	}
	return s, nil
}
