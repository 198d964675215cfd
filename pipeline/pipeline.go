// Package pipeline is one run: head → plan → read → gather → encode → put →
// commit → after-commit hooks, batch by batch, until what was there at the start
// is drained.
//
// Duty: bring the rooms together in the one order that is safe, and report what
// happened.
//
// Invariants: every data file is acknowledged by the store before its manifest
// is proposed; a hook runs only with a receipt; own files are deleted only after
// it is proved that no manifest names them; whatever interrupts a run, whole
// batches stand or nothing.
//
// It never decides what a lost race may keep (commit does), never looks into
// records (record does) and never chooses a vendor (cmd does).
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"batcher/batch"
	"batcher/commit"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
	"batcher/source/files"
)

// Pipeline is a wired pipeline. Its fields are set once, by the command line.
type Pipeline struct {
	Log    *commit.Log
	Store  object.Store // holds the pipeline; retries what may be retried
	Source *files.Source
	Input  object.Store // the source's store, for its request count
	Set    *files.Set
	Config manifest.Config
	// BeginsNow says that Start is the time of the first run.
	BeginsNow bool
	Start     time.Time // fixed at genesis: objects modified before are no part of the source
	Table     string
	Dead      string

	Rules      schema.Rules
	Record     record.Limits
	Format     record.Format
	Limits     batch.Limits
	Budget     batch.Budget
	File       datafile.Options
	FileBytes  int64 // a data file is closed when it has so many bytes
	FailBroken bool  // a broken container fails the run instead of being quarantined
	Unreadable OnUnreadable

	Clock  Clock
	Random io.Reader // attempts and the pipeline id
	Logger *slog.Logger

	Admit func(ctx context.Context) error // proves the store before the genesis
	Step  func(Step)                      // progress for people; may be nil
	// Opened is run on the head that a run begins on, before anything is read; an error
	// ends the run. It may be nil.
	Opened func(ctx context.Context, head manifest.Snapshot) error
}

// Clock is the time as a run sees it.
type Clock = commit.Clock

// Step tells how far a run is.
type Step struct {
	Objects, Planned int64
	Records, Bytes   int64
	Batches          int
}

// Options narrow one run.
type Options struct {
	MaxBatches int            // 0: no bound
	Deadline   time.Time      // zero: none; batches are cut so that the last commit is before it
	Ranges     []source.Range // explicit ranges instead of a plan
	AcceptBad  Acceptance
}

// Acceptance says whether a batch over its budget of bad records may commit.
type Acceptance uint8

// The two acceptances.
const (
	WithinBudget Acceptance = iota
	AcceptBad
)

// PartlyCoveredError says that an explicit range is partly committed.
type PartlyCoveredError struct{ Reason string }

// Error gives the reason.
func (e *PartlyCoveredError) Error() string {
	return "explicit range is partly committed: " + e.Reason
}

// ErrNoProgress says that a batch could not be brought to an end in a bounded
// number of tries.
var ErrNoProgress = errors.New("no progress")

// run is the state of one invocation.
type run struct {
	*Pipeline
	opts     Options
	head     manifest.Snapshot
	report   Report
	begun    time.Time
	queue    []files.Object // what is left of the plan
	plan     *files.Plan
	unread   unread
	leftOut  bool          // the plan in force left objects to a later run
	distrust bool          // a container broke late: check others before records of them are taken
	planned  int           // batches and no-ops when the plan in force was made
	slow     time.Duration // longest batch so far
	replans  int           // since the last commit
}

// Run drains what was there at its start. The report is filled in whether it
// fails or not.
func (p *Pipeline) Run(ctx context.Context, o Options) (Report, error) {
	r := &run{Pipeline: p, opts: o, begun: p.Clock.Now(), unread: newUnread()}
	p.Set.PassNothingOver()
	before := object.RequestsOf(p.Store).Add(object.RequestsOf(p.Input))
	err := r.drain(ctx)
	if waits := r.waiting(); err == nil {
		err = waits
	}
	r.report.Requests = object.RequestsOf(p.Store).Add(object.RequestsOf(p.Input)).Sub(before)
	r.report.Duration = p.Clock.Now().Sub(r.begun)
	r.finish(err)
	return r.report, err
}

// drain is the run.
func (r *run) drain(ctx context.Context) error {
	var err error
	r.head, err = r.Open(ctx)
	if nothing, ok := errors.AsType[*NothingError](err); ok {
		r.report.planned(nothing.Plan)
		r.report.Unfounded = true
		return nil
	}
	if err != nil {
		return err
	}
	if r.Opened != nil {
		if err := r.Opened(ctx, r.head); err != nil {
			return err
		}
	}
	if len(r.opts.Ranges) > 0 {
		return r.explicit(ctx)
	}
	if err := r.makePlan(ctx); err != nil {
		return err
	}
	for r.opts.MaxBatches == 0 || r.report.Batches < r.opts.MaxBatches {
		if len(r.queue) == 0 {
			again := r.lookAgain()
			if !again {
				if err := r.end(ctx); err != nil || !r.plan.More || r.planned == r.moves() {
					return err
				}
			}
			if err := r.replan(ctx); err != nil {
				return err
			}
			continue
		}
		if r.late() {
			r.Logger.Info("deadline: the rest waits for the next run", "objects", len(r.queue))
			return nil
		}
		if r.report.Batches > 0 {
			if err := r.Log.Confirm(ctx, r.head); err != nil {
				return err
			}
		}
		if err := r.one(ctx); err != nil {
			return err
		}
	}
	return nil
}

// late says whether another batch would not be committed before the deadline:
// it is taken to last as long as the longest so far, and a tenth of the whole
// time is kept in reserve.
func (r *run) late() bool {
	if r.opts.Deadline.IsZero() {
		return false
	}
	now := r.Clock.Now()
	reserve := r.opts.Deadline.Sub(r.begun) / 10
	return now.Add(r.slow + reserve).After(r.opts.Deadline)
}

// cutoff is the instant after which a batch takes no further object. Explicit
// ranges are one batch, which is never cut.
func (r *run) cutoff() time.Time {
	if r.opts.Deadline.IsZero() || len(r.opts.Ranges) > 0 {
		return time.Time{}
	}
	return r.Clock.Now().Add(r.opts.Deadline.Sub(r.Clock.Now()) / 2)
}

// makePlan lists the source against the head. The first plan of a run fixes
// what "there at the start" means.
func (r *run) makePlan(ctx context.Context) error {
	plan, err := r.Source.Plan(ctx, r.started(r.head.Manifest.Progress.Files), r.Set, r.Clock.Now())
	if err != nil {
		return r.absent(ctx, err)
	}
	if r.plan == nil {
		r.report.planned(plan)
	}
	r.report.Lag = plan.Lag
	r.plan, r.queue = plan, plan.Objects
	r.leftOut = slices.ContainsFunc(slices.Collect(maps.Values(r.unread.waiting)), func(e *files.UnreadableError) bool { return e.Cause.Passes() })
	r.stillListed()
	r.planned = r.moves()
	return r.plannedUnread(ctx, plan)
}

// moves counts what the run got done: where it has not grown a new plan brings nothing.
func (r *run) moves() int { return r.report.Batches + r.report.noops + len(r.unread.waiting) }

// started is a progress with the start that the pipeline file gives, while the chain has
// consumed nothing.
func (r *run) started(f *source.FilesProgress) *source.FilesProgress {
	if f == nil || r.BeginsNow || f.Count > 0 || !r.head.Fresh() {
		return f
	}
	now := *f
	now.Start = r.Start
	return &now
}

// absent says what it means that a run of the head is not there. What is missing in
// the source is another matter, so it looks for nothing else.
func (r *run) absent(ctx context.Context, err error) error {
	var run *commit.MissingError
	if !errors.As(err, &run) {
		return err
	}
	return r.Log.Absent(ctx, r.head, r.head, err)
}

// end is what follows when the plan in force is used up. A run that could read
// nothing of what is there has not succeeded, however often it would plan again.
func (r *run) end(ctx context.Context) error {
	if n := len(r.unread.missed); n > 0 && r.moves() == 0 {
		return fmt.Errorf("%d objects were not as they were listed, and nothing else could be read: %w", n, object.ErrChanged)
	}
	return r.remember(ctx)
}

// Open finds the head, or brings the pipeline into being, and refuses a pipeline
// file that does not fit.
func (p *Pipeline) Open(ctx context.Context) (manifest.Snapshot, error) {
	head, err := p.Log.Head(ctx)
	if errors.Is(err, commit.ErrNoChain) {
		head, err = p.create(ctx)
	}
	if err != nil {
		return head, err
	}
	if err := head.Admits(p.Config); err != nil {
		return head, err
	}
	return head, p.join(ctx, head)
}

// join makes tables that a pipeline file names anew ready for a chain that has consumed
// nothing yet.
func (p *Pipeline) join(ctx context.Context, head manifest.Snapshot) error {
	var missing []string
	for _, name := range []string{p.Table, p.Dead} {
		if _, ok := head.Manifest.Tables[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return p.Log.Join(ctx, missing...)
}

// NothingError says that there is no pipeline and nothing to begin it with. Nothing
// was created.
type NothingError struct {
	Plan *files.Plan // what was found: no object to be read
}

// Error says so.
func (e *NothingError) Error() string { return "there is nothing to read yet; nothing was created" }

// create proves source and store and writes the genesis. The source comes first: a
// mistyped path must not become the identity of a new pipeline, and neither may one
// without objects. Where the source begins now, that has to be remembered.
func (p *Pipeline) create(ctx context.Context) (manifest.Snapshot, error) {
	plan, err := p.Source.Plan(ctx, nil, p.Set, p.Clock.Now())
	if err != nil {
		return manifest.Snapshot{}, err
	}
	if plan.Lag.Objects == 0 && !p.BeginsNow {
		return manifest.Snapshot{}, &NothingError{plan}
	}
	if p.Admit != nil {
		if err := p.Admit(ctx); err != nil {
			return manifest.Snapshot{}, err
		}
	}
	g := commit.Genesis{Config: p.Config, Start: p.Start, Tables: map[string]*schema.Schema{
		p.Table: {Fields: schema.Reserved(), LastID: schema.LastReserved}, p.Dead: schema.DeadLetters(),
	}}
	if _, err := io.ReadFull(p.Random, g.ID[:]); err != nil {
		return manifest.Snapshot{}, err
	}
	if g.Attempt, err = p.draw(); err != nil {
		return manifest.Snapshot{}, err
	}
	return p.Log.Create(ctx, g)
}

// draw makes an attempt.
func (p *Pipeline) draw() (a manifest.Attempt, err error) {
	_, err = io.ReadFull(p.Random, a[:])
	return a, err
}

// outcomeOf names how a failed run ended.
func outcomeOf(err error) Outcome {
	var superseded *commit.SupersededError
	switch {
	case errors.As(err, &superseded):
		return Fenced
	case errors.Is(err, commit.ErrUnresolved):
		return Unknown
	}
	return Failed
}
