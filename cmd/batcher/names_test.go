package main

import (
	"path/filepath"
	"testing"

	"batcher/localdev"
)

// TestReadersOfDeltaTakeNamesOfAnyScript has DuckDB and delta-rs read columns, fields
// of structs and partitions that are named in other scripts than Latin.
func TestReadersOfDeltaTakeNamesOfAnyScript(t *testing.T) {
	w := newWorld(t, nil, localFile+`schema:
  nested: {min_records: 1}
  columns: [{path: Länder, type: string}, {path: 時刻, type: timestamp}]
partition_by: [{day: 時刻}, {column: länder}]
publish: [delta]
`)
	readers, err := localdev.OpenDeltaReaders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.write("in/a.ndjson", `{"Länder":"Österreich","時刻":"2026-11-30T08:00:00Z","Größe":1,"שם מלא":{"पता":"x"},"😀":true}`+"\n"+
		`{"Länder":"日本","時刻":"2026-12-01T08:00:00Z","Größe":2,"שם מלא":{"पता":"y"},"😀":false}`+"\n")
	w.must(&report{}, "run")
	q := localdev.DeltaQuery{Table: filepath.Join(w.dir, "lake", "events"), SQL: []string{
		`SELECT "größe" AS a, "länder" AS b, CAST("時刻_day" AS VARCHAR) AS c, "שם_מלא"['पता'] AS d, CAST("_" AS VARCHAR) AS e FROM t ORDER BY 1`,
		`SELECT count(*) AS n FROM t WHERE "länder" = '日本' AND "größe" = 2`,
	}}
	for name, ask := range map[string]func() (localdev.DeltaAnswer, error){
		"DuckDB":   func() (localdev.DeltaAnswer, error) { return readers.DuckDB(t.Context(), q) },
		"delta-rs": func() (localdev.DeltaAnswer, error) { return readers.DeltaRS(t.Context(), q) },
	} {
		a, err := ask()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := []string{"1 Österreich 2026-11-30 x true", "2 日本 2026-12-01 y false"}
		for i, row := range a.Rows[0] {
			if got := stringOf(row["a"]) + " " + stringOf(row["b"]) + " " + stringOf(row["c"]) + " " + stringOf(row["d"]) + " " + stringOf(row["e"]); i >= len(want) || got != want[i] {
				t.Errorf("%s: row %d is %s", name, i, got)
			}
		}
		if len(a.Rows[0]) != 2 || stringOf(a.Rows[1][0]["n"]) != "1" {
			t.Errorf("%s: %v", name, a.Rows)
		}
	}
}
