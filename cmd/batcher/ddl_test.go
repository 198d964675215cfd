package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"batcher/localdev"
)

// TestTheDeltaScriptsRun plays what ddl duckdb prints, as it comes, over the tables of a
// directory whose name wants care and of a bucket: the rows as of now, those that come
// later, and both tables together as of an earlier manifest.
func TestTheDeltaScriptsRun(t *testing.T) {
	duck, err := localdev.OpenDuckDBLake(t.Context())
	if err != nil {
		t.Fatalf("this test needs DuckDB: %v", err)
	}
	s := minio(t)
	for store, env := range map[string][]string{"./it's a #lake": nil, "s3://misc/it's a #lake": s.Env()} {
		t.Run(store, func(t *testing.T) {
			w := newWorld(t, env, fmt.Sprintf("pipeline: sold\nstore: %q\nsource: {files: {path: ./in, settle: 0s}}\ntable: sold-items\ndead_letters: {table: sold-items_latest, fail_above: {ratio: 1}}\npublish: [delta]\n", store))
			script := func(args ...string) string {
				r := w.run(append([]string{"ddl", "duckdb"}, args...)...)
				if r.code != exitOK {
					t.Fatalf("%v: exit %d: %s", args, r.code, r.stderr)
				}
				if strings.Contains(r.stdout, s.AccessKey) || strings.Contains(r.stdout, s.SecretKey) {
					t.Errorf("a script with a key:\n%s", r.stdout)
				}
				return r.stdout
			}
			counts := func(script, want string) {
				t.Helper()
				const query = `SELECT (SELECT count(*) FROM "sold-items") || ' ' || (SELECT count(*) FROM "sold-items_latest") || ' ' || (SELECT string_agg(v, ',' ORDER BY k) FROM "sold-items_latest_") AS counts`
				rows, err := duck.QueryWith(t.Context(), env, script+query)
				if err != nil {
					t.Fatalf("%v\n%s", err, script)
				}
				if rows[0]["counts"] != want {
					t.Errorf("rows, letters, newest: %v, want %s\n%s", rows[0]["counts"], want, script)
				}
			}
			w.write("in/a.ndjson", `{"k":1,"v":"old"}`+"\n"+`{"k":2,"v":"it's"}`+"\n")
			w.must(&report{}, "run")
			first := script("--latest-by", "k")
			counts(first, "2 0 old,it's")
			w.write("in/b.ndjson", `{"k":1,"v":"new"}`+"\nbroken\n")
			w.must(&report{}, "run")
			w.write("in/c.ndjson", "broken\nbroken\n")
			w.must(&report{}, "run")
			counts(first, "3 0 new,it's") // there was no Delta log of letters to be opened
			counts(script("--latest-by", "k"), "3 3 new,it's")
			counts(script("--latest-by", "k", "--at", "3"), "3 3 new,it's")
			counts(script("--latest-by", "k", "--at", "2"), "3 1 new,it's")
			counts(script("--latest-by", "k", "--at", "1"), "2 0 old,it's")
			counts(script("--latest-by", "k", "--at", "2", "--no-extension"), "3 1 new,it's")
		})
	}
}

// TestNoScriptShowsWhatIsNotThere asks for manifests and tables that no Delta log shows.
func TestNoScriptShowsWhatIsNotThere(t *testing.T) {
	w := newWorld(t, nil, localFile+"publish: []\n")
	w.write("in/a.ndjson", `{"n":1}`+"\n")
	w.must(&report{}, "run")
	refused := func(message, hint string, args ...string) {
		t.Helper()
		r := w.run(append([]string{"ddl"}, args...)...)
		if r.code != exitUsage || !strings.Contains(r.stderr, message) || !strings.Contains(r.stderr, "hint: ") || !strings.Contains(r.stderr, hint) || r.stdout != "" {
			t.Errorf("%v: exit %d: %s%s", args, r.code, r.stderr, r.stdout)
		}
	}
	for _, engine := range engines {
		refused("publishes no Delta tables", "publish: [delta]", engine)
	}
	w.write("pipeline.yaml", localFile+"publish: [delta]\n")
	for _, engine := range []string{"duckdb", "spark", "clickhouse"} {
		refused("table events is not published yet", "batcher publish", engine)
		refused("no Delta version shows table events after manifest 1", "--no-extension", engine, "--at", "1")
		refused("manifest 9 is not retained", "manifests 0 to 1", engine, "--at", "9")
		refused(`has no column "m"`, "schema show", engine, "--latest-by", "m")
	}
	refused("Athena reads buckets", "ddl duckdb", "athena")
	refused("Trino reads buckets", "ddl duckdb", "trino")
	if r := w.run("publish"); r.code != exitOK {
		t.Fatalf("publish: exit %d: %s", r.code, r.stderr)
	}
	if r := w.run("ddl", "duckdb", "--at", "0"); r.code != exitOK || !strings.Contains(r.stdout, "-- Nothing was written to events by then.") {
		t.Errorf("--at 0: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}

	// A foreign commit: what is shown is said, and its number is nobody's else.
	w.write("lake/events/_delta_log/00000000000000000001.json", `{"commitInfo":{"engineInfo":"other\n1"}}`+"\n")
	w.write("in/b.ndjson", `{"n":2}`+"\n")
	if r := w.run("run", "--set", "publish_on_conflict=continue"); r.code != exitOK {
		t.Fatalf("run beside a foreign commit: exit %d: %s", r.code, r.stderr)
	}
	if r := w.run("ddl", "duckdb"); r.code != exitOK || !strings.Contains(r.stdout, "until batcher publish --rebuild") || strings.Contains(r.stdout, "\n1") {
		t.Errorf("beside a foreign commit: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	refused("version 1 is a foreign commit", "--no-extension", "duckdb", "--at", "2")
}

// TestPlacesThatAnEngineCannotName are refused, with another way.
func TestPlacesThatAnEngineCannotName(t *testing.T) {
	w := newWorld(t, nil, strings.Replace(localFile, "./lake", "./100%25", 1))
	w.write("in/a.ndjson", `{"n":1}`+"\n")
	w.must(&report{}, "run")
	if r := w.run("ddl", "duckdb"); r.code != exitUsage || !strings.Contains(r.stderr, filepath.Join(w.dir, "100%25")) || !strings.Contains(r.stderr, "hint: add --no-extension") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	duck, err := localdev.OpenDuckDBLake(t.Context())
	if err != nil {
		t.Fatalf("this test needs DuckDB: %v", err)
	}
	if rows, err := duck.Query(t.Context(), w.run("ddl", "duckdb", "--no-extension").stdout+"SELECT count(*) AS rows FROM events"); err != nil || number(t, rows[0]["rows"]) != 1 {
		t.Errorf("%v, %v", rows, err)
	}
	// What delta_scan makes of it: the day it reads it, the refusal may go.
	if rows, err := duck.Query(t.Context(), "LOAD delta; SELECT count(*) AS n FROM delta_scan("+literal(filepath.Join(w.dir, "100%25", "events"))+")"); err == nil {
		t.Errorf("delta_scan reads %v", rows)
	}
}
