package datafile

import (
	"fmt"
	"slices"

	"batcher/schema"
)

// leaf is a column of the file.
type leaf struct {
	schema.Leaf
	chunkPath []string // as in the file: with the middle nodes of lists and maps
}

// leavesOf lists the leaves of fields, depth first.
func leavesOf(fields []schema.Field) []leaf {
	var paths [][]string
	for i := range fields {
		paths = appendPaths(paths, nil, &fields[i])
	}
	s := schema.Schema{Fields: fields}
	out := make([]leaf, 0, len(paths))
	for i, l := range s.Leaves() {
		out = append(out, leaf{Leaf: l, chunkPath: paths[i]})
	}
	return out
}

// appendPaths appends the chunk path of each leaf of f.
func appendPaths(out [][]string, above []string, f *schema.Field) [][]string {
	path := append(slices.Clone(above), f.Name)
	switch f.Type.Kind {
	case schema.List, schema.Map:
		path = append(path, middleName(f.Type.Kind))
	case schema.Struct:
	default:
		return append(out, path)
	}
	for i := range f.Type.Fields {
		out = appendPaths(out, path, &f.Type.Fields[i])
	}
	return out
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

// checkSchema refuses a schema that is malformed or not published: in a file
// every field has its id.
func checkSchema(s *schema.Schema) error {
	if len(s.Fields) == 0 {
		return fmt.Errorf("schema without columns")
	}
	if err := s.Validate(); err != nil {
		return err
	}
	return checkIDs(s.Fields)
}

// checkIDs refuses fields without an id.
func checkIDs(fields []schema.Field) error {
	for i := range fields {
		f := &fields[i]
		if f.ID == 0 {
			return fmt.Errorf("field %q has no field id", f.Name)
		}
		if err := checkIDs(f.Type.Fields); err != nil {
			return fmt.Errorf("in field %q: %w", f.Name, err)
		}
	}
	return nil
}

// sameField says whether two fields are the same in a file: by id, name and
// type, while a file does not know keys and has String for JSON.
func sameField(a, b *schema.Field) bool {
	x, y := &a.Type, &b.Type
	if a.ID != b.ID || a.Name != b.Name || fileKind(x.Kind) != fileKind(y.Kind) ||
		x.Precision != y.Precision || x.Scale != y.Scale || len(x.Fields) != len(y.Fields) {
		return false
	}
	for i := range x.Fields {
		if !sameField(&x.Fields[i], &y.Fields[i]) {
			return false
		}
	}
	return true
}

// fileKind is the kind that a file remembers.
func fileKind(k schema.Kind) schema.Kind {
	if k == schema.JSON {
		return schema.String
	}
	return k
}
