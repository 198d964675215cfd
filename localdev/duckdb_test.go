package localdev_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"batcher/localdev"
	"batcher/object/filestore"
)

func TestDuckDBKeepsValuesExact(t *testing.T) {
	ctx := context.Background()
	db, err := localdev.OpenDuckDB(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(ctx, `SELECT 9007199254740993 AS big, 1.5::DOUBLE AS f, 'nan'::DOUBLE AS nan, 1.10::DECIMAL(9,2) AS dec,
		TIMESTAMPTZ '2026-01-02 03:04:05.678+01' AS ts, DATE '2026-01-02' AS d, [1, NULL] AS list, {'a': true} AS s,
		'\xAB'::BLOB AS b, NULL AS none, 'é' AS text`)
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{{
		"big": json.Number("9007199254740993"), "f": json.Number("1.5"), "nan": "nan", "dec": "1.10",
		"ts": "2026-01-02T02:04:05.678000Z", "d": "2026-01-02", "list": []any{json.Number("1"), nil},
		"s": map[string]any{"a": true}, "b": "ab", "none": nil, "text": "é",
	}}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("got  %v\nwant %v", rows, want)
	}
	if _, err := db.Query(ctx, "SELECT nonsense FROM nowhere"); err == nil {
		t.Error("a wrong query gave no error")
	}
}

func TestSeedIsWhatItSays(t *testing.T) {
	ctx := context.Background()
	store, err := filestore.New(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	opts := localdev.SeedOptions{Prefix: "in/", Objects: 3, Records: 100, Seed: 7}
	n, err := localdev.Seed(ctx, store, opts)
	if err != nil || n != 300 {
		t.Fatalf("%d records, %v", n, err)
	}
	if _, err := localdev.Seed(ctx, store, opts); err == nil {
		t.Error("seeding twice overwrote")
	}
	db, err := localdev.OpenDuckDB(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(ctx, fmt.Sprintf(`SELECT count(*) AS n, count(DISTINCT id) AS ids, sum(user) AS users,
		max(device.version) AS version FROM read_json('%s/in/*.ndjson')`, store))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(rows)
	if rows[0]["n"] != json.Number("300") || rows[0]["ids"] != json.Number("300") {
		t.Errorf("DuckDB reads %v", rows)
	}
}

// TestDuckDBLoadsItsExtensionsWithoutNetwork loads what scripts of batcher load.
func TestDuckDBLoadsItsExtensionsWithoutNetwork(t *testing.T) {
	duck, err := localdev.OpenDuckDBLake(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const sql = `INSTALL delta; LOAD delta; INSTALL httpfs; LOAD httpfs; INSTALL aws; LOAD aws;
CREATE SECRET (TYPE s3, PROVIDER credential_chain);
SELECT count(*) AS n FROM duckdb_extensions() WHERE loaded AND extension_name IN ('delta', 'httpfs', 'aws')`
	rows, err := duck.QueryWith(t.Context(), []string{"AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s"}, sql)
	if err != nil || rows[0]["n"] != json.Number("3") {
		t.Errorf("%v, %v", rows, err)
	}
}
