package record

import (
	"math"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"batcher/record/typed"
	"batcher/schema"
)

// What makes a dead letter of a record is seen without a schema, but for two
// things: a key that stands twice, which JSON text may have and columns may not,
// and invalid text, which columns of bytes alone take. The functions of this file
// look for them ahead, by what is known of the columns.

// keyHashes finds keys that stand twice in one object.
type keyHashes struct {
	seen    map[uint64]struct{}
	objects uint64
}

// reset begins a record. A set that was large is given up, as by emptied.
func (k *keyHashes) reset() {
	if k.objects = 0; k.seen == nil || len(k.seen) > 1024 {
		k.seen = map[uint64]struct{}{}
	}
	clear(k.seen)
}

// object begins an object and returns its number.
func (k *keyHashes) object() uint64 {
	k.objects++
	return k.objects
}

// add says whether a key is new in an object. It may be wrong about one that is
// new, which costs nothing but that its record is learned from later.
func (k *keyHashes) add(object uint64, key []byte) bool {
	before := len(k.seen)
	k.seen[xxh3.HashSeed(key, object)] = struct{}{}
	return len(k.seen) > before
}

// takesBytes says whether text that is no UTF-8 has a place where s was seen.
func takesBytes(s *schema.Shape) bool { return s != nil && s.Saw().Kind() == schema.Bytes }

// judged is what was seen under a key, as far as it decides whether a value there may
// become columns. Keys that differ in case alone are learned one by one, but late and
// where bytes are taken a new one goes the way of another.
func judged(s *schema.Shape, key []byte, w when) *schema.Shape {
	f := s.Field(string(key))
	if f != nil && f.Saw() != 0 {
		return f
	}
	if near := s.Near(string(key)); w == late || takesBytes(near) {
		return near
	}
	return f
}

// becomeColumns says whether an object or a list may become columns where s was
// seen, instead of JSON text. class says which of both it is.
func becomeColumns(s *schema.Shape, class schema.Class, w when) bool {
	if s == nil || s.Saw() == 0 {
		return w == early
	}
	all := s.Saw() | class
	return all == schema.SawList || all&^(schema.SawObject|schema.SawMap) == 0
}

// teaches says whether a record, which is a JSON object, has no key twice where
// that may become columns, and no invalid text but what columns of bytes take.
func (l *learner) teaches(rec *record, w when) bool {
	l.when = w
	l.keys.reset()
	if l.twice, l.invalid = false, 0; !rec.valid {
		l.invalid = invalidBytes(rec.raw)
	}
	l.members(rec.raw, space(rec.raw, 0), &l.root)
	return !l.twice && l.invalid == 0
}

// members looks at an object that may become columns.
func (l *learner) members(d []byte, i int, s *schema.Shape) int {
	object := l.keys.object()
	if i = space(d, i+1); d[i] == '}' {
		return i + 1
	}
	for {
		end, escaped := stringEnd(d, i+1)
		key := d[i+1 : end]
		if escaped {
			key = l.scanner.unescaped(d, i+1, end)
		}
		if !l.keys.add(object, key) {
			l.twice = true
		}
		i = space(d, space(d, end+1)+1)
		if d[i] == '{' || d[i] == '[' || l.invalid > 0 {
			i = l.look(d, i, judged(s, key, l.when))
		} else {
			i = l.scanner.skip(d, i, math.MinInt)
		}
		if i = space(d, i); d[i] == '}' {
			return i + 1
		}
		i = space(d, i+1)
	}
}

// look looks at a value where s was seen, or nothing.
func (l *learner) look(d []byte, i int, s *schema.Shape) int {
	switch {
	case d[i] == '{' && becomeColumns(s, schema.SawObject, l.when):
		return l.members(d, i, s)
	case d[i] == '[' && becomeColumns(s, schema.SawList, l.when):
		return l.parts(d, i, s.Elements())
	}
	end := l.scanner.skip(d, i, math.MinInt)
	if l.invalid > 0 && d[i] == '"' && takesBytes(s) {
		l.invalid -= invalidBytes(d[i:end])
	}
	return end
}

// parts looks at the elements of a list.
func (l *learner) parts(d []byte, i int, s *schema.Shape) int {
	if i = space(d, i+1); d[i] == ']' {
		return i + 1
	}
	for {
		if i = space(d, l.look(d, i, s)); d[i] == ']' {
			return i + 1
		}
		i = space(d, i+1)
	}
}

func (p jsonParser) teaches(rec *record, w when) bool {
	return p.learner.teaches(rec, w)
}

func (p lineParser) teaches(rec *record, _ when) bool {
	return rec.valid || takesBytes(p.learner.root.Near(LineKey))
}

// teaches says of a row with invalid text whether columns of bytes take all of it.
func (p *csvParser) teaches(rec *record, _ when) bool {
	if rec.valid {
		return true
	}
	invalid := invalidBytes(rec.raw)
	for i := range p.hand.cells {
		if takesBytes(p.learner.root.Near(string(p.keys[i]))) {
			invalid -= invalidBytes(p.text(&p.hand.cells[i]))
		}
	}
	return invalid == 0
}

// nestedClasses are the classes of values with values inside of them.
var nestedClasses = [...]schema.Class{typed.List: schema.SawList, typed.Struct: schema.SawObject, typed.Map: schema.SawMap}

func (p *typedParser) teaches(*record, when) bool {
	p.learner.keys.reset()
	c := typed.NewCursor(p.looked)
	v, err := c.Next()
	return err == nil && p.sole(c, v, &p.learner.root)
}

// sole says whether no struct or map in a value, which c read, that may become
// columns has a key twice, and whether there is a place for all text that is no
// UTF-8. s is what was seen there, or nil.
func (p *typedParser) sole(c typed.Cursor, v typed.Value, s *schema.Shape) bool {
	if !v.Tag.IsNested() {
		return !p.odd || v.Tag != typed.String || utf8.Valid(v.Data) || takesBytes(s)
	}
	columns := becomeColumns(s, nestedClasses[v.Tag], early)
	if !columns && !p.odd {
		return true
	}
	object := p.learner.keys.object()
	for in := c.Inside(v); !in.Done(); {
		child := s.Elements()
		if v.Tag != typed.List {
			key, err := in.Key()
			twice := columns && v.Tag == typed.Struct && !p.learner.keys.add(object, key) // one of a map is rescued
			if err != nil || p.odd && !utf8.Valid(key) || twice {
				return false
			}
			if v.Tag == typed.Struct {
				child = judged(s, key, early)
			}
		}
		part, err := in.Next()
		if err != nil || !p.sole(in, part, child) {
			return false
		}
	}
	return true
}
