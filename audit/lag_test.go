package audit_test

import (
	"context"
	"iter"
	"testing"

	"batcher/audit"
	"batcher/object"
)

// lagging is a store whose listings leave out every other object.
type lagging struct{ object.Store }

func (l lagging) List(ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		n := 0
		for info, err := range l.Store.List(ctx, prefix, depth) {
			if n++; n%2 == 1 && err == nil {
				continue
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

// TestWhatAListingLeavesOutIsAskedFor tells a listing that lags behind from a loss.
func TestWhatAListingLeavesOutIsAskedFor(t *testing.T) {
	w := history(t)
	want := w.verify(audit.Options{Checks: all})
	w.store = lagging{w.bytes}
	got := w.verify(audit.Options{Checks: all})
	if got.Rows != want.Rows || got.Lost != 0 || got.Live != want.Live || got.Live != 132 || got.Head != want.Head {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	w.delete(w.file(3).Key)
	w.delete(w.layout().Manifest(1))
	w.verify(audit.Options{Checks: all}, "I1")
}
