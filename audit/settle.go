package audit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"time"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
)

// settleProbe commits through a transport that loses the first answer of every
// conditional PUT. The store applied it, so the commit must be found out to be
// ours: this is the case that doubles data where a client trusts a 412.
func settleProbe(ctx context.Context, store object.Store, log *slog.Logger) (Finding, error) {
	f := Finding{Name: "commit-after-lost-answer", Why: "a commit whose answer was lost would be taken for a lost race, and its data written twice"}
	prefix, err := probePrefix()
	if err != nil {
		return f, err
	}
	lossy := &lossy{below: below{store, prefix}, lost: map[string]bool{}}
	f.Err = commitThrough(ctx, lossy, log)
	if err := clean(context.WithoutCancel(ctx), store, prefix); err != nil && f.Err == nil {
		f.Note = "probe objects could not be removed: " + err.Error()
	}
	return f, ctx.Err()
}

// commitThrough begins a pipeline and commits one manifest.
func commitThrough(ctx context.Context, store *lossy, log *slog.Logger) error {
	l := commit.New(commit.Options{Store: store, Pipeline: "probe", Clock: probeClock{}, Logger: log})
	g := commit.Genesis{Tables: map[string]*schema.Schema{"probe": schema.DeadLetters()}}
	p := commit.Proposal{Kind: manifest.Data, Batch: &manifest.Batch{}}
	for _, b := range [][]byte{g.ID[:], g.Attempt[:], p.Attempt[:]} {
		if _, err := rand.Read(b); err != nil {
			return err
		}
	}
	head, err := l.Create(ctx, g)
	if err != nil {
		return err
	}
	p.Base = head
	out, err := l.Append(ctx, p)
	switch {
	case err != nil:
		return err
	case out.Verdict != commit.Committed:
		return fmt.Errorf("own commit was judged %s: %s", out.Verdict, out.Reason)
	case store.count == 0:
		return errors.New("the probe lost no answer")
	}
	return nil
}

// clean deletes what a probe wrote.
func clean(ctx context.Context, store object.Store, prefix string) error {
	var keys []string
	for info, err := range store.List(ctx, prefix, object.Deep) {
		if err != nil {
			return err
		}
		keys = append(keys, info.Key)
	}
	for _, key := range keys {
		if err := store.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// below is the part of a store under a prefix.
type below struct {
	store  object.Store
	prefix string
}

func (b below) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	return b.store.Get(ctx, b.prefix+key, o)
}

func (b below) Put(ctx context.Context, key string, body []byte, c object.Condition) (object.Info, error) {
	return b.store.Put(ctx, b.prefix+key, body, c)
}

func (b below) List(ctx context.Context, prefix string, d object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		for info, err := range b.store.List(ctx, b.prefix+prefix, d) {
			info.Key = strings.TrimPrefix(info.Key, b.prefix)
			if !yield(info, err) {
				return
			}
		}
	}
}

func (b below) Delete(ctx context.Context, key string) error {
	return b.store.Delete(ctx, b.prefix+key)
}
func (b below) String() string { return b.store.String() + "/" + b.prefix }

// lossy loses the answer of the first conditional PUT of each key. Where the
// store, or its client, lost that answer itself, so much the better: nobody else
// writes below the prefix, so "exists" can only be our own bytes.
type lossy struct {
	below
	mu    sync.Mutex
	lost  map[string]bool
	count int
}

// Put implements object.Store.
func (l *lossy) Put(ctx context.Context, key string, body []byte, c object.Condition) (object.Info, error) {
	info, err := l.below.Put(ctx, key, body, c)
	l.mu.Lock()
	defer l.mu.Unlock()
	if c != object.IfAbsent || l.lost[key] {
		return info, err
	}
	itself := errors.Is(err, object.ErrUnknown) || errors.Is(err, object.ErrExists)
	if err != nil && !itself {
		return info, err
	}
	l.lost[key] = true
	l.count++
	if itself {
		return info, err
	}
	return object.Info{}, fmt.Errorf("probe: answer lost on purpose: %w", object.ErrUnknown)
}

// probeClock does not wait: the probe's answers are lost at once.
type probeClock struct{}

func (probeClock) Now() time.Time { return time.Unix(0, 0).UTC() }

func (probeClock) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }
