package record

import (
	"bytes"
	"math"
	"slices"

	"batcher/schema"
)

// maxPrimed bounds the records that wait for their types, so that what is kept of
// each besides its text comes to 4 MiB.
const maxPrimed = 128 << 10

// prime holds the records at the head of the batch.
type prime struct {
	data    []byte
	records []primed
	origins []origin
	at      record // the record that was asked for last
}

// primed is a record whose text ends at an index of prime.data, where the next
// one's begins.
type primed struct {
	pos, length   int64
	end           int
	from          int32 // its origin
	valid, turned bool
	bad           code
}

// origin is what the records of one object have in common.
type origin struct {
	source []byte
	by     parser
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
	if n := len(p.origins); n == 0 || p.origins[n-1].by != rec.by || !bytes.Equal(p.origins[n-1].source, rec.source) {
		p.origins = append(p.origins, origin{rec.source, rec.by})
	}
	p.records = append(p.records, primed{rec.pos, rec.length, len(p.data), int32(len(p.origins) - 1), rec.valid, rec.turned, rec.bad})
}

// full says whether enough records wait.
func (p *prime) full(limit int) bool { return len(p.data) >= limit || len(p.records) >= maxPrimed }

// record returns a record that waits. It is valid until the next call.
func (p *prime) record(i int) *record {
	r, from := &p.records[i], 0
	if i > 0 {
		from = p.records[i-1].end
	}
	o := &p.origins[r.from]
	p.at = record{source: o.source, pos: r.pos, raw: p.data[from:r.end], length: r.length, valid: r.valid, turned: r.turned, bad: r.bad, by: o.by}
	return &p.at
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
			s.See(l.zoned(classOfString(d[i+1:end]), d[i+1:end]))
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
	measure(s, d[i:end])
	return end
}

// zoned makes a timestamp of a time without a zone, where one is declared for all.
func (l *learner) zoned(c schema.Class, text []byte) schema.Class {
	if c == schema.SawText && l.rules.Zone != nil && isNaive(text) {
		return schema.SawTimestamp
	}
	return c
}

func (l *learner) nested(d []byte, i int, s *schema.Shape) int {
	if l.when == late && s.Saw() == 0 && !s.Resemble() {
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
