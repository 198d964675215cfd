// Package memstore is an object store in memory: a linearizable map that
// remembers every version of every key.
//
// Duty: be the reference against which the other stores and the protocol are
// judged, and show a test afterwards all that was ever written.
//
// Invariants: every operation takes effect at one instant between its call and
// its return; a version, once written, never changes and is never forgotten;
// ETags are a function of the content alone, as in S3.
//
// It never fails on its own account (package faultstore does that), never
// reads a clock that was not given to it, and never starts a goroutine.
package memstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"batcher/object"
)

// pageSize is the number of entries for which a listing counts one request.
const pageSize = 1000

// epoch is the instant at which the logical clock of a new store stands.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Option sets up a Store.
type Option func(*Store)

// WithClock takes Info.Modified from clock. Without it the store has a logical
// clock that advances one second with every write, so that runs repeat exactly.
func WithClock(clock func() time.Time) Option {
	return func(s *Store) { s.clock = clock }
}

// WithShuffle makes every listing come in another order, drawn from seed, so
// that nobody comes to rely on sorted listings. Without it they are sorted.
func WithShuffle(seed uint64) Option {
	return func(s *Store) { s.shuffle = rand.New(rand.NewPCG(seed, seed)) }
}

// Store is the map. Use New; the zero value is not ready.
type Store struct {
	mu      sync.Mutex
	heads   map[string]*version // newest version of every key ever written
	writes  int64               // ticks of the logical clock
	clock   func() time.Time    // nil: logical clock
	shuffle *rand.Rand          // nil: sorted listings
	count   object.Requests
}

// version is immutable once it is in the map, so that clones share it.
type version struct {
	info    object.Info
	body    []byte // never nil unless gone
	gone    bool   // the version is a deletion
	earlier *version
}

var (
	_ object.Store    = (*Store)(nil)
	_ object.Uploader = (*Store)(nil)
	_ object.Meter    = (*Store)(nil)
)

// New returns an empty store.
func New(opts ...Option) *Store {
	s := &Store{heads: make(map[string]*version)}
	for _, o := range opts {
		o(s)
	}
	return s
}

// Get implements object.Store. The body is the version that stood under the
// key when Get was called, however long the caller takes to read it.
func (s *Store) Get(ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, object.Info{}, fmt.Errorf("get %s: %w", key, err)
	}
	s.mu.Lock()
	s.count.Get++
	v := s.live(key)
	s.mu.Unlock()
	if v == nil {
		return nil, object.Info{}, fmt.Errorf("get %s: %w", key, object.ErrNotFound)
	}
	if opts.ETag != "" && opts.ETag != v.info.ETag {
		return nil, object.Info{}, fmt.Errorf("get %s pinned to %s: it is now %s: %w", key, opts.ETag, v.info.ETag, object.ErrChanged)
	}
	from, to, err := opts.Span(v.info.Size)
	if err != nil {
		return nil, object.Info{}, fmt.Errorf("get %s: %w", key, err)
	}
	return io.NopCloser(bytes.NewReader(v.body[from:to])), v.info, nil
}

// Put implements object.Store. It keeps a copy of body.
func (s *Store) Put(ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
	if err := ctx.Err(); err != nil {
		return object.Info{}, fmt.Errorf("put %s: %w: %w", key, object.ErrUnknown, err)
	}
	if key == "" {
		return object.Info{}, fmt.Errorf("put: empty key: %w", object.ErrUnsupported)
	}
	sum := sha256.Sum256(body)
	v := &version{body: append([]byte{}, body...), info: object.Info{
		Key: key, Size: int64(len(body)), ETag: `"` + hex.EncodeToString(sum[:16]) + `"`,
	}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.Put++
	if cond == object.IfAbsent && s.live(key) != nil {
		return object.Info{}, fmt.Errorf("put %s: %w", key, object.ErrExists)
	}
	s.push(key, v)
	return v.info, nil
}

// List implements object.Store. It shows the store as it was at one instant.
func (s *Store) List(ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(object.Info{}, fmt.Errorf("list %s: %w", prefix, err))
			return
		}
		if prefix != "" && !strings.HasSuffix(prefix, "/") {
			yield(object.Info{}, fmt.Errorf("list %q: the prefix must end in a slash: %w", prefix, object.ErrUnsupported))
			return
		}
		for _, info := range s.snapshot(prefix, depth) {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Delete implements object.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.Delete++
	if s.live(key) != nil {
		s.push(key, &version{gone: true, info: object.Info{Key: key}})
	}
	return nil
}

// String implements object.Store.
func (s *Store) String() string { return "memory" }

// Requests implements object.Meter.
func (s *Store) Requests() object.Requests {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// History returns every body the key ever held, oldest first; nil stands for a
// deletion. The caller must not change the bytes.
func (s *Store) History(key string) [][]byte {
	s.mu.Lock()
	v := s.heads[key]
	s.mu.Unlock()
	var bodies [][]byte
	for ; v != nil; v = v.earlier {
		bodies = append(bodies, v.body)
	}
	slices.Reverse(bodies)
	return bodies
}

// Keys returns every key that ever held something, deleted ones too, sorted.
func (s *Store) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.heads))
}

// Objects returns what the store holds now. The caller must not change the bytes.
func (s *Store) Objects() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(map[string][]byte, len(s.heads))
	for key, v := range s.heads {
		if !v.gone {
			held[key] = v.body
		}
	}
	return held
}

// Clone returns an independent store with the same content, history, clock and
// counts. It costs one map entry per key and copies no body. The clone lists in
// sorted order, because a shuffle cannot be forked without a new seed.
func (s *Store) Clone() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Store{heads: maps.Clone(s.heads), writes: s.writes, clock: s.clock, count: s.count}
}

// live returns the version under key, or nil. The caller holds mu.
func (s *Store) live(key string) *version {
	if v := s.heads[key]; v != nil && !v.gone {
		return v
	}
	return nil
}

// push makes v the newest version of key. The caller holds mu.
func (s *Store) push(key string, v *version) {
	s.writes++
	v.info.Modified = epoch.Add(time.Duration(s.writes) * time.Second)
	if s.clock != nil {
		v.info.Modified = s.clock().UTC()
	}
	v.earlier = s.heads[key]
	s.heads[key] = v
}

// snapshot returns the entries of a listing and counts its pages.
func (s *Store) snapshot(prefix string, depth object.Depth) []object.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []object.Info
	folders := make(map[string]bool)
	for key, v := range s.heads {
		rest, below := strings.CutPrefix(key, prefix)
		if v.gone || !below || rest == "" && v.info.Size == 0 { // a folder marker
			continue
		}
		if name, _, deeper := strings.Cut(rest, "/"); deeper && depth == object.Shallow {
			if folder := prefix + name + "/"; !folders[folder] {
				folders[folder] = true
				found = append(found, object.Info{Key: folder, Size: object.FolderSize})
			}
			continue
		}
		found = append(found, v.info)
	}
	s.count.List += int64(max(1, (len(found)+pageSize-1)/pageSize))
	slices.SortFunc(found, func(a, b object.Info) int { return strings.Compare(a.Key, b.Key) })
	if s.shuffle != nil {
		s.shuffle.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	}
	return found
}
