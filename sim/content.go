package sim

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"batcher/object"
)

// epoch is the modification time of every object: time is no part of a state.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// absent stands for no body.
const absent int32 = -1

// entry is one object of a content: numbers of its key and its body.
type entry struct{ key, body int32 }

// content is all that a store holds, in the order of key numbers. It is immutable.
type content []entry

func (c content) find(key int32) (int, bool) {
	return slices.BinarySearchFunc(c, key, func(e entry, k int32) int { return cmp.Compare(e.key, k) })
}

// body returns the number of the body under a key, or absent.
func (c content) body(key int32) int32 {
	if i, found := c.find(key); found {
		return c[i].body
	}
	return absent
}

// with returns the content after body came to stand under key; absent deletes.
func (c content) with(key, body int32) content {
	i, found := c.find(key)
	out := append(make(content, 0, len(c)+1), c[:i]...)
	if body != absent {
		out = append(out, entry{key, body})
	}
	if found {
		i++
	}
	return append(out, c[i:]...)
}

// intern gives equal values equal small numbers.
type intern[T any] struct {
	numbers map[string]int32
	values  []T
}

// number returns the number of the value whose exact form is the key.
func (n *intern[T]) number(key string, value T) (int32, bool) {
	if id, ok := n.numbers[key]; ok {
		return id, false
	}
	if n.numbers == nil {
		n.numbers = map[string]int32{}
	}
	id := int32(len(n.values))
	n.numbers[key], n.values = id, append(n.values, value)
	return id, true
}

// pool numbers everything that is compared often.
type pool struct {
	keys     intern[string]
	bodies   intern[[]byte]
	listings intern[[]object.Info]
	contents intern[content]
	delayed  intern[[]delayed]
}

func (p *pool) key(s string) int32 {
	id, _ := p.keys.number(s, s)
	return id
}

func (p *pool) body(b []byte) int32 {
	id, _ := p.bodies.number(string(b), append([]byte{}, b...)) // never nil: nil means absent
	return id
}

// content numbers a content and says whether it is a new one.
func (p *pool) content(c content) (int32, bool) {
	form := make([]byte, 0, 8*len(c))
	for _, e := range c {
		form = binary.NativeEndian.AppendUint32(form, uint32(e.key))
		form = binary.NativeEndian.AppendUint32(form, uint32(e.body))
	}
	return p.contents.number(string(form), c)
}

// info describes a body under a key.
func (p *pool) info(key string, body int32) object.Info {
	b := p.bodies.values[body]
	sum := sha256.Sum256(b)
	return object.Info{Key: key, Size: int64(len(b)), ETag: `"` + hex.EncodeToString(sum[:16]) + `"`, Modified: epoch}
}

// list returns the entries of a listing, sorted.
func (p *pool) list(c content, prefix string, depth object.Depth) []object.Info {
	var found []object.Info
	folders := map[string]bool{}
	for _, e := range c {
		key := p.keys.values[e.key]
		rest, below := strings.CutPrefix(key, prefix)
		if !below {
			continue
		}
		if name, _, deeper := strings.Cut(rest, "/"); deeper && depth == object.Shallow {
			if folder := prefix + name + "/"; !folders[folder] {
				folders[folder] = true
				found = append(found, object.Info{Key: folder, Size: object.FolderSize})
			}
			continue
		}
		found = append(found, p.info(key, e.body))
	}
	slices.SortFunc(found, func(a, b object.Info) int { return strings.Compare(a.Key, b.Key) })
	return found
}

// open is what a Get of a body gives.
func (p *pool) open(key string, body int32, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	info := p.info(key, body)
	if opts.ETag != "" && opts.ETag != info.ETag {
		return nil, object.Info{}, fmt.Errorf("get %s: %w", key, object.ErrChanged)
	}
	from, to, err := opts.Span(info.Size)
	if err != nil {
		return nil, object.Info{}, fmt.Errorf("get %s: %w", key, err)
	}
	return io.NopCloser(bytes.NewReader(p.bodies.values[body][from:to])), info, nil
}

// View is a store in one state, for checks. It cannot be written.
type View struct {
	pool    *pool
	content content
	delayed []delayed
}

var _ object.Store = View{}

// Body returns what stands under a key, nil if nothing does. Equal bodies are
// the same memory in all states of an exploration; they must not be changed.
func (v View) Body(key string) []byte {
	if b := v.content.body(v.pool.key(key)); b != absent {
		return v.pool.bodies.values[b]
	}
	return nil
}

// Delayed yields key and body of every Put that is still on its way.
func (v View) Delayed() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, d := range v.delayed {
			if d.call.op == opPut && !yield(v.pool.keys.values[d.call.key], v.pool.bodies.values[d.call.body]) {
				return
			}
		}
	}
}

// Get implements object.Store.
func (v View) Get(_ context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	b := v.content.body(v.pool.key(key))
	if b == absent {
		return nil, object.Info{}, fmt.Errorf("get %s: %w", key, object.ErrNotFound)
	}
	return v.pool.open(key, b, opts)
}

// List implements object.Store.
func (v View) List(_ context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		for _, info := range v.pool.list(v.content, prefix, depth) {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Put refuses.
func (v View) Put(context.Context, string, []byte, object.Condition) (object.Info, error) {
	return object.Info{}, fmt.Errorf("a check must not write: %w", object.ErrUnsupported)
}

// Delete refuses.
func (v View) Delete(context.Context, string) error {
	return fmt.Errorf("a check must not delete: %w", object.ErrUnsupported)
}

// String implements object.Store.
func (v View) String() string { return "sim" }
