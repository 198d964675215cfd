package interop_test

import (
	"encoding/json"
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
		problem, err := interop.Judge(c, strings.Replace(right, wrong[0], wrong[1], 1))
		if err != nil {
			t.Fatal(err)
		}
		if wrong[2] == "" && problem != "" || !strings.Contains(problem, wrong[2]) {
			t.Errorf("%s → %s: %q", wrong[0], wrong[1], problem)
		}
	}
}
