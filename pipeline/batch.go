package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"batcher/batch"
	"batcher/commit"
	"batcher/manifest"
	"batcher/output"
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
	main    *output.Files
	dead    *output.Files
	away    map[string][]string // by table, the files that it takes away; of a batch that replaces
	carries bool                // what the plan itself found goes with it
	used    int                 // objects of the queue that it consumed, began, or found to be not as planned
}

// kind is that of the batch's manifest.
func (p *prepared) kind() manifest.Kind {
	if p.away != nil {
		return manifest.Replace
	}
	return manifest.Data
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
		if err := r.head.Admits(r.Config); err != nil {
			p.drop(ctx)
			return err // a rival began the pipeline with other settings
		}
		switch out.Verdict {
		case commit.Committed:
			r.committed(p, out)
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
			return &commit.SupersededError{Reason: out.Reason}
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
	rest.From, rest.Header = last.To, last.Header
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
			continue
		}
		r.report.Lag.Objects = max(r.report.Lag.Objects-1, 0)
		r.report.Lag.Bytes = max(r.report.Lag.Bytes-o.Size, 0)
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
		} else {
			r.leftOut = true
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
	published, err := r.published(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.Rules.CheckPublished(published); err != nil {
		return nil, err
	}
	t := &try{run: r, prepared: p, published: published, limits: limits,
		broken: map[string]*record.BrokenError{}, left: map[string]bool{}, cutoff: r.cutoff()}
	for restarts := 0; restarts < maxRestarts; {
		err := t.read(ctx, objects)
		if err == nil {
			return p, nil
		}
		p.drop(ctx)
		var broken *record.BrokenError
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		case errors.Is(err, errWithout): // at most once for each object
		case errors.Is(err, record.ErrRestart):
			restarts++
			t.learned = t.gather.Schema()
			r.Logger.Debug("types widened: reading the batch again")
		case errors.As(err, &broken) && !r.FailBroken: // at most once for each object
			t.quarantined(t.current, broken)
			r.distrust = true
		default:
			return nil, err
		}
	}
	return nil, fmt.Errorf("batch started over %d times: %w", maxRestarts, ErrNoProgress)
}

// published is the schema of the main table: that of every table, if it is not there.
func (r *run) published(ctx context.Context) (*schema.Schema, error) {
	t, ok := r.head.Manifest.Tables[r.Table]
	if !ok {
		return &schema.Schema{Fields: schema.Reserved(), LastID: schema.LastReserved}, nil
	}
	s, err := r.Log.LoadSchema(ctx, t.Schema)
	if err != nil {
		return nil, r.absent(ctx, err)
	}
	return s, nil
}

// letters is the schema of the dead-letter table where a manifest brings it in; else nil.
func (r *run) letters(base manifest.Snapshot) *schema.Schema {
	if _, ok := base.Manifest.Tables[r.Dead]; ok {
		return nil
	}
	return schema.DeadLetters()
}

// drop gives up the batch's files.
func (p *prepared) drop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for _, o := range []*output.Files{p.main, p.dead} {
		if o != nil {
			o.Drop(ctx)
		}
	}
}

// propose hands the batch to commit. With the last batch of a plan go what the
// plan itself found: touched objects, gaps, and that everything was listed.
func (r *run) propose(ctx context.Context, p *prepared) (commit.Outcome, error) {
	b := p.sealed.Batch
	delta := files.Delta{Ranges: b.Ranges.Items, Start: r.Start}
	if r.plan != nil && !p.sealed.Cut && p.used == len(r.queue) {
		delta.Touched, delta.Gaps = r.plan.Touched, r.plan.Gaps
		if !r.leftOut {
			delta.Relisted = r.plan.Relisted
		}
		p.carries = true
	}
	return r.Log.Append(ctx, commit.Proposal{
		Kind: p.kind(), Attempt: p.attempt, Base: p.base, Batch: &b, Config: r.Config,
		Gaps: gaps(delta.Gaps),
		Tables: map[string]commit.Delta{
			r.Table: {Schema: p.sealed.Schema, Add: p.main.Done(), Remove: p.away[r.Table]},
			r.Dead:  {Schema: r.letters(p.base), Add: p.dead.Done(), Remove: p.away[r.Dead]},
		},
		Advance: r.advanceBy(delta),
	})
}

// remember commits what a plan found when no batch carried it: touched objects,
// gaps, and that everything was listed.
func (r *run) remember(ctx context.Context) error {
	if len(r.plan.Touched) == 0 && len(r.plan.Gaps) == 0 && (r.plan.Relisted.IsZero() || r.leftOut) {
		return nil
	}
	p := &prepared{base: r.head, main: output.New(output.Options{}), dead: output.New(output.Options{})}
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
		r.committed(p, out)
	}
	return nil // after a lost race the next run finds it again
}

// advanceBy computes the progress after a batch on whatever parent it meets.
func (r *run) advanceBy(delta files.Delta) commit.Advance {
	return func(ctx context.Context, parent *source.FilesProgress, pack *segment.Pack) (*source.FilesProgress, []manifest.Touched, error) {
		parent = r.started(parent)
		if err := r.Set.Prepare(ctx, parent, delta); err != nil {
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

// committed counts the batch.
func (r *run) committed(p *prepared, out commit.Outcome) {
	r.report.committed(p, out)
	r.replans = 0
	if p.carries {
		r.plan.Touched, r.plan.Gaps, r.plan.Relisted = nil, nil, time.Time{}
	}
	r.Logger.Info("batch committed", "seq", int64(out.Receipt.Seq()), "batch", out.Head.Manifest.Batch.ID.String(),
		"attempt", p.attempt.String(), "objects", p.sealed.Batch.Objects, "rows", p.sealed.Batch.Rows.Written, "dead", p.sealed.Batch.Rows.Dead)
}
