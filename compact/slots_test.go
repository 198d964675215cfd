package compact_test

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"batcher/compact"
	"batcher/localdev"
	"batcher/object"
)

// remote is a store each of whose manifests is a while away.
type remote struct {
	object.Store
	now, most atomic.Int64 // reads of manifests under way
}

// Get implements object.Store.
func (r *remote) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	if strings.HasPrefix(key, layout.Manifests()) {
		n := r.now.Add(1)
		for most := r.most.Load(); n > most && !r.most.CompareAndSwap(most, n); most = r.most.Load() {
		}
		time.Sleep(20 * time.Millisecond)
		r.now.Add(-1)
	}
	return r.Store.Get(ctx, key, o)
}

// TestManifestsAreReadAhead collects with as many manifests on their way as are allowed,
// to the same end. A chain that is damaged ends it, and leaves nothing running.
func TestManifestsAreReadAhead(t *testing.T) {
	const manifests, ahead = 100, 16
	w := newWorld(t, 1)
	for range manifests {
		w.commit(size{1, 1, 1})
	}
	lost := w.begin(w.writers[1], size{1, 2, 1})
	w.lose(lost)
	w.commit(size{1, 1, 1})
	took := map[int]time.Duration{}
	reports := map[int]compact.GCReport{}
	for _, n := range []int{0, 1, ahead} {
		synctest.Test(t, func(t *testing.T) {
			r := &remote{Store: w.bytes}
			gc := w.gc(r)
			gc.Ahead = n
			start := time.Now()
			var err error
			if reports[n], err = gc.Run(t.Context(), compact.GCOptions{}); err != nil {
				t.Fatal(err)
			}
			if took[n] = time.Since(start); r.most.Load() > int64(max(n, 1)) || n > 1 && r.most.Load() < int64(n) {
				t.Errorf("with %d at the same time there were %d", n, r.most.Load())
			}
		})
		slices.Sort(reports[n].Keys) // as listed
		if !reflect.DeepEqual(reports[n], reports[0]) {
			t.Errorf("with %d at the same time: %+v, want %+v", n, reports[n], reports[0])
		}
	}
	figure := fmt.Sprintf("%d manifests of 20 ms each: %v one by one, %v with %d at the same time", manifests, took[1], took[ahead], ahead)
	t.Log(figure)
	localdev.Figure("gc reads ahead", figure)
	if took[ahead] > took[1]/4 {
		t.Error(figure)
	}
	w.remove(layout.Manifest(50))
	synctest.Test(t, func(t *testing.T) {
		gc := w.gc(&remote{Store: w.bytes})
		gc.Ahead = ahead
		if rep, err := gc.Run(t.Context(), compact.GCOptions{Mode: compact.Confirm}); err == nil || rep.Deleted > 0 {
			t.Errorf("%+v, %v", rep, err)
		}
	})
}
