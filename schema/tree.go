package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxNesting is how many structs, lists and maps may lie inside each other in
// a schema: definition levels must fit a byte with room to spare.
const MaxNesting = 64

// Names of the generated children of lists and maps.
const (
	ElementName = "element"
	KeyName     = "key"
	ValueName   = "value"
)

var kindNames = [...]string{"none", "bool", "int32", "int64", "float64", "decimal", "string", "json", "bytes", "date", "timestamp", "list", "map", "struct"}

// String returns the name of the kind as the pipeline file and the stored form
// spell it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// IsNested says whether values of the kind consist of further values.
func (k Kind) IsNested() bool { return k == List || k == Map || k == Struct }

// String spells the type as people write it: "decimal(38,0)", "list<int64>",
// "struct<id:int64,name:string>".
func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case List, Map:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = f.Type.String()
		}
		return t.Kind.String() + "<" + strings.Join(parts, ",") + ">"
	case Struct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = f.Name + ":" + f.Type.String()
		}
		return "struct<" + strings.Join(parts, ",") + ">"
	}
	return t.Kind.String()
}

// Equal says whether both types are the same in every id, name, key and part.
func (t Type) Equal(o Type) bool {
	if t.Kind != o.Kind || t.Precision != o.Precision || t.Scale != o.Scale || len(t.Fields) != len(o.Fields) {
		return false
	}
	for i, f := range t.Fields {
		if !f.Equal(o.Fields[i]) {
			return false
		}
	}
	return true
}

// Equal says whether both fields are the same in every id, name, key and part.
func (f Field) Equal(o Field) bool {
	return f.ID == o.ID && f.Name == o.Name && f.Key == o.Key && f.Type.Equal(o.Type)
}

// Equal says whether both schemas are the same, field by field in order.
func (s *Schema) Equal(o *Schema) bool {
	return s.LastID == o.LastID && Type{Kind: Struct, Fields: s.Fields}.Equal(Type{Kind: Struct, Fields: o.Fields})
}

// Clone returns a copy that shares nothing with the original.
func (s *Schema) Clone() *Schema {
	return &Schema{Fields: cloneFields(s.Fields), LastID: s.LastID}
}

func cloneFields(fields []Field) []Field {
	if fields == nil {
		return nil
	}
	out := make([]Field, len(fields))
	for i, f := range fields {
		out[i] = f
		out[i].Type.Fields = cloneFields(f.Type.Fields)
	}
	return out
}

// New returns the schema of a main table in which nothing was seen yet: the
// reserved columns alone.
func New() *Schema { return &Schema{Fields: Reserved(), LastID: LastReserved} }

// Reserved returns the reserved columns of a main table, in order.
func Reserved() []Field {
	return []Field{
		{ID: SourceID, Name: SourceName, Type: Type{Kind: String}},
		{ID: OffsetID, Name: OffsetName, Type: Type{Kind: Int64}},
		{ID: RescuedID, Name: RescuedName, Type: Type{Kind: String}},
	}
}

// DeadLetters returns the schema of every dead-letter table; it never changes.
//
//	_source     the object or partition of the record
//	_offset     its first byte there
//	raw         the record as received, cut to 64 KiB
//	raw_length  its true length in bytes
//	stage       which step refused it: length, utf8, syntax, schema, container
//	code        why, one word for machines
//	message     why, for people
func DeadLetters() *Schema {
	return &Schema{LastID: LastReserved + 5, Fields: []Field{
		{ID: SourceID, Name: SourceName, Type: Type{Kind: String}},
		{ID: OffsetID, Name: OffsetName, Type: Type{Kind: Int64}},
		{ID: LastReserved + 1, Name: "raw", Type: Type{Kind: Bytes}},
		{ID: LastReserved + 2, Name: "raw_length", Type: Type{Kind: Int64}},
		{ID: LastReserved + 3, Name: "stage", Type: Type{Kind: String}},
		{ID: LastReserved + 4, Name: "code", Type: Type{Kind: String}},
		{ID: LastReserved + 5, Name: "message", Type: Type{Kind: String}},
	}}
}

// Leaf is a field that holds values itself: one column chunk in a file.
type Leaf struct {
	Path   []string // names from the table's column down, "element", "key" and "value" included
	Field  Field
	MaxDef uint8 // definition level of a present value
	MaxRep uint8 // lists and maps above it
}

// Leaves returns the leaves depth first, in the order of the columns of a
// block. Every field is optional but for the keys of maps; a list or a map is
// an optional group with one repeated group inside.
func (s *Schema) Leaves() []Leaf {
	var out []Leaf
	for _, f := range s.Fields {
		out = appendLeaves(out, nil, f, 1, 0)
	}
	return out
}

func appendLeaves(out []Leaf, path []string, f Field, def, rep uint8) []Leaf {
	path = append(path[:len(path):len(path)], f.Name)
	switch f.Type.Kind {
	case Struct:
		for _, c := range f.Type.Fields {
			out = appendLeaves(out, path, c, def+1, rep)
		}
	case List:
		out = appendLeaves(out, path, f.Type.Fields[0], def+2, rep+1)
	case Map:
		out = appendLeaves(out, path, f.Type.Fields[0], def+1, rep+1)
		out = appendLeaves(out, path, f.Type.Fields[1], def+2, rep+1)
	default:
		out = append(out, Leaf{Path: path, Field: f, MaxDef: def, MaxRep: rep})
	}
	return out
}

// Width returns how many leaves the type has: 1 unless it is nested, and 0 for
// None.
func (t Type) Width() int {
	if t.Kind == None {
		return 0
	}
	if !t.Kind.IsNested() {
		return 1
	}
	n := 0
	for _, f := range t.Fields {
		n += f.Type.Width()
	}
	return n
}

// Validate says what is wrong with a schema that was read or built by hand.
func (s *Schema) Validate() error {
	ids := map[int32]bool{}
	if err := validFields(s.Fields, ids, 0); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	for id := range ids {
		if id > s.LastID {
			return fmt.Errorf("schema: field id %d is above last_id %d", id, s.LastID)
		}
	}
	return nil
}

func validFields(fields []Field, ids map[int32]bool, depth int) error {
	names, keys := map[string]bool{}, map[string]bool{}
	for _, f := range fields {
		if !IsName(f.Name) || names[f.Name] {
			return fmt.Errorf("field %q: name is malformed or given twice", f.Name)
		}
		if !utf8.ValidString(f.Key) {
			return fmt.Errorf("field %q: key %q is no UTF-8", f.Name, f.Key)
		}
		if f.Key != "" && keys[f.Key] {
			return fmt.Errorf("field %q: key %q is given twice", f.Name, f.Key)
		}
		names[f.Name], keys[f.Key] = true, true
		if err := validField(f, ids, depth); err != nil {
			return err
		}
	}
	return nil
}

func validField(f Field, ids map[int32]bool, depth int) error {
	if f.ID < 0 || (f.ID > 0 && ids[f.ID]) {
		return fmt.Errorf("field %q: id %d is negative or given twice", f.Name, f.ID)
	}
	if f.ID > 0 {
		ids[f.ID] = true
	}
	if err := f.Type.validParts(); err != nil {
		return fmt.Errorf("field %q: %w", f.Name, err)
	}
	if f.Type.Kind.IsNested() && depth >= MaxNesting {
		return fmt.Errorf("field %q: nested deeper than %d", f.Name, MaxNesting)
	}
	if f.Type.Kind == Struct {
		return validFields(f.Type.Fields, ids, depth+1)
	}
	for _, c := range f.Type.Fields {
		if err := validField(c, ids, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// validParts checks the type's own numbers and the form of its children.
func (t Type) validParts() error {
	names := []string{}
	switch t.Kind {
	case Struct:
		if len(t.Fields) == 0 {
			return fmt.Errorf("struct without fields")
		}
		return nil
	case List:
		names = []string{ElementName}
	case Map:
		names = []string{KeyName, ValueName}
	case Decimal:
		if t.Precision < 1 || t.Precision > 38 || t.Scale < 0 || t.Scale > t.Precision {
			return fmt.Errorf("type %s is out of range", t)
		}
	case None:
		return fmt.Errorf("field without a type")
	}
	if t.Kind > Struct || len(t.Fields) != len(names) {
		return fmt.Errorf("type %s has %d parts, not %d", t.Kind, len(t.Fields), len(names))
	}
	for i, n := range names {
		if t.Fields[i].Name != n {
			return fmt.Errorf("part %d of a %s is named %q, not %q", i, t.Kind, t.Fields[i].Name, n)
		}
	}
	if t.Kind == Map && t.Fields[0].Type.Kind != String {
		return fmt.Errorf("map with keys of type %s, not string", t.Fields[0].Type)
	}
	return nil
}
