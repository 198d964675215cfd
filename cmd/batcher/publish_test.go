package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"batcher/audit"
	"batcher/localdev"
)

// publication is what publish prints.
type publication struct {
	Done   bool
	Seq    int64
	Tables []published
}

// TestPublishedTablesAreReadByOthers goes the whole way of a pipeline that publishes:
// each run's rows are seen by DuckDB and delta-rs at once; a stranger's commit ends the
// next run before it commits, and a rebuild restores the table.
func TestPublishedTablesAreReadByOthers(t *testing.T) {
	w := newWorld(t, nil, localFile+"publish: [delta]\n")
	readers, err := localdev.OpenDeltaReaders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(w.dir, "lake", "events")
	count := func(want string) {
		t.Helper()
		q := localdev.DeltaQuery{Table: folder, SQL: []string{"SELECT count(*) AS n, sum(n) AS sum FROM t"}}
		for name, ask := range map[string]func() (localdev.DeltaAnswer, error){
			"DuckDB":   func() (localdev.DeltaAnswer, error) { return readers.DuckDB(t.Context(), q) },
			"delta-rs": func() (localdev.DeltaAnswer, error) { return readers.DeltaRS(t.Context(), q) },
		} {
			a, err := ask()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			row := a.Rows[0][0]
			if got := string(row["n"].(json.Number)) + " " + stringOf(row["sum"]); got != want {
				t.Errorf("%s reads %s, want %s", name, got, want)
			}
		}
	}
	w.write("in/a.ndjson", `{"n":1}`+"\n"+`{"n":2}`+"\nbroken\n")
	w.must(&report{}, "run", "--accept-bad")
	count("2 3")
	w.write("in/b.ndjson", `{"n":3}`+"\n")
	w.must(&report{}, "run")
	count("3 6")

	if _, err := readers.Disturb(t.Context(), folder, "n = 1"); err != nil {
		t.Fatal(err)
	}
	w.write("in/c.ndjson", `{"n":4}`+"\n")
	var status statusReport
	w.must(&status, "status")
	before := status.Seq
	if d := status.Delta; len(d) != 2 || !strings.Contains(d[0].Conflict, "delta-rs") || d[1].Conflict != "" {
		t.Errorf("status %+v", d)
	}
	if r := w.run("run"); r.code != exitUnavailable || !strings.Contains(r.stderr, "publish --rebuild") {
		t.Errorf("run after a foreign commit: exit %d: %s", r.code, r.stderr)
	}
	if r := w.run("expire", "--keep", "1s", "--confirm"); r.code != exitUnavailable || !strings.Contains(r.stderr, "nothing was expired") {
		t.Errorf("expire after a foreign commit: exit %d: %s", r.code, r.stderr)
	}
	if r := w.run("publish", "--rebuild"); r.code != exitOK || !strings.Contains(r.stdout, "--confirm does it") {
		t.Errorf("dry rebuild: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if w.must(&status, "status"); status.Seq != before {
		t.Errorf("manifest %d after what changes nothing, was %d", status.Seq, before)
	}
	var p publication
	w.must(&p, "publish", "--rebuild", "--confirm")
	if !p.Done || p.Seq != int64(before)+1 || p.Tables[0].Conflict != "" || p.Tables[0].Lag != 0 {
		t.Errorf("rebuilt: %+v", p)
	}
	count("3 6")
	w.must(&report{}, "run")
	count("4 10")
	var proof audit.Report
	w.must(&proof, "verify", "--source", "--deep")

	w.must(&repaired{}, "expire", "--keep", "1h", "--confirm")
	var cleaned struct {
		Logs *cleanedLogs `json:"delta_logs"`
	}
	if w.must(&cleaned, "gc"); cleaned.Logs == nil || *cleaned.Logs != (cleanedLogs{}) {
		t.Errorf("gc of young logs: %+v", cleaned.Logs)
	}
	script := w.run("ddl", "duckdb").stdout
	if !strings.Contains(script, "LOAD delta") || !strings.Contains(script, "delta_scan('"+folder+"')") {
		t.Errorf("ddl: %s", script)
	}
	if script = w.run("ddl", "duckdb", "--at", "1").stdout; !strings.Contains(script, "delta_scan('"+folder+"', version => 0)") {
		t.Errorf("ddl --at 1: %s", script)
	}
}

// stringOf is a sum as both readers spell it.
func stringOf(v any) string {
	if n, ok := v.(json.Number); ok {
		return n.String()
	}
	text, _ := v.(string)
	return text
}

func TestPublishSaysThatNothingIsPublished(t *testing.T) {
	w := newWorld(t, nil, localFile)
	w.write("in/a.ndjson", `{"n":1}`+"\n")
	w.must(&report{}, "run")
	if r := w.run("publish"); r.code != exitConfig || !strings.Contains(r.stderr, "publish: [delta]") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}
