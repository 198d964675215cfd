package files_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"batcher/object"
	"batcher/object/memstore"
	"batcher/segment"
	"batcher/source"
	"batcher/source/files"
)

// noon is when the tests take place.
var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// bucket is a memstore whose clock the test sets. Tagged, its ETags also change
// with the modification time, as those of a directory; doubled, its listings
// name every object twice.
type bucket struct {
	*memstore.Store
	at      time.Time
	tagged  bool
	doubled bool
	stale   object.Info // listed before everything else, if it has a key
}

func newBucket(opts ...memstore.Option) *bucket {
	b := &bucket{at: noon.Add(-time.Hour)}
	b.Store = memstore.New(append(opts, memstore.WithClock(func() time.Time { return b.at }))...)
	return b
}

func (b *bucket) tag(info object.Info) object.Info {
	if b.tagged {
		info.ETag = fmt.Sprintf("%s@%d", info.ETag, info.Modified.UnixNano())
	}
	return info
}

func (b *bucket) Get(ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	pin := opts.ETag
	if b.tagged {
		opts.ETag = ""
	}
	r, info, err := b.Store.Get(ctx, key, opts)
	if err != nil {
		return nil, info, err
	}
	if info = b.tag(info); pin != "" && pin != info.ETag {
		return nil, object.Info{}, fmt.Errorf("get %s: %w", key, object.ErrChanged)
	}
	return r, info, nil
}

func (b *bucket) List(ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		if b.stale.Key != "" && !yield(b.stale, nil) {
			return
		}
		for range map[bool]int{true: 2, false: 1}[b.doubled] {
			for info, err := range b.Store.List(ctx, prefix, depth) {
				if !yield(b.tag(info), err) {
					return
				}
			}
		}
	}
}

// put stores an object as if it was written at a time.
func (b *bucket) put(t testing.TB, key, body string, at time.Time) {
	t.Helper()
	b.at = at
	if _, err := b.Put(t.Context(), key, []byte(body), object.Always); err != nil {
		t.Fatal(err)
	}
}

// info is what a listing says of a key.
func (b *bucket) info(t testing.TB, key string) object.Info {
	t.Helper()
	r, info, err := b.Get(t.Context(), key, object.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return info
}

// etag is what the bucket, if it is not tagged, gives a body.
func (b *bucket) etag(body string) string {
	sum := sha256.Sum256([]byte(body))
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// segments is what the proposals of a test wrote.
type segments struct {
	objects map[string][]byte
	loads   int
}

func newSegments() *segments { return &segments{objects: make(map[string][]byte)} }

func (s *segments) Load(_ context.Context, ref segment.Ref) ([]byte, error) {
	s.loads++
	b, ok := s.objects[ref.Key]
	if !ok {
		return nil, fmt.Errorf("load %s: %w", ref.Key, object.ErrNotFound)
	}
	return b[ref.Offset : ref.Offset+ref.Size], nil
}

// pack begins a new state object.
func (s *segments) pack() *segment.Pack {
	return segment.NewPack(fmt.Sprintf("state/%06d", len(s.objects)))
}

func (s *segments) write(p *segment.Pack) { s.objects[p.Key()] = p.Bytes() }

// chain is one pipeline over a source, with the progress of its head.
type chain struct {
	t        testing.TB
	store    object.Store
	source   *files.Source
	set      *files.Set
	segments *segments
	head     *source.FilesProgress
	now      time.Time
	read     map[string]int // how often the end of each content that stands was read, by its name
}

func newChain(t testing.TB, store object.Store, cfg files.Config) *chain {
	t.Helper()
	c := &chain{t: t, store: store, segments: newSegments(), now: noon, read: make(map[string]int)}
	c.configure(cfg)
	return c
}

// configure stands for a new process with another pipeline file.
func (c *chain) configure(cfg files.Config) {
	c.t.Helper()
	if cfg.Location == "" {
		cfg.Location = "memory"
	}
	s, err := files.New(c.store, cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	c.source = s
	c.restart()
}

// restart forgets all that a process has in memory.
func (c *chain) restart() { c.set = c.source.NewSet(c.segments) }

func (c *chain) plan() *files.Plan {
	c.t.Helper()
	p, err := c.source.Plan(c.t.Context(), c.head, c.set, c.now)
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

// commit advances the head by the delta.
func (c *chain) commit(d files.Delta) {
	c.t.Helper()
	c.head = c.advance(c.head, d)
	for _, r := range d.Ranges {
		if !r.Was.IsZero() && r.Source() == r.Key {
			c.read[r.Key] = 0 // replaced
		}
		if r.Last {
			c.read[r.Source()]++
		}
	}
}

// advance returns the progress as a later reader of the manifest sees it.
func (c *chain) advance(parent *source.FilesProgress, d files.Delta) *source.FilesProgress {
	c.t.Helper()
	if err := c.set.Prepare(c.t.Context(), parent, d); err != nil {
		c.t.Fatal(err)
	}
	return c.apply(parent, d)
}

// apply is advance with what is in memory.
func (c *chain) apply(parent *source.FilesProgress, d files.Delta) *source.FilesProgress {
	c.t.Helper()
	pack := c.segments.pack()
	next, err := c.set.Advance(parent, d, pack)
	if err != nil {
		c.t.Fatal(err)
	}
	c.segments.write(pack)
	return reread(c.t, next)
}

// reread sends progress through its JSON form.
func reread(t testing.TB, p *source.FilesProgress) *source.FilesProgress {
	t.Helper()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	again := &source.FilesProgress{}
	if err := json.Unmarshal(b, again); err != nil {
		t.Fatal(err)
	}
	return again
}

// consume plans, reads everything in the plan and commits it.
func (c *chain) consume() *files.Plan {
	c.t.Helper()
	p := c.plan()
	if len(p.Objects)+len(p.Gaps) > 0 {
		c.commit(files.Delta{Ranges: c.whole(p.Objects), Touched: p.Touched, Gaps: p.Gaps, Relisted: p.Relisted})
	}
	return p
}

// whole reads objects to their ends and returns the ranges.
func (c *chain) whole(objects []files.Object) []source.Range {
	c.t.Helper()
	ranges := make([]source.Range, 0, len(objects))
	for _, o := range objects {
		content := files.KeyHash(string(c.body(o))) // the same function: SHA-256 cut to 16 bytes
		r := o.Range()
		r.To, r.Last, r.Content = source.Position(o.Size), true, content
		ranges = append(ranges, r)
	}
	return ranges
}

func (c *chain) body(o files.Object) []byte {
	c.t.Helper()
	r, err := c.source.Open(c.t.Context(), o)
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

// verify proves, in a fresh process, that the head's sums are those of its
// entries, and that nothing was read twice.
func (c *chain) verify() {
	c.t.Helper()
	if c.head == nil {
		c.t.Fatal("nothing was committed")
	}
	if err := c.source.NewSet(c.segments).Verify(c.t.Context(), c.head); err != nil {
		c.t.Fatal(err)
	}
	for key, n := range c.read {
		if n != 1 {
			c.t.Fatalf("%s was read %d times", key, n)
		}
	}
}

func keysOf(objects []files.Object) string {
	var keys []string
	for _, o := range objects {
		keys = append(keys, o.Key)
	}
	return strings.Join(keys, " ")
}

func wantKeys(t testing.TB, p *files.Plan, want string) {
	t.Helper()
	if got := keysOf(p.Objects); got != want {
		t.Fatalf("planned %q, want %q", got, want)
	}
}

func asGap(t testing.TB, err error) *files.GapError {
	t.Helper()
	var gap *files.GapError
	if !errors.As(err, &gap) {
		t.Fatalf("error %v, want a GapError", err)
	}
	return gap
}
