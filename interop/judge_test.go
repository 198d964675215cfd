package interop_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"batcher/interop"
)

// TestMatrix shows outcomes of each kind.
func TestMatrix(t *testing.T) {
	got := interop.Matrix([]interop.Outcome{
		{Reader: "A", Version: "1", Place: "folder", Case: "x"}, {Reader: "A", Version: "1", Place: "folder", Case: "y", Known: "is slow"},
		{Reader: "B", Version: "2", Place: "folder", Case: "x", Problem: "lost\na row"},
	})
	want := `| reader | version | tables in | x | y |
|---|---|---|---|---|
| A | 1 | folder | equal | differs (1) |
| B | 2 | folder | WRONG (2) | – |

1. A: is slow
2. B: lost a row
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestJudge_NoticesDifferences gives one table back with one thing wrong at a time.
func TestJudge_NoticesDifferences(t *testing.T) {
	c := interop.Case{Name: "c", Key: "n", Columns: []interop.Column{interop.ColumnOf("n", "int64"), interop.ColumnOf("f", "float64"), interop.ColumnOf("at", "timestamp"),
		interop.ColumnOf("raw", "bytes"), interop.ColumnOf("l", "list<decimal(4,2)>"), interop.ColumnOf("m", "map<string,int64>"), interop.ColumnOf("o", "struct<x:string>")},
		Rows: []interop.Row{
			{"n": json.Number("9007199254740993"), "f": json.Number("-0.0"), "at": "2026-01-01T00:00:00.5Z", "raw": "é", "l": []any{json.Number("1.5"), nil}, "m": map[string]any{"k": nil}, "o": map[string]any{"x": ""}},
			{"n": json.Number("2")},
		},
		Filters: []interop.Filter{{Column: "f", Op: "<=", Kind: "float64", Value: "0"}}}
	right := `{"Rows": [{"n":2,"f":null,"at":null,"raw":null,"l":null,"m":null,"o":null},
		{"n":9007199254740993,"f":-0.0,"at":"2026-01-01 00:00:00.500 UTC","raw":"c3a9","l":["1.50",null],"m":[["k",null]],"o":{"x":""}}], "Keys": [[9007199254740993]]}`
	for _, wrong := range [][3]string{
		{"", "", ""},
		{"9007199254740993,", "9007199254740992,", "9007199254740993"}, {"-0.0", "0.0", `"-0"`}, {".500 UTC", " UTC", ".500000Z"}, {"c3a9", "e9", "c3a9"},
		{`"1.50",null`, `"1.50"`, "null"}, {`[["k",null]]`, `[]`, "k"}, {`{"x":""}`, `{"x":null}`, `""`}, {`{"x":""}`, `null`, "x"}, {`{"x":""}`, `{"x":"","y":1}`, "too many"},
		{`"f":null`, `"f":0`, "null"}, {`"f":null`, `"f":"0"`, "no float64"}, {`,"o":null`, "", "columns"}, {`"o":null`, `"p":null`, "column o is missing"},
		{`"n":2`, `"n":2.0`, "no int64"}, {"[[9007199254740993]]", "[[]]", "found 0 rows, want 1"}, {`"Keys"`, `"Error":"broken","Keys"`, "broken"},
	} {
		o, err := interop.Judge(interop.Reader{}, c, strings.Replace(right, wrong[0], wrong[1], 1))
		if err != nil {
			t.Fatal(err)
		}
		if wrong[2] == "" && o.Problem != "" || !strings.Contains(o.Problem, wrong[2]) {
			t.Errorf("%s → %s: %q", wrong[0], wrong[1], o.Problem)
		}
	}
}

// TestJudge_KnownIsNoMoreThanWhatIsKnown has readers with known losses lose rows: where
// they are known to, elsewhere, and find rows that are not there.
func TestJudge_KnownIsNoMoreThanWhatIsKnown(t *testing.T) {
	long := strings.Repeat("é", 33)
	rows := []interop.Row{{"n": json.Number("1"), "b": true, "s": long, "short": "a", "at": "9999-12-31T23:59:59.999001Z", "p": nil, "late": nil}, {"n": json.Number("2"), "short": "a"}}
	c := interop.Case{Name: "c", Key: "n", Partitions: []string{"p"}, Rows: rows, Columns: []interop.Column{interop.ColumnOf("n", "int64"), interop.ColumnOf("b", "bool"), interop.ColumnOf("s", "string"),
		interop.ColumnOf("short", "string"), interop.ColumnOf("at", "timestamp"), interop.ColumnOf("p", "string"), interop.ColumnOf("late", "string")}}
	all := `{"Rows": [{"n":1,"b":true,"s":"` + long + `","short":"a","at":"9999-12-31 23:59:59.999001 UTC","p":null,"late":null},{"n":2,"b":null,"s":null,"short":"a","at":null,"p":null,"late":null}], "Keys": [%s]}`
	dataset, chdb := reader(t, "pyarrow, dataset"), reader(t, "ClickHouse")
	for _, w := range []struct {
		reader interop.Reader
		filter interop.Filter
		keys   string
		known  bool
	}{
		{dataset, interop.Filter{Column: "b", Op: "=", Kind: "bool", Value: "true"}, "[]", true},
		{dataset, interop.Filter{Column: "b", Op: "=", Kind: "bool", Value: "true"}, "[2]", false},
		{dataset, interop.Filter{Column: "s", Op: ">", Kind: "string", Value: "a"}, "[]", true},
		{dataset, interop.Filter{Column: "short", Op: "=", Kind: "string", Value: "a"}, "[1]", false},
		{dataset, interop.Filter{Column: "at", Op: ">", Kind: "timestamp", Value: "2026-01-01T00:00:00Z"}, "[]", true},
		{dataset, interop.Filter{Column: "late", Op: "null", Kind: "string"}, "[1]", true},
		{dataset, interop.Filter{Column: "n", Op: ">", Kind: "int64", Value: "0"}, "[1]", false},
		{chdb, interop.Filter{Column: "p", Op: "null", Kind: "string"}, "[1]", true},
		{chdb, interop.Filter{Column: "late", Op: "null", Kind: "string"}, "[1]", false},
		{chdb, interop.Filter{Column: "b", Op: "=", Kind: "bool", Value: "true"}, "[]", false},
	} {
		c.Filters = []interop.Filter{w.filter}
		o, err := interop.Judge(w.reader, c, fmt.Sprintf(all, w.keys))
		if err != nil {
			t.Fatal(err)
		}
		if known := o.Known != "" && o.Problem == ""; known != w.known || !known && !strings.HasPrefix(o.Problem, "where ") {
			t.Errorf("%s, %v finds %s: known %q, problem %q", w.reader.Name, w.filter, w.keys, o.Known, o.Problem)
		}
	}
}

// reader is the first one whose name begins so.
func reader(t *testing.T, name string) interop.Reader {
	for _, r := range append(interop.Quick(), interop.Slow()...) {
		if strings.HasPrefix(r.Name, name) {
			return r
		}
	}
	t.Fatalf("no reader %s", name)
	return interop.Reader{}
}
