package pipeline_test

import (
	"context"
	"errors"
	"time"

	"batcher/batch"
	"batcher/commit"
	"batcher/compact"
	"batcher/manifest"
	"batcher/object"
	"batcher/pipeline"
	"batcher/source"
	"batcher/source/files"
)

// task draws what one process of a round does.
func (w *simWorld) task(number int, shard source.Shard) func() {
	p := w.newProcess(number)
	switch lot := w.lots.IntN(20); {
	case lot < 3:
		return p.collection()
	case lot == 3:
		return p.fence()
	case lot == 4:
		return p.expiry()
	case lot == 5 && w.lots.IntN(2) == 0:
		return p.rewind()
	case lot == 6:
		return p.repetition()
	case lot < 9:
		return p.merge()
	}
	return p.run(shard)
}

// errSuperseded stands for every way to be fenced, so that errors.Is finds it.
var errSuperseded = errors.New("superseded")

// plain gives an error that is known by its type alone a value to be known by.
func plain(err error) error {
	var superseded *commit.SupersededError
	var budget *batch.BudgetError
	var partly *pipeline.PartlyCoveredError
	var gap *files.GapError
	var changed *files.ChangedError
	switch {
	case errors.As(err, &superseded):
		return errors.Join(err, errSuperseded)
	case errors.As(err, &budget):
		return errors.Join(err, errBudget)
	case errors.As(err, &partly):
		return errors.Join(err, errPartly)
	case errors.As(err, &gap), errors.As(err, &changed):
		return errors.Join(err, errMoved)
	}
	return err
}

var errBudget, errPartly, errMoved = errors.New("budget"), errors.New("partly covered"), errors.New("the source moved")

// run is an ordinary run.
func (p *process) run(shard source.Shard) func() {
	run := p.pipeline(p.store, p.input, shard)
	run.Random = p
	if p.lots.IntN(10) == 0 {
		run.Budget = batch.Budget{Ratio: 0.2}
	}
	o := pipeline.Options{MaxBatches: p.lots.IntN(6)}
	return func() {
		p.stats.runs++
		rep, err := run.Run(p.ctx, o)
		p.stats.batches += rep.Batches
		p.judge("run", plain(err), errSuperseded, object.ErrChanged, errBudget, errMoved)
	}
}

// repetition is a retried task: it asks for ranges that were committed before.
func (p *process) repetition() func() {
	run := p.pipeline(p.store, p.input, source.Shard{})
	run.Random = p
	ranges := p.someBatch()
	if len(ranges) == 0 {
		return p.run(source.Shard{})
	}
	return func() {
		p.stats.runs++
		rep, err := run.Run(p.ctx, pipeline.Options{Ranges: ranges})
		p.stats.batches += rep.Batches
		p.judge("repetition", plain(err), errSuperseded, errPartly, errMoved, object.ErrChanged, object.ErrNotFound)
		if err == nil && rep.Outcome != pipeline.Already && p.stats.rewinds == 0 {
			p.errorf("a batch that was committed before was repeated: %s", rep.Outcome)
		}
	}
}

// someBatch are the ranges of a batch in the chain.
func (w *simWorld) someBatch() []source.Range {
	log := w.log(w.store)
	head, err := log.Head(context.Background())
	if err != nil {
		return nil
	}
	s, err := log.Slot(context.Background(), manifest.Seq(w.lots.Int64N(int64(head.Manifest.Seq)+1)))
	if err != nil {
		w.errorf("read the chain: %v", err)
		return nil
	}
	if s.Manifest.Batch == nil || s.Manifest.Batch.Ranges.Items == nil {
		return nil
	}
	return s.Manifest.Batch.Ranges.Items
}

// collection is a gc that keeps little.
func (p *process) collection() func() {
	keep := []time.Duration{0, 50 * time.Millisecond, time.Minute}[p.lots.IntN(3)]
	log := p.publishes(p.log(p.store), p.store)
	gc := compact.GC{Log: log, Store: p.store, Now: p.clock.Now, Logger: p.logger()}
	return func() {
		p.stats.collections++
		_, err := gc.Run(p.ctx, compact.GCOptions{Mode: compact.Confirm, Keep: keep, MaxShare: 1})
		p.judge("gc", plain(err), commit.ErrNoChain, errSuperseded)
	}
}

func (p *process) repair() *compact.Repair {
	return &compact.Repair{Log: p.publishes(p.log(p.store), p.store), Now: p.clock.Now, Logger: p.logger()}
}

// merge makes one file of the small ones of each table.
func (p *process) merge() func() {
	m := compact.Merge{Log: p.publishes(p.log(p.store), p.store), Store: p.store, Random: p, Now: p.clock.Now, Logger: p.logger(), Ahead: 1,
		Rules: compact.Rules{FanIn: 2 + p.lots.IntN(3), Target: []int64{1 << 12, 1 << 20}[p.lots.IntN(2)]}}
	return func() {
		p.stats.merges++
		head, err := m.Log.Head(p.ctx)
		for _, table := range []string{"events", "events_dead"} {
			if err == nil {
				var did compact.Merged
				head, did, err = m.Run(p.ctx, head, table, compact.Until{})
				p.stats.merged += int(did.Files)
			}
		}
		p.judge("merge", plain(err), commit.ErrNoChain, errSuperseded)
	}
}

// fence stops every attempt in flight.
func (p *process) fence() func() {
	return func() {
		p.stats.repairs++
		_, err := p.repair().Fence(p.ctx)
		p.judge("fence", plain(err), commit.ErrNoChain, errSuperseded)
	}
}

// expiry forgets old snapshots.
func (p *process) expiry() func() {
	keep := []time.Duration{0, time.Minute, time.Hour}[p.lots.IntN(3)]
	return func() {
		p.stats.repairs++
		_, err := p.repair().Expire(p.ctx, keep)
		p.judge("expire", plain(err), commit.ErrNoChain, errSuperseded)
	}
}

// rewind goes back to some manifest, if it is retained.
func (p *process) rewind() func() {
	to := manifest.Seq(p.lots.IntN(20))
	return func() {
		p.stats.rewinds++
		_, err := p.repair().Rewind(p.ctx, to)
		p.judge("rewind", plain(err), commit.ErrNoChain, commit.ErrExpired, errSuperseded)
	}
}
