package delta

import (
	"context"
	"errors"
	"fmt"
	"time"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/segment"
)

// project puts version v of a table, which manifest seq made.
func (p *Projector) project(ctx context.Context, head manifest.Snapshot, table string, v Version, seq manifest.Seq) error {
	made, err := p.slot(ctx, head, seq)
	if err != nil {
		return err
	}
	if next := Version(made.Manifest.Tables[table].Version); next != v {
		// It was published anew behind versions that are no longer there.
		return &ConflictError{Table: table, Version: v}
	}
	before, err := p.slot(ctx, head, seq-1)
	if err != nil {
		return err
	}
	if _, err := before.Apply(made.Manifest, made.SHA256); err != nil {
		return fmt.Errorf("%w: %w", commit.ErrDamaged, err)
	}
	c, err := p.change(ctx, head, table, before, made)
	if err != nil {
		return expired(head, seq, err)
	}
	body, err := RenderCommit(c)
	if err != nil {
		return err
	}
	return p.settle(ctx, table, made, body)
}

// expired says what it means that something is absent which an old manifest names.
func expired(head manifest.Snapshot, seq manifest.Seq, err error) error {
	var gone *commit.MissingError
	if errors.As(err, &gone) && seq < head.Manifest.RetainFrom {
		return fmt.Errorf("manifest %d: %w: %s", int64(seq), commit.ErrExpired, gone.Error())
	}
	return fmt.Errorf("manifest %d: %w", int64(seq), err)
}

// change gathers what a version says.
func (p *Projector) change(ctx context.Context, head manifest.Snapshot, table string, before, made manifest.Snapshot) (Change, error) {
	origin, err := p.begin(ctx, head)
	if err != nil {
		return Change{}, err
	}
	m := *made.Manifest
	t := m.Tables[table]
	for _, list := range []*segment.List[manifest.File]{&t.Add, &t.Remove} {
		if list.Items, err = p.log.LoadFiles(ctx, *list); err != nil {
			return Change{}, err
		}
	}
	m.Tables = map[string]manifest.Table{table: t}
	c := Change{Table: table, Manifest: &m, SHA256: made.SHA256, Before: before.Manifest.Tables[table], Origin: origin}
	if c.Schema, err = p.log.LoadSchema(ctx, t.Schema); err != nil || m.Republish == nil {
		return c, err
	}
	if c.Live, err = p.log.LoadLive(ctx, t.Live); err != nil {
		return c, err
	}
	c.Foreign, err = p.log.LoadPaths(ctx, m.Republish.Foreign)
	return c, err
}

// tries bounds how often the same bytes are put where nothing was settled.
const tries = 5

// settle puts one version, if absent, until it is known to be there. Whoever put it
// first, the bytes are the same if it was one of ours: the hash of the manifest says
// so, and never the bytes, which another version of batcher may write otherwise.
func (p *Projector) settle(ctx context.Context, table string, made manifest.Snapshot, body []byte) error {
	v := Version(made.Manifest.Tables[table].Version)
	for try := 1; ; try++ {
		_, err := p.store.Put(ctx, commitKey(table, v), body, object.IfAbsent)
		if err == nil {
			return nil
		}
		if errors.Is(err, object.ErrExists) {
			who, there, err := p.author(ctx, table, v)
			if err != nil {
				return err
			}
			if there {
				return compare(made, table, v, who)
			}
		}
		open := errors.Is(err, object.ErrExists) || errors.Is(err, object.ErrConflict) || errors.Is(err, object.ErrUnknown)
		if !open || try == tries || p.clock.Sleep(ctx, time.Duration(try*try)*50*time.Millisecond) != nil {
			return fmt.Errorf("put version %d: %w", v, err)
		}
	}
}
