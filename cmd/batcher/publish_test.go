package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"batcher/audit"
	"batcher/localdev"
	"batcher/object"
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
	if d := status.Delta; len(d) != 3 || !strings.Contains(d[0].Conflict, "delta-rs") || d[1].Conflict != "" {
		t.Errorf("status %+v", d)
	}
	if r := w.run("run"); r.code != exitUnavailable || !strings.Contains(r.stderr, "publish --rebuild") {
		t.Errorf("run after a foreign commit: exit %d: %s", r.code, r.stderr)
	}
	if r := w.run("expire", "--keep", "1s", "--confirm"); r.code != exitUnavailable || !strings.Contains(r.stderr, "nothing was expired") {
		t.Errorf("expire after a foreign commit: exit %d: %s", r.code, r.stderr)
	}
	w.must(&report{}, "run", "--set", "publish_on_conflict=continue")
	if w.must(&status, "status"); status.Seq != before+1 || status.Delta[0].Conflict == "" {
		t.Errorf("a run that goes on: manifest %d after %d, %+v", status.Seq, before, status.Delta)
	}
	before = status.Seq
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
	count("4 10")
	w.write("in/d.ndjson", `{"n":5}`+"\n")
	w.must(&report{}, "run")
	count("5 15")
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
	w := newWorld(t, nil, localFile+"publish: []\n")
	w.write("in/a.ndjson", `{"n":1}`+"\n")
	w.must(&report{}, "run")
	if r := w.run("publish"); r.code != exitConfig || !strings.Contains(r.stderr, "publish: [delta]") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

// TestKilledRunsPublishEveryVersion kills processes of two shards with SIGKILL while
// they commit and publish on a real MinIO, and then reads the table through its Delta
// log there: each record once, each version once and without a gap.
func TestKilledRunsPublishEveryVersion(t *testing.T) {
	if testing.Short() {
		localdev.Skip(t, "the kill test on MinIO is skipped by -short")
	}
	const objects, records = 120, 20
	s := minio(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	place := fmt.Sprintf("published-%d", seed)
	w := newWorld(t, s.Env(), fmt.Sprintf(`
pipeline: events
store: s3://lake/%[1]s
source: {files: {path: s3://input/%[1]s}}
batch: {max_objects: 6}
publish: [delta]
`, place))
	want, err := localdev.Seed(t.Context(), bucket(t, s, "input", place), localdev.SeedOptions{Objects: objects, Records: records, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	var kills atomic.Int64
	var wg sync.WaitGroup
	for shard := range 2 {
		wg.Go(func() {
			n, err := w.killedRuns(rand.New(rand.NewPCG(seed, uint64(shard))), 6, 400*time.Millisecond, nil, "--shard", fmt.Sprintf("%d/2", shard))
			if err != nil {
				t.Error(err)
			}
			kills.Add(int64(n))
		})
	}
	wg.Wait()
	var p publication
	w.must(&p, "publish")
	if len(p.Tables) != 3 || p.Tables[0].Lag != 0 || p.Tables[0].Version < 10 || p.Tables[0].Conflict != "" {
		t.Fatalf("published %+v", p)
	}
	log := map[string]bool{}
	for info, err := range bucket(t, s, "lake", place).List(t.Context(), "events/_delta_log/", object.Shallow) {
		if err != nil {
			t.Fatal(err)
		}
		log[strings.TrimPrefix(info.Key, "events/_delta_log/")] = true
	}
	for v := range p.Tables[0].Version + 1 {
		if !log[fmt.Sprintf("%020d.json", v)] {
			t.Errorf("version %d is missing", v)
		}
	}
	if log[fmt.Sprintf("%020d.json", p.Tables[0].Version+1)] || !log["_last_checkpoint"] {
		t.Errorf("the log holds %v", sortedKeys(log))
	}
	readers, err := localdev.OpenDeltaReaders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ENDPOINT_URL", s.Endpoint)
	t.Setenv("AWS_ALLOW_HTTP", "true")
	a, err := readers.DeltaRS(t.Context(), localdev.DeltaQuery{Table: "s3://lake/" + place + "/events",
		SQL: []string{"SELECT count(*) AS n, count(DISTINCT _source || ':' || CAST(_offset AS VARCHAR)) AS ids FROM t"}})
	if err != nil {
		t.Fatal(err)
	}
	if rows, ids := number(t, a.Rows[0][0]["n"]), number(t, a.Rows[0][0]["ids"]); rows != want || ids != want || a.Version != p.Tables[0].Version {
		t.Errorf("delta-rs reads %d rows and %d ids in version %d, want %d in %d", rows, ids, a.Version, want, p.Tables[0].Version)
	}
	figure := fmt.Sprintf("%d records in %d versions by 2 shards, %d processes killed; delta-rs reads each once", want, p.Tables[0].Version+1, kills.Load())
	t.Log(figure)
	localdev.Figure("kill -9 while publishing on MinIO", figure)
}
