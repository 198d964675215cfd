package record

import (
	"unicode/utf8"

	"batcher/record/typed"
	"batcher/schema"
)

// mapping reads a map or a struct into a map.
func (p *typedParser) mapping(in typed.Cursor, n *node, rep uint8) bool {
	if n.depth >= p.maxDepth {
		return p.tooDeep(in.Offset()) >= 0
	}
	if in.Done() {
		nulls(n.leaves, p.row, rep, n.def)
	}
	n.mapKeys = emptied(n.mapKeys)
	for !in.Done() {
		key, err := in.Key()
		if err != nil {
			return p.syntax(in.Offset()) >= 0
		}
		if !utf8.Valid(key) {
			return p.fail(invalidUTF8, in.Offset()) >= 0
		}
		if _, twice := n.mapKeys[string(key)]; twice {
			if !p.again(&in, n, key) {
				return false
			}
			continue
		}
		n.key = string(key)
		n.mapKeys[n.key] = struct{}{}
		n.leaf.Bytes(p.row, rep, key)
		if !p.value(&in, n.elem, rep, n.def+1) {
			return false
		}
		rep = n.rep
	}
	return true
}

// again rescues the value of a key that a map had before: a column of maps has each
// key once.
func (p *typedParser) again(in *typed.Cursor, n *node, key []byte) bool {
	n.key = string(key)
	from := in.Offset()
	if _, err := in.Next(); err != nil {
		return p.syntax(from) >= 0
	}
	if !p.render(from, in) {
		return false
	}
	p.path = n.elem.appendPath(p.path[:0])
	return p.rescue(misfit{at: n.elem, reason: wrongType, saw: schema.SawText}, p.text)
}
