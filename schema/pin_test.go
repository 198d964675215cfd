package schema_test

import (
	"strings"
	"testing"

	"batcher/schema"
)

func TestParsePlace(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "a.b.c": "a.b.c", "items[].price": "items[].price", "m[][]": "m[][]", `labels."a.b"`: `labels."a.b"`, `"plain"`: "plain",
		"Unit Price": "Unit Price", `"a\"b".c`: `"a\"b".c`, "é[].x": "é[].x", `"[]"`: `"[]"`,
		"": "", ".": "", "a.": "", ".a": "", "a..b": "", "[]": "", "[].a": "", "a[": "", "a[0]": "", "a[]b": "", `"a`: "", `""`: "", `"a"b`: "", `a"b"`: "", `"\x"`: "",
		strings.Repeat("a.", 200) + "a": "",
	} {
		p, err := schema.ParsePlace(text)
		if (err != nil) != (want == "") || err == nil && p.String() != want {
			t.Errorf("%s: got %s, %v, want %s", text, p, err, want)
		}
	}
}

func FuzzParsePlace(f *testing.F) {
	f.Add(`a.b[]."c.d"[]`)
	f.Add(`"\u00e9".x`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := schema.ParsePlace(text)
		if err != nil {
			return
		}
		again, err := schema.ParsePlace(p.String())
		if err != nil || again.String() != p.String() || len(again) != len(p) {
			t.Errorf("%q became %q, then %q, %v", text, p, again, err)
		}
	})
}

func TestParseType(t *testing.T) {
	for text, want := range map[string]string{
		"int32": "int32", " string ": "string", "decimal(18,2)": "decimal(18,2)", "decimal( 18 , 2 )": "decimal(18,2)", "list<int64>": "list<int64>", "list< list <date> >": "list<list<date>>",
		"map<string,json>": "map<string,json>", "map<string, map<string, bytes>>": "map<string,map<string,bytes>>", "struct": "struct<>", "struct<Id:int64, x : list<string>>": "struct<Id:int64,x:list<string>>", `struct<"a:b":bool>`: "struct<a:b:bool>",
		"": "", "int": "", "decimal": "", "decimal(0,0)": "", "decimal(5,6)": "", "decimal(5)": "", "decimal(5,2": "", "decimal(+5,2)": "", "list": "", "list<>": "", "list<int64": "", "list<int64>>": "", "list<struct>": "", "map<int64,string>": "", "map<string>": "",
		"struct<>": "", "struct<a>": "", "struct<a:>": "", "struct<a:int64,>": "", "struct<a:int64,a:date>": "", "struct<a:struct>": "", "none": "", "string string": "", "list<none>": "",
		strings.Repeat("list<", 60) + "date" + strings.Repeat(">", 60): "",
	} {
		got, err := schema.ParseType(text)
		if (err != nil) != (want == "") || err == nil && keyed(got) != want {
			t.Errorf("%s: got %s, %v, want %s", text, keyed(got), err, want)
		}
	}
}

// keyed spells a type with the keys of its fields, which have no names yet.
func keyed(typ schema.Type) string {
	if typ.Kind == schema.Struct {
		parts := make([]string, len(typ.Fields))
		for i, f := range typ.Fields {
			parts[i] = f.Key + ":" + keyed(f.Type)
		}
		return "struct<" + strings.Join(parts, ",") + ">"
	}
	return typ.String()
}

func FuzzParseType(f *testing.F) {
	f.Add("struct<a:list<decimal(5,2)>,b:map<string,struct<c:json>>>")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := schema.ParseType(text)
		if err != nil || got.Kind == schema.Struct || strings.Contains(text, "struct") {
			return
		}
		again, err := schema.ParseType(got.String())
		if err != nil || !again.Equal(got) {
			t.Errorf("%q became %s, then %s, %v", text, got, again, err)
		}
	})
}

func TestParseDefault(t *testing.T) {
	for _, c := range []struct{ typ, text, want string }{
		{"bool", "true", "true"}, {"bool", "False", "false"}, {"bool", "1", ""},
		{"int32", "-5", "-5"}, {"int32", "2147483648", ""}, {"int64", "2147483648", "2147483648"}, {"int64", "1.0", ""}, {"int64", "+1", ""}, {"int64", "01", ""},
		{"float64", "1e3", "1e3"}, {"float64", "NaN", ""}, {"float64", ".5", ""}, {"float64", "1e999", ""},
		{"decimal(5,2)", "999.99", "999.99"}, {"decimal(5,2)", "1000", ""}, {"decimal(5,2)", "0.001", ""}, {"decimal(5,2)", "-1.5", "-1.5"}, {"decimal(5,2)", "1e2", ""},
		{"string", "", `""`}, {"string", `a"b`, `"a\"b"`}, {"bytes", "x", `"x"`},
		{"date", "2026-11-30", `"2026-11-30"`}, {"date", "2026-11-31", ""}, {"timestamp", "2026-11-30T08:00:00.5+01:00", `"2026-11-30T08:00:00.5+01:00"`}, {"timestamp", "2026-11-30", ""}, {"timestamp", "2026-11-30T08:00:00.1234567Z", ""},
		{"json", "{}", "{}"}, {"json", "x", ""}, {"list<json>", "[]", ""}, {"struct", "{}", ""},
	} {
		typ, err := schema.ParseType(c.typ)
		if err != nil {
			t.Fatal(err)
		}
		got, err := schema.ParseDefault(typ, c.text)
		if (err != nil) != (c.want == "") || got != c.want {
			t.Errorf("%s %q: got %q, %v, want %q", c.typ, c.text, got, err, c.want)
		}
	}
}
