package record

import (
	"bytes"
	"math"

	"batcher/schema"
)

// loose puts what text stands for into a column of plain values that are no text,
// if the column holds the value exactly, however it is spelled. Blanks around it
// do not count, and text that says nothing is null.
//
// A column whose type is still to be learned takes only what cannot change that
// type. One that is published or declared takes any spelling, but of identifiers:
// 007 and +1 are numbers only where a column was declared to be one.
func (s *scanner) loose(text []byte, n *node, rep uint8) bool {
	text = trimmed(text)
	switch n.kind {
	case schema.Int64, schema.Int32, schema.Float64, schema.Decimal:
		if s.looseNumber(text, n, rep) {
			return true
		}
	case schema.Bool:
		if v, ok := n.reads.word(text); ok {
			n.leaf.Bool(s.row, rep, v)
			return true
		}
		if v, ok := truth(text, n.pinned); ok {
			n.leaf.Bool(s.row, rep, v)
			return true
		}
	case schema.Date:
		if n.reads.format != nil {
			if days, ok := n.dayOf(text); ok {
				n.leaf.Int32(s.row, rep, days)
				return true
			}
			break
		}
		days, ok := date(text)
		if !ok && n.pinned {
			days, ok = looseDate(text)
		}
		if ok {
			n.leaf.Int32(s.row, rep, days)
			return true
		}
	case schema.Timestamp:
		if s.cellInstant(text, n, rep) {
			return true
		}
	default:
		return false
	}
	return rep == 0 && n.def == 1 && blank(text) // at the top nothing is null
}

// looseNumber is loose for numbers.
func (s *scanner) looseNumber(text []byte, n *node, rep uint8) bool {
	f, ok := figureOf(text)
	if !ok {
		return n.kind == schema.Float64 && s.noNumber(text, n, rep)
	}
	if f.identifier && !n.pinned {
		return false
	}
	if !n.fixed && n.kind != schema.Float64 && n.changes(classOfFigure(&f, text)) {
		return false
	}
	switch n.kind {
	case schema.Float64:
		return s.looseFloat(&f, text, n, rep)
	case schema.Decimal:
		plain, ok := f.plain(n.precision-n.scale, n.scale)
		if !ok {
			return false
		}
		v, ok := decimal(plain, n.precision, n.scale)
		if ok {
			n.leaf.Decimal(s.row, rep, v)
		}
		return ok
	}
	plain, ok := f.plain(19, 0)
	if !ok {
		return false
	}
	v, ok := whole(plain)
	return ok && s.putWhole(v, n, rep)
}

// changes says whether a number of a class makes another type of a column of whole
// numbers or decimals that is still to be learned.
func (n *node) changes(c schema.Class) bool {
	same := schema.SawInt | schema.SawWideInt
	switch {
	case n.fixed:
		return false
	case n.written:
		same = schema.SawInt | schema.SawFloat | schema.SawFraction
	case n.kind == schema.Decimal:
		same |= schema.SawDecimal
	}
	return c&^same != 0
}

// looseFloat puts a number into a column of doubles. One that a double rounds is
// rescued besides, unless the column can still become one of decimals.
func (s *scanner) looseFloat(f *figure, text []byte, n *node, rep uint8) bool {
	if f.identifier {
		text = bytes.TrimPrefix(text, []byte{'+'})
	}
	v, kept, ok := double(text)
	if !ok || f.whole() && math.Abs(v) >= exact && !(math.Abs(v) == exact && isExact(text)) {
		return false
	}
	if !kept && !n.fixed && !s.final {
		return false
	}
	n.leaf.Float64(s.row, rep, v)
	if !kept {
		s.path = n.appendPath(s.path[:0])
		s.rescueText(misfit{at: n, reason: precision}, text)
	}
	return true
}

// noNumber puts what programs print for no number and for the infinities into a
// column of doubles, which has values for them.
func (s *scanner) noNumber(text []byte, n *node, rep uint8) bool {
	if isNaN(text) {
		n.leaf.Float64(s.row, rep, math.NaN())
		return true
	}
	negative, ok := infinite(text)
	if ok {
		sign := 1
		if negative {
			sign = -1
		}
		n.leaf.Float64(s.row, rep, math.Inf(sign))
	}
	return ok
}

// looseDate reads what a declared column takes for a date besides one: an instant that
// is a midnight of UTC or of no zone, and one digit for a month or a day below ten.
func looseDate(text []byte) (days int32, ok bool) {
	if len(text) > 10 {
		if !midnight(text[10:]) {
			return 0, false
		}
		return date(text[:10])
	}
	parts := bytes.Split(text, []byte{'-'})
	if len(parts) != 3 || len(parts[0]) != 4 {
		return 0, false
	}
	padded := make([]byte, 0, 10)
	padded = append(padded, parts[0]...)
	for _, part := range parts[1:] {
		if padded = append(padded, '-'); len(part) == 1 {
			padded = append(padded, '0')
		}
		padded = append(padded, part...)
	}
	return date(padded)
}

// midnight says whether text after a date is the beginning of that day, in UTC or
// without a zone, as programs write it that know no dates without a time.
func midnight(text []byte) bool {
	if text[0] != 'T' && text[0] != ' ' || !bytes.HasPrefix(text[1:], []byte("00:00")) {
		return false
	}
	text = text[6:]
	if rest, ok := bytes.CutPrefix(text, []byte(":00")); ok {
		if text = rest; len(text) > 1 && text[0] == '.' && text[1] == '0' {
			text = bytes.TrimLeft(text[1:], "0")
		}
	}
	offset, ok := zone(text)
	return len(text) == 0 || ok && offset == 0
}

// loosely reads JSON text for a column whose type is decided: a string stands for
// what it spells, and a number or a bool for the same value in another form. It
// returns false where the column does not hold the value.
func (s *scanner) loosely(text []byte, n *node, rep, def uint8) bool {
	if text[0] != '"' {
		return text[0] != '{' && text[0] != '[' && s.loose(text, n, rep)
	}
	content := text[1 : len(text)-1]
	if bytes.IndexByte(content, '\\') >= 0 {
		if content = s.unescaped(text, 1, len(text)-1); content == nil {
			s.fault = fault{}
			return false
		}
	}
	switch {
	case n.kind.IsNested() || n.kind == schema.JSON || n.kind == schema.Bytes || n.kind == schema.String || n.kind == schema.None:
		return false
	case len(trimmed(content)) == 0:
		s.null(n, rep, def)
		return true
	}
	return !blank(trimmed(content)) && s.loose(content, n, rep) || n.kind == schema.Float64 && isNaN(content) && s.noNumber(content, n, rep)
}
