package delta

import (
	"context"
	"errors"
	"fmt"
	"time"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
)

// project puts the version of a table that manifest seq made, behind the version at,
// and returns its number.
func (p *Projector) project(ctx context.Context, head manifest.Snapshot, table string, at Version, seq manifest.Seq) (Version, error) {
	before, made, err := p.linked(ctx, head, seq)
	if err != nil {
		return at, err
	}
	body, err := p.of(table).commit(ctx, head, before, made, at)
	if err != nil {
		return at, expired(head, seq, err)
	}
	v := p.of(table).stands(made.Manifest).version
	if at < 0 && v > 0 {
		return v, p.beginLate(ctx, head, table, v, made, body)
	}
	return v, p.putVersion(ctx, table, v, made, body)
}

// linked reads a manifest and the one before, of which there is none before the
// first, and proves that they follow each other.
func (p *Projector) linked(ctx context.Context, head manifest.Snapshot, seq manifest.Seq) (before, made manifest.Snapshot, err error) {
	if made, err = p.slot(ctx, head, seq); err != nil {
		return before, made, err
	}
	if seq == 0 {
		_, err = manifest.Begin(made.Manifest, made.SHA256)
	} else if before, err = p.slot(ctx, head, seq-1); err == nil {
		_, err = before.Apply(made.Manifest, made.SHA256)
	} else {
		return before, made, err
	}
	if err != nil {
		return before, made, fmt.Errorf("%w: %w", commit.ErrDamaged, err)
	}
	return before, made, nil
}

// beginLate begins a log with a version other than 0. Readers open such a log by a
// checkpoint only, so that is there before the version is. Where the version is there
// somebody else began, perhaps with an earlier one, and the checkpoint is theirs.
func (p *Projector) beginLate(ctx context.Context, head manifest.Snapshot, table string, v Version, made manifest.Snapshot, body []byte) error {
	_, there, err := p.author(ctx, table, v)
	if err != nil {
		return err
	}
	if there {
		return p.putVersion(ctx, table, v, made, body)
	}
	h, err := p.putCheckpoint(ctx, head, table, v)
	if err != nil {
		return err
	}
	if err := p.putVersion(ctx, table, v, made, body); err != nil {
		return err
	}
	return p.putHint(ctx, table, h)
}

// expired says what it means that something is absent which an old manifest names.
func expired(head manifest.Snapshot, seq manifest.Seq, err error) error {
	var gone *commit.MissingError
	if errors.As(err, &gone) && seq < head.Manifest.RetainFrom {
		return fmt.Errorf("manifest %d: %w: %s", int64(seq), commit.ErrExpired, gone.Error())
	}
	return fmt.Errorf("manifest %d: %w", int64(seq), err)
}

// putVersion puts one version. Whoever put it first, it says the same if it was one of
// ours: the hash of the manifest says so, and never the bytes, which another version of
// batcher may write otherwise.
func (p *Projector) putVersion(ctx context.Context, table string, v Version, made manifest.Snapshot, body []byte) error {
	err := p.settle(ctx, commitKey(table, v), body, func() (bool, error) {
		p.batches.forget()
		who, there, err := p.author(ctx, table, v)
		if err != nil || !there {
			return false, err
		}
		return true, p.compare(made, table, v, who)
	})
	if err != nil {
		return fmt.Errorf("put version %d: %w", v, err)
	}
	return nil
}

// tries bounds how often the same bytes are put where nothing was settled.
const tries = 5

// settle puts an object, if absent, until it is known to be there. Of one that somebody
// put first, look says whether it is still there and what is wrong with it.
func (p *Projector) settle(ctx context.Context, key string, body []byte, look func() (there bool, err error)) error {
	for try := 1; ; try++ {
		_, err := p.store.Put(ctx, key, body, object.IfAbsent)
		if err == nil {
			return nil
		}
		if errors.Is(err, object.ErrExists) {
			if there, err := look(); there || err != nil {
				return err
			}
		}
		open := errors.Is(err, object.ErrExists) || errors.Is(err, object.ErrConflict) || errors.Is(err, object.ErrUnknown)
		if !open || try == tries || p.clock.Sleep(ctx, time.Duration(try*try)*50*time.Millisecond) != nil {
			return err
		}
	}
}
