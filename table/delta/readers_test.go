package delta_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"batcher/localdev"
	"batcher/manifest"
	"batcher/object/memstore"
	"batcher/schema"
)

// dump writes a store into a folder, for readers that know files.
func dump(t testing.TB, s *memstore.Store) string {
	t.Helper()
	dir := t.TempDir()
	for key, body := range s.Objects() {
		path := filepath.Join(dir, filepath.FromSlash(key))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// both asks both readers about a table of a dumped store, and wants what want has.
func both(t *testing.T, folder string, version *int64, want [][]map[string]any, sql ...string) {
	t.Helper()
	d, err := localdev.OpenDeltaReaders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q := localdev.DeltaQuery{Table: folder, Version: version, SQL: sql}
	duck, err := d.DuckDB(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := d.DeltaRS(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if version != nil && rs.Version != *version {
		t.Errorf("delta-rs reads version %d, want %d", rs.Version, *version)
	}
	for i := range sql {
		if !reflect.DeepEqual(duck.Rows[i], want[i]) {
			t.Errorf("%s\nDuckDB   %v\nwant     %v", sql[i], duck.Rows[i], want[i])
		}
		if !reflect.DeepEqual(rs.Rows[i], want[i]) {
			t.Errorf("%s\ndelta-rs %v\nwant     %v", sql[i], rs.Rows[i], want[i])
		}
	}
}

// parquet asks DuckDB about the live files of a table after a manifest, without its
// Delta log; the files are t.
func (l *lake) parquet(dir, table string, m *manifest.Manifest, sql ...string) [][]map[string]any {
	l.t.Helper()
	live, err := l.log(l.store).LoadLive(l.t.Context(), m.Tables[table].Live)
	if err != nil {
		l.t.Fatal(err)
	}
	var paths []string
	for i := range live {
		paths = append(paths, "'"+filepath.Join(dir, live[i].Key)+"'")
	}
	db, err := localdev.OpenDuckDB(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	var out [][]map[string]any
	for _, s := range sql {
		rows, err := db.Query(l.t.Context(), fmt.Sprintf("CREATE VIEW t AS SELECT * FROM read_parquet([%s], union_by_name = true);\n%s", strings.Join(paths, ","), s))
		if err != nil {
			l.t.Fatal(err)
		}
		out = append(out, rows)
	}
	return out
}

// TestD26_ReadersReadEveryVersion has DuckDB and delta-rs read the table as it was
// after each manifest, and compares with the files that the manifest says are live.
func TestD26_ReadersReadEveryVersion(t *testing.T) {
	l := story(t)
	l.publish()
	dir := dump(t, l.store.(*memstore.Store))
	rows := "SELECT _source, _offset, CAST(n AS DOUBLE) AS n, \"at\" FROM t ORDER BY _source, _offset"
	versions := 0
	for seq := range l.head().Manifest.Seq + 1 {
		s, err := l.log(l.store).Slot(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		v := s.Manifest.Tables["events"].Version
		if s.Manifest.Tables["events"].LastSeq != seq || v < 5 || v > 10 && v < 14 {
			continue // the first and the last are like their neighbours
		}
		both(t, filepath.Join(dir, "events"), &v, l.parquet(dir, "events", s.Manifest, rows), rows)
		versions++
	}
	if versions != 7 {
		t.Errorf("%d versions were read", versions)
	}
	codes := "SELECT code, raw_length FROM t"
	both(t, filepath.Join(dir, "events_dead"), nil, l.parquet(dir, "events_dead", l.head().Manifest, codes), codes)
}

// pins declares columns, each "name type".
func pins(t testing.TB, columns ...string) []schema.Pin {
	t.Helper()
	var out []schema.Pin
	for _, c := range columns {
		name, kind, _ := strings.Cut(c, " ")
		typ, err := schema.ParseType(kind)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, schema.Pin{Place: schema.Place{{Key: name}}, Type: typ})
	}
	return out
}

// typed makes a table with a column of every type, in three files: ordinary values,
// the ends of the ranges, and nulls.
func typed(t testing.TB) *lake {
	l := newLake(t, memstore.New())
	l.rules.Pins = pins(t, "i32 int32", "dec decimal(9,2)", "big decimal(38,0)", "day date", "raw bytes", "j json", "at timestamp")
	var body strings.Builder
	for i := range 50 {
		fmt.Fprintf(&body, `{"b":%t,"i32":%d,"i64":%d,"f":%d.25,"dec":%d.5,"big":%d,"s":"value %02d é","day":"2026-01-%02d","raw":"AQID","j":{"k":%d},`+
			`"at":"2026-01-01T00:00:%02d.%06dZ","o":{"x":%d,"p":{"y":"deep %d"}},"l":[%d,null],"late":null}`+"\n",
			i%2 == 0, i-25, i*1_000_000_007, i-25, i-25, i, i, i%28+1, i, i, i*7919, i, i, i)
	}
	l.run("a-ordinary", body.String())
	long := strings.Repeat("é", 40)
	l.run("b-ends", fmt.Sprintf(`{"i32":-2147483648,"i64":-9223372036854775808,"f":-1.7976931348623157e308,"dec":-9999999.99,"big":-99999999999999999999999999999999999999,"s":"","day":"0001-01-01","at":"1900-01-01T00:00:00.000001Z","o":{"x":-1}}
{"i32":2147483647,"i64":9223372036854775807,"f":4.9e-324,"dec":9999999.99,"big":99999999999999999999999999999999999999,"s":%q,"day":"9999-12-31","at":"2261-12-31T23:59:59.999999Z","o":{"x":1,"p":{"y":%q}}}
{"f":-0.0,"s":"\u0000\"\\<&>\u2028","at":"1969-12-31T23:59:59.999999Z"}
`, long, long))
	l.run("c-nulls", `{"b":null,"s":null}`+"\n")
	l.publish()
	return l
}

// TestReaders_PruneRightly asks for values that statistics could hide.
func TestReaders_PruneRightly(t *testing.T) {
	l := typed(t)
	dir := dump(t, l.store.(*memstore.Store))
	long := strings.Repeat("é", 40)
	filters := []string{
		"b", "NOT b", "b IS NULL", "i32 = -25", "i32 = 2147483647", "i32 < -25", "i64 = 9223372036854775807", "i64 > 49000000343",
		"f = 24.25", "f < -1e308", "f > 0 AND f < 1e-300", "f = 0", "dec = CAST(9999999.99 AS DECIMAL(9,2))", "dec > CAST(24.49 AS DECIMAL(9,2))", "dec < CAST(-25 AS DECIMAL(9,2))",
		"big > CAST('99999999999999999999999999999999999998' AS DECIMAL(38,0))", "big = CAST(49 AS DECIMAL(38,0))",
		"s = ''", "s = '" + long + "'", "s > 'value 49 é'", "s < 'value 00'", "s >= 'é'", "s IS NULL", "s = 'value 49 é'",
		"day = DATE '0001-01-01'", "day = DATE '9999-12-31'", "day > DATE '2026-01-27'", "j IS NOT NULL", "raw IS NULL",
		"\"at\" = CAST('1969-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)", "\"at\" < CAST('1900-01-01 00:00:00.000002+00' AS TIMESTAMPTZ)", "\"at\" > CAST('2261-12-31 23:59:59.999+00' AS TIMESTAMPTZ)",
		"\"at\" > CAST('2026-01-01 00:00:49.388+00' AS TIMESTAMPTZ)", "\"at\" = CAST('2026-01-01 00:00:49.388031+00' AS TIMESTAMPTZ)", "\"at\" = CAST('2026-01-01 00:00:00+00' AS TIMESTAMPTZ)",
	}
	var sql strings.Builder
	for i, filter := range filters {
		if i > 0 {
			sql.WriteString(" UNION ALL ")
		}
		fmt.Fprintf(&sql, "SELECT %d AS i, count(*) AS n FROM t WHERE %s", i, filter)
	}
	sql.WriteString(" ORDER BY i")
	want := l.parquet(dir, "events", l.head().Manifest, sql.String())
	for i, row := range want[0] {
		if row["n"] == json.Number("0") {
			t.Errorf("finds nothing: %s", filters[i])
		}
	}
	both(t, filepath.Join(dir, "events"), nil, want, sql.String())
	localdev.Figure("filters whose rows statistics of a Delta log must not hide", len(filters))
}

// TestReaders_ReadPartitions splits a table by a string, a number and the day of an
// instant. The columns stand in the files, too; Delta's readers take them from the
// log, where the empty string is null.
func TestReaders_ReadPartitions(t *testing.T) {
	l := newLake(t, memstore.New())
	l.config.Split = "kind,size,at_day"
	l.rules.Pins = pins(t, "at timestamp", "size int32", "kind string")
	l.rules.Derived = []schema.Derived{{Name: "at_day", From: "at", Part: schema.Day}}
	values := []string{`"a"`, `"a b/é%=c"`, `""`, "null", `"\\N"`}
	var body strings.Builder
	for i := range 40 {
		fmt.Fprintf(&body, `{"n":%d,"kind":%s,"size":%d,"at":"2026-01-%02dT12:00:00Z"}`+"\n", i, values[i%len(values)], i%2, i%3+1)
	}
	body.WriteString(`{"n":40}` + "\n")
	l.run("o1", body.String())
	for i := range 10 {
		l.run(fmt.Sprint("later", i), fmt.Sprintf(`{"n":%d,"kind":"a","size":-1,"at":"1969-12-31T00:00:00Z"}`+"\n", 50+i))
	}
	l.merge()
	l.publish()
	dir := dump(t, l.store.(*memstore.Store))
	head := l.head().Manifest
	rows := "SELECT n, kind, size, at_day FROM t ORDER BY n"
	want := l.parquet(dir, "events", head, rows)
	empty := 0
	for _, row := range want[0] {
		if row["kind"] == "" {
			row["kind"] = nil
			empty++
		}
	}
	if empty != 8 {
		t.Errorf("%d rows with an empty string", empty)
	}
	counts := `SELECT 0 AS q, count(*) AS n, count(kind) AS kinds FROM t WHERE at_day = DATE '2026-01-02' AND size = 0
		UNION ALL SELECT 1, count(*), count(kind) FROM t WHERE kind = 'a b/é%=c' UNION ALL SELECT 2, count(*), count(size) FROM t WHERE kind IS NULL
		UNION ALL SELECT 3, count(*), count(kind) FROM t WHERE at_day < DATE '2026-01-01' AND size < 0 ORDER BY q`
	n := func(q, n, kinds string) map[string]any {
		return map[string]any{"q": json.Number(q), "n": json.Number(n), "kinds": json.Number(kinds)}
	}
	want = append(want, []map[string]any{n("0", "6", "4"), n("1", "8", "8"), n("2", "17", "16"), n("3", "10", "10")})
	both(t, filepath.Join(dir, "events"), nil, want, rows, counts)
	d, err := localdev.OpenDeltaReaders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.DeltaRS(t.Context(), localdev.DeltaQuery{Table: filepath.Join(dir, "events")})
	if err != nil || !reflect.DeepEqual(a.Partitions, head.Config.PartitionBy()) {
		t.Errorf("partition columns %v, %v", a.Partitions, err)
	}
}
