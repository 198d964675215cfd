package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The stored form of a schema is compact JSON, a pure function of the value:
//
//	schema  {"last_id":N,"fields":[field…]}
//	field   {"id":N,"name":"…","key":"…","type":type}
//	type    "bool" | "int32" | "int64" | "float64" | "decimal(P,S)" | "string" |
//	        "json" | "bytes" | "date" | "timestamp" |
//	        {"struct":[field…]} | {"list":part} | {"map":{"key":part,"value":part}}
//	part    {"id":N,"type":type}: a generated child, whose name is understood
//
// id stands only if it is given (not 0), key only if it is not empty. Members
// always come in this order. A reader refuses any other member.

type schemaJSON struct {
	LastID int32   `json:"last_id"`
	Fields []Field `json:"fields"`
}

type fieldJSON struct {
	ID   int32  `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	Key  string `json:"key,omitempty"`
	Type *Type  `json:"type"`
}

type partJSON struct {
	ID   int32 `json:"id,omitempty"`
	Type *Type `json:"type"`
}

type mapJSON struct {
	Key   *partJSON `json:"key"`
	Value *partJSON `json:"value"`
}

type nestedJSON struct {
	Struct []Field   `json:"struct,omitempty"`
	List   *partJSON `json:"list,omitempty"`
	Map    *mapJSON  `json:"map,omitempty"`
}

// MarshalJSON returns the stored form. It fails where UnmarshalJSON would, so that
// nothing is stored that cannot be read back.
func (s Schema) MarshalJSON() ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	fields := s.Fields
	if fields == nil {
		fields = []Field{}
	}
	return json.Marshal(schemaJSON{s.LastID, fields})
}

// UnmarshalJSON reads the stored form and refuses what it does not know and
// what Validate refuses.
func (s *Schema) UnmarshalJSON(b []byte) error {
	var w schemaJSON
	if err := strict(b, &w); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	read := Schema{Fields: w.Fields, LastID: w.LastID}
	if err := read.Validate(); err != nil {
		return err
	}
	*s = read
	return nil
}

// MarshalJSON returns the stored form of a column or a struct's field.
func (f Field) MarshalJSON() ([]byte, error) {
	return json.Marshal(fieldJSON{f.ID, f.Name, f.Key, &f.Type})
}

// UnmarshalJSON reads the stored form of a column or a struct's field.
func (f *Field) UnmarshalJSON(b []byte) error {
	var w fieldJSON
	if err := strict(b, &w); err != nil {
		return err
	}
	if w.Type == nil {
		return fmt.Errorf("field %q has no type", w.Name)
	}
	*f = Field{ID: w.ID, Name: w.Name, Key: w.Key, Type: *w.Type}
	return nil
}

// MarshalJSON returns the stored form of a type.
func (t Type) MarshalJSON() ([]byte, error) {
	if err := t.validParts(); err != nil {
		return nil, err
	}
	part := func(i int) *partJSON { return &partJSON{t.Fields[i].ID, &t.Fields[i].Type} }
	switch t.Kind {
	case Struct:
		return json.Marshal(nestedJSON{Struct: t.Fields})
	case List:
		return json.Marshal(nestedJSON{List: part(0)})
	case Map:
		return json.Marshal(nestedJSON{Map: &mapJSON{part(0), part(1)}})
	}
	return json.Marshal(t.String())
}

// UnmarshalJSON reads the stored form of a type.
func (t *Type) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var name string
		if err := json.Unmarshal(b, &name); err != nil {
			return err
		}
		flat, err := parseFlat(name)
		*t = flat
		return err
	}
	var w nestedJSON
	if err := strict(b, &w); err != nil {
		return err
	}
	parts := 0
	if w.Struct != nil {
		parts++
		*t = Type{Kind: Struct, Fields: w.Struct}
	}
	if w.List != nil {
		parts++
		*t = Type{Kind: List, Fields: []Field{w.List.field(ElementName)}}
	}
	if w.Map != nil {
		parts++
		*t = Type{Kind: Map, Fields: []Field{w.Map.Key.field(KeyName), w.Map.Value.field(ValueName)}}
	}
	if parts != 1 {
		return fmt.Errorf("a nested type is one of struct, list and map, not %d of them", parts)
	}
	return t.validParts()
}

func (p *partJSON) field(name string) Field {
	if p == nil || p.Type == nil {
		return Field{Name: name}
	}
	return Field{ID: p.ID, Name: name, Type: *p.Type}
}

// parseFlat reads the name of a type that is not nested.
func parseFlat(name string) (Type, error) {
	for k := Bool; k < List; k++ {
		if k != Decimal && kindNames[k] == name {
			return Type{Kind: k}, nil
		}
	}
	if args, ok := strings.CutPrefix(name, "decimal("); ok {
		p, s, _ := strings.Cut(strings.TrimSuffix(args, ")"), ",")
		precision, err1 := strconv.ParseInt(p, 10, 8)
		scale, err2 := strconv.ParseInt(s, 10, 8)
		t := Type{Kind: Decimal, Precision: int8(precision), Scale: int8(scale)}
		if err1 == nil && err2 == nil && t.String() == name {
			return t, t.validParts()
		}
	}
	return Type{}, fmt.Errorf("unknown type %q", name)
}

// strict decodes one JSON value into v and refuses unknown members and
// anything behind the value.
func strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("something follows the value")
	}
	return nil
}
