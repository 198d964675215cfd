package record

import "batcher/schema"

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
	careful  bool // keys of an object that are one but for case are told apart
	fault    fault
	scratch  []byte
	invalid  int             // invalid bytes in the current record that columns of bytes may take
	rescued  []byte          // JSON object with what the columns do not take; empty if nothing
	dropped  []byte          // heads of values that are counted and kept nowhere
	misfits  []misfit        // what is in rescued and dropped
	uses     []use           // keys that were read as those of other fields in the current record
	widened  []*node         // whose first value beyond a double's whole numbers is in the current record
	contract schema.Contract // for values that a column does not take
	frozen   bool            // the contract also holds for keys without a column
	others   keySet          // paths of unknown keys, to find duplicates
	path     []byte
	naives   map[string]*naives // by column
	choices  []choice           // columns that several places feed
	serial   int64              // of the current record in the batch
}

// keySet finds keys that stand twice where no node remembers them.
type keySet map[string]struct{}

// emptied returns the set without its members. A set that was large is given
// up, because clearing it would cost its size for ever.
func emptied(s keySet) keySet {
	if len(s) > 1024 {
		return keySet{}
	}
	clear(s)
	return s
}

// misfit is a value that went into _rescued: the place it belongs to, or below
// which its unknown key stands.
type misfit struct {
	at       *node
	reason   reason
	saw      schema.Class // form of the value, if its type is the reason
	from, to int          // the value in _rescued, or its head in dropped
	dropped  bool
}

type reason uint8

const (
	wrongType reason = iota
	unknownKey
	precision
	secondPlace // another place of the column has a value, too
)

// begin forgets the last record.
func (s *scanner) begin() {
	s.rescued, s.misfits, s.dropped = s.rescued[:0], s.misfits[:0], s.dropped[:0]
	s.others = emptied(s.others)
	if len(s.widened)+len(s.uses) > 0 {
		s.untaught()
	}
}

// widen notes a whole number that is not exact in a double.
func (s *scanner) widen(n *node) {
	n.wide = true
	s.widened = append(s.widened, n)
}

// taught learns from the current record, which became a row.
func (s *scanner) taught() {
	for _, n := range s.widened {
		n.shape.See(schema.SawWideInt)
	}
	s.widened = s.widened[:0]
	s.used()
}

// untaught forgets what the current record, which became no row, would have taught.
func (s *scanner) untaught() {
	for _, n := range s.widened {
		n.wide = false
	}
	s.widened = s.widened[:0]
	s.unused()
}

// end completes the row and _rescued.
func (s *scanner) end() {
	if len(s.choices) > 0 {
		s.settle()
	}
	if len(s.rescued) > 0 {
		s.rescued = append(s.rescued, '}')
	}
}

// scan reads the record d as the next row. If it returns false the columns hold
// a part of the row and drop must follow.
func (s *scanner) scan(d []byte) bool {
	s.begin()
	i := space(d, 0)
	if i == len(d) || d[i] != '{' {
		s.noObject(d, i)
		return false
	}
	if s.careful {
		s.look(d, i, s.root)
	}
	if i = s.object(d, i, s.root, 0); i < 0 {
		return false
	}
	if i = space(d, i); i < len(d) {
		s.fail(trailing, i)
		return false
	}
	s.end()
	return true
}

// valid says whether d is a JSON object; the fault says why not.
func (s *scanner) valid(d []byte) bool {
	start := space(d, 0)
	if start == len(d) || d[start] != '{' {
		s.noObject(d, start)
		return false
	}
	i := s.skip(d, start, 0)
	if i < 0 {
		return false
	}
	if i = space(d, i); i < len(d) {
		s.fail(trailing, i)
		return false
	}
	return true
}

// noObject says why what begins like no object is no record.
func (s *scanner) noObject(d []byte, i int) {
	end := s.skip(d, i, 0)
	if end < 0 {
		return
	}
	if end = space(d, end); end < len(d) {
		s.fail(trailing, end)
		return
	}
	s.fail(notObject, i)
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
		if f < len(n.keys) && n.keys[f].stands(d, i) {
			i += len(n.keys[f].text)
		} else if f, i = s.key(d, i, n, prev); i < 0 {
			return i
		}
		if f >= 0 {
			if n.seen[f] == n.epoch {
				return s.twice(n, i)
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

// absent appends nulls, or what the pins say, for the fields that the object does
// not have.
func (s *scanner) absent(n *node, rep uint8, count int) {
	if count == len(n.fields) || n.def == 0 && !n.filled {
		return
	}
	for f, seen := range n.seen {
		if seen != n.epoch {
			s.miss(n.fields[f], rep, n.def)
		}
	}
}

// miss appends what stands for a field whose key is missing.
func (s *scanner) miss(n *node, rep, def uint8) {
	if n.missing != nil {
		s.value(n.missing, 0, n, rep, def)
		return
	}
	s.null(n, rep, def)
}

// key reads a key that was not the expected one, and the colon. It returns the
// field and the index behind the colon or, for an unknown key, -1 and the index
// behind the value.
func (s *scanner) key(d []byte, i int, n *node, prev int) (field, next int) {
	// Where the expected key is missing, the one behind it is likely.
	if f := n.next[prev]; int(f) < len(n.keys) {
		if f = n.next[f]; int(f) < len(n.keys) && n.keys[f].stands(d, i) {
			return int(f), i + len(n.keys[f].text)
		}
	}
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
	if !ok || n.folds.own != nil {
		f, ok = s.spelled(n, key)
	}
	if !ok {
		return -1, s.unknown(d, space(d, colon+1), n, key)
	}
	n.next[prev] = f
	return int(f), colon + 1
}

// unescaped returns the content of the string d[i:end], valid until the next
// call and never nil, or nil after a fault.
func (s *scanner) unescaped(d []byte, i, end int) []byte {
	out, next, why := unescape(s.scratch[:0], d, i, end)
	s.scratch = out
	if next < 0 {
		s.fail(why, ^next)
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
		s.others = keySet{}
	}
	s.others[string(s.path)] = struct{}{}
	end := s.skip(d, i, n.depth+1)
	if end < 0 || d[i] == 'n' {
		return end
	}
	if !s.rescue(misfit{at: n, reason: unknownKey}, d[i:end]) {
		return failed
	}
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
			if s.careful {
				s.look(d, i, n)
			}
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
	if n.fixed && s.loosely(d[i:end], n, rep, def) {
		return end
	}
	if !n.fixed && !s.final && (n.hasColumn() || !n.parent.closed) {
		return s.fail(surprise, i)
	}
	if n.blank && d[i] != '{' && d[i] != '[' {
		return s.text(d, i, n, rep, def)
	}
	s.null(n, rep, def)
	m := misfit{at: n, reason: wrongType}
	if !n.hasColumn() {
		m = misfit{at: n.parent, reason: unknownKey}
		s.path = appendKey(n.parent.appendPath(s.path[:0]), []byte(n.name))
	} else {
		m.saw = classOfValue(d[i:end])
		s.path = n.appendPath(s.path[:0])
	}
	if !s.rescue(m, d[i:end]) {
		return failed
	}
	return end
}
