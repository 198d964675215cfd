package pipeline_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"testing"

	"batcher/manifest"
	"batcher/object"
	"batcher/pipeline"
	"batcher/source"
)

// TestOfTwoRunsThatBeginWithOtherSettingsOneIsRefused has one run between any two calls
// of another that names a table, and a source, of its own: both met a chain that has
// consumed nothing.
func TestOfTwoRunsThatBeginWithOtherSettingsOneIsRefused(t *testing.T) {
	for call := 1; ; call++ {
		w := newWorld(t)
		w.drop("a.ndjson", lines(0, 3))
		if _, err := w.invoke(source.Shard{}).Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		plain, calls := w.store, 0
		var rival pipeline.Report
		var rivalErr error
		rename := func(p *pipeline.Pipeline) *pipeline.Pipeline {
			p.Table, p.Dead = "others", "others_dead"
			p.Config.Table, p.Config.Dead, p.Config.Hash = p.Table, p.Dead, "c2"
			return p
		}
		w.store = onCall(plain, func() {
			if calls++; calls == call {
				v := *w
				v.store = plain
				rival, rivalErr = rename(v.invoke(source.Shard{})).Run(t.Context(), pipeline.Options{})
			}
		})
		_, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{})
		w.store = plain
		if calls < call {
			return
		}
		var mismatch *manifest.MismatchError
		one, two := errors.As(err, &mismatch), errors.As(rivalErr, &mismatch)
		if one == two || !one && err != nil || !two && rivalErr != nil {
			t.Fatalf("at call %d: %v, and the rival %v", call, err, rivalErr)
		}
		p := w.invoke(source.Shard{})
		if one {
			p = rename(p)
		}
		head, err := p.Log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if rows := head.Manifest.Tables[p.Table].Live.Rows; rows != 3 || head.Manifest.Progress.Files.Count != 1 {
			t.Fatalf("at call %d: %d rows, %d objects; the rival wrote %d", call, rows, head.Manifest.Progress.Files.Count, rival.Rows.Written)
		}
		if again, err := p.Run(t.Context(), pipeline.Options{}); err != nil || again.Outcome != pipeline.Empty {
			t.Fatalf("at call %d, again: %s, %v", call, again.Outcome, err)
		}
	}
}

// calling calls f before each call.
type calling struct {
	object.Store
	f func()
}

func onCall(s object.Store, f func()) object.Store { return calling{s, f} }

func (c calling) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	c.f()
	return c.Store.Get(ctx, key, o)
}

func (c calling) Put(ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
	c.f()
	return c.Store.Put(ctx, key, body, cond)
}

func (c calling) List(ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	c.f()
	return c.Store.List(ctx, prefix, depth)
}

func (c calling) Delete(ctx context.Context, key string) error {
	c.f()
	return c.Store.Delete(ctx, key)
}
