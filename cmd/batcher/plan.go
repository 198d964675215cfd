package main

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	Batches  int64      `json:"batches"`        // at least so many, by what is known before reading
	Objects  int64      `json:"objects"`        // in these batches
	Bytes    int64      `json:"bytes"`          // of these objects, as stored
	Rows     int64      `json:"estimated_rows"` // by the newest batch; of explicit ranges as they say; 0: unknown
	Late     int64      `json:"late_objects"`
	Changed  int64      `json:"changed_objects"`
	Young    int64      `json:"young_objects"`
	Ignored  int64      `json:"ignored_objects"`
	Requests planCost   `json:"requests"` // of the run that would follow
	Dollars  float64    `json:"dollars"`  // of these requests on S3 Standard
	First    []planItem `json:"first"`    // the first objects
	Lag      reportLag  `json:"lag"`
	New      bool       `json:"new_pipeline"`

	LeftOut []reportLeftOut `json:"left_out"`
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
	fmt.Fprintf(&b, "a run would read %s, %s, in at least %s\n", many(rep.Objects, "object"), sized(rep.Bytes), many(rep.Batches, "batch"))
	if rep.Rows > 0 {
		fmt.Fprintf(&b, "about %s, by the newest batch\n", many(rep.Rows, "row"))
	}
	fmt.Fprintf(&b, "about %s and %s beside the listing ($%.6f on S3 Standard)\n", many(rep.Requests.Get, "GET"), many(rep.Requests.Put, "PUT"), rep.Dollars)
	for _, o := range rep.First {
		fmt.Fprintf(&b, "  %q (%s)\n", o.Key, sized(o.Size))
	}
	for _, part := range []struct {
		n    int64
		what string
	}{{rep.Late, "of them late"}, {rep.Young, "more are too young to be read yet (source.files.settle)"},
		{rep.Changed, changed}} {
		if part.n > 0 {
			fmt.Fprintf(&b, "%d %s\n", part.n, part.what)
		}
	}
	for _, o := range rep.LeftOut {
		fmt.Fprintf(&b, "%s\n", o)
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
		Lag: lagOf(p), New: fresh, First: []planItem{},
		Late: p.Counts.Late, Changed: p.Counts.Changed, Young: p.Counts.Young, Ignored: p.Counts.Ignored,
		LeftOut: leftOut(p.LeftOut),
	}
	var first []files.Object
	rep.Batches, first = r.batches(p.Objects, int64(o.MaxBatches))
	if o.Range != "" { // one batch, whatever its size
		rep.Batches, first = int64(min(len(p.Objects), 1)), p.Objects
	}
	rep.Objects, rep.Bytes = int64(len(first)), storedBytes(first)
	if more := p.Lag.Objects - int64(len(p.Objects)); more > 0 && int64(len(first)) == int64(len(p.Objects)) {
		r.beyond(&rep, more, p.Lag.Bytes-rep.Bytes, int64(o.MaxBatches))
	}
	if rep.Rows, err = r.rows(ctx, head, rep, first); err != nil {
		return planReport{}, err
	}
	rep.Requests = r.cost(rep)
	rep.Dollars = math.Round((float64(rep.Requests.Get)*dollarsPerGet+float64(rep.Requests.Put)*dollarsPerPut)*1e7) / 1e7
	for i := range first[:min(len(first), 5)] {
		rep.First = append(rep.First, planItem{first[i].Key, first[i].Size, int64(first[i].From)})
	}
	return rep, nil
}

// beyond adds what lies beyond a plan, of which only number and size are known: as many
// batches as they fill, up to most if that is not 0.
func (r *rooms) beyond(rep *planReport, objects, bytes, most int64) {
	batches := max(ceil(objects, r.cfg.Batch.MaxObjects), ceil(bytes, int64(r.cfg.Batch.MaxBytes)), 1)
	if room := most - rep.Batches; most > 0 && room < batches {
		objects, bytes, batches = int64(float64(objects)*float64(room)/float64(batches)), int64(float64(bytes)*float64(room)/float64(batches)), room
	}
	rep.Objects, rep.Bytes, rep.Batches = rep.Objects+objects, rep.Bytes+bytes, rep.Batches+batches
}

// ceil is how many portions of the size each a number makes; 0 where there is no bound.
func ceil(n, each int64) int64 {
	if each <= 0 {
		return 0
	}
	return (n + each - 1) / each
}

// cost estimates what a run asks of the stores. Publishing takes looks at two tables, and
// of each batch a version, and a file and a version of the table of batches; checkpoints
// and folds are spread over the batches, see docs/COST.md.
func (r *rooms) cost(rep planReport) planCost {
	cost := planCost{Get: 3 + rep.Objects + max(0, rep.Batches-1), Put: 3 * rep.Batches}
	if r.delta != nil {
		cost.Get += 4 + 2*rep.Batches
		cost.Put += rep.Batches * 36 / 10
	}
	return cost
}

// rows estimates how many rows a run makes.
func (r *rooms) rows(ctx context.Context, head manifest.Snapshot, rep planReport, objects []files.Object) (rows int64, err error) {
	if len(objects) > 0 && objects[0].Exact != nil {
		for i := range objects {
			rows += objects[i].Exact.Records
		}
		return rows, nil
	}
	if rep.New || rep.Bytes == 0 {
		return 0, nil
	}
	d, err := r.density(ctx, head)
	return d.in(rep.Bytes), err
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
	p.Lag.Bytes = storedBytes(p.Objects)
	return p, nil
}

// storedBytes adds up what is left of the objects to be read; of one that is read in
// part it is a guess, because positions count decoded bytes.
func storedBytes(objects []files.Object) (sum int64) {
	for i := range objects {
		sum += max(objects[i].Size-int64(objects[i].From), 0)
	}
	return sum
}

// batches is how many batches the objects make, by stored sizes, and which objects are
// in them: all, or those of the first most batches.
func (r *rooms) batches(objects []files.Object, most int64) (int64, []files.Object) {
	n, count, bytes := int64(0), int64(0), int64(0)
	for i, o := range objects {
		if n == 0 || count >= r.cfg.Batch.MaxObjects || bytes+o.Size > int64(r.cfg.Batch.MaxBytes) {
			if n == most && most > 0 {
				return n, objects[:i]
			}
			n, count, bytes = n+1, 0, 0
		}
		count, bytes = count+1, bytes+o.Size
	}
	return n, objects
}
