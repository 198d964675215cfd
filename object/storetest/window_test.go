package storetest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"batcher/localdev"
	"batcher/object"
	"batcher/object/memstore"
	"batcher/object/storetest"
)

// looking is a store that takes a body, looks whether the key is there, and writes a
// while later.
type looking struct {
	*memstore.Store
	taking time.Duration // of a large body
	window func(bodyBytes int) time.Duration
}

// Put implements object.Store. It waits busily: a timer would wait longer.
func (l looking) Put(ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
	if cond == object.Always {
		return l.Store.Put(ctx, key, body, cond)
	}
	if len(body) > large {
		time.Sleep(l.taking)
	}
	r, _, err := l.Get(ctx, key, object.GetOptions{Limit: 1})
	if err == nil {
		r.Close()
		return object.Info{}, object.ErrExists
	}
	if !errors.Is(err, object.ErrNotFound) {
		return object.Info{}, err
	}
	for begun := time.Now(); time.Since(begun) < l.window(len(body)); {
	}
	return l.Store.Put(ctx, key, body, object.Always)
}

const large = 5 << 20

// TestAWindowBetweenLookAndWriteIsMet admits stores with windows of several widths
// twenty times each, at the size of a first run.
func TestAWindowBetweenLookAndWriteIsMet(t *testing.T) {
	fixed := func(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }
	for _, c := range []struct {
		name   string
		taking time.Duration
		window func(int) time.Duration
		least  int // refusals of twenty
	}{
		{"1 ms", 0, fixed(time.Millisecond), 20},
		{"200 µs", 0, fixed(200 * time.Microsecond), 20},
		{"50 µs", 0, fixed(50 * time.Microsecond), 20},
		{"two steps at once", 0, fixed(0), 0}, // a microsecond: met or not
		{"1 ms with bodies over 5 MiB, none with others", 20 * time.Millisecond, func(n int) time.Duration { return time.Duration(n/large) * time.Millisecond }, 20},
	} {
		refused := 0
		for range 20 {
			params := storetest.Params{RaceKeys: 128, LargeKeys: 24, LargeTime: 3 * time.Second}
			failed := false
			storetest.Run(t.Context(), storetest.Env{Store: looking{memstore.New(), c.taking, c.window}, Params: params}, storetest.Admission(), func(r storetest.Result) {
				failed = failed || r.Err != nil
			})
			if failed {
				refused++
			}
		}
		if refused < c.least {
			t.Errorf("a window of %s: %d of 20 admissions refuse, want %d", c.name, refused, c.least)
		}
		localdev.Figure("admissions of 20 that refuse a window of "+c.name, refused)
		t.Logf("a window of %s: %d of 20 admissions refuse", c.name, refused)
	}
}
