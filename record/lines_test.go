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

// TestD11_TheEndOfALineDoesNotCount has records as long as they may be and one
// byte longer, under every end of a line, within what is read at once and beyond.
func TestD11_TheEndOfALineDoesNotCount(t *testing.T) {
	for _, most := range []int{300, 512<<10 - 1, 512 << 10, 600 << 10} {
		for _, c := range []struct {
			kind                record.Kind
			before, open, close string
		}{
			{record.NDJSON, "", `{"a":"`, `"}`},
			{record.Lines, "", "", ""},
			{record.CSV, "a,b\n", "1,", ""},
			{record.CSV, "a,b\n", `1,"`, `"`},
			{record.CSV, "a,b\n", "1,\"\n", `"`},
			{record.CSV, "a,b\r\n", "1,\"\r\n", `"`},
		} {
			for _, end := range []string{"\n", "\r\n", "", "\r"} {
				for _, over := range []int{0, 1, 2} {
					opt := record.Options{Format: record.Format{Kind: c.kind}, Limits: record.Limits{MaxRecordBytes: most}}
					line := c.open + strings.Repeat("x", most+over-len(c.open)-len(c.close)) + c.close
					out := decode(t, opt, input{"o", c.before + line + end})
					if isRow := len(out.rows) == 1 && len(out.dead) == 0; isRow != (over == 0) {
						t.Errorf("%s, %d bytes of %d, end %q, %.5q: %d rows, dead %s", c.kind, len(line), most, end, line, len(out.rows), codes(out))
					}
					if len(out.dead) > 0 && out.dead[0].Code == "too_long" && out.dead[0].Length != int64(len(line)+len(strings.TrimSuffix(end, "\n"))) && (c.kind != record.NDJSON || end != "\r") { // which ends the line
						t.Errorf("%s: a length of %d", c.kind, out.dead[0].Length)
					}
				}
			}
		}
	}
}
