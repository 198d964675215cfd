package pipeline_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"batcher/batch"
	"batcher/commit"
	"batcher/object"
	"batcher/pipeline"
	"batcher/source"
)

type beforeSecond struct {
	object.Store
	once sync.Once
	f    func()
}

func (b *beforeSecond) Put(ctx context.Context, key string, body []byte, c object.Condition) (object.Info, error) {
	if strings.HasSuffix(key, "/manifests/00000000000000000002.json") {
		b.once.Do(b.f)
	}
	return b.Store.Put(ctx, key, body, c)
}

// TestAReportNamesTheSlotOfItsOwnLastBatch: a run commits manifest 1, a rival
// takes what is left with manifest 2; the run's report must say 1.
func TestAReportNamesTheSlotOfItsOwnLastBatch(t *testing.T) {
	w := newWorld(t)
	w.limits = batch.Limits{Objects: 1}
	w.drop("a", lines(0, 3))
	w.drop("b", lines(3, 3))
	p := w.invoke(source.Shard{})
	hooked := &beforeSecond{Store: w.store}
	hooked.f = func() { w.run() }
	q := *p
	q.Log = hookedLog(w, hooked)
	q.Store, q.Set = hooked, p.Source.NewSet(q.Log)
	rep, err := q.Run(t.Context(), pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	head, err := p.Log.Slot(t.Context(), rep.Seq)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Batches != 1 || head.Manifest.Attempt != rep.Attempt {
		t.Errorf("the run reports %d batches, manifest %d, attempt %s; there stands attempt %s", rep.Batches, int64(rep.Seq), rep.Attempt, head.Manifest.Attempt)
	}
}

func hookedLog(w *world, s object.Store) *commit.Log {
	return commit.New(commit.Options{Store: s, Pipeline: "events", Clock: w.clock, Logger: slog.New(slog.DiscardHandler)})
}
