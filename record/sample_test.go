package record_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batcher/localdev"
	"batcher/record"
	"batcher/schema"
)

// samples returns the folder of real inputs, which is no part of the project.
func samples(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("BATCHER_SAMPLES")
	if dir == "" {
		localdev.Skip(t, "BATCHER_SAMPLES is not set to the folder of samples: real inputs are not read")
	}
	return dir
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSampleGithubEvents(t *testing.T) {
	body := read(t, samples(t), "github-events-ndjson", "github-events.ndjson")
	lines := strings.Split(strings.TrimSpace(body), "\n")
	for name, rules := range map[string]schema.Rules{"json": {}, "structs": {MinRecords: 1}, "deep": {MinRecords: 1, MaxDepth: 20, MaxLeaves: 2000}} {
		for _, container := range []string{body, gzipped(t, body[:1000], body[1000:]), zstded(t, body)} {
			out := decode(t, record.Options{Rules: rules}, input{"o", container})
			if len(out.rows) != len(lines) || len(out.dead) > 0 || len(out.notes.Misfits) > 0 {
				t.Fatalf("%s: %d rows of %d, dead %v", name, len(out.rows), len(lines), out.dead)
			}
			if err := checkBatch(out, body); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

// TestSampleJSONConformance wraps each file of JSONTestSuite that is one line
// into a record, once as JSON text and once as its own column.
func TestSampleJSONConformance(t *testing.T) {
	dir := filepath.Join(samples(t), "json-conformance")
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	tested := 0
	for _, f := range files {
		body := []byte(read(t, dir, f.Name()))
		if filepath.Ext(f.Name()) != ".json" || f.Name() == "truth.json" || bytes.IndexByte(bytes.TrimSpace(body), '\n') >= 0 || bytes.IndexByte(body, 0) >= 0 {
			continue
		}
		tested++
		body = bytes.TrimSpace(body)
		for column, head := range map[string]string{"json": "{\"v\":[]}\n{\"v\":{}}\n", "inferred": ""} {
			out, err := try(t, record.Options{}, input{"o", head + `{"v":` + string(body) + "}"})
			if err != nil {
				t.Fatalf("%s: %v", f.Name(), err)
			}
			good := len(out.dead) == 0
			if want := f.Name()[:2]; want == "y_" && !good || want == "n_" && good {
				t.Errorf("%s as %s: accepted is %v (%s)", f.Name(), column, good, codes(out))
			}
			if int64(len(out.rows)+len(out.dead)) != out.results[0].Records {
				t.Errorf("%s: %d rows, %d dead, %d records", f.Name(), len(out.rows), len(out.dead), out.results[0].Records)
			}
		}
	}
	t.Logf("%d files", tested)
}

// TestSampleLines decodes every sample whose truth calls it ndjson and compares
// the number of good lines.
func TestSampleLines(t *testing.T) {
	dir := samples(t)
	truths, err := filepath.Glob(filepath.Join(dir, "*", "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, path := range truths {
		var truth struct {
			Files map[string]struct {
				Compression string
				JSON        struct {
					Shape string
					View  struct {
						Good  int64            `json:"good_lines"`
						Bad   int64            `json:"bad_lines"`
						Kinds map[string]int64 `json:"record_kinds"`
					} `json:"ndjson_view"`
				}
			}
		}
		if err := json.Unmarshal([]byte(read(t, path)), &truth); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for name, f := range truth.Files {
			if f.JSON.Shape != "ndjson" {
				continue
			}
			tested++
			body := read(t, filepath.Dir(path), name)
			for _, rules := range []schema.Rules{{}, {MinRecords: 1}} {
				out, err := try(t, record.Options{Rules: rules}, input{"o", body})
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				twice := strings.Count(codes(out), "schema/duplicate_key") // fine by RFC 8259, not by us
				if int64(len(out.rows)+twice) != f.JSON.View.Kinds["object"] || out.results[0].Records != f.JSON.View.Good+f.JSON.View.Bad {
					t.Errorf("%s: %d rows, %d dead (%s); truth %+v", name, len(out.rows), len(out.dead), codes(out), f.JSON.View)
				}
				if out.results[0].Container != "plain" {
					continue
				}
				if err := checkBatch(out, body); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	t.Logf("%d files", tested)
}
