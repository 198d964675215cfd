package datafile_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"batcher/column"
	"batcher/datafile"
	"batcher/localdev"
	"batcher/schema"
)

// query runs SQL in DuckDB over files, which it knows as f0, f1, …; variables of
// these names hold their paths.
func query(t *testing.T, sql string, files ...[]byte) []map[string]any {
	t.Helper()
	db, err := localdev.OpenDuckDB(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	dir, views := t.TempDir(), ""
	for i, file := range files {
		name := filepath.Join(dir, fmt.Sprintf("f%d.parquet", i))
		if err := os.WriteFile(name, file, 0o644); err != nil {
			t.Fatal(err)
		}
		views += fmt.Sprintf("SET VARIABLE f%d = '%[2]s'; CREATE VIEW f%[1]d AS SELECT * FROM read_parquet('%[2]s');\n", i, name)
	}
	rows, err := db.Query(context.Background(), views+sql)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// same says whether DuckDB's answer is the value of a field.
func same(f *schema.Field, v, got any) bool {
	switch x := v.(type) {
	case nil:
		return got == nil
	case map[string]any:
		members, ok := got.(map[string]any)
		for i := range f.Type.Fields {
			p := &f.Type.Fields[i]
			ok = ok && same(p, x[p.Name], members[p.Name])
		}
		return ok && len(members) == len(f.Type.Fields)
	case []any:
		elements, ok := got.([]any)
		ok = ok && len(elements) == len(x)
		for i := range x {
			ok = ok && same(&f.Type.Fields[0], x[i], elements[i])
		}
		return ok
	case []pair:
		members, ok := got.(map[string]any)
		for _, p := range x {
			ok = ok && same(&f.Type.Fields[1], p.value, members[p.key])
		}
		return ok && len(members) == len(x)
	case float64:
		text, _ := got.(string)
		if n, ok := got.(json.Number); ok {
			text = n.String()
		}
		y, err := strconv.ParseFloat(text, 64)
		return err == nil && (math.Float64bits(x) == math.Float64bits(y) || x != x && y != y)
	}
	return flatText(f, v) == fmt.Sprint(got)
}

// flatText is a value as DuckDB's answers spell it.
func flatText(f *schema.Field, v any) string {
	switch x := v.(type) {
	case []byte:
		return hex.EncodeToString(x)
	case [16]byte:
		return string(column.AppendDecimal(nil, x[:], int(f.Type.Scale)))
	case int32:
		if f.Type.Kind == schema.Date {
			return time.Unix(int64(x)*86400, 0).UTC().Format("2006-01-02")
		}
	case int64:
		if f.Type.Kind != schema.Timestamp {
			break
		}
		if at := time.UnixMicro(x).UTC(); at.Nanosecond() > 0 {
			return at.Format("2006-01-02T15:04:05.000000Z")
		}
		return time.UnixMicro(x).UTC().Format("2006-01-02T15:04:05Z")
	}
	return fmt.Sprint(v)
}

// inRange replaces days and instants that DuckDB cannot hand to its client.
func inRange(f *schema.Field, v any) any {
	switch x := v.(type) {
	case map[string]any:
		for i := range f.Type.Fields {
			p := &f.Type.Fields[i]
			x[p.Name] = inRange(p, x[p.Name])
		}
	case []any:
		for i := range x {
			x[i] = inRange(&f.Type.Fields[0], x[i])
		}
	case []pair:
		for i := range x {
			x[i].value = inRange(&f.Type.Fields[1], x[i].value)
		}
	case int32:
		if f.Type.Kind == schema.Date {
			return x % 700_000
		}
	case int64:
		if f.Type.Kind == schema.Timestamp {
			return x % 60_000_000_000_000_000
		}
	}
	return v
}

// TestDuckDBReadsEveryValue compares value by value, nested ones too.
func TestDuckDBReadsEveryValue(t *testing.T) {
	r := newRandom(t, 0)
	for i := range 6 {
		s, rows := every(), everyRow()
		if i > 0 {
			s, rows = r.schema(), nil
			for range 300 {
				line := row{}
				for k := range s.Fields {
					line[s.Fields[k].Name] = inRange(&s.Fields[k], r.value(&s.Fields[k]))
				}
				rows = append(rows, line)
			}
		}
		file, _ := write(t, r.options(), shred(s, rows))
		got := query(t, "SELECT * FROM f0", file)
		if len(got) != len(rows) {
			t.Fatalf("DuckDB reads %d rows, want %d", len(got), len(rows))
		}
		for n, line := range rows {
			for k := range s.Fields {
				f := &s.Fields[k]
				if !same(f, line[f.Name], got[n][f.Name]) {
					t.Fatalf("row %d, column %s %v: DuckDB reads %v, want %v", n, f.Name, f.Type, got[n][f.Name], line[f.Name])
				}
			}
		}
	}
}

// TestDuckDBPrunesRightly asks for values in a file of many row groups, whose
// statistics must not hide rows, and in a table that has none.
func TestDuckDBPrunesRightly(t *testing.T) {
	file, _ := write(t, datafile.Options{RowGroupRows: 1000}, eventRows(20_000, 2_500)...)
	filters := []string{
		"user_id = 77", "user_id < 50", "amount < 0.5", "amount >= 999.9", "amount > 999.5", "kind = 'login'", "country > 'JP'",
		"url > 'https://shop.example.org/item/99'", "event_id < '01'", "note IS NULL", "note = 'seen 7 times by crawler 3'",
		"ok = false", "_offset = 0", `"at" > TIMESTAMPTZ '2023-11-14 22:15:00+00'`, "_source = 'events/part-001.json.gz'",
	}
	sql := "CREATE TABLE w AS FROM f0;\n"
	for i, f := range filters {
		if i > 0 {
			sql += " UNION ALL "
		}
		sql += fmt.Sprintf("SELECT (SELECT count(*) FROM f0 WHERE %[1]s) AS pruned, (SELECT count(*) FROM w WHERE %[1]s) AS whole", f)
	}
	found := 0
	for i, got := range query(t, sql, file) {
		if got["pruned"] != got["whole"] {
			t.Errorf("%s: %v", filters[i], got)
		}
		if got["whole"] != json.Number("0") {
			found++
		}
	}
	if found < len(filters)-1 {
		t.Errorf("only %d of %d filters find rows", found, len(filters))
	}
}

// TestD20_DuckDBReadsColumnsThatAppearLater reads chunks of nulls that stand
// behind all row groups.
func TestD20_DuckDBReadsColumnsThatAppearLater(t *testing.T) {
	a := field(17, "a", schema.Int64)
	b := field(18, "b", schema.List, field(19, "element", schema.Int64))
	c := field(20, "c", schema.Struct, field(21, "x", schema.String))
	one, two, three := table(a), table(a, b), table(a, b, c)
	file, _ := write(t, datafile.Options{RowGroupRows: 4000},
		numbered(one, 0, 10_000), numbered(two, 10_000, 5_000), numbered(three, 15_000, 1_000))
	got := query(t, `SELECT count(*) AS n, sum(a) AS sum, count(b) AS b, sum(len(b)) AS elements, count(c) AS c,
		count(*) FILTER (c.x = 's' AND a >= 15000) AS x FROM f0`, file)
	if text := fmt.Sprint(got[0]); text != "map[b:6000 c:1000 elements:12000 n:16000 sum:127992000 x:1000]" {
		t.Errorf("DuckDB reads %s", text)
	}
}

// TestFilesAreNotLargerThanDuckDBs lets DuckDB rewrite a file with the same
// codec and compares sizes and contents.
func TestFilesAreNotLargerThanDuckDBs(t *testing.T) {
	file, _ := write(t, datafile.Options{}, eventRows(120_000, 2_500)...)
	copied := filepath.Join(t.TempDir(), "copy.parquet")
	got := query(t, fmt.Sprintf(`COPY f0 TO '%[1]s' (FORMAT parquet, CODEC zstd);
		SELECT (SELECT count(*) FROM (FROM f0 EXCEPT ALL FROM '%[1]s')) AS ours,
			(SELECT count(*) FROM (FROM '%[1]s' EXCEPT ALL FROM f0)) AS theirs`, copied), file)
	if fmt.Sprint(got[0]) != "map[ours:0 theirs:0]" {
		t.Errorf("contents differ: %v", got[0])
	}
	theirs, err := os.Stat(copied)
	if err != nil {
		t.Fatal(err)
	}
	ratio := float64(len(file)) / float64(theirs.Size())
	localdev.Figure("data file size, flat events, against DuckDB's writer", fmt.Sprintf("%.3f", ratio))
	t.Logf("%d bytes, DuckDB %d: %.3f", len(file), theirs.Size(), ratio)
	if ratio > 1.02 {
		t.Errorf("file is %.3f times DuckDB's", ratio)
	}
}
