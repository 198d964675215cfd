package record_test

import (
	"strings"
	"testing"

	"batcher/record"
	"batcher/source"
)

// TestAHeaderIsDecidedOnce reads text over text first beside one table and then again
// beside others: the rest of it, and all of it, have the keys of the first time.
func TestAHeaderIsDecidedOnce(t *testing.T) {
	numbers := field(17, "column_1", `"string"`) + "," + field(18, "column_2", `"string"`)
	names := field(17, "dora", `"string"`) + "," + field(18, "red", `"string"`)
	for name, c := range map[string]struct{ body, first, later, header string }{
		"record beside numbered columns":  {"dora,red\nemil,green\nfay,blue\n", numbers, names, "numbered"},
		"header beside most of its names": {"dora,red,sad\nemil,red,so\nfay,blue,no\n", names, numbers + "," + field(19, "column_3", `"string"`), "named"},
		"header of which it has all":      {"dora,red\nemil,red\nfay,blue\n", names, numbers, "named"},
		"nothing of a table is asked":     {"1,red\n2,green\n3,blue\n", numbers, names, "numbered"},
	} {
		read := func(table string, o record.Object) (keys string, res record.Result) {
			opt := record.Options{Table: published(t, table), Format: record.Format{Kind: record.CSV}}
			d := record.NewDecoder(opt)
			o.Source = "o.csv"
			res, err := d.Decode(t.Context(), o, strings.NewReader(c.body))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := d.Flush(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			layout, err := record.NewDecoder(opt).Layout(t.Context(), o, strings.NewReader(c.body))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			dialect, _ := layout.Dialect()
			return string(dialect.Header), res
		}
		want, res := read(c.first, record.Object{MaxRecords: 1})
		if res.Header != c.header {
			t.Errorf("%s: decided %q, want %q", name, res.Header, c.header)
		}
		for _, from := range []source.Position{0, res.To} {
			got, again := read(c.later, record.Object{From: from, Header: res.Header})
			if got != want || again.Header != c.header {
				t.Errorf("%s: from %d it is %s and %q is handed on, want %s and %q", name, from, got, again.Header, want, c.header)
			}
		}
	}
}
