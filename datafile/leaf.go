package datafile

import (
	"fmt"

	"batcher/schema"
)

// leaf is a column of the file: a field without children.
type leaf struct {
	field          *schema.Field
	path           []string // as in the file, with the middle nodes of lists and maps
	maxDef, maxRep uint8
	inList         bool // below a list or map
}

// deepest is the greatest level a file may have.
const deepest = 100

// leavesOf lists the leaves of fields, depth first.
func leavesOf(fields []schema.Field) []leaf {
	var out []leaf
	for i := range fields {
		out = appendLeaves(out, &fields[i], leaf{maxDef: 1})
	}
	return out
}

// appendLeaves appends the leaves of f. In at stands what is known of it: the
// path above it and the levels at which it is present.
func appendLeaves(out []leaf, f *schema.Field, at leaf) []leaf {
	at.path = join(at.path, f.Name)
	switch f.Type.Kind {
	case schema.Struct:
		for i := range f.Type.Fields {
			below := at
			below.maxDef++
			out = appendLeaves(out, &f.Type.Fields[i], below)
		}
		return out
	case schema.List, schema.Map:
		at.path = join(at.path, middleName(f.Type.Kind))
		at.maxDef, at.maxRep, at.inList = at.maxDef+1, at.maxRep+1, true
		for i := range f.Type.Fields {
			below := at
			if !isKey(f, i) {
				below.maxDef++
			}
			out = appendLeaves(out, &f.Type.Fields[i], below)
		}
		return out
	}
	at.field = f
	return append(out, at)
}

// join appends a name to a path without touching what the path shares.
func join(path []string, name string) []string {
	return append(path[:len(path):len(path)], name)
}

// middleName is the repeated node between a list or map and its parts.
func middleName(k schema.Kind) string {
	if k == schema.List {
		return "list"
	}
	return "key_value"
}

// isKey says whether child i of f is the key of a map: the one kind of field
// that is required.
func isKey(f *schema.Field, i int) bool {
	return f.Type.Kind == schema.Map && i == 0
}

// checkFields refuses what cannot be written: fields without ids, names twice,
// shapes that are none, and nesting beyond the levels that fit.
func checkFields(fields []schema.Field, depth int) error {
	if depth > deepest/2 {
		return fmt.Errorf("nested deeper than %d", deepest/2)
	}
	names := make(map[string]bool, len(fields))
	for i := range fields {
		f := &fields[i]
		if f.ID <= 0 {
			return fmt.Errorf("field %q has no field id", f.Name)
		}
		if f.Name == "" || names[f.Name] {
			return fmt.Errorf("field name %q is empty or stands twice", f.Name)
		}
		names[f.Name] = true
		if err := checkType(f, depth); err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
	}
	return nil
}

// checkType refuses a type that has the wrong number of parts or an impossible
// precision.
func checkType(f *schema.Field, depth int) error {
	t := &f.Type
	n := len(t.Fields)
	switch t.Kind {
	case schema.Struct:
		if n == 0 {
			return fmt.Errorf("struct without fields")
		}
	case schema.List:
		if n != 1 {
			return fmt.Errorf("list with %d parts", n)
		}
	case schema.Map:
		if n != 2 || t.Fields[0].Type.Kind != schema.String {
			return fmt.Errorf("map without a string key and a value")
		}
	case schema.Decimal:
		if t.Precision < 1 || t.Precision > 38 || t.Scale < 0 || t.Scale > t.Precision {
			return fmt.Errorf("decimal(%d,%d)", t.Precision, t.Scale)
		}
	case schema.Bool, schema.Int32, schema.Int64, schema.Float64, schema.String,
		schema.JSON, schema.Bytes, schema.Date, schema.Timestamp:
		if n != 0 {
			return fmt.Errorf("kind %d with %d parts", t.Kind, n)
		}
	default:
		return fmt.Errorf("kind %d cannot be written", t.Kind)
	}
	return checkFields(t.Fields, depth+1)
}

// sameType says whether a value of one type is a value of the other in a file.
// JSON is String there.
func sameType(a, b *schema.Type) bool {
	if plainKind(a.Kind) != plainKind(b.Kind) || a.Precision != b.Precision || a.Scale != b.Scale {
		return false
	}
	if len(a.Fields) != len(b.Fields) {
		return false
	}
	for i := range a.Fields {
		x, y := &a.Fields[i], &b.Fields[i]
		if x.ID != y.ID || x.Name != y.Name || !sameType(&x.Type, &y.Type) {
			return false
		}
	}
	return true
}

// plainKind is the kind that a file remembers.
func plainKind(k schema.Kind) schema.Kind {
	if k == schema.JSON {
		return schema.String
	}
	return k
}
