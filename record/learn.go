package record

import (
	"math"
	"slices"

	"batcher/schema"
)

// maxPrimed bounds the records that wait for their types.
const maxPrimed = 1 << 20

// prime holds the records at the head of the batch.
type prime struct {
	data    []byte
	records []primed
}

// primed is a record in prime.data[from:to].
type primed struct {
	record
	from, to int
}

// primeRoom is from where on there is soon as much as may wait at all.
const primeRoom = 256 << 10

// add keeps a copy of a record; there will be about limit bytes.
func (p *prime) add(rec *record, limit int) {
	from := len(p.data)
	if from+len(rec.raw) > cap(p.data) && from > primeRoom {
		p.data = slices.Grow(p.data, max(limit-from, 0)+len(rec.raw))
	}
	p.data = append(p.data, rec.raw...)
	kept := *rec
	kept.raw = nil
	p.records = append(p.records, primed{kept, from, len(p.data)})
}

func (p *prime) record(i int) *record {
	r := &p.records[i]
	r.raw = p.data[r.from:r.to]
	return &r.record
}

// when says how far a record may still decide about nested values.
type when uint8

const (
	early when = iota // before the types are decided
	late              // after: what is nested and new is kept as JSON text
)

// learner joins the types of records to what was seen.
type learner struct {
	root    schema.Shape
	scanner *scanner
	rules   schema.Rules
	records int64
	when    when
	keys    keyHashes // of the record that is looked at
	twice   bool      // it has a key twice
	invalid int       // invalid bytes of it that no column of bytes was found to take
}

// observe joins the record d, which is a valid JSON object.
func (l *learner) observe(d []byte, w when) {
	l.records++
	l.when = w
	l.object(d, space(d, 0), &l.root, rootKeys(l.rules))
}

func (l *learner) object(d []byte, i int, s *schema.Shape, limit int) int {
	s.SeeObject(l.records)
	if i = space(d, i+1); d[i] == '}' {
		return i + 1
	}
	for {
		end, escaped := stringEnd(d, i+1)
		key := d[i+1 : end]
		if escaped {
			key = l.scanner.unescaped(d, i+1, end)
		}
		i = space(d, space(d, end+1)+1)
		if child := s.SeeKey(key, limit); child != nil {
			i = l.value(d, i, child)
		} else {
			i = l.scanner.skip(d, i, math.MinInt)
			if s != &l.root && !s.Settled() {
				s.SettleJSON()
			}
		}
		if i = space(d, i); d[i] == '}' {
			return i + 1
		}
		i = space(d, i+1)
	}
}

func (l *learner) value(d []byte, i int, s *schema.Shape) int {
	switch d[i] {
	case '"':
		end, escaped := stringEnd(d, i+1)
		if escaped {
			s.See(schema.SawText)
		} else {
			s.See(classOfString(d[i+1 : end]))
		}
		return end + 1
	case 't', 'f':
		s.See(schema.SawBool)
		return l.scanner.skip(d, i, 0)
	case 'n':
		return i + 4
	case '{', '[':
		return l.nested(d, i, s)
	}
	end, _ := number(d, i)
	s.See(classOfNumber(d[i:end]))
	return end
}

func (l *learner) nested(d []byte, i int, s *schema.Shape) int {
	if l.when == late && s.Saw() == 0 {
		s.SettleJSON()
	}
	if s.Saw().Kind() == schema.JSON {
		return l.scanner.skip(d, i, math.MinInt)
	}
	if d[i] == '{' {
		return l.object(d, i, s, maxKeys)
	}
	s.See(schema.SawList)
	if i = space(d, i+1); d[i] == ']' {
		return i + 1
	}
	for {
		i = space(d, l.value(d, i, s.Element()))
		if d[i] == ']' {
			return i + 1
		}
		i = space(d, i+1)
	}
}
