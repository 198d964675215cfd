package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"batcher/object"
	"batcher/object/memstore"
	"batcher/object/storetest"
)

// broken is a store that breaks a promise: each function that is set replaces
// the method of the sound store that it is given.
type broken struct {
	*memstore.Store
	get    func(s *memstore.Store, ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error)
	put    func(s *memstore.Store, ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error)
	list   func(s *memstore.Store, ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error]
	delete func(s *memstore.Store, ctx context.Context, key string) error
	upload func(s *memstore.Store, ctx context.Context, key string) (object.Upload, error)
}

func (b *broken) Get(ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	if b.get != nil {
		return b.get(b.Store, ctx, key, opts)
	}
	return b.Store.Get(ctx, key, opts)
}

func (b *broken) Put(ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
	if b.put != nil {
		return b.put(b.Store, ctx, key, body, cond)
	}
	return b.Store.Put(ctx, key, body, cond)
}

func (b *broken) List(ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	if b.list != nil {
		return b.list(b.Store, ctx, prefix, depth)
	}
	return b.Store.List(ctx, prefix, depth)
}

func (b *broken) Delete(ctx context.Context, key string) error {
	if b.delete != nil {
		return b.delete(b.Store, ctx, key)
	}
	return b.Store.Delete(ctx, key)
}

func (b *broken) Upload(ctx context.Context, key string) (object.Upload, error) {
	if b.upload != nil {
		return b.upload(b.Store, ctx, key)
	}
	return b.Store.Upload(ctx, key)
}

// filtered lists what keep lets through, as it returns it.
func filtered(seq iter.Seq2[object.Info, error], keep func(*object.Info) bool) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		for info, err := range seq {
			if (err != nil || keep(&info)) && !yield(info, err) {
				return
			}
		}
	}
}

// TestEveryCheckCanFail gives the suite stores that break one promise each, and
// wants the check that is meant for it to notice.
func TestEveryCheckCanFail(t *testing.T) {
	type get = func(s *memstore.Store, ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error)
	ignoring := func(change func(*object.GetOptions)) get {
		return func(s *memstore.Store, ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
			change(&opts)
			return s.Get(ctx, key, opts)
		}
	}
	for _, c := range []struct {
		check string
		flaw  string
		store broken
	}{
		{"round-trip", "drops the last byte", broken{put: func(s *memstore.Store, ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
			return s.Put(ctx, key, body[:max(0, len(body)-1)], cond)
		}}},
		{"create-if-absent", "ignores the condition", broken{put: func(s *memstore.Store, ctx context.Context, key string, body []byte, _ object.Condition) (object.Info, error) {
			return s.Put(ctx, key, body, object.Always)
		}}},
		{"create-race", "looks before it writes", lookThenWrite()},
		{"create-race-large", "looks before it writes", broken{put: func(s *memstore.Store, ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
			return looking{s, 0, func(int) time.Duration { return 5 * time.Millisecond }}.Put(ctx, key, body, cond)
		}}},
		{"absent-is-not-found", "denies what is absent", broken{get: func(s *memstore.Store, ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
			r, info, err := s.Get(ctx, key, opts)
			if errors.Is(err, object.ErrNotFound) {
				err = object.ErrDenied
			}
			return r, info, err
		}}},
		{"visible-at-once", "remembers that a key was absent", func() broken {
			absent := make(map[string]bool)
			return broken{get: func(s *memstore.Store, ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
				r, info, err := s.Get(ctx, key, opts)
				if absent[key] = absent[key] || err != nil; absent[key] {
					return nil, object.Info{}, object.ErrNotFound
				}
				return r, info, err
			}}
		}()},
		{"overwrite", "serves the first version", broken{get: func(s *memstore.Store, ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
			_, info, err := s.Get(ctx, key, opts)
			if err != nil {
				return nil, info, err
			}
			return io.NopCloser(bytes.NewReader(s.History(key)[0])), info, nil
		}}},
		{"get-range", "ignores From", broken{get: ignoring(func(o *object.GetOptions) { o.From = max(0, min(o.From, 0)) })}},
		{"get-range", "ignores Limit", broken{get: ignoring(func(o *object.GetOptions) { o.Limit = 0 })}},
		{"get-pinned", "ignores the pin", broken{get: ignoring(func(o *object.GetOptions) { o.ETag = "" })}},
		{"no-torn-read", "mixes two versions", broken{get: func(s *memstore.Store, ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
			r, info, err := s.Get(ctx, key, opts)
			if bodies := s.History(key); err == nil && len(bodies) > 1 {
				latest := bytes.Clone(bodies[len(bodies)-1])
				copy(latest[:100], bodies[len(bodies)-2])
				r = io.NopCloser(bytes.NewReader(latest))
			}
			return r, info, err
		}}},
		{"cancelled", "goes on", broken{delete: func(s *memstore.Store, ctx context.Context, key string) error {
			return s.Delete(context.WithoutCancel(ctx), key)
		}}},
		{"list-deep", "takes the prefix for a string", broken{list: func(s *memstore.Store, ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
			return filtered(s.List(ctx, "", depth), func(i *object.Info) bool { return strings.HasPrefix(i.Key, strings.TrimSuffix(prefix, "/")) })
		}}},
		{"list-shallow", "knows no folders", broken{list: func(s *memstore.Store, ctx context.Context, prefix string, _ object.Depth) iter.Seq2[object.Info, error] {
			return s.List(ctx, prefix, object.Deep)
		}}},
		{"list-pages", "ends after 40 entries", broken{list: func(s *memstore.Store, ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
			n := 0
			return filtered(s.List(ctx, prefix, depth), func(*object.Info) bool { n++; return n <= 40 })
		}}},
		{"list-stops", "shows nothing", broken{list: func(s *memstore.Store, ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
			return filtered(s.List(ctx, prefix, depth), func(*object.Info) bool { return false })
		}}},
		{"odd-keys", "lists spaces as plus", broken{list: func(s *memstore.Store, ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
			return filtered(s.List(ctx, prefix, depth), func(i *object.Info) bool {
				i.Key = strings.ReplaceAll(i.Key, " ", "+")
				return true
			})
		}}},
		{"delete", "fails on an absent key", broken{delete: func(s *memstore.Store, ctx context.Context, key string) error {
			if _, there := s.Objects()[key]; !there {
				return object.ErrNotFound
			}
			return s.Delete(ctx, key)
		}}},
		{"delete", "keeps the object", broken{delete: func(*memstore.Store, context.Context, string) error { return nil }}},
		{"control-keys", "lists tabs as spaces", broken{list: func(s *memstore.Store, ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
			return filtered(s.List(ctx, prefix, depth), func(i *object.Info) bool {
				i.Key = strings.ReplaceAll(i.Key, "\t", " ")
				return true
			})
		}}},
		{"create-again", "takes a deleted key for one that exists", broken{put: func(s *memstore.Store, ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
			if cond == object.IfAbsent && len(s.History(key)) > 0 {
				return object.Info{}, object.ErrExists
			}
			return s.Put(ctx, key, body, cond)
		}}},
		{"upload", "keeps the caller's buffer", broken{upload: func(s *memstore.Store, _ context.Context, key string) (object.Upload, error) {
			return &flawedUpload{store: s, key: key}, nil
		}}},
		{"upload-hidden", "shows what is under way", broken{upload: func(s *memstore.Store, _ context.Context, key string) (object.Upload, error) {
			return &flawedUpload{store: s, key: key, early: true}, nil
		}}},
	} {
		c.store.Store = memstore.New()
		var failed []string
		env := storetest.Env{Store: &c.store, Params: storetest.Params{UploadBytes: 1 << 20}}
		checks := slices.DeleteFunc(storetest.All(), func(k storetest.Check) bool { return k.Name != c.check })
		storetest.Run(context.Background(), env, checks, func(r storetest.Result) {
			if r.Err != nil && !errors.Is(r.Err, storetest.ErrNotOffered) {
				failed = append(failed, r.Check.Name)
			}
		})
		if !slices.Equal(failed, []string{c.check}) {
			t.Errorf("a store that %s passes %s", c.flaw, c.check)
		}
	}
}

// lookThenWrite returns a store whose condition is a look before the write. The
// first creator of a key is held between the two until a second one has looked.
func lookThenWrite() broken {
	var mu sync.Mutex
	looked := make(map[string]chan struct{})
	return broken{put: func(s *memstore.Store, ctx context.Context, key string, body []byte, _ object.Condition) (object.Info, error) {
		mu.Lock()
		_, there := s.Objects()[key]
		second, isSecond := looked[key]
		if !isSecond {
			second = make(chan struct{})
			looked[key] = second
		} else if !there {
			select {
			case <-second:
			default:
				close(second)
			}
		}
		mu.Unlock()
		if there {
			return object.Info{}, object.ErrExists
		}
		<-second
		return s.Put(ctx, key, body, object.Always)
	}}
}

// flawedUpload keeps the slices it is given, or shows the object early.
type flawedUpload struct {
	store  *memstore.Store
	key    string
	early  bool
	chunks [][]byte
}

func (u *flawedUpload) Write(p []byte) (int, error) {
	u.chunks = append(u.chunks, p)
	if u.early {
		u.store.Put(context.Background(), u.key, p, object.Always)
	}
	return len(p), nil
}

func (u *flawedUpload) Complete(ctx context.Context) (object.Info, error) {
	return u.store.Put(ctx, u.key, bytes.Join(u.chunks, nil), object.Always)
}

func (u *flawedUpload) Abort(context.Context) error { return nil }

// plain hides every optional capability.
type plain struct{ object.Store }

func TestMissingCapabilityIsReported(t *testing.T) {
	var missing []string
	env := storetest.Env{Store: plain{memstore.New()}}
	storetest.Run(context.Background(), env, storetest.All(), func(r storetest.Result) {
		if errors.Is(r.Err, storetest.ErrNotOffered) {
			missing = append(missing, r.Check.Name)
		} else if r.Err != nil {
			t.Errorf("%s: %v", r.Check.Name, r.Err)
		}
	})
	if want := []string{"upload", "upload-hidden"}; !slices.Equal(missing, want) {
		t.Errorf("not offered: %q, want %q", missing, want)
	}
}

func TestEveryCheckHasAName(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range storetest.All() {
		if c.Name == "" || c.Why == "" || c.Run == nil || seen[c.Name] {
			t.Errorf("check %s", fmt.Sprintf("%+v", c))
		}
		seen[c.Name] = true
	}
}
