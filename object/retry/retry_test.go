package retry_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/object/retry"
	"batcher/object/storetest"
)

// clock records pauses instead of making them.
type clock struct {
	pauses []time.Duration
	end    context.CancelFunc // called by the first Sleep, if set
}

func (c *clock) Random() float64 { return 0 }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.pauses = append(c.pauses, d)
	if c.end != nil {
		c.end()
	}
	return ctx.Err()
}

var policy = retry.Policy{Tries: 4, FirstPause: time.Second, MaxPause: 3 * time.Second, TryTimeout: time.Minute}

// calls names each operation with the way to make it.
var calls = map[faultstore.Op]func(context.Context, object.Store) error{
	faultstore.Get: func(ctx context.Context, s object.Store) error {
		_, _, err := object.ReadAll(ctx, s, "there", object.GetOptions{}, 10)
		return err
	},
	faultstore.Put: func(ctx context.Context, s object.Store) error {
		_, err := s.Put(ctx, "new", []byte("x"), object.Always)
		return err
	},
	faultstore.Delete: func(ctx context.Context, s object.Store) error { return s.Delete(ctx, "there") },
	faultstore.List: func(ctx context.Context, s object.Store) error {
		for _, err := range s.List(ctx, "", object.Deep) {
			if err != nil {
				return err
			}
		}
		return nil
	},
	faultstore.Upload: func(ctx context.Context, s object.Store) error {
		u, err := s.(object.Uploader).Upload(ctx, "new")
		if err == nil {
			_, err = u.Complete(ctx)
		}
		return err
	},
}

func TestConformance(t *testing.T) {
	env := storetest.Env{Store: retry.New(memstore.New(), retry.Default(), retry.System())}
	storetest.Run(context.Background(), env, storetest.All(), func(r storetest.Result) {
		if r.Err != nil || r.CleanUp != nil {
			t.Errorf("%s: %v; clean-up: %v", r.Check.Name, r.Err, r.CleanUp)
		}
	})
}

func TestWhatIsTriedAgain(t *testing.T) {
	ctx := context.Background()
	for op, call := range calls {
		for _, c := range []struct {
			fault  faultstore.Fault
			times  int
			want   error
			pauses int
		}{
			{faultstore.Unavailable, 1, nil, 1},
			{faultstore.Conflict, 3, nil, 3},
			{faultstore.LoseAnswer, 2, nil, 2},
			{faultstore.Unavailable, -1, object.ErrUnknown, 3},
			{faultstore.Conflict, -1, object.ErrConflict, 3},
			{faultstore.Deny, 1, object.ErrDenied, 0},
			{faultstore.CrashBefore, 1, faultstore.ErrCrashed, 0},
		} {
			inner := memstore.New()
			if op != faultstore.List || c.fault != faultstore.LoseAnswer { // else the entry was yielded and the failure is final
				if _, err := inner.Put(ctx, "there", nil, object.Always); err != nil {
					t.Fatal(err)
				}
			}
			script := faultstore.Script{{Op: op, Times: c.times, Fault: c.fault}}
			clk := &clock{}
			err := call(ctx, retry.New(faultstore.New(inner, script), policy, clk))
			if !errors.Is(err, c.want) || len(clk.pauses) != c.pauses {
				t.Errorf("%s: %v after %d pauses; want %v after %d", script, err, len(clk.pauses), c.want, c.pauses)
			}
		}
	}
}

func TestConditionalPutIsTriedOnce(t *testing.T) {
	for _, fault := range []faultstore.Fault{faultstore.Unavailable, faultstore.Conflict, faultstore.LoseAnswer, faultstore.LandLate} {
		f := faultstore.New(memstore.New(), faultstore.Script{{Op: faultstore.Put, Fault: fault}})
		clk := &clock{}
		_, err := retry.New(f, policy, clk).Put(context.Background(), "slot", nil, object.IfAbsent)
		if !errors.Is(err, object.ErrUnknown) && !errors.Is(err, object.ErrConflict) {
			t.Errorf("%s: %v", fault, err)
		}
		if len(f.Calls()) != 1 || len(clk.pauses) != 0 {
			t.Errorf("%s: %d calls, %d pauses", fault, len(f.Calls()), len(clk.pauses))
		}
	}
}

func TestPausesGrowToTheirBound(t *testing.T) {
	f := faultstore.New(memstore.New(), faultstore.Script{{Times: -1, Fault: faultstore.Unavailable}})
	clk := &clock{}
	retry.New(f, policy, clk).Delete(context.Background(), "k")
	if want := []time.Duration{500 * time.Millisecond, time.Second, 1500 * time.Millisecond}; !slices.Equal(clk.pauses, want) {
		t.Errorf("pauses %v, want %v", clk.pauses, want)
	}
}

func TestCancelDuringAPause(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := faultstore.New(memstore.New(), faultstore.Script{{Times: -1, Fault: faultstore.Unavailable}})
	err := retry.New(f, policy, &clock{end: cancel}).Delete(ctx, "k")
	if !errors.Is(err, context.Canceled) || !errors.Is(err, object.ErrUnknown) || len(f.Calls()) != 1 {
		t.Errorf("%v after %d calls", err, len(f.Calls()))
	}
}

func TestTryTimeoutIsUnknown(t *testing.T) {
	for op, call := range calls {
		if op == faultstore.List || op == faultstore.Upload {
			continue // these have no time-out of their own without pages and parts
		}
		synctest.Test(t, func(t *testing.T) {
			inner := memstore.New()
			if _, err := inner.Put(t.Context(), "there", nil, object.Always); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			once := faultstore.New(inner, faultstore.Script{{Op: op, Fault: faultstore.Hold}})
			if err := call(t.Context(), retry.New(once, policy, &clock{})); err != nil {
				t.Errorf("%s held once: %v", op, err)
			}
			if waited := time.Since(start); waited != policy.TryTimeout {
				t.Errorf("%s held once: waited %v", op, waited)
			}
			always := faultstore.New(inner, faultstore.Script{{Op: op, Times: -1, Fault: faultstore.Hold}})
			err := call(t.Context(), retry.New(always, policy, &clock{}))
			if !errors.Is(err, object.ErrUnknown) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
				t.Errorf("%s held for ever: %v", op, err)
			}
		})
	}
}

// TestBodyOutlivesTheTryTimeout reads for longer than one try may last.
func TestBodyOutlivesTheTryTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &lazy{Store: memstore.New()}
		if _, err := inner.Put(t.Context(), "k", []byte("body"), object.Always); err != nil {
			t.Fatal(err)
		}
		r, _, err := retry.New(inner, policy, &clock{}).Get(t.Context(), "k", object.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * policy.TryTimeout)
		if got, err := io.ReadAll(r); err != nil || string(got) != "body" {
			t.Errorf("%q, %v", got, err)
		}
		r.Close()
		if inner.ctx.Err() == nil {
			t.Error("the context of the body was not released by Close")
		}
	})
}

// lazy is a store whose bodies need their context, as those of HTTP do.
type lazy struct {
	object.Store
	ctx context.Context
}

func (l *lazy) Get(ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	r, info, err := l.Store.Get(ctx, key, opts)
	l.ctx = ctx
	return &lazyBody{r, ctx}, info, err
}

type lazyBody struct {
	io.ReadCloser
	ctx context.Context
}

func (b *lazyBody) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}

// broken lists two pages of two keys, each of which fails on its first try;
// without pages it fails after the first two keys.
type broken struct {
	object.Store
	tries int
}

func (b *broken) fails() error {
	if b.tries++; b.tries%2 == 1 {
		return object.ErrUnknown
	}
	return nil
}

func (b *broken) List(context.Context, string, object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		_ = yield(object.Info{Key: "a"}, nil) && yield(object.Info{Key: "b"}, nil) && yield(object.Info{}, b.fails())
	}
}

// paged is broken with pages.
type paged struct{ broken }

func (p *paged) ListPage(_ context.Context, _ string, _ object.Depth, token string) ([]object.Info, string, error) {
	if err := p.fails(); err != nil {
		return nil, "", err
	}
	if token == "" {
		return []object.Info{{Key: "a"}, {Key: "b"}}, "next", nil
	}
	return []object.Info{{Key: "c"}, {Key: "d"}}, "", nil
}

func TestListNeverShowsAnEntryTwice(t *testing.T) {
	list := func(s object.Store) (keys string, err error) {
		for info, err := range retry.New(s, policy, &clock{}).List(context.Background(), "", object.Deep) {
			if err != nil {
				return keys, err
			}
			keys += info.Key
		}
		return keys, nil
	}
	if keys, err := list(&broken{Store: memstore.New()}); keys != "ab" || !errors.Is(err, object.ErrUnknown) {
		t.Errorf("broken off half way: %q, %v", keys, err)
	}
	if keys, err := list(&paged{broken{Store: memstore.New()}}); keys != "abcd" || err != nil {
		t.Errorf("page by page: %q, %v", keys, err)
	}
}
