// Package retry wraps a store so that what failed without harm is tried again,
// a bounded number of times.
//
// Duty: hide the passing troubles of a network from callers that only read,
// delete, or write keys that nobody else writes.
//
// Invariants:
//   - a conditional Put is tried exactly once: after an unknown outcome only
//     the caller, who knows its own bytes, can settle what happened;
//   - only ErrUnknown and ErrConflict are tried again, everything else is an
//     answer and returned at once;
//   - no try lasts longer than Policy.TryTimeout, and a try that does is
//     ErrUnknown, while an end of the caller's context is passed on as such;
//   - a caller in a hurry (object.Hurried) gets two tries.
//
// It never resumes a body that broke off half way, never sees the parts of an
// upload (give Loop to the store for these), and never sleeps or draws lots but
// through the Clock it was given.
package retry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"time"

	"batcher/object"
)

// Policy bounds the tries.
type Policy struct {
	Tries      int           // at least 1
	FirstPause time.Duration // before the second try; doubles with each further one
	MaxPause   time.Duration // the longest pause
	TryTimeout time.Duration // of one try: the whole of a Put, the opening of a Get; 0: none
}

// Default is the policy of a run against a service on a network: six tries
// within about six seconds of pauses.
func Default() Policy {
	return Policy{Tries: 6, FirstPause: 200 * time.Millisecond, MaxPause: 5 * time.Second, TryTimeout: time.Minute}
}

// Clock is how pauses pass and how they are scattered.
type Clock interface {
	// Sleep returns after d, or with ctx.Err() when the context ends.
	Sleep(ctx context.Context, d time.Duration) error
	// Random returns a number in [0, 1).
	Random() float64
}

// System returns the clock and the randomness of the machine.
func System() Clock { return systemClock{} }

type systemClock struct{}

func (systemClock) Random() float64 { return rand.Float64() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// New wraps store. The result is an object.Uploader if store is one, and an
// object.Meter whose count includes every try.
func New(store object.Store, policy Policy, clock Clock) object.Store {
	s := &retrying{inner: store, policy: policy, clock: clock}
	if up, ok := store.(object.Uploader); ok {
		return &uploading{retrying: s, up: up}
	}
	return s
}

// Loop returns a function that runs try by the policy, for what a store does
// within one call: the parts of an upload.
func Loop(policy Policy, clock Clock) func(ctx context.Context, try func(context.Context) error) error {
	return func(ctx context.Context, try func(context.Context) error) error {
		return loop(ctx, policy, clock, func(ctx context.Context) error { return once(ctx, policy.TryTimeout, try) })
	}
}

// loop runs try until it gives an answer or the tries are used up.
func loop(ctx context.Context, p Policy, clock Clock, try func(context.Context) error) error {
	pause, most := p.FirstPause, p.Tries
	if object.IsHurried(ctx) {
		most = min(most, 2)
	}
	for n := 1; ; n++ {
		err := try(ctx)
		open := errors.Is(err, object.ErrUnknown) || errors.Is(err, object.ErrConflict)
		if !open || ctx.Err() != nil {
			return err
		}
		if n >= most && n == 1 {
			return err
		}
		if n >= most {
			return fmt.Errorf("%w, after %d tries", err, n)
		}
		// Between half the pause and all of it, so that clients that failed
		// together do not come back together.
		if clock.Sleep(ctx, pause/2+time.Duration(clock.Random()*float64(pause)/2)) != nil {
			return fmt.Errorf("%w, stopped after %d tries: %w", err, n, ctx.Err())
		}
		pause = min(2*pause, p.MaxPause)
	}
}

// once runs one try under a time-out.
func once(ctx context.Context, timeout time.Duration, try func(context.Context) error) error {
	if timeout <= 0 {
		return try(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return unanswered(ctx, limited, timeout, try(limited))
}

// unanswered turns the error of a try that ran out of its own time into
// ErrUnknown. The context error is not wrapped, because the caller's context
// goes on.
func unanswered(ctx, limited context.Context, timeout time.Duration, err error) error {
	if err == nil || ctx.Err() != nil || limited.Err() == nil {
		return err
	}
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return err // an answer that came in time, or another trouble
	}
	return &lateError{timeout, err.Error()}
}

// lateError is an ErrUnknown that names the cause first.
type lateError struct {
	timeout time.Duration
	text    string // of what the store said when its time was over
}

// Error implements error.
func (e *lateError) Error() string { return fmt.Sprintf("%s, within %s", e.text, e.timeout) }

// Unwrap returns object.ErrUnknown.
func (e *lateError) Unwrap() error { return object.ErrUnknown }

// retrying is a store without uploads.
type retrying struct {
	inner  object.Store
	policy Policy
	clock  Clock
}

// Get implements object.Store. Only the opening is tried again.
func (s *retrying) Get(ctx context.Context, key string, opts object.GetOptions) (r io.ReadCloser, info object.Info, err error) {
	err = loop(ctx, s.policy, s.clock, func(ctx context.Context) error {
		r, info, err = s.open(ctx, key, opts)
		return err
	})
	if err != nil {
		return nil, object.Info{}, err
	}
	return r, info, nil
}

// open opens an object once. The time-out ends with the opening, while the
// context lives as long as the body.
func (s *retrying) open(ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	timeout := s.policy.TryTimeout
	if timeout <= 0 {
		return s.inner.Get(ctx, key, opts)
	}
	limited, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(timeout, cancel)
	r, info, err := s.inner.Get(limited, key, opts)
	if err != nil {
		err = unanswered(ctx, limited, timeout, err)
		timer.Stop()
		cancel()
		return nil, object.Info{}, err
	}
	if !timer.Stop() {
		r.Close()
		return nil, object.Info{}, fmt.Errorf("get %s: no answer within %s: %w", key, timeout, object.ErrUnknown)
	}
	return &body{ReadCloser: r, cancel: cancel}, info, nil
}

// body ends its context with itself.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// Put implements object.Store. With IfAbsent it is tried once.
func (s *retrying) Put(ctx context.Context, key string, data []byte, cond object.Condition) (info object.Info, err error) {
	put := func(ctx context.Context) error {
		return once(ctx, s.policy.TryTimeout, func(ctx context.Context) error {
			info, err = s.inner.Put(ctx, key, data, cond)
			return err
		})
	}
	if cond == object.Always {
		err = loop(ctx, s.policy, s.clock, put)
	} else {
		err = put(ctx)
	}
	return info, err
}

// Delete implements object.Store.
func (s *retrying) Delete(ctx context.Context, key string) error {
	return Loop(s.policy, s.clock)(ctx, func(ctx context.Context) error { return s.inner.Delete(ctx, key) })
}

// List implements object.Store. A page is tried again if the store can list by
// page. Otherwise the listing starts over as long as nothing was yielded, and a
// later failure ends it: what was seen would be seen twice.
func (s *retrying) List(ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	if pager, ok := s.inner.(object.Pager); ok {
		return s.pages(ctx, pager, prefix, depth)
	}
	return func(yield func(object.Info, error) bool) {
		yielded := false
		err := loop(ctx, s.policy, s.clock, func(ctx context.Context) error {
			for info, err := range s.inner.List(ctx, prefix, depth) {
				if err != nil && !yielded {
					return err
				}
				if yielded = true; !yield(info, err) || err != nil {
					return nil // the consumer has seen the end
				}
			}
			return nil
		})
		if err != nil {
			yield(object.Info{}, err)
		}
	}
}

// pages lists page by page.
func (s *retrying) pages(ctx context.Context, pager object.Pager, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	try := Loop(s.policy, s.clock)
	return func(yield func(object.Info, error) bool) {
		var page []object.Info
		for token, more := "", true; more; more = token != "" {
			var next string
			err := try(ctx, func(ctx context.Context) (err error) {
				page, next, err = pager.ListPage(ctx, prefix, depth, token)
				return err
			})
			if err != nil {
				yield(object.Info{}, err)
				return
			}
			for _, info := range page {
				if !yield(info, nil) {
					return
				}
			}
			token = next
		}
	}
}

// String implements object.Store.
func (s *retrying) String() string { return s.inner.String() }

// Inspect implements object.Inspector with what the inner store has to say.
func (s *retrying) Inspect(ctx context.Context) ([]object.Remark, error) {
	if i, ok := s.inner.(object.Inspector); ok {
		return i.Inspect(ctx)
	}
	return nil, nil
}

// Requests implements object.Meter with the inner store's count.
func (s *retrying) Requests() object.Requests { return object.RequestsOf(s.inner) }

// uploading is a store with uploads.
type uploading struct {
	*retrying
	up object.Uploader
}

// Upload implements object.Uploader. The context must outlive the call, so no
// time-out is set on it; the steps of the upload are the store's own business.
func (s *uploading) Upload(ctx context.Context, key string) (u object.Upload, err error) {
	err = loop(ctx, s.policy, s.clock, func(ctx context.Context) error {
		u, err = s.up.Upload(ctx, key)
		return err
	})
	return u, err
}
