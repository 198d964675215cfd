package parquet

import (
	"fmt"

	"batcher/record/typed"
)

// row appends the next row.
func (r *Reader) row(dst []byte) ([]byte, error) {
	if err := r.openGroup(); err != nil {
		return dst, err
	}
	r.most = len(dst) + r.limits.MaxRecordBytes
	dst, err := r.fields(dst, r.root, 0)
	if err != nil {
		return dst, err
	}
	r.next++
	if r.left--; r.left == 0 {
		err = r.closeGroup()
	}
	return dst, err
}

// value appends the value at n, whose surroundings hold one. rep is the
// repetition level that its first entry must have in each column below.
func (r *Reader) value(dst []byte, n *node, rep uint8) ([]byte, error) {
	if len(dst) > r.most {
		return dst, fmt.Errorf("%w: a record takes more than %d bytes: twice source.files.limits.record_bytes, and at least 64 MiB", typed.ErrLimit, r.limits.MaxRecordBytes)
	}
	first := r.columns[n.first]
	if err := first.load(); err != nil {
		return dst, first.failed(err)
	}
	if n.optional && first.def < n.def {
		return typed.AppendNull(dst), r.pass(n, rep, n.def-1)
	}
	switch n.shape {
	case structShape:
		return r.fields(dst, n, rep)
	case listShape, mapShape:
		return r.repeated(dst, n, rep)
	case variantShape:
		var err error
		if r.variant, err = r.fields(r.variant[:0], n, rep); err != nil {
			return dst, err
		}
		return appendVariant(dst, r.variant, r.limits.MaxRecordBytes)
	}
	v, err := first.take(rep, n.def)
	if err != nil {
		return dst, first.failed(err)
	}
	return n.convert(dst, v), nil
}

func (r *Reader) fields(dst []byte, n *node, rep uint8) ([]byte, error) {
	dst, mark := typed.Open(dst, typed.Struct)
	for _, f := range n.parts {
		var err error
		if dst, err = r.value(append(dst, f.key...), f, rep); err != nil {
			return dst, err
		}
	}
	return typed.Close(dst, mark), nil
}

// repeated appends a list or a map.
func (r *Reader) repeated(dst []byte, n *node, rep uint8) ([]byte, error) {
	tag := typed.List
	if n.shape == mapShape {
		tag = typed.Map
	}
	dst, mark := typed.Open(dst, tag)
	first := r.columns[n.first]
	if first.def <= n.def {
		return typed.Close(dst, mark), r.pass(n, rep, n.def)
	}
	for {
		var err error
		if tag == typed.Map {
			dst, err = r.pair(dst, n, rep)
		} else {
			dst, err = r.value(dst, n.parts[0], rep)
		}
		if err != nil {
			return dst, err
		}
		more, err := first.follows(n.rep)
		if err != nil {
			return dst, first.failed(err)
		}
		if !more {
			return typed.Close(dst, mark), nil
		}
		rep = n.rep
	}
}

// pair appends a key of a map and its value.
func (r *Reader) pair(dst []byte, n *node, rep uint8) ([]byte, error) {
	key, err := r.value(r.key[:0], n.parts[0], rep)
	if err != nil {
		return dst, err
	}
	r.key = key
	c := typed.NewCursor(key)
	switch v, err := c.Next(); {
	case err != nil:
		return dst, err
	case v.Tag == typed.String || v.Tag == typed.Bytes:
		dst = typed.AppendKey(dst, v.Data)
	default:
		text, err := typed.AppendJSON(nil, key)
		if err != nil {
			return dst, err
		}
		if text[0] == '"' {
			text = text[1 : len(text)-1]
		}
		dst = typed.AppendKey(dst, text)
	}
	if len(n.parts) == 1 {
		return typed.AppendNull(dst), nil
	}
	return r.value(dst, n.parts[1], rep)
}

// pass takes from each column below n the entry that says that there is nothing.
func (r *Reader) pass(n *node, rep, def uint8) error {
	for _, c := range r.columns[n.first:n.end] {
		if err := c.pass(rep, def); err != nil {
			return c.failed(err)
		}
	}
	return nil
}
