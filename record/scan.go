package record

import (
	"bytes"
	"strconv"

	"batcher/column"
	"batcher/schema"
)

// failed is what every scanning method returns once the fault is noted.
const failed = -1

// scanner reads one record after another straight into the columns of a tree.
// Nothing is allocated for a record that has nothing odd in it.
//
// Each method takes the record d and the index i of a value's first byte, and
// returns the index behind the value, or failed.
type scanner struct {
	root     *node
	row      int // row of the block that the record becomes
	maxDepth int
	final    bool // what was not foreseen goes into _rescued and is no surprise
	fault    fault
	scratch  []byte
	rescued  []byte              // JSON object with what the columns do not take; empty if nothing
	misfits  []misfit            // what is in rescued
	others   map[string]struct{} // paths of unknown keys, to find duplicates
	path     []byte
}

// misfit is a value that went into _rescued: the place it belongs to, or below
// which its unknown key stands.
type misfit struct {
	at       *node
	reason   reason
	from, to int // the value in the record
}

type reason uint8

const (
	wrongType reason = iota
	unknownKey
	precision
)

// scan reads the record d as the next row. If it returns false the columns hold
// a part of the row and drop must follow.
func (s *scanner) scan(d []byte) bool {
	s.rescued, s.misfits = s.rescued[:0], s.misfits[:0]
	if len(s.others) > 0 {
		clear(s.others)
	}
	i := space(d, 0)
	if i == len(d) || d[i] != '{' {
		if s.skip(d, i, 0) >= 0 {
			s.fail(notObject, i)
		}
		return false
	}
	if i = s.object(d, i, s.root, 0); i < 0 {
		return false
	}
	if i = space(d, i); i < len(d) {
		s.fail(trailing, i)
		return false
	}
	if len(s.rescued) > 0 {
		s.rescued = append(s.rescued, '}')
	}
	return true
}

// valid says whether d is a JSON object; the fault says why not.
func (s *scanner) valid(d []byte) bool {
	start := space(d, 0)
	i := s.skip(d, start, 0)
	if i < 0 {
		return false
	}
	if d[start] != '{' {
		s.fail(notObject, start)
		return false
	}
	if i = space(d, i); i < len(d) {
		s.fail(trailing, i)
		return false
	}
	return true
}

func (s *scanner) object(d []byte, i int, n *node, rep uint8) int {
	if n.depth >= s.maxDepth {
		return s.tooDeep(i)
	}
	n.epoch++
	count, prev := 0, len(n.fields)
	if i = space(d, i+1); i < len(d) && d[i] == '}' {
		s.absent(n, rep, count)
		return i + 1
	}
	for {
		f := int(n.next[prev])
		if f < len(n.keys) && bytes.HasPrefix(d[i:], n.keys[f]) {
			i += len(n.keys[f])
		} else if f, i = s.key(d, i, n, prev); i < 0 {
			return i
		}
		if f >= 0 {
			if n.seen[f] == n.epoch {
				return s.fail(duplicateKey, i)
			}
			n.seen[f] = n.epoch
			count++
			prev = f
			if i = s.value(d, space(d, i), n.fields[f], rep, n.def); i < 0 {
				return i
			}
		}
		if i = space(d, i); i >= len(d) {
			return s.syntax(i)
		}
		if d[i] == '}' {
			s.absent(n, rep, count)
			return i + 1
		}
		if d[i] != ',' {
			return s.syntax(i)
		}
		i = space(d, i+1)
	}
}

// absent appends nulls for the fields that the object does not have.
func (s *scanner) absent(n *node, rep uint8, count int) {
	if count == len(n.fields) || n.def == 0 {
		return
	}
	for f, seen := range n.seen {
		if seen != n.epoch {
			for _, c := range n.fields[f].leaves {
				c.Null(s.row, rep, n.def)
			}
		}
	}
}

// key reads a key that was not the expected one, and the colon. It returns the
// field and the index behind the colon or, for an unknown key, -1 and the index
// behind the value.
func (s *scanner) key(d []byte, i int, n *node, prev int) (field, next int) {
	if i >= len(d) || d[i] != '"' {
		return -1, s.syntax(i)
	}
	end, escaped := stringEnd(d, i+1)
	if end < 0 {
		return -1, s.syntax(^end)
	}
	key := d[i+1 : end]
	if escaped {
		if key = s.unescaped(d, i+1, end); key == nil {
			return -1, failed
		}
	}
	colon := space(d, end+1)
	if colon >= len(d) || d[colon] != ':' {
		return -1, s.syntax(colon)
	}
	f, ok := n.byKey[string(key)]
	if !ok {
		return -1, s.unknown(d, space(d, colon+1), n, key)
	}
	n.next[prev] = f
	return int(f), colon + 1
}

// unescaped returns the content of the string d[i:end], valid until the next
// call and never nil, or nil after a fault.
func (s *scanner) unescaped(d []byte, i, end int) []byte {
	out, next, lone := unescape(s.scratch[:0], d, i, end)
	s.scratch = out
	if next < 0 {
		s.badEscape(^next, lone)
		return nil
	}
	if out == nil {
		return []byte{}
	}
	return out
}

// unknown reads the value of a key that the object n does not know.
func (s *scanner) unknown(d []byte, i int, n *node, key []byte) int {
	if !n.closed && !s.final && len(key) > 0 {
		return s.fail(surprise, i)
	}
	s.path = appendKey(n.appendPath(s.path[:0]), key)
	if _, twice := s.others[string(s.path)]; twice {
		return s.fail(duplicateKey, i)
	}
	if s.others == nil {
		s.others = map[string]struct{}{}
	}
	s.others[string(s.path)] = struct{}{}
	end := s.skip(d, i, n.depth+1)
	if end < 0 || d[i] == 'n' {
		return end
	}
	s.rescue(misfit{n, unknownKey, i, end}, d)
	return end
}

// value reads the value of a column or of a part of one. def is the level at
// which the place is null.
func (s *scanner) value(d []byte, i int, n *node, rep, def uint8) int {
	if i >= len(d) {
		return s.syntax(i)
	}
	if d[i] == 'n' {
		if i = literal(d, i, "null"); i < 0 {
			return s.syntax(^i)
		}
		s.null(n, rep, def)
		return i
	}
	switch n.kind {
	case schema.String:
		return s.text(d, i, n, rep, def)
	case schema.Int64, schema.Int32:
		return s.integer(d, i, n, rep, def)
	case schema.Timestamp, schema.Date:
		return s.time(d, i, n, rep, def)
	case schema.Float64, schema.Decimal:
		return s.number(d, i, n, rep, def)
	case schema.Bool:
		return s.boolean(d, i, n, rep, def)
	case schema.JSON:
		end := s.skip(d, i, n.depth)
		if end >= 0 {
			n.leaf.Bytes(s.row, rep, d[i:end])
		}
		return end
	case schema.Struct:
		if d[i] == '{' {
			return s.object(d, i, n, rep)
		}
	case schema.List:
		if d[i] == '[' {
			return s.list(d, i, n, rep)
		}
	case schema.Map:
		if d[i] == '{' {
			return s.mapping(d, i, n, rep)
		}
	case schema.Bytes:
		if d[i] == '"' {
			return s.text(d, i, n, rep, def)
		}
	}
	return s.misfit(d, i, n, rep, def)
}

// null appends a null at level def. At the top level the column's gap says it.
func (s *scanner) null(n *node, rep, def uint8) {
	if def == 0 {
		return
	}
	for _, c := range n.leaves {
		c.Null(s.row, rep, def)
	}
}

// misfit reads a value that the place does not take.
func (s *scanner) misfit(d []byte, i int, n *node, rep, def uint8) int {
	end := s.skip(d, i, n.depth)
	if end < 0 {
		return end
	}
	if !n.fixed && !s.final && (n.kind != schema.None || !n.parent.closed) {
		return s.fail(surprise, i)
	}
	s.null(n, rep, def)
	if n.kind == schema.None {
		s.path = appendKey(n.parent.appendPath(s.path[:0]), []byte(n.name))
		s.rescue(misfit{n.parent, unknownKey, i, end}, d)
		return end
	}
	s.path = n.appendPath(s.path[:0])
	s.rescue(misfit{n, wrongType, i, end}, d)
	return end
}

// rescue appends a member to what becomes _rescued; s.path is its key.
func (s *scanner) rescue(m misfit, d []byte) {
	s.misfits = append(s.misfits, m)
	if len(s.rescued) == 0 {
		s.rescued = append(s.rescued, '{')
	} else {
		s.rescued = append(s.rescued, ',')
	}
	s.rescued = appendQuoted(s.rescued, s.path)
	s.rescued = append(s.rescued, ':')
	s.rescued = append(s.rescued, d[m.from:m.to]...)
}

func (s *scanner) text(d []byte, i int, n *node, rep, def uint8) int {
	switch d[i] {
	case '"':
		end, escaped := stringEnd(d, i+1)
		if end < 0 {
			return s.syntax(^end)
		}
		content := d[i+1 : end]
		if escaped {
			if content = s.unescaped(d, i+1, end); content == nil {
				return failed
			}
		}
		n.leaf.Bytes(s.row, rep, content)
		return end + 1
	case '{', '[':
		return s.misfit(d, i, n, rep, def)
	}
	end := s.skip(d, i, n.depth)
	if end >= 0 {
		n.leaf.Bytes(s.row, rep, d[i:end])
	}
	return end
}

func (s *scanner) integer(d []byte, i int, n *node, rep, def uint8) int {
	j := i
	neg := d[i] == '-'
	if neg {
		j++
	}
	start := j
	var v int64
	for j < len(d) && d[j]-'0' <= 9 && j-start < 19 {
		v = v*10 + int64(d[j]-'0')
		j++
	}
	size := j - start
	if size == 0 || size > 18 || (size > 1 && d[start] == '0') || (j < len(d) && (d[j] == '.' || d[j]|0x20 == 'e')) {
		var ok bool
		if v, j, ok = s.longInteger(d, i); !ok {
			return s.misfit(d, i, n, rep, def)
		}
	} else if neg {
		v = -v
	}
	if n.kind == schema.Int32 {
		if !inInt32(v) {
			return s.misfit(d, i, n, rep, def)
		}
		n.leaf.Int32(s.row, rep, int32(v))
		return j
	}
	if uint64(v+exact) > 2*exact && !n.wide {
		n.wide = true
		n.shape.See(schema.SawWideInt)
	}
	n.leaf.Int64(s.row, rep, v)
	return j
}

// longInteger reads whole numbers that the fast path refuses.
func (s *scanner) longInteger(d []byte, i int) (v int64, end int, ok bool) {
	end, isWhole := number(d, i)
	if end < 0 || !isWhole {
		return 0, i, false
	}
	v, ok = whole(d[i:end])
	return v, end, ok
}

func (s *scanner) number(d []byte, i int, n *node, rep, def uint8) int {
	end, isWhole := number(d, i)
	if end < 0 {
		return s.misfit(d, i, n, rep, def)
	}
	if n.kind == schema.Decimal {
		v, ok := decimal(d[i:end], n.precision, n.scale)
		if !ok {
			return s.misfit(d, i, n, rep, def)
		}
		n.leaf.Decimal(s.row, rep, v)
		return end
	}
	v, ok := float(d[i:end])
	if !ok || (isWhole && (v > exact || v < -exact || (v == exact || v == -exact) && !isExact(d[i:end]))) {
		return s.misfit(d, i, n, rep, def)
	}
	n.leaf.Float64(s.row, rep, v)
	return end
}

// isExact says whether a whole number whose double is ±2^53 is that number.
func isExact(b []byte) bool {
	v, ok := whole(b)
	return ok && v >= -exact && v <= exact
}

func (s *scanner) boolean(d []byte, i int, n *node, rep, def uint8) int {
	end := failed
	switch d[i] {
	case 't':
		end = literal(d, i, "true")
	case 'f':
		end = literal(d, i, "false")
	}
	if end < 0 {
		return s.misfit(d, i, n, rep, def)
	}
	n.leaf.Bool(s.row, rep, d[i] == 't')
	return end
}

// time reads dates and timestamps. A string with escapes is never one.
func (s *scanner) time(d []byte, i int, n *node, rep, def uint8) int {
	if d[i] != '"' {
		return s.misfit(d, i, n, rep, def)
	}
	end, escaped := stringEnd(d, i+1)
	if end < 0 {
		return s.syntax(^end)
	}
	content := d[i+1 : end]
	if escaped {
		return s.misfit(d, i, n, rep, def)
	}
	if n.kind == schema.Date {
		days, ok := date(content)
		if !ok {
			return s.misfit(d, i, n, rep, def)
		}
		n.leaf.Int32(s.row, rep, days)
		return end + 1
	}
	us, cut, ok := instant(content)
	if !ok {
		return s.misfit(d, i, n, rep, def)
	}
	n.leaf.Int64(s.row, rep, us)
	if cut {
		s.path = n.appendPath(s.path[:0])
		s.rescue(misfit{n, precision, i, end + 1}, d)
	}
	return end + 1
}

func (s *scanner) list(d []byte, i int, n *node, rep uint8) int {
	if n.depth >= s.maxDepth {
		return s.tooDeep(i)
	}
	if i = space(d, i+1); i < len(d) && d[i] == ']' {
		nulls(n.leaves, s.row, rep, n.def)
		return i + 1
	}
	for n.index = 0; ; n.index++ {
		if i = s.value(d, i, n.elem, rep, n.def+1); i < 0 {
			return i
		}
		rep = n.rep
		if i = space(d, i); i >= len(d) {
			return s.syntax(i)
		}
		if d[i] == ']' {
			return i + 1
		}
		if d[i] != ',' {
			return s.syntax(i)
		}
		i = space(d, i+1)
	}
}

// mapping reads an object into a declared map.
func (s *scanner) mapping(d []byte, i int, n *node, rep uint8) int {
	if n.depth >= s.maxDepth {
		return s.tooDeep(i)
	}
	if i = space(d, i+1); i < len(d) && d[i] == '}' {
		nulls(n.leaves, s.row, rep, n.def)
		return i + 1
	}
	clear(n.mapKeys)
	for {
		if i = s.mapKey(d, i, n, rep); i < 0 {
			return i
		}
		if i = s.value(d, i, n.elem, rep, n.def+1); i < 0 {
			return i
		}
		rep = n.rep
		if i = space(d, i); i >= len(d) {
			return s.syntax(i)
		}
		if d[i] == '}' {
			return i + 1
		}
		if d[i] != ',' {
			return s.syntax(i)
		}
		i = space(d, i+1)
	}
}

func (s *scanner) mapKey(d []byte, i int, n *node, rep uint8) int {
	if i >= len(d) || d[i] != '"' {
		return s.syntax(i)
	}
	end, _ := stringEnd(d, i+1)
	if end < 0 {
		return s.syntax(^end)
	}
	key := s.unescaped(d, i+1, end)
	if key == nil {
		return failed
	}
	if _, twice := n.mapKeys[string(key)]; twice {
		return s.fail(duplicateKey, i)
	}
	n.key = string(key)
	n.mapKeys[n.key] = struct{}{}
	n.leaf.Bytes(s.row, rep, key)
	if i = space(d, end+1); i >= len(d) || d[i] != ':' {
		return s.syntax(i)
	}
	return space(d, i+1)
}

func nulls(leaves []*column.Filler, row int, rep, def uint8) {
	for _, c := range leaves {
		c.Null(row, rep, def)
	}
}

// appendKey appends an unknown key to a path: ["key"].
func appendKey(path, key []byte) []byte {
	path = append(path, '[')
	path = appendQuoted(path, key)
	return append(path, ']')
}

// appendQuoted appends s as a JSON string.
func appendQuoted(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

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
	if len(dst) > 0 {
		dst = append(dst, '.')
	}
	return append(dst, n.name...)
}
