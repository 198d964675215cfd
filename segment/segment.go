// Package segment is how long lists leave the manifest: runs of bytes in
// immutable state objects, named by key, place and SHA-256.
//
// Duty: Ref, which names a run; List, which stands in a manifest in place or by
// reference; Pack, which gathers the runs of one attempt into one state object.
//
// Invariants: a Pack's bytes are a pure function of what was added in order; a
// Ref's hash covers exactly its run; a List encodes to the same bytes wherever
// it is encoded.
//
// It never reads or writes a store.
package segment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
)

// Format is the version in the head of every run that this code writes.
const Format = 1

// InlineLimit is how many bytes of JSON a list may take in a manifest before it
// becomes a run of its own.
const InlineLimit = 16 << 10

// SHA256 is the hash of a run or an object; 64 hex digits in JSON.
type SHA256 [32]byte

// Sum returns the hash of b.
func Sum(b []byte) SHA256 { return sha256.Sum256(b) }

// String returns 64 hex digits.
func (s SHA256) String() string { return hex.EncodeToString(s[:]) }

// MarshalText returns 64 hex digits.
func (s SHA256) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes 64 hex digits.
func (s *SHA256) UnmarshalText(b []byte) error {
	if len(b) != 2*len(s) {
		return fmt.Errorf("sha256 %q: want %d hex digits", b, 2*len(s))
	}
	_, err := hex.Decode(s[:], b)
	return err
}

// Ref names a run of bytes in a state object.
type Ref struct {
	Key    string `json:"key"`    // below the store's root
	Offset int64  `json:"offset"` // first byte in the object
	Size   int64  `json:"size"`   // bytes
	SHA256 SHA256 `json:"sha256"` // of the run
}

// Pack gathers the runs of one proposal into one state object. The zero value
// is not usable: the key must be known first, because refs carry it.
type Pack struct {
	key  string
	body []byte
}

// NewPack begins the state object that will stand under key.
func NewPack(key string) *Pack { return &Pack{key: key} }

// Key is where the object will stand.
func (p *Pack) Key() string { return p.key }

// Bytes is the object so far; empty if nothing was added, and then nothing has
// to be written.
func (p *Pack) Bytes() []byte { return p.body }

// Add appends a run and returns its name.
func (p *Pack) Add(run []byte) Ref {
	ref := Ref{Key: p.key, Offset: int64(len(p.body)), Size: int64(len(run)), SHA256: Sum(run)}
	p.body = append(p.body, run...)
	return ref
}

// Check says whether the bytes are the run that the ref names.
func (r Ref) Check(run []byte) error {
	if int64(len(run)) != r.Size {
		return fmt.Errorf("segment %s at %d: %d bytes, want %d", r.Key, r.Offset, len(run), r.Size)
	}
	if got := Sum(run); got != r.SHA256 {
		return fmt.Errorf("segment %s at %d: sha256 %s, want %s", r.Key, r.Offset, got, r.SHA256)
	}
	return nil
}

// List is a list that stands in a manifest in place, or by reference to a run
// when it is long. Items of a list by reference are there only once loaded.
type List[T any] struct {
	Items []T
	Ref   *Ref
	Count int64 // number of items, also when they stand elsewhere
}

// Loaded says whether Items holds the whole list.
func (l List[T]) Loaded() bool { return int64(len(l.Items)) == l.Count }

// Of returns the list of the items, in place.
func Of[T any](items []T) List[T] { return List[T]{Items: items, Count: int64(len(items))} }

type external struct {
	Count int64 `json:"count"`
	Ref   *Ref  `json:"ref"`
}

// MarshalJSON writes an array, or {"count":…,"ref":…}.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l.Ref != nil {
		return json.Marshal(external{l.Count, l.Ref})
	}
	if len(l.Items) == 0 {
		return []byte("[]"), nil
	}
	return json.Marshal(l.Items)
}

// UnmarshalJSON reads what MarshalJSON writes and refuses unknown fields.
func (l *List[T]) UnmarshalJSON(b []byte) error {
	*l = List[T]{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if trimmed := bytes.TrimLeft(b, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := d.Decode(&l.Items); err != nil {
			return err
		}
		if len(l.Items) == 0 {
			l.Items = nil
		}
		l.Count = int64(len(l.Items))
		return nil
	}
	var e external
	if err := d.Decode(&e); err != nil {
		return err
	}
	if e.Ref == nil || e.Count <= 0 {
		return fmt.Errorf("list by reference needs a ref and a positive count")
	}
	l.Ref, l.Count = e.Ref, e.Count
	return nil
}

// Externalize writes the items into a run of the pack when their JSON is over
// InlineLimit; otherwise it returns the list as it is.
func Externalize[T any](l List[T], p *Pack) (List[T], error) {
	if l.Ref != nil || len(l.Items) == 0 {
		return l, nil
	}
	inline, err := json.Marshal(l.Items)
	if err != nil || len(inline) <= InlineLimit {
		return l, err
	}
	run, err := Encode("list", l.Items)
	if err != nil {
		return l, err
	}
	ref := p.Add(run)
	return List[T]{Items: l.Items, Ref: &ref, Count: l.Count}, nil
}

// head is the first line of a run of JSON lines.
type head struct {
	Format int    `json:"format"`
	Kind   string `json:"kind"`
	Count  int64  `json:"count"`
}

// Encode writes items as a run: a head line {"format","kind","count"}, then one
// line of JSON an item.
func Encode[T any](kind string, items []T) ([]byte, error) {
	run, err := json.Marshal(head{Format, kind, int64(len(items))})
	if err != nil {
		return nil, err
	}
	run = append(run, '\n')
	for i := range items {
		line, err := json.Marshal(items[i])
		if err != nil {
			return nil, fmt.Errorf("encode %s item %d: %w", kind, i, err)
		}
		run = append(append(run, line...), '\n')
	}
	return run, nil
}

// Decode reads what Encode wrote. It refuses another kind, an unknown format,
// unknown fields and a wrong count.
func Decode[T any](kind string, run []byte) ([]T, error) {
	var items []T
	for item, err := range Each[T](kind, run) {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// Each yields the items of what Encode wrote, each as it is decoded. It refuses what
// Decode refuses, with an error that comes last; a wrong count is known at the end only.
func Each[T any](kind string, run []byte) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		d := json.NewDecoder(bytes.NewReader(run))
		d.DisallowUnknownFields()
		var h head
		if err := d.Decode(&h); err != nil {
			yield(none, fmt.Errorf("segment head: %w", err))
			return
		}
		if h.Format != Format || h.Kind != kind {
			yield(none, fmt.Errorf("segment of format %d kind %q: this version reads format %d kind %q", h.Format, h.Kind, Format, kind))
			return
		}
		n := int64(0)
		for ; d.More(); n++ {
			var item T
			if err := d.Decode(&item); err != nil {
				yield(none, fmt.Errorf("segment item %d: %w", n, err))
				return
			}
			if !yield(item, nil) {
				return
			}
		}
		if n != h.Count {
			yield(none, fmt.Errorf("segment has %d items, its head says %d", n, h.Count))
		}
	}
}
