package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"batcher/commit"
	"batcher/config"
	"batcher/manifest"
	"batcher/pipeline"
	"batcher/source"
	"batcher/source/files"
)

// planReport is what plan prints.
type planReport struct {
	Batches  int64      `json:"batches"` // at least so many, by what is known before reading
	Objects  int64      `json:"objects"`
	Bytes    int64      `json:"bytes"`          // as stored
	Rows     int64      `json:"estimated_rows"` // from bytes and rows of the batches so far; 0: unknown
	Late     int64      `json:"late_objects"`
	Changed  int64      `json:"changed_objects"`
	Young    int64      `json:"young_objects"`
	Ignored  int64      `json:"ignored_objects"`
	Requests planCost   `json:"requests"` // of the run that would follow
	Dollars  float64    `json:"dollars"`  // of these requests on S3 Standard
	First    []planItem `json:"first"`    // the first objects
	Lag      reportLag  `json:"lag"`
	New      bool       `json:"new_pipeline"`
}

type planCost struct {
	Get int64 `json:"get"`
	Put int64 `json:"put"`
}

type planItem struct {
	Key  string `json:"key"`
	Size int64  `json:"size"`
	From int64  `json:"from"`
}

// Prices of requests on S3 Standard in us-east-1, dollars, as of November 2026.
const (
	dollarsPerGet = 0.0004 / 1000
	dollarsPerPut = 0.005 / 1000
)

// planRun is the verb plan.
func planRun(ctx context.Context, c *call, o planOptions) error {
	r, err := open(ctx, c, wiring{o.Shard, o.OnGap, changedCounted})
	if err != nil {
		return err
	}
	rep, err := r.plan(ctx, c, o)
	if err != nil {
		return err
	}
	if c.Output == outputJSON {
		return printJSON(c, rep)
	}
	changed := "consumed objects changed since"
	if r.cfg.Source.Files.OnChange == config.OnChangeFail {
		changed += " (source.files.on_change: fail ends a run there, exit code 66)"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "a run would read %d objects, %d bytes, in at least %d batches\n", rep.Objects, rep.Bytes, rep.Batches)
	if rep.Rows > 0 {
		fmt.Fprintf(&b, "about %d rows, by the batches so far\n", rep.Rows)
	}
	fmt.Fprintf(&b, "about %d GETs and %d PUTs beside the listing ($%.6f on S3 Standard)\n", rep.Requests.Get, rep.Requests.Put, rep.Dollars)
	for _, o := range rep.First {
		fmt.Fprintf(&b, "  %q (%d bytes)\n", o.Key, o.Size)
	}
	for _, part := range []struct {
		n    int64
		what string
	}{{rep.Late, "of them late"}, {rep.Young, "more are too young to be read yet (source.files.settle)"},
		{rep.Changed, changed}, {rep.Ignored, "ignored"}} {
		if part.n > 0 {
			fmt.Fprintf(&b, "%d %s\n", part.n, part.what)
		}
	}
	return printTo(c.Stdout, b.String())
}

func (r *rooms) plan(ctx context.Context, c *call, o planOptions) (planReport, error) {
	head, err := r.begun(ctx)
	fresh := errors.Is(err, commit.ErrNoChain)
	if err != nil && !fresh {
		return planReport{}, err
	}
	m := head.Manifest
	if fresh {
		m = &manifest.Manifest{}
	}
	p, err := r.wanted(ctx, c, o, m.Progress.Files)
	if err != nil {
		return planReport{}, err
	}
	rep := planReport{
		Objects: p.Lag.Objects, Bytes: p.Lag.Bytes, Lag: lagOf(p), New: fresh,
		Late: p.Counts.Late, Changed: p.Counts.Changed, Young: p.Counts.Young, Ignored: p.Counts.Ignored,
	}
	rep.Batches = r.batches(p)
	if o.Range != "" {
		rep.Batches = min(rep.Batches, 1) // explicit ranges are one batch, whatever its size
	}
	if o.MaxBatches > 0 {
		rep.Batches = min(rep.Batches, int64(o.MaxBatches))
	}
	if b := m.Batch; b != nil && b.Bytes > 0 {
		rep.Rows = int64(float64(rep.Bytes) * float64(b.Rows.Read) / float64(b.Bytes))
	}
	rep.Requests = planCost{Get: 3 + rep.Objects + 2*rep.Batches, Put: 3 * rep.Batches}
	rep.Dollars = float64(rep.Requests.Get)*dollarsPerGet + float64(rep.Requests.Put)*dollarsPerPut
	for i := 0; i < len(p.Objects) && i < 5; i++ {
		rep.First = append(rep.First, planItem{p.Objects[i].Key, p.Objects[i].Size, int64(p.Objects[i].From)})
	}
	return rep, nil
}

// wanted is what a run reads: what is new at the source, or explicit ranges.
func (r *rooms) wanted(ctx context.Context, c *call, o planOptions, progress *source.FilesProgress) (*files.Plan, error) {
	if o.Range == "" {
		return r.source.Plan(ctx, progress, r.set, time.Now())
	}
	ranges, err := readRanges(c, o.Range)
	if err != nil {
		return nil, err
	}
	coverage, p, err := r.source.Resolve(ctx, ranges, progress, r.set)
	switch {
	case err != nil:
		return nil, err
	case coverage == files.CoveredAll:
		return &files.Plan{}, nil
	case coverage == files.CoveredSome:
		return nil, &pipeline.PartlyCoveredError{Reason: fmt.Sprintf("of %d ranges some are committed", len(ranges))}
	}
	p.Lag.Objects = int64(len(p.Objects))
	for _, o := range p.Objects {
		p.Lag.Bytes += o.Size
	}
	return p, nil
}

// batches is how many batches the plan makes, by stored sizes.
func (r *rooms) batches(p *files.Plan) int64 {
	n, objects, bytes := int64(0), int64(0), int64(0)
	for _, o := range p.Objects {
		if n == 0 || objects >= r.cfg.Batch.MaxObjects || bytes+o.Size > int64(r.cfg.Batch.MaxBytes) {
			n, objects, bytes = n+1, 0, 0
		}
		objects, bytes = objects+1, bytes+o.Size
	}
	return n
}
