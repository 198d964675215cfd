package pipeline_test

import (
	"testing"

	"batcher/pipeline"
	"batcher/source"
)

// TestWhatRivalsTookIsNotLeftToRead has two other runs drain the source between any two
// calls of one: in the end nobody says that something is left.
func TestWhatRivalsTookIsNotLeftToRead(t *testing.T) {
	for _, batch := range []int64{1, 0} {
		for call := 1; ; call++ {
			w := newWorld(t)
			w.limits.Objects = batch
			w.drop("z.ndjson", lines(0, 1))
			w.run()
			for _, key := range []string{"a", "b", "c"} {
				w.drop(key+".ndjson", lines(0, 2))
			}
			plain, calls := w.store, 0
			v := *w
			w.store = onCall(plain, func() {
				if calls++; calls != call {
					return
				}
				for _, most := range []int{1, 0} {
					if rep, err := v.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{MaxBatches: most}); err != nil || most == 0 && rep.Lag.Objects > 0 {
						t.Fatalf("rival at call %d: %+v, %v", call, rep.Lag, err)
					}
				}
			})
			rep, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{})
			if calls < call {
				break
			}
			if err != nil || rep.Lag.Objects > 0 || rep.Lag.Bytes > 0 {
				t.Errorf("batches of %d, call %d: %s, %+v left, %v", batch, call, rep.Outcome, rep.Lag, err)
			}
		}
	}
}
