package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Restore returns now with the types that its fields had in then: what becomes of
// a schema when the rows of then come back. Fields that were added since stay, and
// LastID does, so that no id is given again. Neither argument is changed.
func Restore(then, now *Schema) *Schema {
	out := now.Clone()
	restoreFields(then.Fields, out.Fields)
	return out
}

// restoreFields gives fields the types of those with the same ids.
func restoreFields(then, now []Field) {
	was := make(map[int32]*Field, len(then))
	for i := range then {
		was[then[i].ID] = &then[i]
	}
	for i := range now {
		if old := was[now[i].ID]; old != nil {
			now[i].Type = restoreType(old.Type, now[i].Type)
		}
	}
}

// restoreType returns now if it only grew out of then, with its parts restored,
// and then if it is another type.
func restoreType(then, now Type) Type {
	same := then.Kind == now.Kind && then.Precision == now.Precision && then.Scale == now.Scale
	if !same || !keepsParts(then.Fields, now.Fields) {
		return Type{Kind: then.Kind, Precision: then.Precision, Scale: then.Scale, Fields: cloneFields(then.Fields)}
	}
	restoreFields(then.Fields, now.Fields)
	return now
}

// keepsParts says whether every part of a type is still there.
func keepsParts(then, now []Field) bool {
	ids := make(map[int32]bool, len(now))
	for i := range now {
		ids[now[i].ID] = true
	}
	for i := range then {
		if !ids[then[i].ID] {
			return false
		}
	}
	return true
}

// CheckRewrite says whether next may follow before by a rewrite: every column is
// still there with its id, name and key, in whatever type; ids that were not there
// before are above before's LastID, which never falls.
func CheckRewrite(before, next *Schema) error {
	if next.LastID < before.LastID {
		return fmt.Errorf("last field id falls from %d to %d", before.LastID, next.LastID)
	}
	was, is := map[int32]Field{}, map[int32]Field{}
	everyField(before.Fields, func(f Field) { was[f.ID] = f })
	everyField(next.Fields, func(f Field) { is[f.ID] = f })
	for i := range before.Fields {
		if _, ok := is[before.Fields[i].ID]; !ok {
			return fmt.Errorf("column %s (id %d) is gone", before.Fields[i].Name, before.Fields[i].ID)
		}
	}
	for id, now := range is {
		old, known := was[id]
		switch {
		case !known && id <= before.LastID:
			return fmt.Errorf("field %s has id %d, which was given before (last %d)", now.Name, id, before.LastID)
		case known && (old.Name != now.Name || old.Key != now.Key):
			return fmt.Errorf("field %s (id %d) is now %s", old.Name, id, now.Name)
		}
	}
	return nil
}

func everyField(fields []Field, each func(Field)) {
	for i := range fields {
		each(fields[i])
		everyField(fields[i].Type.Fields, each)
	}
}

// ErrNotWider says that a column cannot get a type, whatever its values are.
var ErrNotWider = errors.New("not a widening")

// Column is a place of a table as commands and reports spell it: the names of
// columns and of fields of structs joined by ".", "[]" behind a list or a map
// whose elements are meant.
type Column string

// Retype returns s with another type for the field at a column, or for part of
// one. The field keeps its id, its name and its key: it is the same column, all
// values of which are written again. Parts of the new type get ids from LastID+1
// on, depth first, and names by naming; ids of parts that go are never given again.
func Retype(s *Schema, at Column, to Type, naming Naming) (*Schema, error) {
	next := s.Clone()
	f, err := next.At(at)
	if err != nil {
		return nil, err
	}
	if err := Widens(f.Type, to); err != nil {
		return nil, fmt.Errorf("column %s: %w", at, err)
	}
	f.Type = Type{Kind: to.Kind, Precision: to.Precision, Scale: to.Scale, Fields: cloneFields(to.Fields)}
	everyStruct(&f.Type, func(fields []Field) { named(fields, Names{}, naming, nil) })
	numbers := &grower{schema: next}
	for i := range f.Type.Fields {
		numbers.number(&f.Type.Fields[i])
	}
	return next, next.Validate()
}

// everyStruct visits the fields of each struct in a type.
func everyStruct(t *Type, each func([]Field)) {
	if t.Kind == Struct {
		each(t.Fields)
	}
	for i := range t.Fields {
		everyStruct(&t.Fields[i].Type, each)
	}
}

// At returns the field at a column. It refuses the columns that batcher itself
// makes, and what is not there.
func (s *Schema) At(at Column) (*Field, error) {
	fields, rest := s.Fields, string(at)
	for {
		name, below, deeper := strings.Cut(rest, ".")
		bare := strings.TrimRight(name, "[]")
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == bare })
		if i < 0 || fields[i].Key == "" {
			return nil, fmt.Errorf("%w: no column %q that the input feeds; columns are spelled like price, actor.id or items[].price", ErrNotWider, at)
		}
		f := &fields[i]
		for elements := name[len(bare):]; elements != ""; elements = elements[2:] {
			if !strings.HasPrefix(elements, "[]") || f.Type.Kind != List && f.Type.Kind != Map {
				return nil, fmt.Errorf("%w: column %q: %s is %s, which has no elements", ErrNotWider, at, f.Name, f.Type)
			}
			f = &f.Type.Fields[len(f.Type.Fields)-1]
		}
		if !deeper {
			return f, nil
		}
		if f.Type.Kind != Struct {
			return nil, fmt.Errorf("%w: column %q: %s is %s, which has no fields", ErrNotWider, at, f.Name, f.Type)
		}
		fields, rest = f.Type.Fields, below
	}
}

// Widens says whether a column may get another type at all. Whether each value
// that it holds fits is seen when they are written again: what is listed here as
// "by value" is refused then if one does not.
//
//	int32            int64, float64, decimal, string, json
//	int64            float64 (by value: within ±2^53), decimal (by value), string, json
//	float64, bool,
//	date, timestamp  string, json
//	decimal(p,s)     decimal of more digits on either side of the point, string, json
//	string           json
//	bytes            string (by value: UTF-8)
//	struct, list,
//	map              json
//	json             struct<…>, list<…>, map<…> (by value)
func Widens(from, to Type) error {
	if wider := widenings[from.Kind]; !slices.Contains(wider, to.Kind) {
		return fmt.Errorf("%w: %s cannot become %s, only %s", ErrNotWider, from, to, listKinds(wider))
	}
	digits := func(t Type) int { return int(t.Precision) - int(t.Scale) }
	if from.Kind == Decimal && to.Kind == Decimal && (digits(to) < digits(from) || to.Scale < from.Scale || to.Precision == from.Precision) {
		return fmt.Errorf("%w: %s is not wider than %s", ErrNotWider, to, from)
	}
	if to.Kind == Struct && len(to.Fields) == 0 {
		return fmt.Errorf("%w: a struct needs its fields here, like struct<id:int64,name:string>", ErrNotWider)
	}
	return nil
}

var widenings = map[Kind][]Kind{
	Bool:      {String, JSON},
	Int32:     {Int64, Float64, Decimal, String, JSON},
	Int64:     {Float64, Decimal, String, JSON},
	Float64:   {String, JSON},
	Decimal:   {Decimal, String, JSON},
	String:    {JSON},
	JSON:      {Struct, List, Map},
	Bytes:     {String},
	Date:      {String, JSON},
	Timestamp: {String, JSON},
	List:      {JSON},
	Map:       {JSON},
	Struct:    {JSON},
}

func listKinds(kinds []Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.String()
	}
	return strings.Join(names, ", ")
}
