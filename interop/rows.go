package interop

import (
	"encoding/json"
	"fmt"
	"strings"
)

// num is a whole number of the truth.
func num[T int | int64](n T) json.Number { return json.Number(fmt.Sprint(n)) }

// pins are the columns of the main story that the pipeline file declares, in the words
// of that file. The column o and all that comes later is inferred.
var pins = [][2]string{
	{"n", "int64"}, {"flag", "bool"}, {"i32", "int32"}, {"i64", "int64"}, {"f", "float64"}, {"dec", "decimal(9,2)"},
	{"paid", "decimal(18,4)"}, {"owed", "decimal(38,2)"}, {"big", "decimal(38,0)"}, {"s", "string"}, {"raw", "bytes"}, {"day", "date"}, {"at", "timestamp"}, {"j", "json"},
	{"l", "list<int64>"}, {"ls", "list<struct<a:int64,b:string>>"}, {"m", "map<string,int64>"}, {"w", "int32"},
}

// settings are the keys of the pipeline file that pins need.
func settings(pins [][2]string) string {
	var b strings.Builder
	b.WriteString("dead_letters: {fail_above: {ratio: 1, min_records: 1000}}\nschema:\n  nested: {min_records: 1}\n  columns:\n")
	for _, p := range pins {
		fmt.Fprintf(&b, "    - {path: %s, type: %q}\n", p[0], p[1])
	}
	return b.String()
}

// columns are the reserved columns, those of pins, and more.
func columns(pins [][2]string, more ...Column) []Column {
	out := []Column{column("_source", "string"), column("_offset", "int64"), column("_rescued", "string")}
	for _, p := range pins {
		out = append(out, column(p[0], p[1]))
	}
	return append(out, more...)
}

// ordinary are rows with a value in every column.
func ordinary(from, count int) []any {
	var rows []any
	for n := from; n < from+count; n++ {
		rows = append(rows, Row{
			"n": num(n), "flag": n%2 == 0, "i32": num(n - 25), "i64": num(int64(n) * 1_000_000_007), "f": json.Number(fmt.Sprintf("%d.25", n-25)),
			"dec": json.Number(fmt.Sprintf("%d.5", n-25)), "paid": json.Number(fmt.Sprintf("%d.0625", n-25)), "owed": json.Number(fmt.Sprintf("%d.75", n-25)), "big": num(n), "s": fmt.Sprintf("value %03d é", n), "raw": fmt.Sprintf("bytes %d", n),
			"day": fmt.Sprintf("2026-01-%02d", n%28+1), "at": fmt.Sprintf("2026-01-01T00:%02d:%02d.%06dZ", n/60, n%60, n*4919%1_000_000),
			"j": json.RawMessage(fmt.Sprintf(`{"k":%d,"b":[1,"x"]}`, n)), "o": map[string]any{"x": num(n), "p": map[string]any{"y": fmt.Sprintf("deep %d", n)}},
			"l": []any{num(n), nil, num(-n)}, "ls": []any{map[string]any{"a": num(n), "b": "é"}, map[string]any{"a": nil, "b": ""}},
			"m": map[string]any{"a": num(n), "z": num(0)}, "w": num(n % 3),
		})
	}
	return rows
}

// evolved are rows with a new column and a new field in a struct.
func evolved(from, count int) []any {
	rows := ordinary(from, count)
	for i := range rows {
		row := rows[i].(Row)
		row["extra"] = fmt.Sprintf("new %d", i)
		row["o"].(map[string]any)["z"] = i%2 == 0
	}
	return rows
}

// extreme are zeros, empty values, nulls and the ends of the ranges. The number in w
// of the last row does not fit before the column is widened.
func extreme() []any {
	long := strings.Repeat("é", 40)
	return []any{
		Row{"n": num(301), "flag": false, "i32": num(0), "i64": num(0), "f": num(0), "dec": num(0), "paid": num(0), "owed": num(0), "big": num(0), "s": "", "raw": "", "day": "1970-01-01",
			"at": "1970-01-01T00:00:00Z", "j": json.RawMessage(`{}`), "o": map[string]any{"x": num(0), "p": map[string]any{"y": ""}, "z": false},
			"l": []any{}, "ls": []any{}, "m": map[string]any{}, "w": num(0), "extra": ""},
		Row{"n": num(302), "flag": nil, "s": nil, "o": nil, "l": nil, "m": nil, "extra": nil},
		Row{"n": num(303)},
		Row{"n": num(304), "o": map[string]any{"x": nil, "p": nil}, "l": []any{nil}, "ls": []any{nil, map[string]any{"a": nil, "b": nil}}, "m": map[string]any{"": nil}},
		Row{"n": num(305), "i32": num(-2147483648), "i64": json.Number("-9223372036854775808"), "f": json.Number("-1.7976931348623157e308"),
			"dec": json.Number("-9999999.99"), "paid": json.Number("-12345678901234.5672"), "owed": json.Number("-100000000000000000000000.25"), "big": json.Number("-99999999999999999999999999999999999999"), "s": "\"'\\<&>\u2028\t\n", "at": "1900-01-01T00:00:00.000001Z", "day": "1900-01-01"},
		Row{"n": num(306), "i32": num(2147483647), "i64": json.Number("9223372036854775807"), "f": json.Number("4.9e-324"),
			"dec": json.Number("9999999.99"), "paid": json.Number("12345678901234.5672"), "owed": json.Number("100000000000000000000000.25"), "big": json.Number("99999999999999999999999999999999999999"), "s": long, "at": "2261-12-31T23:59:59.999999Z", "day": "2261-12-31"},
		Row{"n": num(307), "i64": json.Number("9007199254740993"), "f": json.Number("-0.0"), "s": "\u0000", "at": "1969-12-31T23:59:59.999999Z", "day": "1969-12-31", "flag": true},
		Row{"n": num(308), "w": json.Number("3000000000")},
	}
}

// ancient are a date and instants that not every engine has.
func ancient() []any {
	return []any{
		Row{"n": num(401), "day": "0001-01-01", "at": "0001-01-01T00:00:00Z"},
		Row{"n": num(402), "day": "9999-12-31", "at": "9999-12-31T23:59:59.999999Z"},
		Row{"n": num(403), "day": "1582-10-04", "at": "1582-10-15T00:00:00.5Z"},
	}
}

// broken are lines that are no records.
func broken() []any { return []any{"broken", `{"n":1`, `{"n": "é" oops}`} }

// filters are conditions whose rows statistics could hide.
func filters() []Filter {
	long := strings.Repeat("é", 40)
	var out []Filter
	for _, f := range [][4]string{
		{"flag", "=", "bool", "true"}, {"flag", "=", "bool", "false"}, {"flag", "null", "bool", ""},
		{"i32", "=", "int32", "-24"}, {"i32", ">", "int32", "2147483646"}, {"i32", "<", "int32", "-24"},
		{"i64", "=", "int64", "9223372036854775807"}, {"i64", "=", "int64", "9007199254740993"}, {"i64", "<", "int64", "0"},
		{"f", "=", "float64", "24.25"}, {"f", "<", "float64", "-1e308"}, {"f", "=", "float64", "0"}, {"f", "<=", "float64", "0"},
		{"dec", "=", "decimal(9,2)", "9999999.99"}, {"dec", ">", "decimal(9,2)", "100.49"}, {"dec", "<", "decimal(9,2)", "-24"},
		{"dec", "=", "decimal(9,2)", "-9999999.99"}, {"dec", "=", "decimal(9,2)", "1.5"}, {"paid", "=", "decimal(18,4)", "12345678901234.5672"}, {"paid", "<=", "decimal(18,4)", "-12345678901234.5672"},
		{"paid", ">", "decimal(18,4)", "94"}, {"owed", "=", "decimal(38,2)", "100000000000000000000000.25"}, {"owed", "=", "decimal(38,2)", "-100000000000000000000000.25"}, {"owed", "<", "decimal(38,2)", "0"},
		{"big", ">", "decimal(38,0)", "99999999999999999999999999999999999998"}, {"big", "=", "decimal(38,0)", "49"},
		{"s", "=", "string", ""}, {"s", "=", "string", long}, {"s", ">", "string", "value 119 é"}, {"s", ">=", "string", "é"}, {"s", "null", "string", ""},
		{"day", "=", "date", "1900-01-01"}, {"day", "=", "date", "2261-12-31"}, {"day", ">", "date", "2026-01-27"},
		{"at", "=", "timestamp", "1969-12-31T23:59:59.999999Z"}, {"at", "<", "timestamp", "1900-01-01T00:00:00.000002Z"},
		{"at", ">", "timestamp", "2261-12-31T23:59:59.999Z"}, {"at", ">", "timestamp", "2026-01-01T00:01:59.58Z"},
		{"extra", "=", "string", ""}, {"extra", "=", "string", "new 7"}, {"extra", "null", "string", ""},
	} {
		out = append(out, Filter{f[0], f[1], f[2], f[3]})
	}
	return out
}
