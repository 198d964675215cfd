package files

import (
	"errors"
	"fmt"

	"batcher/object"
	"batcher/source"
)

// ErrStale says that an object none of whose records is consumed is gone or no
// longer as it was planned: the caller plans again.
var ErrStale = errors.New("source object is not as planned")

// ErrInadmissible says that a delta does not follow on the parent's progress: an
// object of it is already consumed there, or stands at another position or
// version. The caller plans again.
var ErrInadmissible = errors.New("not admissible on this progress")

// ErrDamaged says that the stored form of the consumed set is not what its
// references say, or is of a form that this version does not know.
var ErrDamaged = errors.New("consumed set is damaged")

// ErrNotLoaded says that the parent's list of segments stands in a segment that
// Set.Prepare has not loaded.
var ErrNotLoaded = errors.New("list of segments not loaded")

// GapError says that records of the source cannot be read any more, or that a
// range would leave some out.
type GapError struct {
	Key      string
	Position source.Position // first position that is not consumed
	Reason   string          // "gone", "changed", or what is wrong with the range
	Err      error           // the store's answer, if any
}

// Error implements error.
func (e *GapError) Error() string {
	return fmt.Sprintf("source gap: %q from position %d: %s", e.Key, e.Position, e.Reason)
}

// Unwrap returns the store's answer.
func (e *GapError) Unwrap() error { return e.Err }

// ChangedError says that a consumed key has other content now.
type ChangedError struct {
	Changed
}

// Error implements error.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("changed object: %q was consumed as %s and is now %s (etag %s, %d bytes)",
		e.Key, e.Old, e.New, e.ETag, e.Size)
}

// moved turns the store's "gone" and "changed" into what they mean for o, and what
// else it answers into an UnreadableError.
func moved(o Object, err error) error {
	var reason string
	switch {
	case errors.Is(err, object.ErrNotFound):
		reason = "gone"
	case errors.Is(err, object.ErrChanged):
		reason = "changed"
	default:
		return unreadable(o.Key, err)
	}
	if o.From > 0 || o.Exact != nil {
		return &GapError{Key: o.Key, Position: o.From, Reason: reason, Err: err}
	}
	return fmt.Errorf("%w: %w", ErrStale, err)
}
