package commit

import (
	"context"
	"errors"
	"fmt"

	"batcher/manifest"
	"batcher/object"
)

// SupersededError says that an attempt was fenced, rewound or overtaken, and that
// the chain knows nothing of it: run again.
type SupersededError struct{ Reason string }

// Error gives the reason.
func (e *SupersededError) Error() string {
	return "superseded, this change was not committed: " + e.Reason
}

// Absent says what an error means which an attempt met when it read what the chain
// names: runs and files that base or head refer to. Base is the manifest on which the
// attempt began, head the newest one that it has seen. Three answers are possible:
//   - an error that does not say that something is absent is returned as it is;
//   - garbage collection has passed base meanwhile: a SupersededError. What the
//     attempt has read may be gone by right, and it can never commit;
//   - else nothing may be gone: an ErrDamaged.
//
// Nothing is absent to whoever cannot ask the chain: an error on the way to the head
// is returned beside err.
func (l *Log) Absent(ctx context.Context, base, head manifest.Snapshot, err error) error {
	_, err = l.absent(ctx, base, head, err)
	return err
}

// absent is Absent, and returns the newest head that it has seen.
func (l *Log) absent(ctx context.Context, base, head manifest.Snapshot, err error) (manifest.Snapshot, error) {
	var run *MissingError
	if !errors.As(err, &run) && !errors.Is(err, object.ErrNotFound) {
		return head, err
	}
	now, headErr := l.Refresh(ctx, head)
	if headErr != nil {
		return head, errors.Join(err, headErr)
	}
	if base.Manifest.Seq < now.Manifest.GCFloor {
		return now, &SupersededError{belowFloor(base.Manifest, now.Manifest)}
	}
	if errors.Is(err, ErrDamaged) {
		return now, err
	}
	return now, fmt.Errorf("%w: %w", ErrDamaged, err)
}

// Expired says what an error means which somebody met who read what the retained
// snapshots of head name. Where something is absent, and snapshots have expired since,
// a collector may have taken it away by right: that is a SupersededError, and no
// damage. Any other error is returned as it is; one on the way to the head beside it.
func (l *Log) Expired(ctx context.Context, head manifest.Snapshot, err error) error {
	var gone *MissingError
	if !errors.As(err, &gone) {
		return err
	}
	now, headErr := l.Refresh(ctx, head)
	switch from := head.Manifest.RetainFrom; {
	case headErr != nil:
		return errors.Join(err, headErr)
	case now.Manifest.RetainFrom > from:
		return &SupersededError{Reason: fmt.Sprintf("snapshots from %d on expired meanwhile: %s", int64(from), gone.Error())}
	}
	return err
}
