package record_test

import (
	"strings"
	"testing"

	"batcher/record"
)

func TestLines(t *testing.T) {
	for name, c := range map[string]struct{ body, rows, codes string }{
		"lines":              {"a\nb c\n", "{\"line\":\"a\"}\n{\"line\":\"b c\"}", ""},
		"no newline":         {"a\nb", "{\"line\":\"a\"}\n{\"line\":\"b\"}", ""},
		"CRLF":               {"a\r\nb\r\n", "{\"line\":\"a\"}\n{\"line\":\"b\"}", ""},
		"blank lines":        {"\n\r\n  \t\na\n\n", `{"line":"a"}`, ""},
		"space is kept":      {" a \n\tb", "{\"line\":\" a \"}\n{\"line\":\"\\u0009b\"}", ""},
		"carriage returns":   {"a\rb\r\r\n", `{"line":"a\u000db\u000d"}`, ""},
		"never a number":     {"1\n2024-01-01\ntrue\nnull\n{}\n\"\"", "{\"line\":\"1\"}\n{\"line\":\"2024-01-01\"}\n{\"line\":\"true\"}\n{\"line\":\"null\"}\n{\"line\":\"{}\"}\n{\"line\":\"\\\"\\\"\"}", ""},
		"D12_invalid":        {"a\n\xff\nb", "{\"line\":\"a\"}\n{\"line\":\"b\"}", "utf8/invalid_utf8"},
		"D11_too long":       {"a\n" + strings.Repeat("x", 201) + "\nb", "{\"line\":\"a\"}\n{\"line\":\"b\"}", "length/too_long"},
		"D11_as long as may": {strings.Repeat("x", 200) + "\n", `{"line":"` + strings.Repeat("x", 200) + `"}`, ""},
		"D17_nothing":        {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := decode(t, record.Options{Format: record.Format{Kind: record.Lines}, Limits: record.Limits{MaxRecordBytes: 200}}, input{"o", c.body})
			if users(out) != c.rows || codes(out) != c.codes {
				t.Errorf("rows %s, dead %v; want %s, %s", users(out), letters(out), c.rows, c.codes)
			}
			if len(out.rows) > 0 && columns(out.schema) != "line:string" {
				t.Errorf("columns %s", columns(out.schema))
			}
			checkPartition(t, out, c.body)
		})
	}
}

// TestLinesUnderAPublishedColumn keeps text that a column of another type does
// not take.
func TestLinesUnderAPublishedColumn(t *testing.T) {
	opt := record.Options{Format: record.Format{Kind: record.Lines}}
	opt.Table = published(t, field(17, "line", `"json"`)+","+field(18, "x", `"int64"`))
	out := decode(t, opt, input{"o", "{\"a\":1}\nplain\n"})
	if got, want := users(out), `{"line":{"a":1},"x":null}
{"_rescued":"{\"line\":\"plain\"}","line":null,"x":null}`; got != want {
		t.Errorf("rows %s", got)
	}
}
