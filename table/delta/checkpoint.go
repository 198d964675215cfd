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

const (
	// checkpointEvery is how many versions lie between checkpoints: without any a
	// reader reads every version.
	checkpointEvery = 10
	// hintWithin is how long after the start of a Publish a hint may be put. A hint is
	// overwritten and cannot be fenced: one that comes later than logs are kept would
	// name a checkpoint that was deleted.
	hintWithin = time.Hour
)

// checkpoint sees to it that the last version, up to one that is there, which should
// have a checkpoint has one and is named by the hint, or a later one. It also repairs
// the hint of a slower projector.
func (p *Projector) checkpoint(ctx context.Context, head manifest.Snapshot, table string, at Version) error {
	due := at - at%checkpointEvery
	if due == 0 {
		return nil
	}
	if _, known := p.hinted[table]; !known {
		h, err := p.hint(ctx, table)
		if err != nil {
			return err
		}
		p.hinted[table] = h.Version
	}
	if p.hinted[table] >= due {
		return nil
	}
	h, err := p.putCheckpoint(ctx, head, table, due)
	if errors.Is(err, commit.ErrExpired) {
		p.logger.Info("no checkpoint: the version is not ours, or no longer retained", "table", table, "version", int64(due))
		return nil
	}
	if err != nil {
		return err
	}
	return p.putHint(ctx, table, h)
}

// putCheckpoint puts the checkpoint of a version, if absent, and returns its hint.
func (p *Projector) putCheckpoint(ctx context.Context, head manifest.Snapshot, table string, v Version) (Hint, error) {
	file, h, err := p.of(table).checkpoint(ctx, head, v)
	if err != nil {
		return Hint{}, err
	}
	key := checkpointKey(table, v)
	_, err = p.store.Put(ctx, key, file, object.IfAbsent)
	if errors.Is(err, object.ErrExists) {
		// It says the same. Its size may differ, if another version of batcher wrote it.
		r, info, err := p.store.Get(ctx, key, object.GetOptions{Limit: 1})
		if err != nil {
			return Hint{}, fmt.Errorf("look at checkpoint %d: %w", v, err)
		}
		h.Bytes = info.Size
		return h, r.Close()
	}
	if err != nil {
		return Hint{}, fmt.Errorf("put checkpoint %d: %w", v, err)
	}
	return h, nil
}

// putHint names a checkpoint that is there, unless it is late.
func (p *Projector) putHint(ctx context.Context, table string, h Hint) error {
	if late := p.clock.Now().Sub(p.begun); late >= hintWithin {
		p.logger.Warn("hint not written: the next run writes it", "table", table, "version", int64(h.Version), "after", late)
		return nil
	}
	body, err := h.encode()
	if err != nil {
		return err
	}
	if _, err := p.store.Put(ctx, hintKey(table), body, object.Always); err != nil {
		return fmt.Errorf("put the hint to checkpoint %d: %w", h.Version, err)
	}
	p.hinted[table] = h.Version
	return nil
}
