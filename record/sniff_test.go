package record

import (
	"strings"
	"testing"

	"batcher/schema"
)

// TestSniff finds out how the heads of ordinary files are written.
func TestSniff(t *testing.T) {
	const none, named = "none", "named"
	for name, c := range map[string]struct {
		head   string
		sign   byte
		header string
		from   int
		extra  string // escape, padded, trailing
	}{
		"plain":                         {"id,name\n1,a\n2,b\n", ',', named, 0, ""},
		"records alone":                 {"1,a\n2,b\n", ',', none, 0, ""},
		"dates":                         {"a,2024-01-01\nb,2024-01-02\n", ',', none, 0, ""},
		"local times":                   {"a,2024-01-01 10:00:00\nb,2024-01-02 11:00:00\n", ',', none, 0, ""},
		"bools":                         {"a,TRUE\nb,FALSE\n", ',', none, 0, ""},
		"text over text":                {"name,city\nann,rome\nbob,bonn\n", ',', named, 0, ""},
		"a value again below":           {"ann,rome\nbob,rome\ncy,bonn\n", ',', none, 0, ""},
		"a header again below":          {"name,city\nann,rome\nname,city\nbob,bonn\n", ',', named, 0, ""},
		"a marked header again below":   {"name,city\nann,rome\n\ufeffname,city\nbob,bonn\n", ',', named, 0, ""},
		"names over gaps":               {"id,qty,price\n1,,\n2,5,\n", ',', named, 0, ""},
		"a first record with gaps":      {"1,,x\n2,5,y\n3,7,z\n", ',', none, 0, ""},
		"a first record with a word":    {"unknown,5,2.5,2024-01-01\n3,7,1.5,2024-01-02\n", ',', none, 0, ""},
		"years":                         {"country,2019,2020,2021\nx,1,2,3\ny,4,5,6\n", ',', named, 0, ""},
		"years over years":              {"car,2001,2003\nvan,1999,2004\nbus,1980,\n", ',', none, 0, ""},
		"days over numbers":             {"country,2020-01-22,2020-01-23\nx,1,2\ny,4,5\n", ',', named, 0, ""},
		"index without a name":          {",price\n0,1.5\n1,2.0\n", ',', named, 0, ""},
		"names alone":                   {"id,name,price\n", ',', named, 0, ""},
		"one record alone":              {"1,ann,2024-01-01\n", ',', none, 0, ""},
		"published names":               {"1,ann\n2,bob\n", ',', named, 0, "published 1 ann"},
		"published name with a number":  {"q_1,q_2\na,b\na,q_2\n", ',', named, 0, "published q_1\x00 q_2\x00"},
		"most names published":          {"name,type,new\nfoo,type,a\nbar,kind,b\n", ',', named, 0, "published name type"},
		"text under numbered columns":   {"dora,red\nemil,green\n", ',', none, 0, "published column_1 column_2"},
		"one row of text":               {"dora,red\n", ',', none, 0, "published column_1 column_2"},
		"more than numbered columns":    {"id,name,city\n1,ann,rome\n", ',', named, 0, "published column_1 column_2"},
		"a header over numbers":         {"id,name\n1,ann\n2,bob\n", ',', named, 0, "published column_1 column_2"},
		"null words below":              {"id,qty\n1,NULL\n2,NA\n3,5\n", ',', named, 0, ""},
		"semicolons, decimal commas":    {"1,5;2,5\n3,5;4,5\n", ';', none, 0, ""},
		"semicolons in text":            {"a,b\nx;y,1\nz;w,2\n", ',', named, 0, ""},
		"tabs beside commas":            {"a\tb,c\n1\t2,3\n4\t5,6\n", '\t', named, 0, ""},
		"times are no delimiters":       {"at\n01:02:03\n02:03:04\n03:04:05\n", ',', named, 0, ""},
		"commas in a single column":     {"text\nhello, world\nfoo, bar\nbaz, qux\n", ',', named, 0, ""},
		"sep":                           {"sep=;\r\na;b\r\n1;2\r\n", ';', named, 7, ""},
		"sep in quotes":                 {"\"sep=|\"\na|b\n1|2\n", '|', named, 8, ""},
		"a title and a gap":             {"Report\n\nid,name\n1,a\n2,b\n", ',', named, 8, ""},
		"a title filled up":             {"Report,,\n,,\nid,name,qty\n1,a,5\n2,b,6\n3,c,\n", ',', named, 12, ""},
		"a title filled up, no gap":     {"Report,,\nid,name,qty\n1,a,5\n2,b,6\n3,c,7\n", ',', named, 9, ""},
		"an empty first row":            {",,\nid,name,qty\n1,a,5\n", ',', named, 3, ""},
		"an empty record":               {"\"\"\n7\n8\n", ',', none, 3, ""},
		"a part of a row below":         {"1\tann\t\\N\n2\tbob\tx\n3\tcy\tline\\\nbreak\n", '\t', none, 0, ""},
		"a footer below":                {"1,ann\n2,bob\n(2 rows)\n", ',', none, 0, ""},
		"rows that end early below":     {"1,ann,5\n2,bob\n3,cy\n", ',', none, 0, ""},
		"identifiers":                   {"01234,Main St\n10001,Broadway\n+49,x\n", ',', none, 0, ""},
		"times of day":                  {"17:40:00\n08:15:00\n", ',', none, 0, ""},
		"written dates":                 {"ann,01/02/2024\nbob,15/02/2024\n", ',', none, 0, ""},
		"money and addresses":           {"$5.00,10.0.0.1\n$7.25,10.0.0.2\n", ',', none, 0, ""},
		"names over written dates":      {"name,born\nann,01/02/2024\nbob,15/02/2024\n", ',', named, 0, ""},
		"quarters over numbers":         {"country,2019-20,2020-21\nx,1,2\ny,4,5\n", ',', named, 0, ""},
		"records with gaps at the end":  {"a,,\nb,,\nc,1,2\nd,3,4\ne,5,6\n", ',', named, 0, ""},
		"a header with gaps at its end": {"id,\n1,5\n2,6\n3,7\n", ',', named, 0, ""},
		"rows with gaps at their ends":  {"id,,\n1,,\n2,,\n3,,\n", ',', named, 0, ""},
		"nothing in any row":            {",,\n,,\n", ',', named, 0, ""},
		"sep, filled up":                {"sep=;;;\na;b;c\n1;2;3\n", ';', named, 8, ""},
		"titles without a gap":          {"Report\nof 2024\nid,qty\n1,5\n2,6\n", ',', named, 15, ""},
		"an export's dates above":       {"Exported: 2024-01-01, 10:00\nfor: me\n\nid,name,v\n1,a,2\n2,b,3\nTotal,,5\n", ',', named, 37, ""},
		"a short first record":          {"1,a\n2,b,c\n3,d,e\n4,f,g\n", ',', none, 0, ""},
		"trailing":                      {"id,name\n1,a,\n2,b,\n", ',', named, 0, "trailing"},
		"trailing, but in a total":      {"id,name\n1,a,\n2,b,\n,total\n", ',', named, 0, "trailing"},
		"trailing in half of the rows":  {"id,name\n1,a,\n2,b\n", ',', named, 0, ""},
		"trailing, but once a value":    {"id,name\n1,a,\n2,b,c\n", ',', named, 0, ""},
		"backslashes":                   {"id,msg\n1,\"he said \\\"hi\\\", twice\"\n2,x\n", ',', named, 0, "escape"},
		"a path that ends in one":       {"id,path\n1,\"C:\\dir\\\"\n2,\"C:\\\"\n", ',', named, 0, ""},
		"blanks before quotes":          {"id, name\n1, \"Smith, J\"\n2, \"Doe, A\"\n", ',', named, 0, "padded"},
		"blanks before quotes in text":  {"id,name\n1,say \"hi\"\n2,x\n", ',', named, 0, ""},
	} {
		d := Dialect{}.withDefaults()
		table, ok := strings.CutPrefix(c.extra, "published ")
		if ok {
			c.extra = ""
		}
		published := knownOf(&schema.Schema{}, nil)
		for _, key := range strings.Fields(table) {
			if ok {
				published.add(strings.ReplaceAll(key, "column_", "\x00"))
			}
		}
		r, from := d.sniff([]byte(c.head))
		got := r.dialect
		header := none
		if r.header(published) == Named {
			header = named
		}
		var extra []string
		for name, is := range map[string]bool{"escape": got.Escape != 0, "padded": got.Padded, "trailing": got.Trailing == Ignored} {
			if is {
				extra = append(extra, name)
			}
		}
		if got.Delimiter != c.sign || header != c.header || from != c.from || strings.Join(extra, " ") != c.extra {
			t.Errorf("%s: delimiter %q, header %s, from %d, %v; want %q, %s, %d, %s", name, got.Delimiter, header, from, extra, c.sign, c.header, c.from, c.extra)
		}
	}
}

// FuzzSniff: whatever stands there, the dialect found out has a delimiter, the
// table begins at a row, and both are the same again.
func FuzzSniff(f *testing.F) {
	f.Add("sep=;\na;b\n1;2\n")
	f.Add("Report\n\nid,name\n1,\"a\\\"\n2,b\n")
	f.Fuzz(func(t *testing.T, head string) {
		sniff := func() (Dialect, int) {
			none := knownOf(&schema.Schema{}, nil)
			r, from := Dialect{}.withDefaults().sniff([]byte(head))
			r.dialect.Header = r.header(none)
			return r.dialect, from
		}
		d, from := sniff()
		again, at := sniff()
		if d.Delimiter == 0 || d.Header == "" || from < 0 || from > len(head) || at != from || again.Delimiter != d.Delimiter || again.Header != d.Header {
			t.Errorf("%+v from %d, then %+v from %d", d, from, again, at)
		}
	})
}
