// Package object is the smallest object store that can carry the commit
// protocol: read (whole, ranged, pinned to an identity), write with a
// condition, list, delete, and optionally upload a stream.
//
// Duty: say exactly what a store must do, and name its seven ways to fail.
//
// Invariants a Store keeps:
//   - Put with IfAbsent creates the key or changes nothing, and of any number
//     of racing creators exactly one is told that it won;
//   - after a Put returned nil, every later Get and List of the key sees it;
//   - a Get never returns part of a body without an error;
//   - an error that matches none of the sentinels is a bug in the store.
//
// It never retries, never interprets keys and never knows what they hold.
package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// The seven ways an operation fails. Callers act differently on each, so none
// is ever folded into another; test with errors.Is.
var (
	// ErrNotFound says that the key (or the bucket, see ErrUnsupported) holds
	// nothing at this moment. It proves nothing about writes still in flight.
	ErrNotFound = errors.New("object not found")
	// ErrExists says that an IfAbsent Put found the key occupied.
	ErrExists = errors.New("object exists")
	// ErrChanged says that a pinned Get found another identity under the key,
	// or that the object changed while it was read.
	ErrChanged = errors.New("object changed")
	// ErrConflict says that the store settled nothing (HTTP 409; a full disk
	// before anything became visible): the same bytes must be sent again to
	// learn the outcome.
	ErrConflict = errors.New("conflicting write, nothing settled")
	// ErrUnknown says that the reply was lost or never meant anything: the
	// operation may have happened, may happen later, or never. Time-outs,
	// resets, 5xx and a failed fsync are all of this kind.
	ErrUnknown = errors.New("outcome unknown")
	// ErrDenied says that credentials or permissions were refused.
	ErrDenied = errors.New("access denied")
	// ErrUnsupported says that the store can never do this: the bucket does not
	// exist, the capability is missing, the request is malformed for it.
	ErrUnsupported = errors.New("unsupported by this store")
)

// Explained is an error whose text is the cause, a cure, and what was being done, for a
// person who can do something about it. Whatever wraps it is shown after it.
type Explained interface {
	error
	Explained()
}

// Info describes one object as a store listed, read or wrote it.
type Info struct {
	Key      string    // full key below the store's root
	Size     int64     // bytes; FolderSize for a folder of a shallow listing
	ETag     string    // opaque; with Size the identity of the content. "" if the store gave none
	Version  string    // version id where the bucket keeps versions, else ""
	Modified time.Time // store's clock, UTC
}

// FolderSize is the Size of an entry that stands for a folder: its key ends in
// "/" and there is at least one object below it.
const FolderSize = -1

// IsFolder says whether the entry of a shallow listing is a folder.
func (i Info) IsFolder() bool { return i.Size == FolderSize }

// Condition is what must hold for a Put to take place.
type Condition uint8

const (
	// Always writes whatever stands under the key.
	Always Condition = iota
	// IfAbsent writes only if the key holds nothing (If-None-Match: *).
	IfAbsent
)

// Depth is how far a listing goes below its prefix.
type Depth uint8

const (
	// Deep lists every object below the prefix.
	Deep Depth = iota
	// Shallow lists the objects directly below the prefix, and each folder
	// there as one entry (see FolderSize).
	Shallow
)

// GetOptions narrows a Get. The zero value reads the whole object as it is now.
type GetOptions struct {
	From  int64  // first byte, ≥ 0
	Limit int64  // bytes to read at most from From; 0 means to the end
	ETag  string // if set, fail with ErrChanged unless the object has this ETag
}

// Span returns the half-open range of bytes [from, to) that the options name in
// an object of the given size. A range that begins at or after the end is
// empty, not an error; a negative From or Limit is ErrUnsupported.
func (o GetOptions) Span(sizeBytes int64) (from, to int64, err error) {
	if o.From < 0 || o.Limit < 0 {
		return 0, 0, fmt.Errorf("range from %d limit %d: %w", o.From, o.Limit, ErrUnsupported)
	}
	from, to = min(o.From, sizeBytes), sizeBytes
	if o.Limit > 0 && o.Limit < to-from {
		to = from + o.Limit
	}
	return from, to, nil
}

// Store is the shared interface of every place that batcher reads or writes.
// Keys are relative to the store's root, use "/" and never begin with it.
// All methods are safe for concurrent use. Errors wrap exactly one sentinel,
// except a cancelled context, which wraps ctx.Err() (and ErrUnknown for Put).
type Store interface {
	// Get opens the object. The reader fails with ErrChanged or ErrUnknown
	// rather than end early. The caller closes it. Info.Size is the size of
	// the whole object, whatever range was asked for.
	Get(ctx context.Context, key string, opts GetOptions) (io.ReadCloser, Info, error)
	// Put stores the whole body. IfAbsent fails with ErrExists when occupied;
	// ErrConflict and ErrUnknown leave the outcome open.
	Put(ctx context.Context, key string, body []byte, cond Condition) (Info, error)
	// List yields the objects below prefix, which is "" or ends in "/", in no
	// promised order. It pages by itself and stops at the first error.
	List(ctx context.Context, prefix string, depth Depth) iter.Seq2[Info, error]
	// Delete removes the key. An absent key is not an error.
	Delete(ctx context.Context, key string) error
	// String names the place for people, without secrets: "s3://bucket/prefix"
	// or a directory.
	fmt.Stringer
}

// Pager is the optional capability to list page by page, so that a failed page
// can be asked for again without starting over.
type Pager interface {
	// ListPage returns one page of what List yields. The first token is "";
	// next is the token of the page that follows, "" after the last one.
	ListPage(ctx context.Context, prefix string, depth Depth, token string) (page []Info, next string, err error)
}

// Uploader is the optional capability to write a large object as a stream.
type Uploader interface {
	// Upload begins to write key, which nobody else writes. Nothing is visible
	// under it before Complete returns nil.
	Upload(ctx context.Context, key string) (Upload, error)
}

// Upload is one object being streamed. After Complete or Abort it is spent.
type Upload interface {
	io.Writer
	// Complete makes the object visible and durable.
	Complete(ctx context.Context) (Info, error)
	// Abort drops what was written; it is safe after a failure and after Complete.
	Abort(ctx context.Context) error
}

// Syncer is the optional capability of a store whose entries may be visible
// before they would survive a loss of power: a directory.
type Syncer interface {
	// Sync makes durable that the entries of a folder, which ends in "/", are
	// there. Whoever builds on an entry that somebody else made calls it first.
	Sync(ctx context.Context, folder string) error
}

// Timed is the optional capability of a store whose ETags follow from size and time
// alone: an edit that keeps both goes unseen.
type Timed interface {
	Timed()
}

// Inspector is the optional capability to tell what about a store's set-up a
// person should know, beyond what probes can find out.
type Inspector interface {
	Inspect(ctx context.Context) ([]Remark, error)
}

// Remark is one thing to know.
type Remark struct {
	Subject string // "lifecycle", "file-system", …
	Text    string
}

// Requests counts calls as a provider would bill them: a listing counts one
// per page, a multipart upload one Put per part plus two.
type Requests struct {
	Get    int64 `json:"get"`
	Put    int64 `json:"put"`
	List   int64 `json:"list"`
	Delete int64 `json:"delete"`
	Head   int64 `json:"head"`
}

// Add returns the sum of both counts.
func (r Requests) Add(o Requests) Requests {
	return Requests{r.Get + o.Get, r.Put + o.Put, r.List + o.List, r.Delete + o.Delete, r.Head + o.Head}
}

// Sum is how many requests there were of all kinds.
func (r Requests) Sum() int64 { return r.Get + r.Put + r.List + r.Delete + r.Head }

// Sub returns what was counted since o.
func (r Requests) Sub(o Requests) Requests {
	return Requests{r.Get - o.Get, r.Put - o.Put, r.List - o.List, r.Delete - o.Delete, r.Head - o.Head}
}

// Meter is the optional capability to tell how many requests were made so far.
type Meter interface {
	Requests() Requests
}

// RequestsOf returns the store's count, or zeros if it keeps none.
func RequestsOf(s Store) Requests {
	if m, ok := s.(Meter); ok {
		return m.Requests()
	}
	return Requests{}
}

// ReadAll reads the object, or the range of it that opts names, into memory.
// A body over limit bytes is refused with ErrUnsupported.
func ReadAll(ctx context.Context, s Store, key string, opts GetOptions, limit int64) ([]byte, Info, error) {
	r, info, err := s.Get(ctx, key, opts)
	if err != nil {
		return nil, Info{}, err
	}
	defer r.Close()
	want := info.Size - opts.From
	if opts.Limit > 0 {
		want = min(want, opts.Limit)
	}
	if want > limit {
		return nil, info, fmt.Errorf("read %s: %d bytes, more than the %d allowed: %w", key, want, limit, ErrUnsupported)
	}
	body := make([]byte, 0, max(want, 0)+1)
	for {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body, info, nil
		}
		if err != nil {
			return nil, info, fmt.Errorf("read %s: %w", key, err)
		}
		if int64(len(body)) > limit {
			return nil, info, fmt.Errorf("read %s: more than the %d bytes allowed: %w", key, limit, ErrUnsupported)
		}
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
	}
}
