package delta_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batcher/localdev"
	"batcher/object/memstore"
)

// adds are the add actions of a table's whole log, decoded without our types.
func adds(t testing.TB, s *memstore.Store, table string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for key, body := range s.Objects() {
		if !strings.HasPrefix(key, table+"/_delta_log/") || !strings.HasSuffix(key, ".json") {
			continue
		}
		for line := range bytes.Lines(body) {
			var action map[string]map[string]any
			if err := json.Unmarshal(line, &action); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			if add := action["add"]; add != nil {
				out = append(out, add)
			}
		}
	}
	return out
}

// at is the value at a path in nested objects, nil if there is none.
func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

// bounds says whether a statistic is right for a column whose true extreme is
// actual; what is -1 for a minimum and 1 for a maximum.
func bounds(kind string, stat, actual any, what int) bool {
	switch kind {
	case "none":
		return stat == nil
	case "number":
		a, okA := new(big.Rat).SetString(fmt.Sprint(stat))
		b, okB := new(big.Rat).SetString(fmt.Sprint(actual))
		return okA && okB && a.Cmp(b) == 0
	case "date":
		return stat == actual
	case "instant":
		a, errA := time.Parse(time.RFC3339Nano, fmt.Sprint(stat))
		b, errB := time.Parse(time.RFC3339Nano, fmt.Sprint(actual))
		off := a.Sub(b) * time.Duration(what)
		return errA == nil && errB == nil && off >= 0 && off < time.Millisecond && len(fmt.Sprint(stat)) == len("2006-01-02T15:04:05.000Z")
	case "string":
		runes := []rune(actual.(string))
		if len(runes) <= 32 {
			return stat == actual
		}
		return what > 0 && stat == nil || what < 0 && stat == string(runes[:32])
	}
	return false
}

// TestStatistics_AreWhatDuckDBFinds compares the statistics of every file and every
// type with what DuckDB finds in the file.
func TestStatistics_AreWhatDuckDBFinds(t *testing.T) {
	columns := []struct{ path, kind string }{
		{"b", "none"}, {"i32", "number"}, {"i64", "number"}, {"f", "number"}, {"dec", "number"}, {"big", "number"}, {"s", "string"},
		{"day", "date"}, {"raw", "none"}, {"j", "none"}, {"at", "instant"}, {"o.x", "number"}, {"o.p.y", "string"}, {"_source", "string"}, {"_offset", "number"},
	}
	l := typed(t)
	store := l.store.(*memstore.Store)
	dir := dump(t, store)
	db, err := localdev.OpenDuckDB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, add := range adds(t, store, "events") {
		file := filepath.Join(dir, "events", add["path"].(string))
		if size := len(store.Objects()["events/"+add["path"].(string)]); float64(size) != add["size"] {
			t.Errorf("%s: size %v, the object has %d", file, add["size"], size)
		}
		var stats map[string]any
		d := json.NewDecoder(strings.NewReader(add["stats"].(string)))
		d.UseNumber()
		if err := d.Decode(&stats); err != nil {
			t.Fatal(err)
		}
		sql := "SELECT count(*) AS n"
		for i, c := range columns {
			parts := `"` + strings.ReplaceAll(c.path, ".", `"."`) + `"`
			sql += fmt.Sprintf(", count(%[1]s) AS n%[2]d, min(%[1]s) AS lo%[2]d, max(%[1]s) AS hi%[2]d", parts, i)
		}
		rows, err := db.Query(t.Context(), fmt.Sprintf("%s FROM read_parquet('%s')", sql, file))
		if err != nil {
			t.Fatal(err)
		}
		found := rows[0]
		if found["n"] != stats["numRecords"] {
			t.Errorf("%s: %v records, DuckDB finds %v", file, stats["numRecords"], found["n"])
		}
		total, _ := found["n"].(json.Number).Int64()
		for i, c := range columns {
			some, _ := found[fmt.Sprint("n", i)].(json.Number).Int64()
			nulls, lo, hi := at(stats["nullCount"], c.path), at(stats["minValues"], c.path), at(stats["maxValues"], c.path)
			if fmt.Sprint(nulls) != fmt.Sprint(total-some) {
				t.Errorf("%s: %s has %v nulls, DuckDB finds %d", file, c.path, nulls, total-some)
			}
			if some == 0 {
				if lo != nil || hi != nil {
					t.Errorf("%s: %s is all null and has bounds %v, %v", file, c.path, lo, hi)
				}
				continue
			}
			trueLo, trueHi := found[fmt.Sprint("lo", i)], found[fmt.Sprint("hi", i)]
			if !bounds(c.kind, lo, trueLo, -1) || !bounds(c.kind, hi, trueHi, 1) {
				t.Errorf("%s: %s has bounds %v, %v, DuckDB finds %v, %v", file, c.path, lo, hi, trueLo, trueHi)
			}
			compared++
		}
	}
	if compared < 29 {
		t.Errorf("only %d columns were compared", compared)
	}
	localdev.Figure("statistics of Delta logs compared with DuckDB", compared)
}

// replayed are the paths that a Delta log shows in the end, found without our types.
func replayed(t testing.TB, s *memstore.Store, table string) map[string]bool {
	t.Helper()
	shown := map[string]bool{}
	for v := 0; ; v++ {
		body, ok := s.Objects()[fmt.Sprintf("%s/_delta_log/%020d.json", table, v)]
		if !ok {
			return shown
		}
		for line := range bytes.Lines(body) {
			var action map[string]map[string]any
			if err := json.Unmarshal(line, &action); err != nil {
				t.Fatalf("version %d: %v", v, err)
			}
			if add := action["add"]; add != nil {
				shown[add["path"].(string)] = true
			}
			if remove := action["remove"]; remove != nil {
				delete(shown, remove["path"].(string))
			}
		}
	}
}
