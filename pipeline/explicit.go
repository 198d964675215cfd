package pipeline

import (
	"context"
	"fmt"
	"slices"

	"batcher/batch"
	"batcher/commit"
	"batcher/source"
	"batcher/source/files"
)

// explicit commits exactly the ranges that were asked for, as one batch.
func (r *run) explicit(ctx context.Context) error {
	for range maxReencodes {
		coverage, plan, err := r.Source.Resolve(ctx, r.opts.Ranges, r.head.Manifest.Progress.Files, r.Set)
		if err != nil {
			return r.absent(ctx, err)
		}
		switch coverage {
		case files.CoveredAll:
			r.report.already()
			return nil
		case files.CoveredSome:
			return &PartlyCoveredError{fmt.Sprintf("of %d ranges some are committed", len(r.opts.Ranges))}
		}
		if slices.ContainsFunc(plan.Objects, func(o files.Object) bool { return o.Replaces != plan.Objects[0].Replaces }) {
			return &PartlyCoveredError{"some of its objects replace others and some are new: they cannot be one batch"}
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
		if err := r.head.Admits(r.Config); err != nil {
			p.drop(ctx)
			return err
		}
		switch out.Verdict {
		case commit.Committed:
			r.committed(p, out)
			return nil
		case commit.Abort:
			return &commit.SupersededError{Reason: out.Reason}
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
