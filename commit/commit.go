// Package commit is the chain on a store: it finds the head, decides what a lost
// race may keep, settles the next slot, and hands out receipts.
//
// Duty: publish data, positions, state and batch id together with one
// conditional PUT of the next numbered manifest, under any number of rivals,
// crashes and lost answers.
//
// Invariants:
//   - a slot is only ever written with IfAbsent, and never deleted but with all of
//     its chain, once that has an end (kind drop);
//   - the same bytes go to the same slot until it is known to be occupied, and
//     nothing goes to seq+1 before seq has a known occupant;
//   - nothing is concluded from an absent slot, and nothing is deleted on an
//     unknown outcome;
//   - a Receipt exists only for a manifest that was seen in its slot.
//
// It never reads data files, never plans work and never looks at a clock to
// decide whether something is safe.
package commit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"batcher/manifest"
	"batcher/object"
	"batcher/segment"
)

// Errors on which a caller acts differently.
var (
	// ErrNoChain says that the pipeline has no manifest yet.
	ErrNoChain = errors.New("no chain")
	// ErrDropped says that the pipeline is being deleted and that not all of it is gone.
	ErrDropped = errors.New("the pipeline is dropped, and not all of it is deleted yet")
	// ErrDamaged says that the chain is damaged or forked. Nothing was written
	// on top of it and nothing must be.
	ErrDamaged = errors.New("chain damaged")
	// ErrUnresolved says that the outcome of a commit is unknown or could not be
	// reached in the time given. Running again is safe.
	ErrUnresolved = errors.New("commit outcome unknown")
	// ErrForeign says that the table or the store belongs to another pipeline,
	// or that the pipeline file no longer fits the pipeline.
	ErrForeign = errors.New("owned by another pipeline")
)

// Clock is the time as commit sees it: for back-off and for created_at only.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Options wire a Log.
type Options struct {
	// Store holds the pipeline. Its Put with IfAbsent must be one single try:
	// commit settles slots itself.
	Store    object.Store
	Pipeline string // name
	Clock    Clock
	Logger   *slog.Logger
	Writer   manifest.Writer
	Budget   Budget
}

// Hook is a step after a commit of whatever kind, head being what was committed. Its
// failure is logged and never undoes or repeats a commit; it need not be called, as
// when the process dies: a later run must find what is left to do.
type Hook func(ctx context.Context, r Receipt, head manifest.Snapshot) error

// Budget bounds how long a slot is settled. The zero value takes the defaults.
type Budget struct {
	Tries   int           // PUTs of one slot; default 12
	Time    time.Duration // for one slot, also after the caller's context ended; default 45 s
	Try     time.Duration // for one PUT or GET; default 15 s
	Rebases int           // lost races of one proposal; default 256
}

// Log is the chain of one pipeline. It is safe for one run at a time; any
// number of Logs in any number of processes may share a chain.
type Log struct {
	store  object.Store
	layout manifest.Layout
	clock  Clock
	log    *slog.Logger
	writer manifest.Writer
	budget Budget
	runs   *runCache
	hooks  []Hook
}

// New returns the chain of a pipeline. It makes no request.
func New(o Options) *Log {
	b := o.Budget
	if b.Tries == 0 {
		b.Tries = 12
	}
	if b.Time == 0 {
		b.Time = 45 * time.Second
	}
	if b.Try == 0 {
		b.Try = 15 * time.Second
	}
	if b.Rebases == 0 {
		b.Rebases = 256
	}
	return &Log{
		store: o.Store, layout: manifest.Layout{Pipeline: o.Pipeline}, clock: o.Clock,
		log: o.Logger, writer: o.Writer, budget: b, runs: newRunCache(64 << 20),
	}
}

// OnCommit adds a hook, to be run after those that were added before.
func (l *Log) OnCommit(h Hook) { l.hooks = append(l.hooks, h) }

// Layout gives the keys of the pipeline.
func (l *Log) Layout() manifest.Layout { return l.layout }

// Receipt proves that a manifest stands in its slot. Only this package makes
// one; acknowledging a source or sending a side effect asks for it.
type Receipt struct {
	seq     manifest.Seq
	attempt manifest.Attempt
	sum     manifest.SHA256
}

// Seq is the slot.
func (r Receipt) Seq() manifest.Seq { return r.seq }

// Attempt is the attempt that occupies the slot.
func (r Receipt) Attempt() manifest.Attempt { return r.attempt }

// occupant is a manifest read from its slot, with its bytes' hash.
type occupant struct {
	m   *manifest.Manifest
	sum manifest.SHA256
}

// getSlot reads a slot. An empty one gives object.ErrNotFound, which proves
// nothing about writes in flight.
func (l *Log) getSlot(ctx context.Context, seq manifest.Seq) (occupant, error) {
	body, err := l.read(ctx, l.layout.Manifest(seq), manifest.MaxBytes)
	if err != nil {
		return occupant{}, fmt.Errorf("get manifest %d: %w", int64(seq), err)
	}
	m, err := manifest.DecodeManifest(body)
	if err != nil {
		return occupant{}, fmt.Errorf("%w: manifest %d: %w", ErrDamaged, int64(seq), err)
	}
	if m.Seq != seq {
		return occupant{}, fmt.Errorf("%w: slot %d holds seq %d (I1)", ErrDamaged, int64(seq), int64(m.Seq))
	}
	return occupant{m, segment.Sum(body)}, nil
}

// read reads an object that is never longer than limit. A longer one was not
// written by batcher.
func (l *Log) read(ctx context.Context, key string, limit int64) ([]byte, error) {
	body, info, err := object.ReadAll(ctx, l.store, key, object.GetOptions{}, limit)
	if err != nil && info.Size > limit {
		return nil, fmt.Errorf("%w: %s has %d bytes, more than the %d there can be", ErrDamaged, key, info.Size, limit)
	}
	return body, err
}

// Slot reads a manifest that is part of the chain, because a head above it was seen. A
// slot that holds nothing is damage.
func (l *Log) Slot(ctx context.Context, seq manifest.Seq) (manifest.Snapshot, error) {
	o, err := l.getSlot(ctx, seq)
	if errors.Is(err, object.ErrNotFound) {
		return manifest.Snapshot{}, fmt.Errorf("%w: manifest %d is gone (I1)", ErrDamaged, int64(seq))
	}
	if err != nil {
		return manifest.Snapshot{}, err
	}
	return manifest.Snapshot{Manifest: o.m, SHA256: o.sum}, nil
}

// Holds says whether a slot still has the manifest that was seen there.
func (l *Log) Holds(ctx context.Context, s manifest.Snapshot) (bool, error) {
	o, err := l.getSlot(ctx, s.Manifest.Seq)
	if errors.Is(err, object.ErrNotFound) {
		return false, nil
	}
	return err == nil && o.sum == s.SHA256, err
}

// Confirm reads the head's own slot again and fails with ErrDamaged if it holds
// other bytes: the store ignored a condition.
func (l *Log) Confirm(ctx context.Context, head manifest.Snapshot) error {
	o, err := l.getSlot(ctx, head.Manifest.Seq)
	if errors.Is(err, object.ErrNotFound) {
		return fmt.Errorf("%w: manifest %d was there and is gone", ErrDamaged, int64(head.Manifest.Seq))
	}
	if err != nil {
		return err
	}
	if o.sum != head.SHA256 {
		return fmt.Errorf("%w: manifest %d was overwritten (I13): the store ignored a condition", ErrDamaged, int64(head.Manifest.Seq))
	}
	return nil
}
