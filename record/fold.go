package record

import (
	"math"
	"slices"

	"batcher/record/typed"
	"batcher/schema"
)

// A key that is no field's is that of the field whose key differs from it in case
// alone, unless another key of the object is: then the field's own key has it, or
// else the least of the others, and the rest are unknown keys. A record in which keys
// meet is read again with care: each object is looked through for its keys first.

// maxFolded bounds the keys that a node remembers besides those of its fields.
const maxFolded = 4096

// unfolded is the field of a key that is no field's, in whatever case.
const unfolded = -1

// folding is what a node knows of keys that are no field's.
type folding struct {
	first  map[string]int32 // of fields: by what their keys have in common
	known  map[string]spelling
	own    []expected       // what is expected of fields, once other spellings were; nil before
	owners map[int32]string // with care: by field the key that has it
	barred keySet           // with care: keys whose field another key has
}

// spelling is a key that is no field's: that of a field in another case, or unfolded.
type spelling struct {
	field  int32
	expect expected
}

// use is a key that was read as that of another field.
type use struct {
	at  *node
	key string
}

// spelled returns the field that has a key, in whatever case.
func (s *scanner) spelled(n *node, key []byte) (field int32, ok bool) {
	if field, ok = n.byKey[string(key)]; !ok {
		return s.folded(n, key)
	}
	if n.folds.own != nil {
		n.keys[field] = n.folds.own[field]
	}
	return field, true
}

// folded returns the field that has a key which is no field's. Without care that
// spelling is the one that is expected from then on.
func (s *scanner) folded(n *node, key []byte) (field int32, ok bool) {
	as, known := n.folds.known[string(key)]
	if !known {
		if as.field = n.fold(string(key)); as.field != unfolded {
			as.expect = expect(string(key))
		}
		if len(n.folds.known) < maxFolded {
			n.folds.known[string(key)] = as
		}
		if as.field != unfolded && n.shape != nil {
			s.uses = append(s.uses, use{n, string(key)})
		}
	}
	if as.field == unfolded {
		return 0, false
	}
	if s.careful {
		_, barred := n.folds.barred[string(key)]
		return as.field, !barred
	}
	if n.folds.own == nil {
		n.folds.own = slices.Clone(n.keys)
	}
	n.keys[as.field] = as.expect
	return as.field, true
}

// fold finds the field of a key that is no field's, or unfolded.
func (n *node) fold(key string) int32 {
	if n.folds.first == nil {
		n.folds.first, n.folds.known = make(map[string]int32, len(n.byKey)), map[string]spelling{}
		for other, f := range n.byKey {
			fold := schema.Fold(other)
			if first, has := n.folds.first[fold]; n.fields[f].hasColumn() && (!has || f < first) {
				n.folds.first[fold] = f
			}
		}
	}
	field, has := n.folds.first[schema.Fold(key)]
	if !has {
		return unfolded
	}
	return field
}

// unused forgets the keys that the record at hand, which became no row, read as those
// of other fields.
func (s *scanner) unused() {
	for _, u := range s.uses {
		delete(u.at.folds.known, u.key)
		u.at.unturn()
	}
	s.uses = s.uses[:0]
}

// used learns them.
func (s *scanner) used() {
	for _, u := range s.uses {
		u.at.shape.Folded(u.key, maxFolded)
	}
	s.uses = s.uses[:0]
}

// twice notes that a field was met a second time in an object.
func (s *scanner) twice(n *node, i int) int {
	if !s.careful && len(n.folds.known) > 0 {
		return s.fail(collision, i)
	}
	return s.fail(duplicateKey, i)
}

// unturn has the fields' own keys expected again.
func (n *node) unturn() {
	if n.folds.own != nil {
		n.keys, n.folds.own = n.folds.own, nil
	}
}

// part begins to look for keys that meet in an object.
func (n *node) part() {
	n.unturn()
	n.folds.owners, n.folds.barred = map[int32]string{}, keySet{}
}

// meet gives the field of a key to it or to the key that had it.
func (n *node) meet(key string) {
	field, exact := n.byKey[key]
	if !exact {
		if field = n.fold(key); field == unfolded {
			return
		}
	}
	owner, owned := n.folds.owners[field]
	_, kept := n.byKey[owner]
	switch {
	case !owned:
		n.folds.owners[field] = key
	case owner == key:
	case exact || !kept && key < owner:
		n.folds.owners[field] = key
		n.folds.barred[owner] = struct{}{}
	default:
		n.folds.barred[key] = struct{}{}
	}
}

// look looks through the JSON object d[i:] for keys that meet. What is wrong with it
// is seen when it is read.
func (s *scanner) look(d []byte, i int, n *node) {
	n.part()
	for i = space(d, i+1); i < len(d) && d[i] == '"'; i = space(d, i+1) {
		end, escaped := stringEnd(d, i+1)
		if end < 0 {
			return
		}
		key := d[i+1 : end]
		if escaped {
			if key = s.unescaped(d, i+1, end); key == nil {
				return
			}
		}
		n.meet(string(key))
		if i = space(d, end+1); i >= len(d) || d[i] != ':' {
			return
		}
		if i = s.skip(d, space(d, i+1), math.MinInt); i < 0 {
			return
		}
		if i = space(d, i); i >= len(d) || d[i] != ',' {
			return
		}
	}
}

// look looks through a struct or map for keys that meet.
func (p *typedParser) look(in typed.Cursor, n *node) {
	n.part()
	for !in.Done() {
		key, err := in.Key()
		if err != nil {
			return
		}
		n.meet(string(key))
		if _, err := in.Next(); err != nil {
			return
		}
	}
}
