package record

import (
	"bytes"

	"batcher/schema"
)

// at returns the node of a key, in whatever case, or nil.
func (n *node) at(key string) *node {
	f, ok := n.byKey[key]
	if !ok {
		f = n.fold(key)
	}
	if f == unfolded {
		return nil
	}
	return n.fields[f]
}

// cell reads text that stands for the value of a column, under a key of the
// record. The node is nil for a key that the table does not know.
//
// Where the column is nested or JSON the text is read as JSON; text that says
// nothing is null there.
func (s *scanner) cell(text []byte, n *node, key []byte) bool {
	if n == nil || n.kind == schema.None {
		if n != nil && n.blank {
			return s.blank(text, n)
		}
		return s.strange(text, key)
	}
	if n.kind.IsNested() || n.kind == schema.JSON {
		return s.cellJSON(text, n)
	}
	return s.fill(text, n) || s.cellMisfit(text, n, classOfCell(text))
}

// fill puts what the text stands for into a column of plain values, if it takes
// that: the usual spelling at once, any other one by loose.
func (s *scanner) fill(text []byte, n *node) (ok bool) {
	switch n.kind {
	case schema.String, schema.Bytes:
		if s.invalid > 0 && n.kind == schema.Bytes {
			s.invalid -= invalidBytes(text)
		}
		n.leaf.Bytes(s.row, 0, text)
		return true
	case schema.Int64, schema.Int32:
		var v int64
		if v, ok = plainWhole(text); ok {
			return s.putWhole(v, n, 0)
		}
	case schema.Float64:
		if v, end, ok := shortFloat(text, 0); ok && end == len(text) && end <= surelyKept {
			n.leaf.Float64(s.row, 0, v)
			return true
		}
	case schema.Decimal:
		if end, _ := number(text, 0); n.fixed && end == len(text) && end > 0 {
			var v [16]byte
			if v, ok = decimal(text, n.precision, n.scale); ok {
				n.leaf.Decimal(s.row, 0, v)
			}
		}
	case schema.Timestamp:
		ok = s.cellInstant(text, n, 0)
	case schema.Bool:
		if ok = string(text) == "true" || string(text) == "false"; ok {
			n.leaf.Bool(s.row, 0, uint8(5-len(text)))
		}
	case schema.Date:
		var days int32
		if n.reads.format != nil {
			break
		}
		if days, ok = date(text); ok {
			n.leaf.Int32(s.row, 0, days)
		}
	}
	return ok || s.loose(text, n, 0)
}

// putWhole puts a whole number into a column of them, if it is in range.
func (s *scanner) putWhole(v int64, n *node, rep uint8) bool {
	if n.kind == schema.Int32 {
		if !inInt32(v) {
			return false
		}
		n.leaf.Int32(s.row, rep, int32(v))
		return true
	}
	if uint64(v+exact) > 2*exact && !n.wide {
		s.widen(n)
	}
	n.leaf.Int64(s.row, rep, v)
	return true
}

func (s *scanner) cellInstant(text []byte, n *node, rep uint8) bool {
	us, cut, naive, ok := n.instant(text)
	if !ok {
		if naive && n.pinned {
			s.noteNaive(n, text)
		}
		return false
	}
	n.leaf.Int64(s.row, rep, us)
	if n.offset != nil {
		s.keepOffset(n, text, us)
	}
	if cut {
		s.path = n.appendPath(s.path[:0])
		s.rescueText(misfit{at: n, reason: precision}, text)
	}
	return true
}

// cellJSON reads a cell whose column takes JSON.
func (s *scanner) cellJSON(text []byte, n *node) bool {
	start := space(text, 0)
	if start == len(text) {
		return true
	}
	if end := s.skip(text, start, n.depth); end < 0 || space(text, end) < len(text) {
		return s.cellMisfit(text, n, classOfCell(text))
	}
	return s.value(text, start, n, 0, n.def-1) >= 0
}

// cellMisfit keeps text that the column does not take. No type is wider than JSON:
// what is none has no place to wait for.
func (s *scanner) cellMisfit(text []byte, n *node, saw schema.Class) bool {
	if !n.fixed && !s.final && n.kind != schema.JSON {
		s.fail(surprise, 0)
		return false
	}
	s.path = n.appendPath(s.path[:0])
	return s.rescueText(misfit{at: n, reason: wrongType, saw: saw}, text)
}

// blank puts text into a column of text that may still become another one: all of
// it so far says nothing.
func (s *scanner) blank(text []byte, n *node) bool {
	if !s.final && classOfCell(text)&^(schema.SawBlank|schema.SawInfinite) != 0 {
		s.fail(surprise, 0)
		return false
	}
	n.leaf.Bytes(s.row, 0, text)
	return true
}

// strange keeps text under a key that has no column.
func (s *scanner) strange(text, key []byte) bool {
	if !s.root.closed && !s.final && len(key) > 0 {
		s.fail(surprise, 0)
		return false
	}
	if bytes.IndexByte(key, 0) >= 0 {
		key = []byte(schema.KeyText(string(key)))
	}
	s.path = appendKey(s.path[:0], key)
	return s.rescueText(misfit{at: s.root, reason: unknownKey}, text)
}

// rescueText appends a member with text as a JSON string. It returns false if the
// contract does not let the record become a row.
func (s *scanner) rescueText(m misfit, text []byte) bool {
	if s.settled(&m, text) {
		return s.fault.code == fine
	}
	s.member()
	m.from = len(s.rescued)
	s.rescued = appendQuoted(s.rescued, text)
	m.to = len(s.rescued)
	s.misfits = append(s.misfits, m)
	return true
}

// plainWhole returns the whole number that text is in its one plain spelling.
func plainWhole(text []byte) (v int64, ok bool) {
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || digits[0] == '0' && len(text) > 1 {
		return 0, false
	}
	if len(digits) > 18 {
		if end, isWhole := number(text, 0); end < len(text) || !isWhole {
			return 0, false
		}
		return whole(text)
	}
	u, ok := digitsOf(digits)
	if !ok {
		return 0, false
	}
	v = int64(u)
	if len(digits) < len(text) {
		v = -v
	}
	return v, true
}
