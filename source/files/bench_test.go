package files_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"testing"
	"time"

	"batcher/object"
	"batcher/object/memstore"
	"batcher/source"
	"batcher/source/files"
)

// endless lists objects that exist nowhere else.
type endless struct {
	*memstore.Store
	n int
}

func (e endless) List(context.Context, string, object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		for i := range e.n {
			if !yield(e.info(i), nil) {
				return
			}
		}
	}
}

func (e endless) info(i int) object.Info {
	at := noon.Add(-time.Duration(i) * time.Second)
	return object.Info{
		Key: fmt.Sprintf("account/region/%s/%09d-some-usual-name.json.gz", at.Format("2006/01/02"), i), Size: int64(i), ETag: fmt.Sprintf(`"%032x"`, i), Modified: at,
	}
}

// BenchmarkPlan lists two million objects: none consumed, all consumed, and all
// but one in a process that begins. It reports the heap in use afterwards, without
// the bytes of the segments (48 an entry), which the test holds as well.
func BenchmarkPlan(b *testing.B) {
	const n = 2_000_000
	store := endless{memstore.New(), n}
	c := newChain(b, store, files.Config{})
	report := func(b *testing.B, want int64) {
		for b.Loop() {
			c.restart()
			p := c.plan()
			if p.Lag.Objects != want {
				b.Fatalf("%d left, want %d", p.Lag.Objects, want)
			}
			b.StopTimer()
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			var held int
			for _, o := range c.segments.objects {
				held += len(o)
			}
			b.ReportMetric(float64(int(m.HeapAlloc)-held)/(1<<20), "MiB-live")
			runtime.KeepAlive(p)
			b.StartTimer()
		}
	}
	b.Run("nothing consumed", func(b *testing.B) { report(b, n) })
	for i := 0; i < n; i += 250_000 {
		var d files.Delta
		for j := i; j < i+250_000; j++ {
			o := store.info(j)
			d.Ranges = append(d.Ranges, source.Range{Key: o.Key, ETag: o.ETag, Size: o.Size, Modified: o.Modified, To: 1, Last: true})
		}
		c.head = c.advance(c.head, d)
	}
	b.Run("all consumed", func(b *testing.B) { report(b, 0) })
	store.n++
	c.store = store
	c.configure(files.Config{})
	b.Run("one new", func(b *testing.B) { report(b, 1) })
}
