package record

import (
	"strconv"

	"batcher/record/typed"
	"batcher/schema"
)

// appendKey appends an unknown key to a path: ["key"].
func appendKey(path, key []byte) []byte {
	path = append(path, '[')
	path = appendQuoted(path, key)
	return append(path, ']')
}

// appendQuoted appends s as a JSON string.
func appendQuoted(dst, s []byte) []byte { return typed.AppendQuoted(dst, s) }

// appendPath appends the place of the node in the record at hand: names joined
// by ".", "[i]" for elements of lists, ["key"] for values of maps.
func (n *node) appendPath(dst []byte) []byte {
	if n.parent == nil {
		return dst
	}
	dst = n.parent.appendPath(dst)
	switch n.parent.kind {
	case schema.List:
		dst = append(dst, '[')
		dst = strconv.AppendInt(dst, int64(n.parent.index), 10)
		return append(dst, ']')
	case schema.Map:
		return appendKey(dst, []byte(n.parent.key))
	}
	if n.unlisted {
		return appendKey(dst, []byte(n.name))
	}
	if len(dst) > 0 {
		dst = append(dst, '.')
	}
	return append(dst, n.name...)
}
