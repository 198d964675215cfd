package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"batcher/localdev"
)

// fileCase is what testdata/cases/NAME/case.yaml says of the files in
// testdata/cases/NAME/in: how they are read and what is to come of them.
type fileCase struct {
	Why           string            `yaml:"why"`            // what is right, and what used to go wrong
	Pipeline      map[string]any    `yaml:"pipeline"`       // laid over the pipeline file
	Runs          [][]string        `yaml:"runs"`           // files that each run finds besides those before; default: all at once
	Exit          []int             `yaml:"exit"`           // of each run; default 0
	Stderr        []string          `yaml:"stderr"`         // patterns of what some run prints on standard error
	Stdout        []string          `yaml:"stdout"`         // and on standard output
	Columns       []string          `yaml:"columns"`        // of the published table: "name type"
	Rows          []string          `yaml:"rows"`           // by source and offset: JSON of the user columns, and _rescued where it is not null
	Facts         map[string]string `yaml:"facts"`          // in the place of many rows: queries on the committed rows, and what DuckDB says
	Dead          []string          `yaml:"dead"`           // "source@offset code"
	Broken        []string          `yaml:"broken"`         // quarantined objects
	DuckDB        string            `yaml:"duckdb"`         // what DuckDB makes of the files of in/, which is to be the same rows
	DuckDBDiffers string            `yaml:"duckdb_differs"` // why there is no such query
	dir           string
	duck          *localdev.DuckDB
	world         *world
	stdout        strings.Builder
	stderr        strings.Builder
}

// TestCases reads what people bring: files of ordinary tools, each with the rows
// that a person expects. What batcher committed is read by batcher and by DuckDB.
func TestCases(t *testing.T) {
	duck, err := localdev.OpenDuckDB(t.Context())
	if err != nil {
		t.Fatalf("this test needs DuckDB: %v", err)
	}
	dirs, err := filepath.Glob("testdata/cases/*/case.yaml")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range dirs {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			c := fileCase{dir: dir, duck: duck}
			c.read(t, file)
			c.play(t)
			c.check(t)
		})
	}
	localdev.Figure("cases of files that people bring", len(dirs))
}

func (c *fileCase) read(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(c); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if c.Why == "" || (c.DuckDB == "") == (c.DuckDBDiffers == "") {
		t.Fatalf("%s: wants why, and one of duckdb and duckdb_differs", file)
	}
	if len(c.Runs) == 0 {
		c.Runs = [][]string{{"."}}
	}
	for len(c.Exit) < len(c.Runs) {
		c.Exit = append(c.Exit, 0)
	}
}

// overlaid is base with the members of over, maps joined.
func overlaid(base, over map[string]any) map[string]any {
	out := maps.Clone(base)
	for key, value := range over {
		if below, ok := value.(map[string]any); ok {
			if at, ok := out[key].(map[string]any); ok {
				value = overlaid(at, below)
			}
		}
		out[key] = value
	}
	return out
}

// play runs the program over the files, and once more, which is to change nothing.
func (c *fileCase) play(t *testing.T) {
	t.Helper()
	file, err := yaml.Marshal(overlaid(map[string]any{
		"pipeline": "people", "store": "./lake",
		"source": map[string]any{"files": map[string]any{"path": "./in", "settle": "0s"}},
	}, c.Pipeline))
	if err != nil {
		t.Fatal(err)
	}
	c.world = newWorld(t, nil, string(file))
	for i, files := range c.Runs {
		for _, name := range files {
			c.bring(t, name)
		}
		c.run(t, c.Exit[i])
	}
	last := c.Exit[len(c.Exit)-1]
	if again := c.run(t, last); last == 0 && !strings.Contains(again, "nothing to do") {
		t.Errorf("once more: %s, want nothing to do", again)
	}
	for _, pattern := range c.Stdout {
		if !regexp.MustCompile(pattern).MatchString(c.stdout.String()) {
			t.Errorf("standard output does not match %q:\n%s", pattern, c.stdout.String())
		}
	}
	for _, pattern := range c.Stderr {
		if !regexp.MustCompile(pattern).MatchString(c.stderr.String()) {
			t.Errorf("standard error does not match %q:\n%s", pattern, c.stderr.String())
		}
	}
}

// bring copies a file of in/, or all of them, to where the runs find it.
func (c *fileCase) bring(t *testing.T, name string) {
	t.Helper()
	from := filepath.Join(c.dir, "in", name)
	to := filepath.Join(c.world.dir, "in", name)
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	c.world.write(filepath.Join("in", name), string(text))
}

func (c *fileCase) run(t *testing.T, exit int) (stdout string) {
	t.Helper()
	r := c.world.run("run")
	c.stderr.WriteString(r.stderr)
	c.stdout.WriteString(r.stdout)
	if r.code != exit {
		t.Fatalf("run: exit %d, want %d\n%s%s", r.code, exit, r.stdout, r.stderr)
	}
	return r.stdout
}

// check compares columns, rows, dead letters and broken objects.
func (c *fileCase) check(t *testing.T) {
	t.Helper()
	if len(c.Facts) == 0 && len(c.Columns) == 0 && len(c.Rows) == 0 && len(c.Dead) == 0 && len(c.Broken) == 0 {
		return // nothing was committed
	}
	var shown struct {
		Columns []struct{ Column, Key, Type string }
	}
	c.world.must(&shown, "schema", "show")
	var columns []string
	types := map[string]string{"_rescued": "string"}
	for _, s := range shown.Columns {
		if !strings.ContainsAny(s.Column, ".[") && (s.Key != "" || s.Column[0] != '_') {
			columns, types[s.Column] = append(columns, s.Column+" "+s.Type), s.Type
		}
	}
	want := slices.Clone(c.Columns)
	if slices.Sort(want); !slices.Equal(want, slices.Sorted(slices.Values(columns))) {
		t.Errorf("columns\n%q\nwant\n%q", columns, c.Columns)
	}
	c.checkRows(t, types)
	c.checkBad(t)
	if r := c.world.run("verify", "--source"); r.code != 0 {
		t.Errorf("verify --source: exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

func (c *fileCase) checkRows(t *testing.T, types map[string]string) {
	t.Helper()
	from := "read_parquet([" + strings.Join(c.world.localFiles(), ", ") + "], union_by_name = true)"
	for query, fact := range c.Facts {
		if got := c.queried(t, strings.ReplaceAll(query, "$rows", from), types); len(got) != 1 || strings.TrimSpace(got[0]) != fact {
			t.Errorf("%s: %q, want %q", query, got, fact)
		}
	}
	if len(c.Facts) > 0 {
		return
	}
	want := make([]string, len(c.Rows))
	for i, text := range c.Rows {
		want[i] = canonicalRow(t, text, types)
	}
	var got []string
	for line := range strings.Lines(c.world.run("head", "-n", "100000").stdout) {
		got = append(got, canonicalRow(t, line, types))
	}
	same(t, "rows that batcher reads", got, want)
	if len(c.Rows) > 0 {
		same(t, "rows that DuckDB reads", c.queried(t, "SELECT * FROM "+from+" ORDER BY _source, _offset", types), want)
	}
	if c.DuckDB != "" {
		in, err := filepath.Abs(filepath.Join(c.dir, "in"))
		if err != nil {
			t.Fatal(err)
		}
		got, want := c.queried(t, strings.ReplaceAll(c.DuckDB, "'in/", "'"+in+"/"), types), slices.Clone(want)
		slices.Sort(got)
		slices.Sort(want)
		same(t, "rows that DuckDB makes of the input", got, want)
	}
}

// queried are the rows of a query in DuckDB.
func (c *fileCase) queried(t *testing.T, sql string, types map[string]string) []string {
	t.Helper()
	rows, err := c.duck.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = canonical(row, types)
	}
	return out
}

func (c *fileCase) checkBad(t *testing.T) {
	t.Helper()
	var got, broken []string
	for line := range strings.Lines(c.world.run("dlq", "export").stdout) {
		var letter struct {
			Source string `json:"_source"`
			Offset int64  `json:"_offset"`
			Code   string `json:"code"`
		}
		if err := json.Unmarshal([]byte(line), &letter); err != nil {
			t.Fatalf("dlq export: %v in %q", err, line)
		}
		got = append(got, fmt.Sprintf("%s@%d %s", letter.Source, letter.Offset, letter.Code))
	}
	same(t, "dead letters", slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(c.Dead)))
	var listed struct {
		Quarantined []struct {
			Source string `json:"_source"`
		}
	}
	c.world.must(&listed, "dlq", "list")
	for _, q := range listed.Quarantined {
		broken = append(broken, q.Source)
	}
	same(t, "broken objects", slices.Sorted(slices.Values(broken)), slices.Sorted(slices.Values(c.Broken)))
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func canonicalRow(t *testing.T, text string, types map[string]string) string {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	row := map[string]any{}
	if err := decoder.Decode(&row); err != nil {
		t.Fatalf("%v in row %s", err, text)
	}
	return canonical(row, types)
}

// canonical is a row as one text that does not depend on who printed it: without
// positions, and with one spelling for equal values of a column's type.
func canonical(row map[string]any, types map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(row)) {
		value := row[name]
		if name == "_source" || name == "_offset" || name == "_rescued" && value == nil {
			continue
		}
		fmt.Fprintf(&b, "%s=%s ", strings.ToLower(name), spelled(value, types[name]))
	}
	return b.String()
}

func spelled(value any, typ string) string {
	switch v := value.(type) {
	case json.Number:
		if r, ok := new(big.Rat).SetString(v.String()); ok {
			return r.RatString()
		}
	case string:
		return spelledText(v, typ)
	case map[string]any:
		if text, ok := v["base64"].(string); ok && typ == "bytes" {
			raw, _ := base64.StdEncoding.DecodeString(text)
			return hex.EncodeToString(raw)
		}
		var b strings.Builder
		for _, key := range slices.Sorted(maps.Keys(v)) {
			fmt.Fprintf(&b, "%q:%s,", key, spelled(v[key], ""))
		}
		return "{" + b.String() + "}"
	case []any:
		var b strings.Builder
		for _, part := range v {
			b.WriteString(spelled(part, "") + ",")
		}
		return "[" + b.String() + "]"
	}
	return fmt.Sprint(value)
}

func spelledText(v, typ string) string {
	switch {
	case typ == "json":
		decoder := json.NewDecoder(strings.NewReader(v))
		decoder.UseNumber()
		var inner any
		if decoder.Decode(&inner) == nil {
			return spelled(inner, "")
		}
	case strings.HasPrefix(typ, "decimal"), typ == "float64", strings.HasPrefix(typ, "int"):
		if r, ok := new(big.Rat).SetString(v); ok {
			return r.RatString()
		}
		return strings.Replace(strings.ToLower(v), "infinity", "inf", 1) // as DuckDB prints it
	case typ == "bytes":
		return v
	}
	if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
		return at.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%q", v)
}
