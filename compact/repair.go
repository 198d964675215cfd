package compact

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"batcher/commit"
	"batcher/manifest"
)

// Repair appends the manifests that change what may commit, what is retained and
// what is live, without reading a source. Each is one manifest.
type Repair struct {
	Log    *commit.Log
	Now    func() time.Time
	Logger *slog.Logger
	// ShownSince says since when readers see a snapshot or a later one, if they read
	// something that is made from the chain after the commit; nil if they do not.
	ShownSince func(context.Context, manifest.Snapshot) (time.Time, error)
}

// Fence appends a floor at its own number: every attempt that is in flight now
// can never commit.
func (r *Repair) Fence(ctx context.Context) (manifest.Snapshot, error) {
	return r.append(ctx, manifest.Floor, func(head manifest.Snapshot) (commit.Repair, error) {
		return commit.Repair{Floor: head.Manifest.Seq + 1<<40}, nil // own seq is the most a floor can be
	})
}

// Rewind restores the snapshot after manifest seq, with everything in it, and
// raises the generation: what was consumed since is consumed again by later
// runs, and attempts from before can never commit.
func (r *Repair) Rewind(ctx context.Context, seq manifest.Seq) (manifest.Snapshot, error) {
	head, err := r.append(ctx, manifest.Rewind, func(head manifest.Snapshot) (commit.Repair, error) {
		if seq >= head.Manifest.Seq || seq < 0 {
			return commit.Repair{}, fmt.Errorf("rewind to %d: the head is manifest %d: %w", int64(seq), int64(head.Manifest.Seq), commit.ErrExpired)
		}
		to, err := r.Log.Slot(ctx, seq)
		return commit.Repair{To: &to}, err
	})
	return head, r.Log.Expired(ctx, head, err)
}

// Expire stops retaining snapshots which readers could last come upon longer ago than
// keep, as far as the floor allows. It returns the head as it was when there is nothing
// to expire.
func (r *Repair) Expire(ctx context.Context, keep time.Duration) (manifest.Snapshot, error) {
	head, err := r.Log.Head(ctx)
	if err != nil {
		return head, err
	}
	from, err := r.ExpireTo(ctx, head, keep)
	if err != nil || from <= head.Manifest.RetainFrom {
		return head, err
	}
	return r.append(ctx, manifest.Expire, func(manifest.Snapshot) (commit.Repair, error) {
		return commit.Repair{RetainFrom: from}, nil
	})
}

// maxAhead is how far ahead of now the time of a manifest is believed. One writer with
// a wrong clock gives its time to all that come after it.
const maxAhead = 24 * time.Hour

// ExpireTo is the first snapshot that would be retained: the newest one that is older
// than keep and that readers have seen for longer, but never above the floor. Where the
// time of a snapshot is not to be believed, what readers saw decides alone.
func (r *Repair) ExpireTo(ctx context.Context, head manifest.Snapshot, keep time.Duration) (manifest.Seq, error) {
	now := r.Now()
	limit := now.Add(-keep)
	from, err := newestThat(ctx, r.Log, head, head.Manifest.RetainFrom, func(s manifest.Snapshot) (bool, error) {
		made := s.Manifest.CreatedAt
		if r.ShownSince == nil || made.After(limit) && !made.After(now.Add(maxAhead)) {
			return !made.After(limit), nil
		}
		since, err := r.ShownSince(ctx, s)
		return !since.After(limit), err
	})
	return min(from, head.Manifest.GCFloor), err
}

// Adopt gives a chain that was copied to another root an id of its own, so that
// it can never be taken for the one it was copied from.
func (r *Repair) Adopt(ctx context.Context) (manifest.Snapshot, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return manifest.Snapshot{}, err
	}
	return r.append(ctx, manifest.Adopt, func(manifest.Snapshot) (commit.Repair, error) {
		return commit.Repair{Pipeline: r.Log.Layout().Pipeline + "-" + hex.EncodeToString(id[:])}, nil
	})
}

// append brings one repair into the chain.
func (r *Repair) append(ctx context.Context, kind manifest.Kind, want func(manifest.Snapshot) (commit.Repair, error)) (manifest.Snapshot, error) {
	head, err := r.Log.Head(ctx)
	if err != nil {
		return head, err
	}
	p := commit.Proposal{Kind: kind, Base: head, Config: head.Manifest.Config}
	if p.Repair, err = want(head); err != nil {
		return head, err
	}
	if _, err := rand.Read(p.Attempt[:]); err != nil {
		return head, err
	}
	out, err := r.Log.Append(ctx, p)
	if err != nil {
		return head, fmt.Errorf("%s: %w", kind, err)
	}
	if out.Verdict != commit.Committed {
		return out.Head, &commit.SupersededError{Reason: fmt.Sprintf("%s: %s", kind, out.Reason)}
	}
	r.Logger.Info("chain repaired", "kind", string(kind), "seq", int64(out.Receipt.Seq()))
	return out.Head, nil
}

// newestThat is the newest manifest that is old, from low on, found by bisection:
// those after one that is not old are not old either.
func newestThat(ctx context.Context, l *commit.Log, head manifest.Snapshot, low manifest.Seq, old func(manifest.Snapshot) (bool, error)) (manifest.Seq, error) {
	if yes, err := old(head); yes || err != nil {
		return head.Manifest.Seq, err
	}
	high := head.Manifest.Seq + 1 // too young; low is old enough or the least there can be
	for high-low > 1 {
		mid := low + (high-low)/2
		s, err := l.Slot(ctx, mid)
		if err != nil {
			return 0, err
		}
		yes, err := old(s)
		switch {
		case err != nil:
			return 0, err
		case yes:
			low = mid
		default:
			high = mid
		}
	}
	return low, nil
}
