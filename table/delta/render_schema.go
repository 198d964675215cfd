package delta

import (
	"encoding/json"
	"fmt"

	"batcher/schema"
)

// structType is a struct in Delta's schema serialization format.
type structType struct {
	Type   string        `json:"type"`
	Fields []structField `json:"fields"`
}

type structField struct {
	Name     string   `json:"name"`
	Type     any      `json:"type"`
	Nullable bool     `json:"nullable"`
	Metadata struct{} `json:"metadata"`
}

type arrayType struct {
	Type     string `json:"type"`
	Element  any    `json:"elementType"`
	Nullable bool   `json:"containsNull"`
}

type mapType struct {
	Type     string `json:"type"`
	Key      any    `json:"keyType"`
	Value    any    `json:"valueType"`
	Nullable bool   `json:"valueContainsNull"`
}

// schemaString is the schema as metaData carries it. Every column is nullable: a
// null in a column that is not reads as 0 or "" in some engines. Field ids are left
// out: they mean something to Delta under column mapping only.
func schemaString(s *schema.Schema) (string, error) {
	fields, err := structOf(s.Fields)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(fields)
	return string(b), err
}

func structOf(fields []schema.Field) (structType, error) {
	out := structType{Type: "struct", Fields: []structField{}}
	for i := range fields {
		t, err := typeOf(&fields[i].Type)
		if err != nil {
			return out, fmt.Errorf("column %s: %w", fields[i].Name, err)
		}
		out.Fields = append(out.Fields, structField{Name: fields[i].Name, Type: t, Nullable: true})
	}
	return out, nil
}

var flatTypes = map[schema.Kind]string{
	schema.Bool: "boolean", schema.Int32: "integer", schema.Int64: "long", schema.Float64: "double",
	schema.String: "string", schema.JSON: "string", schema.Bytes: "binary", schema.Date: "date", schema.Timestamp: "timestamp",
}

func typeOf(t *schema.Type) (any, error) {
	switch t.Kind {
	case schema.Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale), nil
	case schema.Struct:
		return structOf(t.Fields)
	case schema.List:
		element, err := typeOf(&t.Fields[0].Type)
		return arrayType{"array", element, true}, err
	case schema.Map:
		value, err := typeOf(&t.Fields[1].Type)
		return mapType{"map", "string", value, true}, err
	}
	if name, ok := flatTypes[t.Kind]; ok {
		return name, nil
	}
	return nil, fmt.Errorf("type %s has no form in Delta", t)
}
