package commit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"batcher/manifest"
	"batcher/object"
)

// settle sends the same bytes to the same slot until the slot has a known
// occupant, which it returns: own or rival.
func (l *Log) settle(ctx context.Context, seq manifest.Seq, body []byte) (occupant, error) {
	stored, err := l.once(ctx, l.layout.Manifest(seq), body)
	if err != nil {
		return occupant{}, err
	}
	m, err := manifest.DecodeManifest(stored)
	if err != nil {
		return occupant{}, fmt.Errorf("%w: manifest %d: %w", ErrDamaged, int64(seq), err)
	}
	if m.Seq != seq {
		return occupant{}, fmt.Errorf("%w: slot %d holds seq %d (I1)", ErrDamaged, int64(seq), int64(m.Seq))
	}
	return occupant{m, manifest.Sum(stored)}, nil
}

// once creates an object that is written once by whoever comes first, and
// returns the bytes that stand under the key in the end.
//
// The classes of answers, and why none may be read as another:
//  1. stored: the key is ours.
//  2. exists: somebody's bytes are there, perhaps our own after a lost answer.
//     Only reading tells. An absent key here is an alarm of the store: back off
//     and repeat.
//  3. conflict: nothing is settled; the same bytes again.
//  4. unknown: it may have happened or happen later; the same bytes again, and
//     from now on a refusal no longer proves that nothing was stored.
//  5. denied, unsupported: final if nothing was ambiguous before; else read the
//     key, and if it is absent the outcome stays unknown.
//
// It goes on for Budget.Time after the caller's context ended, because to know
// the outcome is worth more than to stop at once.
func (l *Log) once(ctx context.Context, key string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.budget.Time)
	defer cancel()
	earlier := nothingStored
	last := context.DeadlineExceeded
	for try := range l.budget.Tries {
		if try > 0 && l.clock.Sleep(ctx, backoff(try)) != nil {
			break
		}
		err := l.putOnce(ctx, key, body)
		switch {
		case err == nil:
			return body, nil
		case errors.Is(err, object.ErrExists):
			var stored []byte
			if stored, err = l.readOnce(ctx, key); err == nil {
				return stored, nil
			}
			l.log.Warn("key is said to be taken but cannot be read yet", "key", key, "error", err)
			earlier = maybeStored
		case errors.Is(err, object.ErrConflict):
		case errors.Is(err, object.ErrDenied), errors.Is(err, object.ErrUnsupported):
			return l.refused(ctx, key, err, earlier)
		default:
			earlier = maybeStored
		}
		last = err
		l.log.Debug("key not settled yet", "key", key, "try", try+1, "error", err)
	}
	return nil, &unsettled{key: key, tries: l.budget.Tries, earlier: earlier, last: last}
}

// unsettled is an ErrUnresolved that names the cause first.
type unsettled struct {
	key     string
	tries   int
	earlier trace
	last    error
}

// Error says whether anything may have been stored.
func (e *unsettled) Error() string {
	outcome := "nothing was stored"
	if e.earlier == maybeStored {
		outcome = ErrUnresolved.Error()
	}
	return fmt.Sprintf("%v (put %s: %s in %d tries)", e.last, e.key, outcome, e.tries)
}

// Unwrap returns ErrUnresolved and the last answer.
func (e *unsettled) Unwrap() []error { return []error{ErrUnresolved, e.last} }

// trace is what the tries so far may have left under a key.
type trace uint8

const (
	nothingStored trace = iota // every answer so far proves that nothing of ours is there
	maybeStored                // a reply was lost, or cannot be believed
)

// refused ends once after a final refusal: what an earlier ambiguous try may
// have stored decides.
func (l *Log) refused(ctx context.Context, key string, refusal error, earlier trace) ([]byte, error) {
	if earlier == nothingStored {
		return nil, fmt.Errorf("put %s: not committed: %w", key, refusal)
	}
	if stored, err := l.readOnce(ctx, key); err == nil {
		return stored, nil
	}
	return nil, fmt.Errorf("put %s: %w: %w", key, ErrUnresolved, refusal)
}

// putOnce is one conditional PUT: on a slot, the only step that commits anything.
func (l *Log) putOnce(ctx context.Context, key string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, l.budget.Try)
	defer cancel()
	_, err := l.store.Put(ctx, key, body, object.IfAbsent)
	return err
}

// readOnce is one bounded GET of a key that is written once.
func (l *Log) readOnce(ctx context.Context, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, l.budget.Try)
	defer cancel()
	return l.read(ctx, key, manifest.MaxBytes)
}

// backoff grows from 20 ms to 4 s. It needs no jitter for safety; rivals differ
// in phase by their own work.
func backoff(try int) time.Duration {
	return min(20*time.Millisecond<<(try-1), 4*time.Second)
}
