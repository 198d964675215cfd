package schema

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// relate makes a new field kin of those whose keys differ from its key in case
// alone.
func (s *Shape) relate(key string, f *Shape) {
	if s.folds == nil {
		s.folds = map[string][]*Shape{}
	}
	fold := Fold(key)
	s.folds[fold] = append(s.folds[fold], f)
	kin := s.folds[fold]
	if len(kin) > 1 {
		for _, o := range kin {
			o.kin = kin
		}
	}
}

// Near returns the shape under key if something was seen there, else that of the
// first key that differs from it in case alone and under which something was, or nil.
func (s *Shape) Near(key string) *Shape {
	f := s.Field(key)
	if s == nil || f != nil && f.saw != 0 {
		return f
	}
	for _, o := range s.folds[Fold(key)] {
		if o.saw != 0 {
			return o
		}
	}
	return f
}

// Folded notes that rows hold the values under key in the column of a key that
// differs from it in case alone. Beyond limit keys nothing is noted.
func (s *Shape) Folded(key string, limit int) {
	if s.fields[key] == nil && len(s.fields) >= limit {
		return
	}
	s.field(key).folded = true
}

func (s *Shape) isFolded() bool { return s != nil && s.folded }

// Apart says whether some object has the key beside one that differs from it in case
// alone.
func (s *Shape) Apart() bool { return s.apart }

// Rank notes that each field of t has a column of its own, and in which order they
// came: of keys that differ in case alone the first has the values of those that
// have none.
func (s *Shape) Rank(t *Schema) { s.rankFields(t.Fields) }

func (s *Shape) rankFields(fields []Field) {
	for _, f := range fields {
		if f.Key == "" {
			continue
		}
		c := s.field(f.Key)
		if c.rank == 0 {
			s.ranks++
			c.rank = s.ranks
		}
		c.rankParts(f.Type)
	}
}

func (s *Shape) rankParts(t Type) {
	switch t.Kind {
	case Struct:
		s.rankFields(t.Fields)
	case List, Map:
		s.Element().rankParts(t.Fields[len(t.Fields)-1].Type)
	}
}

// Resemble gives a shape that has seen nothing the form of its kin, if that is nested
// and becomes columns. It says whether it did.
func (s *Shape) Resemble() bool {
	for _, o := range s.kin {
		if o != s && o.saw.Kind().IsNested() {
			*s = *joined(s, o.skeleton())
			return true
		}
	}
	return false
}

// skeleton is a copy of what was seen without how often.
func (s *Shape) skeleton() *Shape {
	if s == nil {
		return nil
	}
	out := &Shape{saw: s.saw, settled: s.settled, named: s.named, whole: s.whole, scale: s.scale, element: s.element.skeleton()}
	for key, f := range s.fields {
		c := out.field(key)
		kin := c.kin
		*c = *f.skeleton()
		c.kin, c.rank, c.apart = kin, f.rank, f.apart
	}
	return out
}

// joined returns what was seen at two places that are one. It may share parts with
// either, and is only to be read.
func joined(a, b *Shape) *Shape {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	out := *a
	out.saw |= b.saw
	out.objects += b.objects
	out.records += b.records
	out.times += b.times
	out.settled = a.settled || b.settled
	out.named = a.named || b.named
	out.apart, out.folded = a.apart || b.apart, a.folded || b.folded
	if a.rank == 0 || b.rank > 0 && b.rank < a.rank {
		out.rank = b.rank
	}
	out.whole, out.scale = max(a.whole, b.whole), max(a.scale, b.scale)
	out.element = joined(a.element, b.element)
	out.fields, out.folds = nil, nil
	for key, f := range a.fields {
		out.put(key, joined(f, b.fields[key]))
	}
	for key, f := range b.fields {
		if a.fields[key] == nil {
			out.put(key, f)
		}
	}
	return &out
}

// put makes a copy of f the shape under key.
func (s *Shape) put(key string, f *Shape) {
	c := s.field(key)
	kin := c.kin
	*c = *f
	c.kin = kin
}

// columns says which keys of a place have columns, and what was seen and declared
// for each.
type columns struct {
	place
	at    map[string]place  // by key
	first map[string]string // by what keys have in common: the key that has the values of those without a column
	fresh []string          // keys that are in no known field and may get a column, sorted
}

// columns returns them. Known fields and pins have columns of their own; so have,
// where the place is open, keys of which an object had two that differ in case
// alone, and the first of each such group. Other keys belong to the first.
func (p place) columns(known []Field, naming Naming) columns {
	c := columns{p, make(map[string]place, len(known)), map[string]string{}, nil}
	bound := p.pins.Bind(known)
	for _, f := range known {
		if f.Key != "" {
			c.own(f.Key, place{p.seen.Field(f.Key), bound.Of(f.Key)})
		}
	}
	for _, key := range bound.rest {
		c.own(key, place{p.seen.Field(key), p.pins.Field(key)})
		c.fresh = append(c.fresh, key)
	}
	keys := p.seen.Keys()
	if p.seen != nil && len(p.seen.folds) < len(p.seen.fields) {
		slices.SortFunc(keys, func(a, b string) int { return p.seen.before(a, b, naming) })
	}
	for _, key := range keys {
		c.join(key)
	}
	slices.Sort(c.fresh)
	return c
}

// own gives a key a column.
func (c *columns) own(key string, at place) {
	c.at[key] = at
	if fold := Fold(key); c.first[fold] == "" {
		c.first[fold] = key
	}
}

// join gives a key that was seen a column, or its values to that of another.
func (c *columns) join(key string) {
	if _, has := c.at[key]; has || key == "" {
		return
	}
	seen := c.seen.Field(key)
	first := c.first[Fold(key)]
	switch {
	case first != "" && !seen.apart && seen.rank == 0:
		c.give(key)
	case c.pins.open:
		c.own(key, place{seen, c.pins.Field(key)})
		c.fresh = append(c.fresh, key)
	}
}

// give gives what was seen under a key to the first that differs from it in case alone.
func (c *columns) give(key string) {
	first := c.first[Fold(key)]
	at := c.at[first]
	at.seen = joined(at.seen, c.seen.Field(key))
	c.at[first] = at
}

// before orders keys so that of those that differ in case alone the first is the one
// that has the column: one that has it already, then one with values, then the one
// whose name shows more words, then the one that is its own name.
func (s *Shape) before(a, b string, naming Naming) int {
	rank := func(key string) int {
		switch f := s.fields[key]; {
		case f.rank > 0:
			return f.rank
		case f.saw != 0:
			return math.MaxInt - 1
		}
		return math.MaxInt
	}
	words := func(key string) int {
		name := naming.Plain(key)
		n := 2 * strings.Count(name, "_")
		if name == key {
			n++
		}
		return -n
	}
	return cmp.Or(strings.Compare(Fold(a), Fold(b)), cmp.Compare(rank(a), rank(b)), cmp.Compare(words(a), words(b)), strings.Compare(a, b))
}

// name gives fields that have columns of their own their names, and puts the first
// of those whose keys differ in case alone in front of the others: a reader of
// records looks there.
func (c *columns) name(fields []Field, taken Names, naming Naming) {
	named(fields, taken, naming, c.pins.fields)
	for i := range fields {
		first := c.first[Fold(fields[i].Key)]
		if first == fields[i].Key {
			continue
		}
		if at := slices.IndexFunc(fields, func(f Field) bool { return f.Key == first }); at > i {
			fields[i], fields[at] = fields[at], fields[i]
		}
	}
}
