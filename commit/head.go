package commit

import (
	"context"
	"errors"
	"fmt"

	"batcher/manifest"
	"batcher/object"
)

// maxHint bounds the bytes of the hint object.
const maxHint = 4 << 10

// Head finds the newest manifest without a listing: the hint, its manifest and
// the next one, then gallop and bisect. With a fresh hint that is three GETs
// however long the chain. A head that is stale by the time it is used is
// harmless. It fails with ErrNoChain before genesis, and with ErrDamaged when
// the hint is ahead of the chain or does not fit it, and with ErrDropped where the
// pipeline is being deleted.
func (l *Log) Head(ctx context.Context) (manifest.Snapshot, error) {
	head, err := l.Last(ctx)
	if err == nil && head.Manifest.Kind == manifest.Drop {
		return manifest.Snapshot{}, fmt.Errorf("pipeline %s: %w", l.layout.Pipeline, ErrDropped)
	}
	return head, err
}

// Last is Head for whoever deletes a pipeline: it also returns the manifest that ends a
// chain. ErrDropped says that only the hint is left.
func (l *Log) Last(ctx context.Context) (manifest.Snapshot, error) {
	start, hinted, err := l.getHint(ctx)
	if err != nil {
		return manifest.Snapshot{}, err
	}
	o, err := l.getSlot(ctx, start.Seq)
	switch {
	case errors.Is(err, object.ErrNotFound) && start.Dropped:
		return manifest.Snapshot{}, fmt.Errorf("pipeline %s: %w", l.layout.Pipeline, ErrDropped)
	case errors.Is(err, object.ErrNotFound) && hinted:
		return manifest.Snapshot{}, fmt.Errorf("%w: the hint names manifest %d, which is absent (I12)", ErrDamaged, int64(start.Seq))
	case errors.Is(err, object.ErrNotFound):
		return manifest.Snapshot{}, ErrNoChain
	case err != nil:
		return manifest.Snapshot{}, err
	case hinted && o.sum != start.SHA256:
		return manifest.Snapshot{}, fmt.Errorf("%w: manifest %d has sha256 %s, the hint says %s (I12, I13)", ErrDamaged, int64(start.Seq), o.sum, start.SHA256)
	}
	return l.climb(ctx, o)
}

// Refresh finds the newest manifest at or after one that was seen in its slot.
func (l *Log) Refresh(ctx context.Context, seen manifest.Snapshot) (manifest.Snapshot, error) {
	return l.climb(ctx, occupant{seen.Manifest, seen.SHA256})
}

// climb gallops from an occupied slot to the last one. Slots are contiguous and
// never emptied, so the last occupied slot before a free one is the head.
func (l *Log) climb(ctx context.Context, low occupant) (manifest.Snapshot, error) {
	var free manifest.Seq
	for step := manifest.Seq(1); ; step *= 2 {
		next, ok, err := l.probe(ctx, low, low.m.Seq+step)
		if err != nil {
			return manifest.Snapshot{}, err
		}
		if !ok {
			free = low.m.Seq + step
			break
		}
		low = next
	}
	for free-low.m.Seq > 1 {
		mid := low.m.Seq + (free-low.m.Seq)/2
		next, ok, err := l.probe(ctx, low, mid)
		if err != nil {
			return manifest.Snapshot{}, err
		}
		if ok {
			low = next
		} else {
			free = mid
		}
	}
	return manifest.Snapshot{Manifest: low.m, SHA256: low.sum}, nil
}

// probe reads a slot above low; where the two are neighbours it holds the upper
// one against the lower.
func (l *Log) probe(ctx context.Context, low occupant, seq manifest.Seq) (occupant, bool, error) {
	o, err := l.getSlot(ctx, seq)
	if errors.Is(err, object.ErrNotFound) {
		return occupant{}, false, nil
	}
	if err != nil {
		return occupant{}, false, err
	}
	if seq == low.m.Seq+1 {
		if _, err := (manifest.Snapshot{Manifest: low.m, SHA256: low.sum}).Apply(o.m, o.sum); err != nil {
			return occupant{}, false, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return o, true, nil
}

// getHint reads the advisory hint; an absent one means slot 0.
func (l *Log) getHint(ctx context.Context) (manifest.HintFile, bool, error) {
	body, err := l.read(ctx, l.layout.Hint(), maxHint)
	if errors.Is(err, object.ErrNotFound) {
		return manifest.HintFile{}, false, nil
	}
	if err != nil {
		return manifest.HintFile{}, false, fmt.Errorf("get hint: %w", err)
	}
	h, err := manifest.DecodeHint(body)
	if err != nil {
		return manifest.HintFile{}, false, fmt.Errorf("%w: hint: %w", ErrDamaged, err)
	}
	return h, true, nil
}

// PutDropped has the hint say that the chain ends with a manifest of kind drop, before
// that and the others are deleted. Unlike PutHint it must not fail.
func (l *Log) PutDropped(ctx context.Context, end manifest.Snapshot) error {
	body, err := manifest.EncodeHint(manifest.HintFile{Format: manifest.Format, Seq: end.Manifest.Seq, SHA256: end.SHA256, Dropped: true})
	if err != nil {
		return err
	}
	if _, err := l.store.Put(ctx, l.layout.Hint(), body, object.Always); err != nil {
		return fmt.Errorf("put hint: %w", err)
	}
	return nil
}

// Orphaned says whether there is a hint whose manifest is not there, as after the end of
// a pipeline that was deleted.
func (l *Log) Orphaned(ctx context.Context) (bool, error) {
	h, hinted, err := l.getHint(ctx)
	if err != nil || !hinted {
		return false, err
	}
	_, err = l.getSlot(ctx, h.Seq)
	if errors.Is(err, object.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// PutHint writes the advisory hint. It is best effort: a failure costs the next
// reader a few GETs. Append does it after each commit.
func (l *Log) PutHint(ctx context.Context, s manifest.Snapshot) error {
	body, err := manifest.EncodeHint(manifest.HintFile{Format: manifest.Format, Seq: s.Manifest.Seq, SHA256: s.SHA256})
	if err != nil {
		return err
	}
	if _, err := l.store.Put(ctx, l.layout.Hint(), body, object.Always); err != nil {
		return fmt.Errorf("put hint: %w", err)
	}
	return nil
}
