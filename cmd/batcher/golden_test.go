package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"batcher/audit"
)

// goldenStore puts testdata/golden into its bucket, as an earlier program left
// it, and returns a world with its pipeline file.
func goldenStore(t *testing.T) *world {
	t.Helper()
	server := minio(t)
	if err := server.MakeBucket(t.Context(), "golden"); err != nil {
		t.Fatal(err)
	}
	files := os.DirFS("testdata/golden")
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(name, "/") {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return server.Put(t.Context(), "golden", name, body)
	})
	if err != nil {
		t.Fatal(err)
	}
	file, err := fs.ReadFile(files, "pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return newWorld(t, server.Env(), string(file))
}

// columnsOf are the columns of the main table, "name type" each.
func (w *world) columnsOf() []string {
	w.t.Helper()
	var shown struct {
		Columns []struct{ Column, Type string }
	}
	w.must(&shown, "schema", "show")
	out := make([]string, len(shown.Columns))
	for i, c := range shown.Columns {
		out[i] = c.Column + " " + c.Type
	}
	return out
}

// TestAStoreOfEarlierRulesGoesOn continues a store that was begun under the first
// rules of reading: its rows stay as they are, each column keeps its name, type
// and meaning, an object that was consumed in part is consumed to its end, and
// verify is content.
func TestAStoreOfEarlierRulesGoesOn(t *testing.T) {
	w := goldenStore(t)
	golden, err := os.ReadFile("testdata/golden/rows.ndjson")
	if before := w.run("head", "-n", "1000"); err != nil || before.stdout != string(golden) {
		t.Fatalf("%v: exit %d, the store reads as\n%s%s\nwant\n%s", err, before.code, before.stdout, before.stderr, golden)
	}
	columns := w.columnsOf()
	w.continues(27)

	if err := minio(t).Put(t.Context(), "golden", "in/7.csv", []byte("ID,Name,Größe,price,plain,code,a,a,,ok,pinned_int,pinned_bool,n\n"+
		"11,cy,175,5.25,1.10,007,p,q,r,true,8,false,\n")); err != nil {
		t.Fatal(err)
	}
	w.must(new(report), "run")
	if after := w.columnsOf(); !slices.Equal(after[:min(len(after), len(columns))], columns) {
		t.Errorf("columns\n%q\nwere\n%q", after, columns)
	}
	w.continues(27 + 14 + 1)
	rows := w.rows()
	for line := range strings.Lines(string(golden)) {
		was := parsed(t, line)
		holds(t, rows[place(was)], was)
	}
	holds(t, rows["7.csv 66"], parsed(t, `{"_rescued":null,"id_2":11,"id":null,"name":"cy","gru00f6u00dfe":175,"price":5.25,"plain":"1.10","code":"007",
		"a":"p","a_2":"q","ok":true,"pinned_int":8,"pinned_bool":false}`))
	for i := range 14 {
		holds(t, rows[fmt.Sprintf("half.csv %d", 210+15*i)], parsed(t, fmt.Sprintf(`{"_rescued":null,"_0":%d,"user0":"user%[1]d","_0_5":%[1]d.5}`, 16+i)))
	}
}

// continues demands that verify finds so many records and nothing wrong: those
// that other rules read otherwise are unverifiable.
func (w *world) continues(records int64) {
	w.t.Helper()
	var proof audit.Report
	w.must(&proof, "verify", "--source", "--deep")
	s := proof.Source
	if s.Verified+s.Unverifiable != records || s.Reconfigured != s.Unverifiable || proof.Lost+proof.Doubled+s.Mismatch != 0 || len(proof.Violations) > 0 {
		w.t.Errorf("verify: %+v, want %d records", proof, records)
	}
}

// rows are those of the main table by their place.
func (w *world) rows() map[string]map[string]any {
	w.t.Helper()
	out := map[string]map[string]any{}
	for line := range strings.Lines(w.run("head", "-n", "1000").stdout) {
		row := parsed(w.t, line)
		out[place(row)] = row
	}
	return out
}

func parsed(t *testing.T, line string) map[string]any {
	t.Helper()
	row := map[string]any{}
	if err := json.Unmarshal([]byte(line), &row); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	return row
}

func place(row map[string]any) string { return fmt.Sprint(row["_source"], " ", row["_offset"]) }

// holds demands that a row has the members of another one.
func holds(t *testing.T, row, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if got, ok := row[name]; !ok || !reflect.DeepEqual(got, value) {
			t.Errorf("%s: %s is %v, want %v", place(want), name, got, value)
		}
	}
}
