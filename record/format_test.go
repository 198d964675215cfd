package record_test

import (
	"fmt"
	"strings"
	"testing"

	"batcher/record"
)

// kinds says of an outcome under Auto as which format the object was read: the
// one that gives the same rows and dead letters.
func kinds(t *testing.T, o input, out *outcome) string {
	t.Helper()
	var same []string
	for _, kind := range []record.Kind{record.NDJSON, record.JSON, record.CSV, record.Lines} {
		as, err := try(t, record.Options{Format: record.Format{Kind: kind}}, o)
		if err == nil && fmt.Sprint(as.rows, letters(as)) == fmt.Sprint(out.rows, letters(out)) {
			same = append(same, string(kind))
		}
	}
	return strings.Join(same, " ")
}

// TestFormatsAreFoundOut reads objects whose format nobody declared.
func TestFormatsAreFoundOut(t *testing.T) {
	const csv, text = "a,b\n1,2\n", "GET / 200\nGET /x 404\n"
	object, lines := `{"a":1}`, "{\"a\":1}\n{\"a\":2}\n"
	pretty := "{\n \"a\": 1,\n \"b\": [\n  {\"c\":1},\n  {\"c\":2}\n ]\n}\n"
	for _, c := range []struct{ name, body, want string }{
		{"o.csv", csv, "csv"}, {"o.CSV.gz", csv, "csv"}, {"p/o.tsv", "a\tb\n1\t2\n", "csv"}, {"o.tab", "a\tb\n1\t2\n", "csv"}, {"o.psv.zst", "a|b\n1|2\n", "csv"},
		{"o.csv", object, ""}, {"o", csv, "lines"}, {"o.txt", csv, "lines"}, {"csv", csv, "lines"}, {"o.csv/part-0", csv, "lines"},
		{"o.txt", text, "lines"}, {"o.log", text, "lines"}, {"o", text, "lines"}, {"o.log.bz2", text, "lines"},
		{"o.log", "[2024-01-01] started\n[2024-01-01] stopped\n", "lines"}, {"o.log", "[info] x\n", "lines"}, {"o.log", "\"x\" 1\n", "lines"}, {"o.log", "12\n13\n", "lines"},
		{"o.log", lines, "ndjson json"}, {"o", lines, "ndjson json"}, {"o.txt", lines, "ndjson json"}, {"o.json", lines, "ndjson json"}, {"o.ndjson", lines, "ndjson json"}, {"o.jsonl.gz", lines, "ndjson json"},
		{"o.json", object, "ndjson json"}, {"o.json", pretty, "json"}, {"o", pretty, "json"}, {"o.log", pretty, "json"}, {"o.ndjson", pretty, "json"}, {"o.json", pretty + pretty, "json"},
		{"o.json", "[" + object + "]", "json"}, {"o", "[" + object + "]", "json"}, {"o", "\n [\n " + object + "\n]", "json"}, {"o", "[[1]]", "json"}, {"o.json", "[1,2]", "json"}, {"o.jsonl", "[" + object + "]\n", "ndjson"},
		{"o.json", object + object, "json"}, {"o", object + object + "\n" + object, "json"}, {"o.ndjson", object + object, "json"},
		{"o.json", "{\"a\":[\n{\"x\":1},\n{\"x\":2}\n]}", "json"}, {"o.json", "{\"a\":[\n{\"x\":1}\n,\n{\"x\":2}\n]}", "json"}, {"o.json", "{\"a\":\n{}\n}", "json"},
		{"o.json", object + "\n" + pretty, "json"}, {"o.json", "{\"a\":[\n" + strings.Repeat("{\"x\":\"y\"},\n", 20000) + "{}]}", "json"},
		{"o.json", "{\"a\":\n" + lines, "ndjson"}, {"o.json", lines + "{\"a\":\n" + lines, "ndjson"}, {"o", lines + "{\"a\":1}{\"a\":2}\n" + lines, "ndjson"}, {"o.json", "oops\n" + lines, "ndjson json"},
		{"o.ndjson", "{\"a\":\n" + lines, "ndjson"}, {"o.ndjson", "oops\n" + lines, "ndjson json"}, {"o.json", "oops " + lines, "ndjson json"},
		{"o.json", "{\"a\":\"" + strings.Repeat("x", 100000) + "\"}\n" + lines, "ndjson json"},
		{"o.json", "\ufeff" + lines, "ndjson json"}, {"o", "\ufeff" + object + object, "json"}, {"o", "\ufeff[{}]", "json"}, {"o", "\ufeff" + text, "lines"},
		{"o.json", written("\ufeff"+pretty, "utf-16le"), "json"}, {"o", written("\ufeff"+text, "utf-16be"), "lines"},
		{"o", "", "ndjson json csv lines"}, {"o", "\n\n", "ndjson json csv lines"},
	} {
		t.Run(fmt.Sprintf("%s %.20q", c.name, c.body), func(t *testing.T) {
			opt := record.Options{Format: record.Format{Kind: record.Auto}}
			o := input{c.name, c.body}
			out := decode(t, opt, o)
			if got := kinds(t, o, out); c.want != "" && got != c.want {
				t.Errorf("%s %.60q is read as %s, want %s", c.name, c.body, got, c.want)
			}
			if int64(len(out.rows)+len(out.dead)) != out.results[0].Records {
				t.Errorf("%d rows, %d dead, %+v", len(out.rows), len(out.dead), out.results[0])
			}
		})
	}
}

// TestUnnestAppliesToAllJSON reads envelopes under names of lines and documents.
func TestUnnestAppliesToAllJSON(t *testing.T) {
	for _, name := range []string{"o.json", "o.ndjson", "o.jsonl.gz", "o", "o.log"} {
		opt := record.Options{Format: record.Format{Kind: record.Auto, Unnest: []string{"R"}}}
		out := decode(t, opt, input{name, "{\"R\":[{\"a\":1},\n{\"a\":2}]}\n{\"R\":[{\"a\":3}]}\n"})
		if users(out) != "{\"a\":1}\n{\"a\":2}\n{\"a\":3}" {
			t.Errorf("%s: rows %s, dead %v", name, users(out), letters(out))
		}
	}
	opt := record.Options{Format: record.Format{Kind: record.Auto, Unnest: []string{"R"}}}
	if out := decode(t, opt, input{"o.csv", "R\n1\n"}); users(out) != `{"r":1}` {
		t.Errorf("rows %s", users(out))
	}
}
