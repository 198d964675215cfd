package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batcher/audit"
	"batcher/localdev"
)

// TestTheTableOfBatchesIsAsked opens the tables as a user does and asks where rows came
// from, in the words of docs/DELTA.md, after a merge that left no file as it was.
func TestTheTableOfBatchesIsAsked(t *testing.T) {
	duck, err := localdev.OpenDuckDBLake(t.Context())
	if err != nil {
		t.Fatalf("this test needs DuckDB: %v", err)
	}
	docs, err := os.ReadFile("../../docs/DELTA.md")
	if err != nil {
		t.Fatal(err)
	}
	_, query, _ := strings.Cut(string(docs), "```sql\n")
	query, _, _ = strings.Cut(query, ";\n```")
	if !strings.Contains(query, "events_batches") {
		t.Fatalf("the documentation has no query: %q", query)
	}
	w := newWorld(t, nil, localFile+"publish: [delta]\n")
	for i := range 5 {
		w.write(fmt.Sprintf("in/%d.ndjson", i), fmt.Sprintf("{\"n\":%d}\n{\"n\":%d}\n", 10*i, 10*i+1))
		w.must(&report{}, "run")
	}
	w.must(&struct{}{}, "compact", "--all")
	script := w.run("ddl", "duckdb").stdout
	rows, err := duck.Query(t.Context(), script+"SELECT string_agg(n || ' of ' || seq, ', ' ORDER BY n) AS rows FROM ("+query+")")
	if err != nil {
		t.Fatalf("%v\n%s", err, script)
	}
	if want := "0 of 1, 1 of 1, 10 of 2, 11 of 2, 20 of 3, 21 of 3, 30 of 4, 31 of 4, 40 of 5, 41 of 5"; rows[0]["rows"] != want {
		t.Errorf("rows came from %v, want %s", rows[0]["rows"], want)
	}
	for at, want := range map[string]string{"3": "0 1 2 3", "0": "0"} {
		script := w.run("ddl", "duckdb", "--at", at).stdout
		rows, err := duck.Query(t.Context(), script+"SELECT string_agg(seq, ' ' ORDER BY seq) AS seqs FROM events_batches WHERE fact = 'batch'")
		if err != nil || rows[0]["seqs"] != want {
			t.Errorf("--at %s: manifests %v, %v, want %s", at, rows, err, want)
		}
	}
	for _, engine := range []string{"spark", "clickhouse"} {
		if r := w.run("ddl", engine); r.code != exitOK || !strings.Contains(r.stdout, "events_batches") {
			t.Errorf("%s: exit %d: %s%s", engine, r.code, r.stdout, r.stderr)
		}
	}
	w.must(&audit.Report{}, "verify", "--source", "--deep")
}

// TestTheTableOfBatchesHoldsNobodyBack: what others write into it is told, ends no run
// and is cured by deleting the folder.
func TestTheTableOfBatchesHoldsNobodyBack(t *testing.T) {
	w := newWorld(t, nil, localFile+"publish: [delta]\n")
	w.write("in/a.ndjson", `{"n":1}`+"\n")
	w.must(&report{}, "run")
	w.write("lake/events_batches/_delta_log/00000000000000000002.json", `{"commitInfo":{"engineInfo":"other"}}`+"\n")
	w.write("in/b.ndjson", `{"n":2}`+"\n")
	if r := w.run("run"); r.code != exitOK || !strings.Contains(r.stderr, "events_batches") || !strings.Contains(r.stderr, "foreign commit") {
		t.Errorf("run: exit %d: %s", r.code, r.stderr)
	}
	batches := func(tables []published) published {
		t.Helper()
		if len(tables) != 3 || tables[2].Table != "events_batches" || tables[0].Lag != 0 {
			t.Fatalf("tables %+v", tables)
		}
		return tables[2]
	}
	var status statusReport
	w.must(&status, "status")
	if b := batches(status.Delta); !strings.Contains(b.Conflict, "other") || b.Visible != 1 {
		t.Errorf("status %+v", b)
	}
	for _, args := range [][]string{{"publish"}, {"publish", "--rebuild"}, {"publish", "--rebuild", "--confirm"}, {"expire", "--keep", "1s", "--confirm"}} {
		if r := w.run(args...); r.code != exitUnavailable || !strings.Contains(r.stderr, "hint: delete the folder events_batches") || strings.Contains(r.stdout, "would be restored") {
			t.Errorf("%v: exit %d: %s%s", args, r.code, r.stdout, r.stderr)
		}
	}
	if r := w.run("ddl", "duckdb"); r.code != exitOK || !strings.Contains(r.stdout, "delete the folder events_batches") {
		t.Errorf("ddl: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "lake", "events_batches")); err != nil {
		t.Fatal(err)
	}
	if r := w.run("ddl", "duckdb"); r.code != exitOK || !strings.Contains(r.stdout, "events_batches is not published yet") {
		t.Errorf("ddl: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	var p publication
	w.must(&p, "publish")
	if b := batches(p.Tables); b.Conflict != "" || b.Lag != 0 || b.Visible != 2 {
		t.Errorf("made anew: %+v", b)
	}
	w.must(&repaired{}, "expire", "--keep", "1s", "--confirm")
}

// TestALostFileOfTheTableOfBatchesIsTold by verify, and by publish when it is to be
// folded, which says what to do.
func TestALostFileOfTheTableOfBatchesIsTold(t *testing.T) {
	w := newWorld(t, nil, localFile+"publish: [delta]\n")
	run := func(n int) {
		w.write(fmt.Sprintf("in/%02d.ndjson", n), fmt.Sprintf("{\"n\":%d}\n", n))
		w.must(&report{}, "run")
	}
	run(0)
	const lost = "data/00000000000000000001-00000000000000000002.parquet"
	if err := os.Remove(filepath.Join(w.dir, "lake", "events_batches", lost)); err != nil {
		t.Fatal(err)
	}
	if r := w.run("verify"); r.code != exitDamaged || !strings.Contains(r.stdout, "I16") || !strings.Contains(r.stdout, lost) {
		t.Errorf("verify: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	for n := range 10 {
		run(n + 1)
	}
	if r := w.run("publish"); r.code != exitUnavailable || !strings.Contains(r.stderr, lost) || !strings.Contains(r.stderr, "hint: delete the folder events_batches") {
		t.Errorf("publish: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "lake", "events_batches")); err != nil {
		t.Fatal(err)
	}
	w.must(&publication{}, "publish")
	w.must(&audit.Report{}, "verify")
}

// TestTheTableOfBatchesHasTheNameOfAnother pipeline's table, which was there first: that
// one is left alone, nobody is told to delete it, and nothing waits for a table that
// will never be.
func TestTheTableOfBatchesHasTheNameOfAnother(t *testing.T) {
	w := newWorld(t, nil, localFile+"publish: [delta]\n")
	w.write("other.yaml", strings.Replace(localFile, "pipeline: events\n", "pipeline: events_batches\n", 1)+"publish: [delta]\n")
	for i := range 12 {
		w.write(fmt.Sprintf("in/%d.ndjson", i), `{"n":1}`+"\n")
		w.must(&report{}, "run", "-c", "other.yaml")
	}
	theirs, err := filepath.Glob(filepath.Join(w.dir, "lake", "events_batches", "*", "*"))
	if err != nil || len(theirs) < 12 {
		t.Fatalf("%v, %v", theirs, err)
	}
	long := time.Now().AddDate(0, -3, 0)
	for _, file := range theirs {
		if err := os.Chtimes(file, long, long); err != nil {
			t.Fatal(err)
		}
	}
	w.must(&report{}, "run")
	if r := w.run("publish"); r.code != exitConfig || !strings.Contains(r.stderr, "belongs to pipeline events_batches-") || strings.Contains(r.stderr, "delete the folder") {
		t.Errorf("publish: exit %d: %s", r.code, r.stderr)
	}
	var status statusReport
	w.must(&status, "status")
	if b := status.Delta[2]; b.Conflict != "" || !strings.Contains(b.Error, "belongs to pipeline") {
		t.Errorf("status %+v", b)
	}
	if r := w.run("ddl", "duckdb"); r.code != exitOK || strings.Contains(r.stdout, "delete the folder") {
		t.Errorf("ddl: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	w.must(&repaired{}, "expire", "--keep", "1ns", "--confirm")
	w.must(&struct{}{}, "gc", "--keep", "1ns", "--confirm")
	for _, file := range theirs {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	w.must(&audit.Report{}, "verify", "--source")
}
