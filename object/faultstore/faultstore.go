// Package faultstore wraps a store so that chosen calls fail in chosen ways.
//
// Duty: bring about, on demand and repeatably, what networks and processes do
// to a protocol once in a million calls: answers that are lost, writes that
// land after their sender gave up, and a death between any two steps.
//
// Invariants: the same script and the same sequence of calls have the same
// effect; a call that no rule strikes passes through unchanged; after a crash
// no call reaches the inner store through this wrapper, as after the death of
// the process that it stands for.
//
// It never draws lots and never waits for time to pass: what is held waits for
// the test to release it.
package faultstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	"batcher/object"
)

// ErrCrashed is what every call returns once the process is dead. It matches
// none of the store's sentinels, so that nothing tries again.
var ErrCrashed = errors.New("the process has crashed")

// Call is one call that was made, struck or not.
type Call struct {
	Op    Op
	Key   string // key, or listed prefix
	Fault Fault  // 0 if it passed
}

// Store is the wrapper. Use New.
type Store struct {
	inner object.Store

	mu      sync.Mutex
	script  Script
	seen    []int // calls that each rule counted
	calls   []Call
	crashed bool
	late    []func(context.Context) error // LandLate writes not yet released
	gate    chan struct{}                 // closed by Release
}

var (
	_ object.Store    = (*Store)(nil)
	_ object.Uploader = (*Store)(nil)
	_ object.Meter    = (*Store)(nil)
)

// New wraps inner. If that is no object.Uploader, Upload gives ErrUnsupported.
func New(inner object.Store, script Script) *Store {
	return &Store{inner: inner, script: script, seen: make([]int, len(script)), gate: make(chan struct{})}
}

// Calls returns the calls made so far, so that a test can crash at each in turn.
func (s *Store) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Release lets the callers that are held go on, and then carries out the late
// writes in the order in which they were sent. It returns what each came to.
func (s *Store) Release(ctx context.Context) []error {
	s.mu.Lock()
	late := s.late
	s.late = nil
	close(s.gate)
	s.gate = make(chan struct{})
	s.mu.Unlock()
	var results []error
	for _, land := range late {
		results = append(results, land(ctx))
	}
	return results
}

// strike records a call and returns the fault that befalls it, or 0.
func (s *Store) strike(op Op, key string) (Fault, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashed {
		return 0, fmt.Errorf("%s %s: %w", op, key, ErrCrashed)
	}
	var fault Fault
	for i, r := range s.script {
		if !r.matches(op, key) {
			continue
		}
		if s.seen[i]++; fault == 0 && r.strikes(s.seen[i]) {
			fault = r.Fault
		}
	}
	s.calls = append(s.calls, Call{op, key, fault})
	s.crashed = s.crashed || fault == CrashBefore
	return fault, nil
}

// apply makes a call as its fault demands. act does it on the inner store;
// write says by being non-nil that the call can land late, and does it then.
func (s *Store) apply(ctx context.Context, op Op, key string, act, write func(context.Context) error) error {
	fault, err := s.strike(op, key)
	if err != nil {
		return err
	}
	if fault == LandLate && write == nil || fault == Tear && op != Get {
		fault = Unavailable
	}
	broken := func(sentinel error) error { return fmt.Errorf("%s %s: %s: %w", op, key, fault, sentinel) }
	if answer, ok := answers[fault]; ok {
		return broken(answer)
	}
	switch fault {
	case CrashBefore:
		return broken(ErrCrashed)
	case LandLate:
		s.mu.Lock()
		s.late = append(s.late, write)
		s.mu.Unlock()
		return broken(object.ErrUnknown)
	case Hold:
		if err := s.hold(ctx); err != nil {
			return fmt.Errorf("%w: %w", broken(object.ErrUnknown), err)
		}
	}
	err = act(ctx)
	switch fault {
	case LoseAnswer:
		return broken(object.ErrUnknown)
	case CrashAfter:
		s.mu.Lock()
		s.crashed = true
		s.mu.Unlock()
		return broken(ErrCrashed)
	case Tear:
		if err == nil {
			return errTorn
		}
	}
	return err
}

// errTorn tells Get that the body is to be torn.
var errTorn = errors.New("torn")

// hold waits for Release.
func (s *Store) hold(ctx context.Context) error {
	s.mu.Lock()
	gate := s.gate
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-gate:
		return nil
	}
}

// Get implements object.Store.
func (s *Store) Get(ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	var r io.ReadCloser
	var info object.Info
	err := s.apply(ctx, Get, key, func(ctx context.Context) (err error) {
		r, info, err = s.inner.Get(ctx, key, opts)
		return err
	}, nil)
	switch {
	case err == nil:
		return r, info, nil
	case errors.Is(err, errTorn):
		from, to, err := opts.Span(info.Size)
		if err != nil {
			return nil, object.Info{}, errors.Join(err, r.Close())
		}
		return &torn{key: key, inner: r, left: (to - from) / 2}, info, nil
	}
	if r != nil {
		r.Close() // opened, and the answer lost
	}
	return nil, object.Info{}, err
}

// torn is a body that breaks off.
type torn struct {
	key   string
	inner io.ReadCloser
	left  int64
}

// Read implements io.Reader.
func (t *torn) Read(p []byte) (int, error) {
	if t.left == 0 {
		return 0, fmt.Errorf("get %s: %s: %w", t.key, Tear, object.ErrUnknown)
	}
	n, err := t.inner.Read(p[:min(int64(len(p)), t.left)])
	t.left -= int64(n)
	return n, err
}

// Close implements io.Closer.
func (t *torn) Close() error { return t.inner.Close() }

// Put implements object.Store.
func (s *Store) Put(ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
	var info object.Info
	sent := append([]byte{}, body...) // what lands late is what was sent
	act := func(ctx context.Context) (err error) {
		info, err = s.inner.Put(ctx, key, sent, cond)
		return err
	}
	if err := s.apply(ctx, Put, key, act, func(ctx context.Context) error {
		_, err := s.inner.Put(ctx, key, sent, cond)
		return err
	}); err != nil {
		return object.Info{}, err
	}
	return info, nil
}

// List implements object.Store. A fault strikes it before its first entry,
// LoseAnswer after its last.
func (s *Store) List(ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		stopped := false
		err := s.apply(ctx, List, prefix, func(ctx context.Context) error {
			for info, err := range s.inner.List(ctx, prefix, depth) {
				if err != nil {
					return err
				}
				if !yield(info, nil) {
					stopped = true
					return nil
				}
			}
			return nil
		}, nil)
		if err != nil && !stopped {
			yield(object.Info{}, err)
		}
	}
}

// Delete implements object.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	act := func(ctx context.Context) error { return s.inner.Delete(ctx, key) }
	return s.apply(ctx, Delete, key, act, act)
}

// String implements object.Store.
func (s *Store) String() string { return s.inner.String() }

// Requests implements object.Meter.
func (s *Store) Requests() object.Requests { return object.RequestsOf(s.inner) }
