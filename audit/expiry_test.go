package audit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"testing"
	"time"

	"batcher/audit"
	"batcher/compact"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/memstore"
	"batcher/source/files"
)

// beside acts before the nth call of a walk, some times.
type beside struct {
	object.Store
	chain string // whose listing begins a walk
	n     int
	times int
	act   func()
	calls int
}

func (b *beside) tick() {
	if b.calls++; b.calls == b.n && b.times > 0 {
		b.times--
		b.act()
	}
}

// Get implements object.Store.
func (b *beside) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	b.tick()
	return b.Store.Get(ctx, key, o)
}

// List implements object.Store.
func (b *beside) List(ctx context.Context, prefix string, d object.Depth) iter.Seq2[object.Info, error] {
	if prefix == b.chain {
		b.calls = 0
	}
	b.tick()
	return b.Store.List(ctx, prefix, d)
}

// renew merges all files of the store after a batch, and lets go of what was there.
func (w *world) renew() {
	w.t.Helper()
	w.drop(fmt.Sprintf("more/%d", w.head()), lines(500, 2))
	w.run()
	m := &compact.Merge{Log: w.invoke().Log, Store: w.store, Random: w.random, Now: w.clock.Now, Logger: quiet,
		Rules: compact.Rules{FanIn: 2, Classes: compact.AllSizes}}
	head, err := m.Log.Head(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if _, _, err := m.Run(w.t.Context(), head, "events", compact.Until{}); err != nil {
		w.t.Fatal(err)
	}
	w.expire()
}

// watched is a store that is renewed while it is verified, so many times, each time
// before the nth call of a walk.
func (w *world) watched(n, times int) *beside {
	plain := *w
	b := &beside{Store: w.bytes, chain: w.layout().Manifests(), n: n, times: times, act: plain.renew}
	w.store = b
	return b
}

// TestVerifyBesideExpiry lets snapshots expire and what they needed be deleted before
// every single call that verify makes.
func TestVerifyBesideExpiry(t *testing.T) {
	good := newWorld(t)
	for i := range 3 {
		good.drop(fmt.Sprint("a", i), lines(10*i, 5)+"{\n")
		good.run()
	}
	w := good.clone(t)
	calls := w.watched(0, 0)
	want := w.verify(audit.Options{Checks: all})
	if want.Rows != 18 || calls.calls < 20 {
		t.Fatalf("%+v after %d calls", want, calls.calls)
	}
	begun := 0
	for n := 1; n <= calls.calls; n++ {
		w := good.clone(t)
		w.input = good.input.(*memstore.Store).Clone()
		b := w.watched(n, 1)
		rep := w.verify(audit.Options{Checks: all})
		if b.times > 0 || rep.Lost+rep.Doubled+rep.Source.Mismatch != 0 {
			t.Fatalf("before call %d: %+v", n, rep)
		}
		if rep.Head > want.Head {
			begun++
		}
	}
	t.Logf("%d calls, %d walks saw a newer head", calls.calls, begun)
	if begun < 5 {
		t.Errorf("only %d walks began again", begun)
	}
}

// TestVerifyBesideExpiryThatGoesOn has snapshots expire in each walk.
func TestVerifyBesideExpiryThatGoesOn(t *testing.T) {
	good := newWorld(t)
	good.drop("a", lines(0, 5))
	good.run()
	const late = 6 // after the head was read, before the files are
	for times, want := range map[int]error{3: nil, 4: object.ErrChanged} {
		w := good.clone(t)
		w.input = good.input.(*memstore.Store).Clone()
		b := w.watched(late, times)
		rep, err := w.try(audit.Options{Checks: audit.CheckRows})
		if !errors.Is(err, want) || len(rep.Violations) > 0 || b.times > 0 {
			t.Errorf("%d times: %v, %+v, %d left", times, err, rep, b.times)
		}
	}
}

// TestDamageIsFoundBesideExpiry has a violation that no expiry explains.
func TestDamageIsFoundBesideExpiry(t *testing.T) {
	for _, times := range []int{0, 1} {
		w := newWorld(t)
		w.drop("a", lines(0, 5))
		w.run()
		w.edit(1, only(1, func(m *manifest.Manifest) { m.Batch.Rows.Read++; m.Batch.Rows.Duplicate++ }))
		w.watched(6, times)
		w.verify(audit.Options{Checks: audit.CheckRows}, "I14")
	}
}

// TestVerifyBesideCollection has garbage collection delete, before every single call
// that verify makes, the files of snapshots that expired before it began.
func TestVerifyBesideCollection(t *testing.T) {
	good := newWorld(t)
	good.change = files.ReplaceChanged
	for i := range 3 {
		good.drop(fmt.Sprint("a", i), lines(10*i, 5)+"{\n")
		good.run()
	}
	good.merge("events")
	good.merge("events_dead")
	good.drop("a1", lines(50, 4))
	good.run()
	good.clock.now = good.clock.now.Add(time.Hour)
	for range 2 { // only what is expired is left to be collected
		if _, err := good.repair().Fence(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if head, err := good.repair().Expire(t.Context(), 0); err != nil || head.Manifest.RetainFrom < 6 {
		t.Fatalf("%+v, %v", head.Manifest, err)
	}
	collect := func(w *world) *beside {
		plain := *w
		b := &beside{Store: w.bytes, chain: w.layout().Manifests()}
		b.act = func() {
			gc := &compact.GC{Log: plain.invoke().Log, Store: plain.store, Now: plain.clock.Now, Logger: quiet}
			if _, err := gc.Run(t.Context(), compact.GCOptions{Mode: compact.Confirm, MaxShare: 1}); err != nil {
				t.Fatal(err)
			}
		}
		w.store = b
		return b
	}
	w := good.clone(t)
	calls := collect(w)
	want := w.verify(audit.Options{Checks: all})
	before := len(good.bytes.Objects())
	for n := 1; n <= calls.calls; n++ {
		w := good.clone(t)
		w.input = good.input.(*memstore.Store).Clone()
		b := collect(w)
		b.n, b.times = n, 1
		rep := w.verify(audit.Options{Checks: all})
		if b.times > 0 || rep.Records != want.Records || rep.Source != want.Source || len(w.bytes.Objects()) >= before {
			t.Fatalf("before call %d: %+v, want %+v; %d objects of %d are left", n, rep, want, len(w.bytes.Objects()), before)
		}
	}
	t.Logf("%d calls, %d objects before", calls.calls, before)
}
