package interop

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"batcher/schema"
)

// Row is one record of the truth, by column. Values are nil, bool, json.Number (all
// numbers), string (text, bytes, dates, instants), json.RawMessage, []any and
// map[string]any; a column that is absent is null.
type Row map[string]any

// Column is a column that a reader has to show.
type Column struct {
	Name string
	Type schema.Type
}

// column declares a column; the type is as in a pipeline file.
func column(name, kind string) Column {
	t, err := schema.ParseType(kind)
	if err != nil {
		panic(fmt.Sprintf("type %s of %s: %v", kind, name, err))
	}
	return Column{name, named(t)}
}

// named gives the fields of structs the names that they have as columns.
func named(t schema.Type) schema.Type {
	for i := range t.Fields {
		if t.Kind == schema.Struct {
			t.Fields[i].Name = t.Fields[i].Key
		}
		t.Fields[i].Type = named(t.Fields[i].Type)
	}
	return t
}

// told is a value of the truth in the form in which readers tell values: see
// localdev.Python.Ask.
func told(t schema.Type, v any) any {
	switch v := v.(type) {
	case json.RawMessage:
		return string(v)
	case string:
		if t.Kind == schema.Bytes {
			return hex.EncodeToString([]byte(v))
		}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = told(t.Fields[0].Type, e)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, e := range v {
			out[key] = told(inside(t, key), e)
		}
		return out
	}
	return v
}

// inside is the type of a value below a key.
func inside(t schema.Type, key string) schema.Type {
	if t.Kind == schema.Map {
		return t.Fields[1].Type
	}
	for _, f := range t.Fields {
		if f.Name == key {
			return f.Type
		}
	}
	panic("no field " + key)
}

var integer = regexp.MustCompile(`^-?[0-9]+$`)

// canonical is a value in the one form that equal values of a type have; change may
// give the value, and each inside of it, another one.
func canonical(t schema.Type, v any, change func(schema.Type, any) any) (any, error) {
	var err error
	if v != nil {
		switch t.Kind {
		case schema.List:
			v, err = canonicalList(t, v, change)
		case schema.Map:
			v, err = canonicalMap(t, v, change)
		case schema.Struct:
			v, err = canonicalStruct(t, v, change)
		default:
			v, err = flat(t, v)
		}
	}
	if err != nil {
		return nil, err
	}
	return change(t, v), nil
}

func canonicalList(t schema.Type, v any, change func(schema.Type, any) any) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%T is no list", v)
	}
	out := make([]any, len(list))
	for i, e := range list {
		var err error
		if out[i], err = canonical(t.Fields[0].Type, e, change); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// canonicalMap takes an object, or a list of pairs.
func canonicalMap(t schema.Type, v any, change func(schema.Type, any) any) (any, error) {
	object, ok := v.(map[string]any)
	if !ok {
		var err error
		if object, err = objectOf(v); err != nil {
			return nil, err
		}
	}
	out := map[string]any{}
	for key, e := range object {
		var err error
		if out[key], err = canonical(t.Fields[1].Type, e, change); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// objectOf makes an object of [[key, value], …] or [{"key":…,"value":…}, …].
func objectOf(v any) (map[string]any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%T is no map", v)
	}
	out := map[string]any{}
	for _, e := range list {
		var key, value any
		switch e := e.(type) {
		case []any:
			if len(e) == 2 {
				key, value = e[0], e[1]
			}
		case map[string]any:
			key, value = e["key"], e["value"]
		}
		name, ok := key.(string)
		if _, twice := out[name]; !ok || twice {
			return nil, fmt.Errorf("%v is no entry of a map, or there twice", e)
		}
		out[name] = value
	}
	return out, nil
}

func canonicalStruct(t schema.Type, v any, change func(schema.Type, any) any) (any, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%T is no struct", v)
	}
	out := map[string]any{}
	for _, f := range t.Fields {
		var err error
		if out[f.Name], err = canonical(f.Type, object[f.Name], change); err != nil {
			return nil, err
		}
	}
	for key := range object {
		if _, ok := out[key]; !ok {
			return nil, fmt.Errorf("field %s is too many", key)
		}
	}
	return out, nil
}

// flat is the canonical form of a value that is not nested.
func flat(t schema.Type, v any) (any, error) {
	if t.Kind == schema.Bool {
		if b, ok := v.(bool); ok {
			return b, nil
		}
		return nil, fmt.Errorf("%T is no bool", v)
	}
	number, isNumber := v.(json.Number)
	text, isText := v.(string)
	if isNumber {
		text = number.String()
	}
	switch {
	case isNumber && t.Kind == schema.Int32, isNumber && t.Kind == schema.Int64:
		if integer.MatchString(text) {
			return text, nil
		}
	case isNumber && t.Kind == schema.Float64:
		f, err := strconv.ParseFloat(text, 64)
		return strconv.FormatFloat(f, 'g', -1, 64), err
	case t.Kind == schema.Decimal && (isText || isNumber):
		if r, ok := new(big.Rat).SetString(text); ok {
			return r.FloatString(int(t.Scale)), nil
		}
	case isText && t.Kind == schema.Date:
		d, err := time.Parse(time.DateOnly, text)
		return d.Format(time.DateOnly), err
	case isText && t.Kind == schema.Timestamp:
		return instant(text)
	case isText && (t.Kind == schema.String || t.Kind == schema.JSON || t.Kind == schema.Bytes):
		return text, nil
	}
	return nil, fmt.Errorf("%v (%T) is no %v", v, v, t)
}

const micros = "2006-01-02T15:04:05.000000Z"

// instant reads the ways in which engines write instants.
func instant(text string) (string, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999 UTC", "2006-01-02 15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC().Format(micros), nil
		}
	}
	if text == "+10000-01-01 00:00:00.000 UTC" { // what rounding makes of the last instant of 9999
		return "10000-01-01T00:00:00.000000Z", nil
	}
	return "", fmt.Errorf("%q is no instant", text)
}

// compare orders two canonical values of a type.
func compare(t schema.Type, a, b any) int {
	switch t.Kind {
	case schema.Bool:
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	case schema.Int32, schema.Int64, schema.Decimal:
		x, _ := new(big.Rat).SetString(a.(string))
		y, _ := new(big.Rat).SetString(b.(string))
		return x.Cmp(y)
	case schema.Float64:
		x, _ := strconv.ParseFloat(a.(string), 64)
		y, _ := strconv.ParseFloat(b.(string), 64)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	case schema.Timestamp: // the year 10000 has a digit more
		if by := len(a.(string)) - len(b.(string)); by != 0 {
			return by
		}
	}
	return strings.Compare(a.(string), b.(string))
}
