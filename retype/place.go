package retype

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"batcher/column"
	"batcher/record"
	"batcher/schema"
)

// place is the field that changes, in the old schema, with all that lies above it.
type place struct {
	field  *schema.Field
	first  int // its first leaf
	leaves int
	def    uint8 // level at which it is present
	rep    uint8 // lists and maps around it
	steps  []step
}

// step is how the text of a place in _rescued goes on.
type step struct {
	name  string // of a column or a field
	rep   uint8  // if not 0: the element of a list or a map, which repeats at this level
	keys  int    // leaf of the map's keys; -1 for a list
	keyed bool
}

// find walks down to a column.
func find(s *schema.Schema, at schema.Column) (place, error) {
	p := place{}
	fields, rest := s.Fields, string(at)
	for {
		name, below, deeper := strings.Cut(rest, ".")
		bare := strings.TrimRight(name, "[]")
		i := 0
		for ; i < len(fields) && fields[i].Name != bare; i++ {
			p.first += fields[i].Type.Width()
		}
		if i == len(fields) {
			return place{}, fmt.Errorf("no column %q", at)
		}
		p.field = &fields[i]
		p.def++
		p.steps = append(p.steps, step{name: bare, keys: -1})
		for range strings.Count(name, "[]") {
			p.enter()
		}
		if !deeper {
			p.leaves = p.field.Type.Width()
			return p, nil
		}
		fields, rest = p.field.Type.Fields, below
	}
}

// enter goes into the elements of a list or the values of a map.
func (p *place) enter() {
	p.rep++
	s := step{rep: p.rep, keys: -1}
	if p.field.Type.Kind == schema.Map {
		s.keys, s.keyed = p.first, true
		p.first++
	}
	p.def += 2
	p.field = &p.field.Type.Fields[len(p.field.Type.Fields)-1]
	p.steps = append(p.steps, s)
}

// trail follows where in a block the walk over a place's instances stands: indexes
// of lists, keys of maps.
type trail struct {
	place *place
	index []int        // by repetition level, from 1
	keys  []*keyReader // by step; nil where the step has none
	buf   []byte
}

func newTrail(p *place, b *column.Block) *trail {
	t := &trail{place: p, index: make([]int, p.rep+1), keys: make([]*keyReader, len(p.steps))}
	for i, s := range p.steps {
		if s.keyed {
			t.keys[i] = &keyReader{v: b.Columns[s.keys], entry: -1}
		}
	}
	return t
}

// next goes on to the instance whose first entry repeats at level rep.
func (t *trail) next(rep uint8) {
	if rep > 0 {
		t.index[rep]++
	}
	for i := int(rep) + 1; i < len(t.index); i++ {
		t.index[i] = 0
	}
	for i, k := range t.keys {
		if k != nil && rep <= t.place.steps[i].rep {
			k.next()
		}
	}
}

// path is the instance's place as _rescued spells it.
func (t *trail) path() string {
	t.buf = t.buf[:0]
	for i, s := range t.place.steps {
		switch {
		case s.keyed:
			t.buf = record.AppendKey(t.buf, t.keys[i].value)
		case s.rep > 0:
			t.buf = append(t.buf, '[')
			t.buf = strconv.AppendInt(t.buf, int64(t.index[s.rep]), 10)
			t.buf = append(t.buf, ']')
		default:
			if len(t.buf) > 0 {
				t.buf = append(t.buf, '.')
			}
			t.buf = append(t.buf, s.name...)
		}
	}
	return string(t.buf)
}

// keyReader gives the keys of maps, entry by entry.
type keyReader struct {
	v     *column.Vector
	entry int
	off   int
	value []byte
}

func (k *keyReader) next() {
	k.entry++
	k.value = nil
	if k.v.Def[k.entry] == k.v.MaxDef {
		n := int(binary.LittleEndian.Uint32(k.v.Plain[k.off:]))
		k.value = k.v.Plain[k.off+4 : k.off+4+n]
		k.off += 4 + n
	}
}
