// Package delta projects the chain of manifests into Delta Lake tables, so that
// other engines read exactly the committed files.
//
// Duty: one Delta log for each table that something was written to, with one version
// for each manifest that touched the table; one for the table of batches, which tells
// what each manifest did, with its files; checkpoints; the state of all.
//
// Invariants:
//   - the bytes of a version are a pure function of the chain: any number of
//     projectors, from any state, write the same log;
//   - versions are put if absent and strictly in order, so that there is never a gap;
//   - the live files of a checkpoint are those of the manifest's live list, never a
//     replay of the Delta log; but for the table of batches, whose files stand in no
//     manifest;
//   - a checkpoint is put before the hint that names it, and never deleted while it
//     does.
//
// It never changes the chain, never overwrites or renumbers a version, and never
// builds on a commit of somebody else: a table with one is left as it is and told
// as in conflict. It never lets a table that holds data wait for the table of batches.
// It keeps no tombstones in checkpoints, so that a VACUUM by another engine sees files
// that were removed before a checkpoint as strangers: the table asks engines to spare
// what is younger than a century, and gc of batcher removes files.
package delta

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
)

// Options wire a Projector.
type Options struct {
	Log    *commit.Log
	Store  object.Store // holds the pipeline
	Clock  commit.Clock // for back-off, and to tell whether a hint is still timely
	Logger *slog.Logger
}

// Projector rolls the Delta tables of one pipeline forward. It remembers where
// they stand, so that a run asks the store once. It is for one goroutine; any
// number of Projectors in any number of processes may work on the same tables.
type Projector struct {
	log    *commit.Log
	store  object.Store
	clock  commit.Clock
	logger *slog.Logger

	begun  time.Time          // of the Publish under way
	at     map[string]place   // where each Delta log is known to end
	hinted map[string]Version // what _last_checkpoint says, by table
	slots  map[manifest.Seq]manifest.Snapshot
	origin *Origin

	batches *batches
}

// New returns a Projector. It makes no request.
func New(o Options) *Projector {
	p := &Projector{log: o.Log, store: o.Store, clock: o.Clock, logger: o.Logger,
		at: map[string]place{}, hinted: map[string]Version{}, slots: map[manifest.Seq]manifest.Snapshot{}}
	p.batches = &batches{p: p, name: BatchesTable(o.Log.Layout().Pipeline)}
	return p
}

// State is where one table stands.
type State struct {
	Table     string
	Derived   bool    // it is the table of batches: nothing but readers depends on it
	Chain     Version // in the chain; -1: nothing was written to the table yet
	Projected Version // last version that is ours; above Chain when a newer head was projected
	// Oldest is when the oldest version was committed that is not projected. It is
	// zero if there is none, and in what Publish returns.
	Oldest   time.Time
	Conflict *ConflictError // nil: none
	Err      error          // why Publish could not bring the table up, or, of the table of batches, Status not tell
}

// Lag is how many versions readers of the Delta table do not see yet.
func (s State) Lag() int64 { return max(0, int64(s.Chain-s.Projected)) }

// ConflictError says that somebody else wrote a version into the Delta log of a
// table. Nothing is projected into the table any more, until it is published anew.
type ConflictError struct {
	Table   string
	Version Version // that is not ours; there may be more
	Engine  string  // that wrote it, as far as it says
}

// Error names the table and the version.
func (e *ConflictError) Error() string {
	by := ""
	if e.Engine != "" {
		by = " by " + e.Engine
	}
	return fmt.Sprintf("table %s has a foreign commit%s: version %d of its Delta log", e.Table, by, e.Version)
}

// Publish makes the Delta tables account for head, and returns their states by
// name, that of the table of batches last. Where there is nothing to do it makes two
// requests for each table at the first call, three at a version that has a checkpoint,
// and none later. A table that fails does not keep others back: the error joins those
// of all tables. Among them are *ConflictError, errors that wrap commit.ErrDamaged where
// the Delta log says it was made from another chain, and *commit.SupersededError where
// head is so old that what it names expired. After any error, running again goes on
// where it stopped.
//
// What fails with the table of batches stands in its state only and is logged: the
// error is about the tables that hold data. That table also is brought up by no more
// than batchesAtOnce versions at once, and by fewer where these take longer than
// batchesWithin, so that a long history, of which it has nothing yet, keeps no run from
// its work; its state then says how far it lags.
//
// The steps for each table, and why no two may swap:
//  1. find the last version that is there and ours;
//  2. put each version after it, if absent, in order: a gap makes the whole table
//     unreadable;
//  3. put a checkpoint, if absent, of a version that is there;
//  4. put the hint that names it.
func (p *Projector) Publish(ctx context.Context, head manifest.Snapshot) ([]State, error) {
	p.begun = p.clock.Now()
	if err := p.sync(ctx, p.log.Layout().Manifests()); err != nil {
		return nil, err
	}
	var states []State
	var failed []error
	for _, s := range p.states(head) {
		s.Err = p.log.Expired(ctx, head, p.roll(ctx, head, &s))
		if s.Err != nil && !errors.As(s.Err, &s.Conflict) {
			s.Err = fmt.Errorf("publish table %s: %w", s.Table, s.Err)
		}
		switch {
		case !s.Derived:
			failed = append(failed, s.Err)
		case s.Err != nil:
			p.logger.Warn("the table of batches is not published; no other depends on it", "table", s.Table, "error", s.Err)
		}
		states = append(states, s)
	}
	return states, errors.Join(failed...)
}

// states begins the states of all tables with what the chain says.
func (p *Projector) states(head manifest.Snapshot) []State {
	var states []State
	for _, table := range append(slices.Sorted(maps.Keys(head.Manifest.Tables)), p.batches.name) {
		states = append(states, State{Table: table, Derived: table == p.batches.name,
			Chain: p.of(table).stands(head.Manifest).version, Projected: -1})
	}
	return states
}

// roll brings one table up to head. Where what is remembered no longer holds,
// because others wrote and the table was published anew, it looks again.
func (p *Projector) roll(ctx context.Context, head manifest.Snapshot, s *State) error {
	if s.Chain < 0 {
		return nil
	}
	if at, known := p.at[s.Table]; known {
		err := p.rollFrom(ctx, head, s, at)
		var conflict *ConflictError
		if !errors.As(err, &conflict) {
			return err
		}
		delete(p.at, s.Table)
	}
	at, err := p.find(ctx, head, s.Table)
	if err != nil && s.Derived {
		err = p.batches.claimed(ctx, head, err)
	}
	if err != nil {
		s.Projected = p.ours(ctx, head, s.Table, err)
		return err
	}
	if at.version >= 0 && at.version < s.Chain {
		if err := p.sync(ctx, logFolder(s.Table)); err != nil {
			return err
		}
	}
	err = p.rollFrom(ctx, head, s, at)
	if s.Derived && errors.Is(err, commit.ErrExpired) {
		p.logger.Warn("the table of batches begins anew: what the missing versions would say is no longer retained",
			"table", s.Table, "after", int64(s.Projected), "from", int64(head.Manifest.RetainFrom))
		return p.rollFrom(ctx, head, s, nowhere)
	}
	return err
}

// rollFrom puts the versions after a place, and sees to the checkpoint. Where no
// version was missing it does so only if the last one should have a checkpoint: what
// an earlier run owes is paid with the next version.
func (p *Projector) rollFrom(ctx context.Context, head manifest.Snapshot, s *State, at place) error {
	s.Projected, p.at[s.Table] = at.version, at
	switch {
	case at.seq > head.Manifest.Seq:
		return nil // a newer head was projected
	case at.version == s.Chain && s.Chain%checkpointEvery > 0:
		return nil
	case at.version == s.Chain:
		return p.checkpoint(ctx, head, s.Table, s.Projected)
	}
	seqs, err := p.path(ctx, head, s.Table, at.version)
	if err != nil {
		return err
	}
	begun, made := p.clock.Now(), 0
	for _, seq := range seqs {
		v, err := p.project(ctx, head, s.Table, s.Projected, seq)
		if err != nil {
			return err
		}
		s.Projected, p.at[s.Table], made = v, place{v, seq}, made+1
		if s.Derived && v%checkpointEvery == 0 && p.clock.Now().Sub(begun) >= batchesWithin {
			break // a later Publish begins with the checkpoint
		}
	}
	p.logger.Info("table published", "table", s.Table, "version", int64(s.Projected), "versions", made)
	return p.checkpoint(ctx, head, s.Table, s.Projected)
}

// Status says where every table stands, by name. It changes nothing.
func (p *Projector) Status(ctx context.Context, head manifest.Snapshot) ([]State, error) {
	var states []State
	for _, s := range p.states(head) {
		var err error
		if s.Chain >= 0 {
			var at place
			at, err = p.find(ctx, head, s.Table)
			s.Projected = at.version
		}
		if err != nil && s.Derived {
			err = p.batches.claimed(ctx, head, err)
		}
		if errors.As(err, &s.Conflict) {
			s.Projected, err = p.ours(ctx, head, s.Table, err), nil
		}
		if err == nil && s.Lag() > 0 {
			s.Oldest, err = p.oldest(ctx, head, s.Table, s.Projected)
		}
		if s.Derived && err != nil {
			s.Err, err = fmt.Errorf("state of table %s: %w", s.Table, err), nil
		}
		if err != nil {
			return nil, fmt.Errorf("state of table %s: %w", s.Table, err)
		}
		states = append(states, s)
	}
	return states, nil
}

// oldest is when the version after at was committed.
func (p *Projector) oldest(ctx context.Context, head manifest.Snapshot, table string, at Version) (time.Time, error) {
	seqs, err := p.path(ctx, head, table, at)
	if err != nil {
		return time.Time{}, err
	}
	first, err := p.slot(ctx, head, seqs[0])
	if err != nil {
		return time.Time{}, err
	}
	return first.Manifest.CreatedAt, nil
}

// sync makes sure that entries which somebody else made survive a loss of power
// before anything is built on them.
func (p *Projector) sync(ctx context.Context, folder string) error {
	s, ok := p.store.(object.Syncer)
	if !ok {
		return nil
	}
	if err := s.Sync(ctx, folder); err != nil {
		return fmt.Errorf("sync %s before building on it: %w", folder, err)
	}
	return nil
}

// maxSlots is how many manifests are kept at hand.
const maxSlots = 16

// slot reads a manifest of the chain that ends in head.
func (p *Projector) slot(ctx context.Context, head manifest.Snapshot, seq manifest.Seq) (manifest.Snapshot, error) {
	if seq == head.Manifest.Seq {
		p.keep(head)
		return head, nil
	}
	if s, ok := p.slots[seq]; ok {
		return s, nil
	}
	s, err := p.log.Slot(ctx, seq)
	if err == nil {
		p.keep(s)
	}
	return s, err
}

// keep holds a manifest at hand: it will be the one before the next.
func (p *Projector) keep(s manifest.Snapshot) {
	if len(p.slots) >= maxSlots {
		clear(p.slots)
	}
	p.slots[s.Manifest.Seq] = s
}

// begin reads what tables keep of the first manifest.
func (p *Projector) begin(ctx context.Context, head manifest.Snapshot) (Origin, error) {
	if p.origin == nil {
		first, err := p.slot(ctx, head, 0)
		if err != nil {
			return Origin{}, err
		}
		p.origin = &Origin{first.Manifest.Pipeline, first.Manifest.CreatedAt}
	}
	return *p.origin, nil
}
