// Package files is the source of objects below a path: a bucket's prefix or a
// directory. What is consumed is a set of objects, not a pointer into an order:
// a late, renamed or old object is still consumed exactly once.
//
// Duty: remember every consumed object for ever in a compact form (Entry, Set),
// and compare listings with that memory to plan what is to be read (Plan).
//
// Invariants:
//   - an entry is never dropped, only replaced by a newer one of the same key;
//   - Set.Advance is a function of the parent's progress, the delta and the
//     segments in memory; it never loads, so that a rebase costs no request;
//   - an object is planned only when its key is proved absent from the whole
//     set: all segments were looked at, or, when one time path gave all entries
//     their days, which then follow from the keys, all of the key's day;
//   - every read is pinned to the identity that was planned;
//   - no result depends on the order of a listing, or on a listing being free
//     of duplicates.
//
// It never writes to a store, never decides what is committed, never keeps
// progress by shard, never deletes or moves a source object and reads no clock.
package files

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"batcher/object"
	"batcher/source"
)

// OnChange is what happens to a consumed key that has other content now.
type OnChange string

// OnGap is what happens when the rest of an object that was consumed in part is
// gone or changed.
type OnGap string

// The policies. Whatever they are, a changed object is never re-read silently.
const (
	SkipChanged    OnChange = "skip"    // reported, not read
	FailChanged    OnChange = "fail"    // planning fails with a ChangedError
	AppendChanged  OnChange = "append"  // consumed beside what was consumed of the key, under a name of its own
	ReplaceChanged OnChange = "replace" // consumed in the place of all that was consumed of the key
	FailGap        OnGap    = "fail"    // planning fails with a GapError
	SkipGap        OnGap    = "skip"    // the rest is given up and returned as a Gap to record
)

// consumes says whether changed objects are read at all.
func (o OnChange) consumes() bool { return o == AppendChanged || o == ReplaceChanged }

// Defaults of Config where zero stands for them.
const (
	DefaultMaxObjects = 100_000
	DefaultRehash     = 1 << 30
)

// Config is what a pipeline file says about the source, resolved: no "auto".
type Config struct {
	Location   string        // where the store's root is, without secrets; part of every identity
	Include    []string      // globs over keys; empty means all
	Exclude    []string      // globs over keys; stronger than Include
	TimePath   string        // folders with a date, see ParseTimePath; empty: list everything. It may change
	Relist     time.Duration // with TimePath: everything is listed once per Relist; 0 means always
	Lookback   time.Duration // older objects are late; with TimePath older folders are not listed
	Settle     time.Duration // objects younger than this may still be growing and wait
	Start      time.Time     // objects modified before its whole second are no part of the source; used until progress has one
	Shard      source.Shard
	OnChange   OnChange // "" means SkipChanged
	OnGap      OnGap    // "" means FailGap
	MaxObjects int      // objects in one plan at most, the oldest; 0 means DefaultMaxObjects
	formerly   string   // location that entries were consumed at, see Source.From
	Rehash     int64    // bytes one plan may read to tell touched from changed; 0: DefaultRehash, <0: none
}

// Source plans and reads the objects of one location. It is immutable.
type Source struct {
	store object.Store
	cfg   Config
	path  *TimePath // nil without a time path
}

// New returns the source of the objects in store, whose root is the source
// path. It refuses a bad glob, time path, policy or shard.
func New(store object.Store, cfg Config) (*Source, error) {
	if err := cfg.fill(); err != nil {
		return nil, fmt.Errorf("files source: %w", err)
	}
	cfg.TimePath = strings.TrimSuffix(cfg.TimePath, "/")
	s := &Source{store: store, cfg: cfg}
	if cfg.TimePath != "" {
		path, err := ParseTimePath(cfg.TimePath)
		if err != nil {
			return nil, fmt.Errorf("files source: %w", err)
		}
		s.path = path
	}
	return s, nil
}

// fill sets the defaults and refuses what has no meaning.
func (c *Config) fill() error {
	if c.OnChange == "" {
		c.OnChange = SkipChanged
	}
	if c.OnGap == "" {
		c.OnGap = FailGap
	}
	if c.MaxObjects == 0 {
		c.MaxObjects = DefaultMaxObjects
	}
	if c.Rehash == 0 {
		c.Rehash = DefaultRehash
	}
	switch {
	case c.Location == "" || strings.ContainsRune(c.Location, 0):
		return fmt.Errorf("location %q: empty or with a zero byte", c.Location)
	case c.OnChange != SkipChanged && c.OnChange != FailChanged && !c.OnChange.consumes():
		return fmt.Errorf("on_change %q: want skip, fail, append or replace", c.OnChange)
	case c.OnChange.consumes() && c.Rehash < 0:
		return fmt.Errorf("on_change %q has to tell touched objects from changed ones, and rehash forbids it", c.OnChange)
	case c.OnGap != FailGap && c.OnGap != SkipGap:
		return fmt.Errorf("on_gap %q: want fail or skip", c.OnGap)
	case c.Relist < 0 || c.Lookback < 0 || c.Settle < 0 || c.MaxObjects < 0:
		return errors.New("relist, lookback, settle and the object limit cannot be negative")
	}
	for _, glob := range append(append([]string(nil), c.Include...), c.Exclude...) {
		if !doublestar.ValidatePattern(glob) {
			return fmt.Errorf("glob %q: bad pattern", glob)
		}
	}
	return c.Shard.Validate()
}

// KeyHash is the hash under which a key is remembered: the first 16 bytes of
// the SHA-256 of the key below the source path.
func KeyHash(key string) source.Hash {
	sum := sha256.Sum256([]byte(key))
	return source.Hash(sum[:16])
}

// Identity is the hash that says which content stood under a key: the first 16
// bytes of SHA-256(location 0x00 key 0x00 ETag 0x00 size in decimal). A version
// id is no part of it, nor is the modification time but for what a store puts
// into its ETag.
func (s *Source) Identity(key, etag string, size int64) source.Hash {
	b := make([]byte, 0, 256)
	b = append(append(b, s.cfg.Location...), 0)
	b = append(append(b, key...), 0)
	b = append(append(b, etag...), 0)
	sum := sha256.Sum256(strconv.AppendInt(b, size, 10))
	return source.Hash(sum[:16])
}

// Name is what _source says of the records of an object that is consumed as the
// first content of its key, or in the place of all earlier ones: the key, or the
// key with its mark where the key itself looks as if it had one.
func (s *Source) Name(key, etag string, size int64, modified time.Time) string {
	if source.Marked(key) {
		return s.AppendedName(key, etag, size, modified)
	}
	return key
}

// AppendedName is what _source says of the records of an object that is consumed
// beside earlier contents of its key: the key and its mark, the first 8 bytes of
// SHA-256(Identity, then the modification time in UTC as RFC 3339 with as many
// digits as it needs). The time makes a difference where a key gets back a content
// that it had before, and with it, in a bucket, the same ETag.
func (s *Source) AppendedName(key, etag string, size int64, modified time.Time) string {
	identity := s.Identity(key, etag, size)
	sum := sha256.Sum256(modified.UTC().AppendFormat(identity[:], time.RFC3339Nano))
	return source.Mark(key, source.Hash(sum[:16]))
}

// Day is the UTC day, in days since 1970-01-01, that the entry of an object
// belongs to: with a time path the date in its folder's name (UndatedDay
// without one), else the day of its modification time.
func (s *Source) Day(key string, modified time.Time) int32 {
	if s.path != nil {
		day, _ := s.path.Day(key)
		return day
	}
	return dayOf(modified)
}

// dayOf is the UTC day of an instant.
func dayOf(t time.Time) int32 {
	const day = 24 * 60 * 60
	unix := t.Unix()
	if unix < 0 {
		unix -= day - 1 // round down, not towards 1970
	}
	return int32(unix / day)
}

// Open reads the stored bytes of a planned object from the first on, pinned to
// its ETag. When the object is gone or no longer as planned, now or in the
// middle of the read, the error is a GapError if part of the object is already
// consumed or an exact range was asked for, and otherwise wraps ErrStale, which
// means: plan again. When it cannot be read the error is an UnreadableError. A body
// that breaks off is taken up again where it broke, within bounds. The caller closes
// the reader. It also has Size and ReadAt, for formats that are read from their end:
// each ReadAt is one request under ctx.
func (s *Source) Open(ctx context.Context, o Object) (io.ReadCloser, error) {
	return s.OpenAt(ctx, o, 0)
}

// OpenAt is Open from a byte offset of the stored object on.
func (s *Source) OpenAt(ctx context.Context, o Object, offset int64) (io.ReadCloser, error) {
	r, info, err := s.store.Get(ctx, o.Key, object.GetOptions{From: offset, ETag: o.ETag})
	if err != nil {
		return nil, moved(o, fmt.Errorf("open %s: %w", o.Key, err))
	}
	if info.Size != o.Size {
		r.Close()
		return nil, moved(o, fmt.Errorf("open %s: %d bytes, planned %d: %w", o.Key, info.Size, o.Size, object.ErrChanged))
	}
	if o.Exact != nil && !o.Was.IsZero() && info.Modified.Unix() != o.Modified.Unix() {
		// The content was there before and has come back: it is another change of
		// the key. A listing may know more of the time than a GET, never less.
		r.Close()
		return nil, moved(o, fmt.Errorf("open %s: modified %s, planned %s: %w", o.Key, info.Modified, o.Modified, object.ErrChanged))
	}
	return &pinned{body: r, object: o, ctx: ctx, store: s.store, at: offset, resumed: offset}, nil
}
