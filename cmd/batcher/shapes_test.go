package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"batcher/audit"
	"batcher/localdev"
)

const shapesFile = `
pipeline: shapes
store: ./lake
source: {files: {path: ./in, settle: 0s, limits: {ratio_from: 4MiB}}}
dead_letters: {fail_above: {ratio: 1}}
`

func zipped(t *testing.T, members ...string) string {
	t.Helper()
	var b bytes.Buffer
	for _, m := range members {
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(m)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// question is one that DuckDB is asked about the files of a table.
type question struct {
	name, sql, want string
}

// from is the table of a world as DuckDB reads it.
func (w *world) from(args ...string) string {
	var files []string
	for _, path := range strings.Fields(w.run(append([]string{"files"}, args...)...).stdout) {
		files = append(files, literal(path))
	}
	return fmt.Sprintf("read_parquet([%s], union_by_name = true)", strings.Join(files, ","))
}

// ask puts all questions, each of which has one text as its answer, at once.
func ask(t *testing.T, questions []question) {
	t.Helper()
	duck, err := localdev.OpenDuckDB(t.Context())
	if err != nil {
		t.Fatalf("this test needs DuckDB: %v", err)
	}
	var parts []string
	for i, q := range questions {
		parts = append(parts, fmt.Sprintf("SELECT %d AS i, (%s)::VARCHAR AS v", i, q.sql))
	}
	rows, err := duck.Query(t.Context(), strings.Join(parts, "\nUNION ALL ")+"\nORDER BY i")
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(questions) {
		t.Fatalf("%d answers to %d questions", len(rows), len(questions))
	}
	for i, q := range questions {
		got := rows[i]["v"]
		if got == nil {
			got = "NULL"
		}
		if got != q.want {
			t.Errorf("%s: %s, want %s", q.name, got, q.want)
		}
	}
}

// TestShapesOfDataReadInDuckDB sends each kind of input that other systems lost,
// doubled or garbled through the program, proves it with verify, and reads it in
// DuckDB: the answers are what stood in the input. T is the table, D the dead
// letters.
func TestShapesOfDataReadInDuckDB(t *testing.T) {
	const deep = 10_000
	bomb := strings.Repeat("\n", 32<<20)
	var questions []question
	for _, c := range []struct {
		name       string
		files      map[string]string
		rows, dead int64
		sql, want  string
	}{
		{"D1_a fraction behind 30,000 integers", map[string]string{"a.ndjson": strings.Repeat("{\"a\":1}\n", 30_000) + "{\"a\":1.5}\n"}, 30_001, 0,
			"SELECT typeof(max(a)) || ' ' || sum(a) FROM T", "DOUBLE 30001.5"},
		{"D1_true behind 30,000 integers", map[string]string{"a.ndjson": strings.Repeat("{\"a\":1}\n", 30_000) + "{\"a\":true}\n"}, 30_001, 0,
			"SELECT typeof(max(a)) || ' ' || max(a) || ' ' || min(a) FROM T", "VARCHAR true 1"},
		{"D3_a struct behind nulls", map[string]string{"a.ndjson": strings.Repeat("{\"a\":null}\n", 1000) + strings.Repeat("{\"a\":{\"b\":7}}\n", 200)}, 1200, 0,
			"SELECT count(a.b) || ' ' || min(a.b) || ' ' || typeof(max(a.b)) FROM T", "200 7 BIGINT"},
		{"D5_missing is null in every format", map[string]string{"a.ndjson": "{\"a\":\"\",\"b\":0}\n{\"a\":\"x\"}\n{\"b\":7}\n", "b.csv": "a,b\n\"\",0\nx,\n,7\n"}, 6, 0,
			"SELECT count(*) FILTER (a IS NULL) || ' ' || count(*) FILTER (a = '') || ' ' || count(*) FILTER (b IS NULL) || ' ' || count(*) FILTER (b = 0) FROM T", "2 2 2 2"},
		{"D7_integers beyond 2^53", map[string]string{"a.ndjson": "{\"a\":9007199254740993}\n{\"a\":-9223372036854775808}\n"}, 2, 0,
			"SELECT typeof(max(a)) || ' ' || max(a) || ' ' || min(a) FROM T", "BIGINT 9007199254740993 -9223372036854775808"},
		{"D8_30 digits", map[string]string{"a.ndjson": "{\"a\":123456789012345678901234567890}\n"}, 1, 0,
			"SELECT typeof(max(a)) || ' ' || max(a) FROM T", "DECIMAL(38,0) 123456789012345678901234567890"},
		{"D9_gzip of many members", map[string]string{"a.gz": zipped(t, "{\"a\":1}\n{\"a\"", ":2}\n", "", "{\"a\":3}\n")}, 3, 0,
			"SELECT count(*) || ' ' || sum(a) FROM T", "3 6"},
		{"D11_a line of 70 kB, and one of 9 MB", map[string]string{"a.ndjson": `{"a":"` + strings.Repeat("x", 70_000) + "\"}\n{\"a\":\"" + strings.Repeat("y", 9<<20) + "\"}\n{\"a\":\"z\"}\n"}, 2, 1,
			"SELECT string_agg(length(a), ' ' ORDER BY _offset) || (SELECT ' ' || code || ' ' || raw_length FROM D) FROM T", fmt.Sprint("70000 1 too_long ", 9<<20+8)},
		{"D12_text that is not Unicode", map[string]string{"a.ndjson": "{\"a\":\"ok\"}\n{\"a\":\"\xff\"}\n{\"a\":\"\\ud800\"}\n"}, 1, 2,
			"SELECT string_agg(code, ' ' ORDER BY _offset) FROM D", "invalid_utf8 lone_surrogate"},
		{"D14_keys twice, and in two cases", map[string]string{"a.ndjson": "{\"id\":1,\"Id\":2}\n{\"id\":3,\"id\":4}\n"}, 1, 1,
			"SELECT id || ' ' || id_2 || (SELECT ' ' || code FROM D) FROM T", "1 2 duplicate_key"},
		{"D15_byte order marks", map[string]string{"a.csv": "\ufeff\"a\",b\n1,2\n", "b.ndjson": "\ufeff{\"a\":3}\n", "c.csv": "\xff\xfea\x00\n\x005\x00\n\x00"}, 3, 0,
			"SELECT string_agg(a, ' ' ORDER BY a) FROM T", "1 3 5"},
		{"D17_nothing at all", map[string]string{"zero.ndjson": "", "header.csv": "a,b\n", "white.json": " \n\t\n", "none.gz": zipped(t, "")}, 0, 0, "", ""},
		{"D19_nulls and lists of structs", map[string]string{"a.ndjson": strings.Repeat("{\"a\":[1,null,2],\"b\":[{\"x\":1},null],\"c\":[{\"y\":\"z\"}]}\n", 200)}, 200, 0,
			"SELECT any_value(a)::VARCHAR || ' ' || any_value(b)::VARCHAR || ' ' || any_value(c)::VARCHAR FROM T", "[1, NULL, 2] [{'x': 1}, NULL] [{'y': z}]"},
		{"D20_schemas that alternate", map[string]string{"a.ndjson": strings.Repeat("{\"a\":1}\n{\"b\":\"x\"}\n", 5000)}, 10_000, 0,
			"SELECT count(a) || ' ' || count(b) || ' ' || count(DISTINCT _source) FROM T", "5000 5000 1"},
		{"D23_D24_instants are UTC and micros, local times are text", map[string]string{"a.ndjson": "{\"i\":\"2024-02-29T12:00:00.123456+01:00\",\"l\":\"2024-02-29T12:00:00\"}\n"}, 1, 0,
			"SELECT typeof(i) || ' ' || epoch_us(i) || ' ' || l FROM T", "TIMESTAMP WITH TIME ZONE 1709204400123456 2024-02-29T12:00:00"},
		{"D27_several records on one line, an array at the top", map[string]string{"a.json": "{\"a\":1}{\"a\":2}\n", "b.json": "[{\"a\":3},{\"a\":4}]"}, 4, 0,
			"SELECT sum(a) FROM T", "10"},
		{"D28_a malformed line", map[string]string{"a.ndjson": "{\"a\":1}\n{\"a\":}\n{\"a\":3}\n"}, 2, 1,
			"SELECT sum(a) || (SELECT ' ' || code || ' ' || _offset FROM D) FROM T", "4 syntax 8"},
		{"D30_a bomb beside good records", map[string]string{"bomb.gz": zipped(t, bomb), "good.ndjson": "{\"a\":1}\n"}, 1, 1,
			"SELECT count(*) || (SELECT ' ' || _source || ' ' || code FROM D) FROM T", "1 bomb.gz too_large"},
		{"hostile: depth, NaN, 5,000 keys", map[string]string{"a.ndjson": "{\"a\":" + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "}\n{\"a\":NaN}\n{\"a\":1}\n", "b.ndjson": manyKeys(5000)}, 2, 2,
			"SELECT string_agg(code, ' ' ORDER BY _offset) || ' ' || (SELECT len(json_keys(max(_rescued))) > 2900 FROM T) FROM D", "too_deep syntax true"},
		{"hostile: one field of three kinds", map[string]string{"a.ndjson": strings.Repeat("{\"a\":\"x\"}\n{\"a\":{\"b\":1}}\n{\"a\":[1]}\n", 100)}, 300, 0,
			"SELECT typeof(max(a)) || ' ' || string_agg(DISTINCT a, ' ' ORDER BY a) FROM T", `VARCHAR "x" [1] {"b":1}`},
	} {
		w := newWorld(t, nil, shapesFile)
		for name, text := range c.files {
			w.write("in/"+name, text)
		}
		var rep report
		w.must(&rep, "run")
		if rep.Rows.Written != c.rows || rep.Rows.Dead != c.dead || rep.Rows.Read != c.rows+c.dead {
			t.Errorf("%s: %+v, want %d rows and %d dead letters", c.name, rep.Rows, c.rows, c.dead)
		}
		w.proved(c.name, rep)
		if c.sql == "" {
			continue
		}
		sql := c.sql
		if strings.Contains(sql, "FROM T") {
			sql = strings.ReplaceAll(sql, "FROM T", "FROM "+w.from())
		}
		if strings.Contains(sql, "FROM D") {
			sql = strings.ReplaceAll(sql, "FROM D", "FROM "+w.from("--table", "shapes_dead"))
		}
		questions = append(questions, question{c.name, sql, c.want})
	}
	if ask(t, questions); t.Failed() {
		return
	}
	localdev.Figure("shapes of data, through the program and DuckDB", fmt.Sprintf("%d cases as they should be", len(questions)))
}

func manyKeys(n int) string {
	var b strings.Builder
	b.WriteString(`{"a":2`)
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	b.WriteString("}\n")
	return b.String()
}

// proved demands that verify finds every record of a run in the source again. A
// broken object has none.
func (w *world) proved(name string, rep report) {
	w.t.Helper()
	var proof audit.Report
	w.must(&proof, "verify", "--source")
	if proof.Lost+proof.Doubled+proof.Source.Mismatch+proof.Source.Unverifiable != 0 || len(proof.Violations) > 0 || proof.Source.Verified != rep.Rows.Read {
		w.t.Errorf("%s: verify: %+v of %d records", name, proof, rep.Rows.Read)
	}
}

// TestD23_D24_TimestampsSayThatTheyAreInstantsInMicroseconds reads what the Parquet file itself
// says, and DuckDB's own schema of it.
func TestD23_D24_TimestampsSayThatTheyAreInstantsInMicroseconds(t *testing.T) {
	w := newWorld(t, nil, shapesFile)
	w.write("in/a.ndjson", "{\"i\":\"2024-02-29T12:00:00.123456789+01:00\"}\n")
	w.must(&report{}, "run")
	from := strings.Replace(w.from(), "read_parquet([", "parquet_schema([", 1)
	from = strings.Replace(from, ", union_by_name = true", "", 1)
	ask(t, []question{
		{"logical type", "SELECT regexp_replace(logical_type, '\\s', '', 'g') FROM " + from + " WHERE name = 'i'", "TimestampType(isAdjustedToUTC=1,unit=TimeUnit(MILLIS=<null>,MICROS=MicroSeconds(),NANOS=<null>))"},
		{"the digits beyond", "SELECT _rescued FROM " + w.from(), `{"i":"2024-02-29T12:00:00.123456789+01:00"}`},
	})
}

// shapes are the rows of the list of cases that data of odd shapes make.
var shapes = strings.Fields("D1 D3 D5 D7 D8 D9 D11 D12 D14 D15 D17 D19 D20 D23 D24 D25 D26 D27 D28 D30 D32")

// TestTheTableOfShapesNamesTestsThatAreThere holds the table of docs/FORMATS.md:
// every case has a row, and every test that a row names is there.
func TestTheTableOfShapesNamesTestsThatAreThere(t *testing.T) {
	text, err := os.ReadFile("../../docs/FORMATS.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := sources(t)
	var ids []string
	for _, row := range regexp.MustCompile(`(?m)^\| ((?:D\d+(?:, )?)+) \|(.*)\|$`).FindAllStringSubmatch(string(text), -1) {
		ids = append(ids, strings.Split(row[1], ", ")...)
		names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1)
		if len(names) == 0 && !strings.Contains(row[2], "not built") && !strings.Contains(row[2], "cannot occur") {
			t.Errorf("%s: no test", row[1])
		}
		for _, name := range names {
			if !strings.Contains(tests, "func "+name[1]+"(") && !strings.Contains(tests, `"`+name[1]) {
				t.Errorf("%s: there is no test %s", row[1], name[1])
			}
		}
	}
	if !slices.Equal(ids, shapes) {
		t.Errorf("rows for %v, want %v", ids, shapes)
	}
}

// sources returns the text of all tests.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"../../*/*_test.go", "../../*/*/*_test.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}
