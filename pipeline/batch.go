package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"batcher/batch"
	"batcher/commit"
	"batcher/manifest"
	"batcher/record"
	"batcher/schema"
	"batcher/segment"
	"batcher/source"
	"batcher/source/files"
)

const (
	maxRestarts  = 1000 // tries of one batch: each learns something, so few are ever needed
	maxReplans   = 1000 // plans in a row that rivals overtook
	maxReencodes = 64   // lost races of one batch that invalidated its files
)

// prepared is a batch whose files are acknowledged: all that is left is to commit.
type prepared struct {
	sealed  batch.Sealed
	attempt manifest.Attempt
	base    manifest.Snapshot
	main    *output
	dead    *output
	carries bool // what the plan itself found goes with it
	used    int  // objects of the queue that it consumed, began, or found to be not as planned
}

// one brings one batch from the queue into the chain. A batch that a rival
// invalidated is written again on the new head; one that a rival consumed is
// planned again.
func (r *run) one(ctx context.Context) error {
	begun := r.Clock.Now()
	defer func() { r.slow = max(r.slow, r.Clock.Now().Sub(begun)) }()
	for range maxReencodes {
		p, err := r.prepare(ctx, r.queue, r.Limits)
		if err != nil {
			return err
		}
		if len(p.sealed.Batch.Ranges.Items) == 0 {
			r.queue = r.queue[p.used:]
			return nil
		}
		out, err := r.propose(ctx, p)
		if err != nil {
			return err
		}
		r.head = out.Head
		switch out.Verdict {
		case commit.Committed:
			r.committed(ctx, p, out)
			r.advance(p)
			return r.yield(ctx, out.Rivals)
		case commit.Already:
			p.drop(ctx)
			r.report.already()
			r.Logger.Info("batch is already committed", "reason", out.Reason)
			return r.replan(ctx)
		case commit.Replan:
			p.drop(ctx)
			r.Logger.Info("planning again", "reason", out.Reason)
			return r.replan(ctx)
		case commit.Reencode:
			p.drop(ctx)
			r.Logger.Info("writing the batch again on a newer head", "reason", out.Reason)
			if err := r.yield(ctx, out.Rivals); err != nil {
				return err
			}
		default:
			return &SupersededError{out.Reason}
		}
	}
	return fmt.Errorf("batch invalidated %d times in a row: %w", maxReencodes, commit.ErrUnresolved)
}

// advance takes the consumed objects off the queue. An object that was cut goes
// on where the batch ended.
func (r *run) advance(p *prepared) {
	ranges := p.sealed.Batch.Ranges.Items
	last := ranges[len(ranges)-1]
	if last.Last {
		r.queue = r.queue[p.used:]
		return
	}
	rest := r.queue[p.used-1]
	rest.From = last.To
	r.queue = append([]files.Object{rest}, r.queue[p.used:]...)
}

// yield takes off the queue what rivals consumed since it was planned: the next
// batch starts on a head that has their manifests, where commit no longer sees
// them as rivals. An object that a rival began makes a new plan necessary.
func (r *run) yield(ctx context.Context, rivals []*manifest.Manifest) error {
	taken := map[string]bool{}
	for _, m := range rivals {
		if m.Batch == nil {
			continue
		}
		for i := range m.Batch.Ranges.Items {
			taken[m.Batch.Ranges.Items[i].Key] = m.Batch.Ranges.Items[i].Last
		}
	}
	if len(taken) == 0 {
		return nil
	}
	var left []files.Object
	for _, o := range r.queue {
		whole, hit := taken[o.Key]
		if hit && !whole {
			return r.replan(ctx)
		}
		if !hit {
			left = append(left, o)
		}
	}
	r.queue = left
	return nil
}

// replan lists again and keeps what was there at the start of the run.
func (r *run) replan(ctx context.Context) error {
	if r.replans++; r.replans > maxReplans {
		return fmt.Errorf("planned again %d times without a commit: %w", maxReplans, commit.ErrUnresolved)
	}
	if err := r.makePlan(ctx); err != nil {
		return err
	}
	kept := r.queue[:0]
	for _, o := range r.queue {
		if !o.Modified.After(r.begun) || o.From > 0 {
			kept = append(kept, o)
		}
	}
	r.queue = kept
	return nil
}

// prepare reads a batch from the front of objects and writes its files. It
// starts over, under wider types or without an unreadable object, as often as
// something is learned; no file of a try that was given up is ever named.
func (r *run) prepare(ctx context.Context, objects []files.Object, limits batch.Limits) (*prepared, error) {
	p := &prepared{base: r.head}
	var err error
	if p.attempt, err = r.draw(); err != nil {
		return nil, err
	}
	published, err := r.Log.LoadSchema(ctx, r.head.Manifest.Tables[r.Table].Schema)
	if err != nil {
		return nil, err
	}
	t := &try{run: r, prepared: p, published: published, limits: limits,
		broken: map[string]*record.BrokenError{}, stale: map[string]bool{}, cutoff: r.cutoff()}
	for range maxRestarts {
		err := t.read(ctx, objects)
		if err == nil {
			return p, nil
		}
		p.drop(ctx)
		var broken *record.BrokenError
		switch {
		case ctx.Err() != nil:
			return nil, err
		case errors.Is(err, record.ErrRestart):
			t.learned = t.gather.Schema()
			r.Logger.Debug("types widened: reading the batch again")
		case errors.As(err, &broken) && !r.FailBroken:
			t.broken[t.current] = broken
			r.Logger.Warn("container is broken: the object is quarantined", "object", t.current, "reason", broken.Reason, "offset", broken.Offset)
		default:
			return nil, err
		}
	}
	return nil, fmt.Errorf("batch started over %d times: %w", maxRestarts, ErrNoProgress)
}

// try is one way to read a batch: what earlier ones learned, and where it is.
type try struct {
	*run
	prepared  *prepared
	published *schema.Schema
	learned   *schema.Schema
	limits    batch.Limits
	broken    map[string]*record.BrokenError
	stale     map[string]bool
	cutoff    time.Time
	gather    *batch.Gather
	current   string // object being read
	files     [2]int // numbers of the next files, main and dead
}

// read gathers objects into files until the batch is full, and seals it.
func (t *try) read(ctx context.Context, objects []files.Object) error {
	p := t.prepared
	p.used = 0
	p.main = t.output(ctx, t.Table, &t.files[0])
	p.dead = t.output(ctx, t.Dead, &t.files[1])
	t.gather = batch.New(batch.Options{
		Schema: t.published, Learned: t.learned, Rules: t.Rules, Record: t.Record, Limits: t.limits,
		Main: p.main.write, Dead: p.dead.write,
	})
	fetch := newFetcher(t.Source, objects)
	defer fetch.stop()
	for _, o := range objects {
		if t.gather.Full(o.Size) || t.gather.Cut() || t.over() {
			break
		}
		if err := t.object(ctx, fetch, o); err != nil {
			return err
		}
		p.used++
	}
	var budget *batch.Budget
	if t.opts.AcceptBad != AcceptBad {
		budget = &t.Budget
	}
	var err error
	if p.sealed, err = t.gather.Seal(budget); err != nil {
		return err
	}
	if err := p.main.close(); err != nil {
		return err
	}
	return p.dead.close()
}

// over says whether the batch has to end for the deadline's sake.
func (t *try) over() bool {
	return !t.cutoff.IsZero() && !t.gather.Empty() && t.Clock.Now().After(t.cutoff)
}

// object reads one object into the batch.
func (t *try) object(ctx context.Context, fetch *fetcher, o files.Object) error {
	t.current = o.Key
	in := batch.Object{Key: o.Key, Info: source.Range{Key: o.Key, ETag: o.ETag, Size: o.Size, Modified: o.Modified, From: o.From}}
	if o.Late {
		in.Late = batch.Late
	}
	if broken := t.broken[o.Key]; broken != nil {
		return t.gather.Quarantine(in, broken)
	}
	if t.stale[o.Key] {
		return nil
	}
	if o.Exact != nil && !o.Exact.Last {
		in.To = o.Exact.To
	}
	body, err := fetch.next(ctx, o)
	if errors.Is(err, files.ErrStale) {
		t.moved(o, err)
		return nil
	}
	if err == nil {
		err = t.gather.Read(ctx, in, body)
		_ = body.Close()
	}
	if errors.Is(err, files.ErrStale) {
		t.moved(o, err)
		return record.ErrRestart
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o.Key, err)
	}
	t.progress()
	return nil
}

// moved leaves out an object that is gone or has changed since it was planned:
// the next plan says what became of it.
func (t *try) moved(o files.Object, err error) {
	t.Logger.Warn("object is not as planned and waits for the next run", "object", o.Key, "error", err)
	t.stale[o.Key] = true
}

func (t *try) output(ctx context.Context, table string, next *int) *output {
	return &output{ctx: ctx, store: t.Store, opts: t.File, limit: t.FileBytes, table: table,
		base: t.head.Manifest.Seq, attempt: t.prepared.attempt, next: next}
}

func (t *try) progress() {
	if t.Step == nil {
		return
	}
	objects, records, bytes := t.gather.Counts()
	t.Step(Step{
		Objects: t.report.Objects.Read + objects, Planned: t.report.planObjects,
		Records: t.report.Rows.Read + records, Bytes: t.report.Bytes.Read + bytes, Batches: t.report.Batches,
	})
}

// drop gives up the batch's files.
func (p *prepared) drop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for _, o := range []*output{p.main, p.dead} {
		if o != nil {
			o.drop(ctx)
		}
	}
}

// propose hands the batch to commit. With the last batch of a plan go what the
// plan itself found: touched objects, gaps, and that everything was listed.
func (r *run) propose(ctx context.Context, p *prepared) (commit.Outcome, error) {
	b := p.sealed.Batch
	delta := files.Delta{Ranges: b.Ranges.Items, Start: r.Start}
	if r.plan != nil && !p.sealed.Cut && p.used == len(r.queue) && !r.plan.More {
		delta.Touched, delta.Gaps, delta.Relisted = r.plan.Touched, r.plan.Gaps, r.plan.Relisted
		p.carries = true
	}
	return r.Log.Append(ctx, commit.Proposal{
		Kind: manifest.Data, Attempt: p.attempt, Base: p.base, Batch: &b, Config: r.Config,
		Gaps: gaps(delta.Gaps),
		Tables: map[string]commit.Delta{
			r.Table: {Schema: p.sealed.Schema, Add: p.main.done},
			r.Dead:  {Add: p.dead.done},
		},
		Advance: r.advanceBy(delta),
	})
}

// remember commits what a plan found when no batch carried it: touched objects,
// gaps, and that everything was listed.
func (r *run) remember(ctx context.Context) error {
	if len(r.plan.Touched) == 0 && len(r.plan.Gaps) == 0 && r.plan.Relisted.IsZero() {
		return nil
	}
	p := &prepared{base: r.head, main: &output{}, dead: &output{}}
	var err error
	if p.attempt, err = r.draw(); err != nil {
		return err
	}
	out, err := r.propose(ctx, p)
	if err != nil {
		return err
	}
	r.head = out.Head
	if out.Verdict == commit.Committed {
		r.committed(ctx, p, out)
	}
	return nil // after a lost race the next run finds it again
}

// advanceBy computes the progress after a batch on whatever parent it meets.
func (r *run) advanceBy(delta files.Delta) commit.Advance {
	return func(ctx context.Context, parent *source.FilesProgress, pack *segment.Pack) (*source.FilesProgress, []manifest.Touched, error) {
		if err := r.Set.Prepare(ctx, parent); err != nil {
			return nil, nil, err
		}
		var touched []manifest.Touched
		standing, err := r.Set.Standing(parent, delta.Touched)
		if err != nil {
			return nil, nil, err
		}
		for _, t := range standing {
			touched = append(touched, manifest.Touched(t))
		}
		after, err := r.Set.Advance(parent, delta, pack)
		return after, touched, err
	}
}

func gaps(found []files.Gap) []manifest.GapRecord {
	var out []manifest.GapRecord
	for _, g := range found {
		out = append(out, manifest.GapRecord{Key: g.Key, From: int64(g.Next), Reason: g.Reason})
	}
	return out
}

// committed counts the batch and runs what follows a commit.
func (r *run) committed(ctx context.Context, p *prepared, out commit.Outcome) {
	r.report.committed(p, out)
	r.replans = 0
	if p.carries {
		r.plan.Touched, r.plan.Gaps, r.plan.Relisted = nil, nil, time.Time{}
	}
	r.Logger.Info("batch committed", "seq", int64(out.Receipt.Seq()), "batch", out.Head.Manifest.Batch.ID.String(),
		"attempt", p.attempt.String(), "objects", p.sealed.Batch.Objects, "rows", p.sealed.Batch.Rows.Written, "dead", p.sealed.Batch.Rows.Dead)
	ctx = context.WithoutCancel(ctx)
	if err := r.Log.PutHint(ctx, out.Head); err != nil {
		r.Logger.Warn("hint not written: the next run searches a little longer", "error", err)
	}
	for _, hook := range r.Committed {
		if err := hook(ctx, out.Receipt, out.Head); err != nil {
			r.Logger.Warn("after-commit step failed and will be repeated by a later run", "error", err)
		}
	}
}

// explicit commits exactly the ranges that were asked for, as one batch.
func (r *run) explicit(ctx context.Context) error {
	for range maxReencodes {
		coverage, plan, err := r.Source.Resolve(ctx, r.opts.Ranges, r.head.Manifest.Progress.Files, r.Set)
		if err != nil {
			return err
		}
		switch coverage {
		case files.CoveredAll:
			r.report.already()
			return nil
		case files.CoveredSome:
			return &PartlyCoveredError{fmt.Sprintf("of %d ranges some are committed", len(r.opts.Ranges))}
		}
		r.report.planObjects = int64(len(plan.Objects))
		p, err := r.prepare(ctx, plan.Objects, batch.Limits{})
		if err != nil {
			return err
		}
		if err := r.exact(p); err != nil {
			p.drop(ctx)
			return err
		}
		out, err := r.propose(ctx, p)
		if err != nil {
			return err
		}
		r.head = out.Head
		switch out.Verdict {
		case commit.Committed:
			r.committed(ctx, p, out)
			return nil
		case commit.Abort:
			return &SupersededError{out.Reason}
		}
		p.drop(ctx)
	}
	return fmt.Errorf("explicit range lost %d races: %w", maxReencodes, commit.ErrUnresolved)
}

// exact refuses a batch whose ranges are not the ones that were asked for.
func (r *run) exact(p *prepared) error {
	got := map[string]source.Range{}
	for _, x := range p.sealed.Batch.Ranges.Items {
		got[x.Key] = x
	}
	for _, want := range r.opts.Ranges {
		x, ok := got[want.Key]
		if !ok || x.From != want.From || x.To != want.To || x.Last != want.Last {
			return &files.GapError{Key: want.Key, Position: want.From, Reason: fmt.Sprintf("range [%d, %d) was asked for, the object gives [%d, %d)", want.From, want.To, x.From, x.To)}
		}
	}
	return nil
}
