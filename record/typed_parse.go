package record

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"batcher/record/typed"
	"batcher/schema"
)

// typedParser reads records of containers that have types of their own.
//
// A value goes straight into a column of its type. Numbers, bools, dates and
// timestamps go into any other column as their JSON text would, so that a column
// takes the same whatever the format. What is not text does not become it, and
// text stays text in columns whose type is still to be learned.
// Structs and
// maps are objects; bytes go into columns of bytes and JSON alone.
type typedParser struct {
	*scanner
	learner *learner
	notes   *notes
	policy  Policy // for strings that are no UTF-8
	record  []byte // at hand
	text    []byte // JSON of a value
	mended  []byte // a record with U+FFFD
	looked  []byte // the record that was last found valid, as it is to be read
	odd     bool   // some text in it is no UTF-8
}

func (p *typedParser) scan(rec *record) bool {
	ok := p.take(rec.raw)
	if !ok && p.fault.code == invalidUTF8 && p.policy == Replace {
		for _, c := range p.root.leaves {
			c.Drop(p.row)
		}
		p.mended = typed.AppendMended(p.mended[:0], rec.raw)
		if ok = p.take(p.mended); ok {
			p.notes.replaced++
		}
	}
	return ok
}

// take reads a record as the next row.
func (p *typedParser) take(rec []byte) bool {
	p.begin()
	p.record = rec
	c := typed.NewCursor(rec)
	v, err := c.Next()
	if err != nil || v.Tag != typed.Struct {
		return p.fail(notObject, 0) >= 0
	}
	if !p.object(c.Inside(v), p.root, 0) {
		return false
	}
	p.end()
	return true
}

func (p *typedParser) valid(rec *record) bool {
	switch at := typed.InvalidText(rec.raw); {
	case typed.Check(rec.raw, p.maxDepth) != nil: // readers give nothing malformed
		p.tooDeep(0)
	case typed.Tag(rec.raw[0]) != typed.Struct:
		p.fail(notObject, 0)
	case at >= 0 && p.policy != Replace && p.policy != Keep:
		p.fail(invalidUTF8, at)
	default:
		p.looked, p.odd = rec.raw, at >= 0
		if p.odd && p.policy == Replace {
			p.mended = typed.AppendMended(p.mended[:0], rec.raw)
			p.looked, p.odd = p.mended, false
		}
		return true
	}
	return false
}

// show returns the record as JSON. One that was too long is the head of that
// already.
func (p *typedParser) show(rec *record) ([]byte, int64) {
	head, length, err := typed.JSONHead(rec.raw, KeptBytes)
	if err != nil {
		return rec.head()
	}
	return head, int64(length)
}

// object reads the members of a struct or map into the fields of a struct.
func (p *typedParser) object(in typed.Cursor, n *node, rep uint8) bool {
	if n.depth >= p.maxDepth {
		return p.tooDeep(in.Offset()) >= 0
	}
	if p.careful {
		p.look(in, n)
	}
	n.epoch++
	count, prev := 0, len(n.fields)
	for !in.Done() {
		key, err := in.Key()
		if err != nil {
			return p.syntax(in.Offset()) >= 0
		}
		f, ok := n.follow(prev, key)
		if !ok {
			f, ok = p.folded(n, key)
		}
		if !ok {
			if !p.stranger(&in, n, key) {
				return false
			}
			continue
		}
		if n.seen[f] == n.epoch {
			return p.twice(n, in.Offset()) >= 0
		}
		n.seen[f] = n.epoch
		count++
		n.next[prev] = f
		prev = int(f)
		if !p.value(&in, n.fields[f], rep, n.def) {
			return false
		}
	}
	p.absent(n, rep, count)
	return true
}

// follow returns the field with a key, most often the one that followed field prev
// last time.
func (n *node) follow(prev int, key []byte) (field int32, ok bool) {
	if f := n.next[prev]; int(f) < len(n.keys) {
		if k := n.keys[f].text; len(k) == len(key)+3 && bytes.Equal(k[1:len(k)-2], key) {
			return f, true
		}
	}
	field, ok = n.byKey[string(key)]
	return field, ok
}

// stranger reads the value of a key that the object does not know.
func (p *typedParser) stranger(c *typed.Cursor, n *node, key []byte) bool {
	from := c.Offset()
	if _, err := c.Next(); err != nil {
		return p.syntax(from) >= 0
	}
	if !utf8.Valid(key) {
		return p.fail(invalidUTF8, from) >= 0
	}
	return p.render(from, c) && p.unknown(p.text, 0, n, key) >= 0
}

// render makes text the JSON of what c read from an index on.
func (p *typedParser) render(from int, c *typed.Cursor) bool {
	value := p.record[from:c.Offset()]
	if typed.InvalidText(value) >= 0 {
		return p.fail(invalidUTF8, from) >= 0
	}
	var err error
	if p.text, err = typed.AppendJSON(p.text[:0], value); err != nil {
		return p.tooDeep(from) >= 0
	}
	return true
}

// value reads the value of a column or of a part of one. def is the level at
// which the place is null.
func (p *typedParser) value(c *typed.Cursor, n *node, rep, def uint8) bool {
	from := c.Offset()
	v, err := c.Next()
	if err != nil {
		return p.syntax(from) >= 0
	}
	if v.Tag == typed.Null {
		p.null(n, rep, def)
		return true
	}
	isObject := v.Tag == typed.Struct || v.Tag == typed.Map
	switch {
	case v.Tag == typed.String && !utf8.Valid(v.Data) && (n.kind != schema.Bytes || p.policy != Keep):
		return p.fail(invalidUTF8, from) >= 0
	case n.kind == schema.Struct && isObject:
		return p.object(c.Inside(v), n, rep)
	case n.kind == schema.Map && isObject:
		return p.mapping(c.Inside(v), n, rep)
	case n.kind == schema.List && v.Tag == typed.List:
		return p.list(c.Inside(v), n, rep)
	case n.kind == schema.Timestamp && v.Tag == typed.Timestamp && inYears(v.Int):
		return p.instant(v, from, c, n, rep)
	case p.plain(v, n, rep):
		return true
	}
	if !p.render(from, c) {
		return false
	}
	if beyondYears(v.Tag, n.kind) {
		p.null(n, rep, def)
		p.path = n.appendPath(p.path[:0])
		return p.rescue(misfit{at: n, reason: wrongType, saw: schema.SawText}, p.text)
	}
	isText := v.Tag == typed.String && !n.pinned || v.Tag == typed.Bytes || isObject || v.Tag == typed.List
	switch {
	case n.kind == schema.JSON:
		n.leaf.Bytes(p.row, rep, p.text)
		return true
	case isText:
		return p.misfit(p.text, 0, n, rep, def) >= 0
	case v.Tag == typed.Decimal && n.kind == schema.Decimal && !n.written:
		if d, ok := decimal(p.text, n.precision, n.scale); ok { // of another scale
			n.leaf.Decimal(p.row, rep, d)
			return true
		}
	}
	return p.scanner.value(p.text, 0, n, rep, def) >= 0
}

// beyondYears says whether a value that a column did not take is an instant or a day
// outside of its years. It is of the column's own type, which no such value changes.
func beyondYears(tag typed.Tag, k schema.Kind) bool {
	return k == schema.Timestamp && (tag == typed.Timestamp || tag == typed.Far) || k == schema.Date && tag == typed.Date
}

// inYears says whether a timestamp column takes an instant.
func inYears(us int64) bool { return us >= firstInstant && us < afterInstant }

// inYearsDay says whether a date column takes a day.
func inYearsDay(day int64) bool {
	const usPerDay = 86400 * 1e6
	return day >= firstInstant/usPerDay && day < afterInstant/usPerDay
}

// plain puts a value into a column of its own type.
func (p *typedParser) plain(v typed.Value, n *node, rep uint8) bool {
	switch n.kind {
	case schema.String:
		if v.Tag == typed.String {
			n.leaf.Bytes(p.row, rep, v.Data)
			return true
		}
	case schema.Bytes:
		if v.Tag == typed.Bytes || v.Tag == typed.String {
			n.leaf.Bytes(p.row, rep, v.Data)
			return true
		}
	case schema.Int64, schema.Int32:
		return v.Tag == typed.Int && p.whole(v.Int, n, rep)
	case schema.Float64:
		if v.Tag == typed.Float {
			n.leaf.Float64(p.row, rep, v.Float())
			return true
		}
	case schema.Decimal:
		if v.Tag == typed.Decimal && int(v.Scale) == n.scale && n.precision == schema.MaxDigits && !n.written {
			n.leaf.Decimal(p.row, rep, v.Unscaled())
			return true
		}
	case schema.Bool:
		if v.Tag == typed.False || v.Tag == typed.True {
			n.leaf.Bool(p.row, rep, uint8(v.Tag-typed.False))
			return true
		}
	case schema.Date:
		if v.Tag == typed.Date && inYearsDay(v.Int) {
			n.leaf.Int32(p.row, rep, int32(v.Int))
			return true
		}
	}
	return false
}

func (p *typedParser) whole(v int64, n *node, rep uint8) bool {
	if n.kind == schema.Int32 {
		if inInt32(v) {
			n.leaf.Int32(p.row, rep, int32(v))
		}
		return inInt32(v)
	}
	if uint64(v+exact) > 2*exact && !n.wide {
		p.widen(n)
	}
	n.leaf.Int64(p.row, rep, v)
	return true
}

// instant puts a timestamp into its column, and the whole of it into _rescued if
// it is finer than that.
func (p *typedParser) instant(v typed.Value, from int, c *typed.Cursor, n *node, rep uint8) bool {
	n.leaf.Int64(p.row, rep, v.Int)
	if v.Nanos == 0 {
		return true
	}
	p.path = n.appendPath(p.path[:0])
	if !p.render(from, c) {
		return false
	}
	p.rescue(misfit{at: n, reason: precision}, p.text)
	return true
}

func (p *typedParser) list(in typed.Cursor, n *node, rep uint8) bool {
	if n.depth >= p.maxDepth {
		return p.tooDeep(in.Offset()) >= 0
	}
	if in.Done() {
		nulls(n.leaves, p.row, rep, n.def)
	}
	for n.index = 0; !in.Done(); n.index++ {
		if !p.value(&in, n.elem, rep, n.def+1) {
			return false
		}
		rep = n.rep
	}
	return true
}

// observe joins the types of the record that was found valid.
func (p *typedParser) observe(*record, when) {
	c := typed.NewCursor(p.looked)
	if v, err := c.Next(); err == nil {
		p.learner.records++
		p.learn(c, v, &p.learner.root)
	}
}

// learn joins a value, which c read, to what was seen at a place. What is nested
// is declared by its container, so that it needs no proof of being regular, and
// may come late.
func (p *typedParser) learn(c typed.Cursor, v typed.Value, s *schema.Shape) {
	if !v.Tag.IsNested() {
		learnPlain(v, s)
		return
	}
	if s.Saw().Kind() == schema.JSON {
		return
	}
	in := c.Inside(v)
	switch v.Tag {
	case typed.Struct:
		s.SeeStruct(p.learner.records)
		p.learnFields(in, s)
		return
	case typed.Map:
		s.See(schema.SawMap)
	default:
		s.See(schema.SawList)
	}
	for !in.Done() {
		if v.Tag == typed.Map {
			if _, err := in.Key(); err != nil {
				return
			}
		}
		part, err := in.Next()
		if err != nil {
			return
		}
		p.learn(in, part, s.Element())
	}
}

func (p *typedParser) learnFields(in typed.Cursor, s *schema.Shape) {
	l := p.learner
	limit := maxKeys
	if s == &l.root {
		limit = rootKeys(l.rules)
	}
	for !in.Done() {
		key, err := in.Key()
		if err != nil {
			return
		}
		v, err := in.Next()
		if err != nil {
			return
		}
		if child := s.SeeKey(key, limit); child != nil {
			p.learn(in, v, child)
		} else if s != &l.root && !s.Settled() {
			s.SettleJSON()
		}
	}
}

// learnPlain joins the class of a value that is not nested.
func learnPlain(v typed.Value, s *schema.Shape) {
	switch v.Tag {
	case typed.False, typed.True:
		s.See(schema.SawBool)
	case typed.Int:
		if v.Int < -exact || v.Int > exact {
			s.See(schema.SawWideInt)
		} else {
			s.See(schema.SawInt)
		}
		s.Measure(len(strconv.FormatUint(uint64(abs(v.Int)), 10)), 0)
	case typed.Float:
		s.See(schema.SawFloat | schema.SawDouble)
	case typed.Decimal:
		s.SeeDecimal(v.Whole(), int(v.Scale))
	case typed.Number:
		s.See(schema.SawHuge)
	case typed.String:
		s.See(schema.SawText)
	case typed.Bytes:
		s.See(schema.SawBytes)
	case typed.Date:
		s.See(schema.SawDate)
	case typed.Timestamp, typed.Far:
		s.See(schema.SawTimestamp)
	}
}
