package commit

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
	"batcher/segment"
	"batcher/source"
)

// Genesis is what a pipeline begins with.
type Genesis struct {
	ID      [16]byte                  // random: makes the pipeline id
	Attempt manifest.Attempt          // random
	Tables  map[string]*schema.Schema // every table with its reserved columns
	Config  manifest.Config
	Start   time.Time // zero: every object is part of the source
}

// Create brings the pipeline into being, or finds that somebody did: format.json
// gives it an id, claims bind its tables to the id, then slot 0 is settled. Each
// step is written once by whoever comes first, so any number may race. A claim
// of another pipeline or a table folder with a foreign Delta log is ErrForeign.
// Claims come before genesis: where a chain exists they need not be read again.
func (l *Log) Create(ctx context.Context, g Genesis) (manifest.Snapshot, error) {
	id, err := l.putFormat(ctx, l.layout.Pipeline+"-"+hex.EncodeToString(g.ID[:]))
	if err != nil {
		return manifest.Snapshot{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(g.Tables)) {
		if err := l.claim(ctx, name, id); err != nil {
			return manifest.Snapshot{}, err
		}
	}
	m := &manifest.Manifest{
		Format: manifest.Format, Pipeline: id, Kind: manifest.Genesis, Attempt: g.Attempt,
		Progress: source.Progress{Files: &source.FilesProgress{Start: g.Start}},
		Tables:   map[string]manifest.Table{}, Config: g.Config, Writer: l.writer,
		CreatedAt: l.clock.Now().UTC().Truncate(time.Millisecond),
	}
	for name, s := range g.Tables {
		ref, err := manifest.NewSchemaRef(s, segment.NewPack(""))
		if err != nil || ref.Inline == nil {
			return manifest.Snapshot{}, fmt.Errorf("table %q: first schema does not fit: %w", name, err)
		}
		m.Tables[name] = manifest.Table{Schema: ref, Version: -1}
	}
	body, err := manifest.EncodeManifest(m)
	if err != nil {
		return manifest.Snapshot{}, err
	}
	occ, err := l.settle(ctx, 0, body)
	if err != nil {
		return manifest.Snapshot{}, err
	}
	first, err := manifest.Begin(occ.m, occ.sum)
	if err != nil {
		return manifest.Snapshot{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return l.climb(ctx, occupant{first.Manifest, first.SHA256})
}

// Join binds tables to a pipeline that has consumed nothing yet, and of which they are
// no part so far: its pipeline file names others now. The next manifest brings them in.
func (l *Log) Join(ctx context.Context, tables ...string) error {
	id, err := l.ID(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(slices.Values(tables)) {
		for info, err := range l.store.List(ctx, name+"/_delta_log/", object.Shallow) {
			if err != nil {
				return fmt.Errorf("look for a foreign Delta log of table %q: %w", name, err)
			}
			return fmt.Errorf("%w: table %q already has a Delta log (%s) that pipeline %s did not write", ErrForeign, name, info.Key, id)
		}
		if err := l.Claim(ctx, name, id); err != nil {
			return err
		}
	}
	return nil
}

// ID is the pipeline id of the genesis, as claims name it. object.ErrNotFound says that
// there is none.
func (l *Log) ID(ctx context.Context) (string, error) {
	body, err := l.read(ctx, l.layout.Format(), maxHint)
	if err != nil {
		return "", fmt.Errorf("get %s: %w", l.layout.Format(), err)
	}
	f, err := manifest.DecodeFormat(body)
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrDamaged, l.layout.Format(), err)
	}
	return f.Pipeline, nil
}

// Owner is the id of the pipeline that a table is bound to. object.ErrNotFound says that
// it is to none.
func (l *Log) Owner(ctx context.Context, table string) (string, error) {
	body, err := l.read(ctx, manifest.Claim(table), maxHint)
	if err != nil {
		return "", fmt.Errorf("get %s: %w", manifest.Claim(table), err)
	}
	c, err := manifest.DecodeClaim(body)
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrDamaged, manifest.Claim(table), err)
	}
	return c.Pipeline, nil
}

// putFormat writes the object that gives the pipeline its id, once.
func (l *Log) putFormat(ctx context.Context, id string) (string, error) {
	body, err := manifest.EncodeFormat(manifest.FormatFile{Format: manifest.Format, Pipeline: id})
	if err != nil {
		return "", err
	}
	stored, err := l.once(ctx, l.layout.Format(), body)
	if err != nil {
		return "", err
	}
	f, err := manifest.DecodeFormat(stored)
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrDamaged, l.layout.Format(), err)
	}
	return f.Pipeline, nil
}

// claim binds a table to a pipeline that begins, once.
func (l *Log) claim(ctx context.Context, table, id string) error {
	for info, err := range l.store.List(ctx, table+"/_delta_log/", object.Shallow) {
		if err != nil {
			return fmt.Errorf("look for a foreign Delta log of table %q: %w", table, err)
		}
		if err := l.foreignLog(ctx, table, id, info.Key); err != nil {
			return err
		}
		break
	}
	return l.Claim(ctx, table, id)
}

// Claim binds a table to the pipeline with an id, that of its genesis, once. It fails
// with ErrForeign if another pipeline was first.
func (l *Log) Claim(ctx context.Context, table, id string) error {
	body, err := manifest.EncodeClaim(manifest.ClaimFile{Format: manifest.Format, Table: table, Pipeline: id})
	if err != nil {
		return err
	}
	stored, err := l.once(ctx, manifest.Claim(table), body)
	if err != nil {
		return err
	}
	c, err := manifest.DecodeClaim(stored)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, manifest.Claim(table), err)
	}
	if c.Pipeline != id || c.Table != table {
		return fmt.Errorf("%w: table %q belongs to pipeline %s, this one is %s", ErrForeign, table, c.Pipeline, id)
	}
	return nil
}

// foreignLog refuses a table folder that already has a Delta log when there is
// no chain of ours that could have made it.
func (l *Log) foreignLog(ctx context.Context, table, id, key string) error {
	switch _, err := l.getSlot(ctx, 0); {
	case err == nil:
		return nil // somebody made the genesis meanwhile; the log may be ours
	case !errors.Is(err, object.ErrNotFound):
		return fmt.Errorf("whose Delta log table %q has: %w", table, err)
	}
	return fmt.Errorf("%w: table %q already has a Delta log (%s) that pipeline %s did not write", ErrForeign, table, key, id)
}
