package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
)

// samples returns the folder of real inputs, which is no part of the project.
func samples(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("BATCHER_SAMPLES")
	if dir == "" {
		t.Skip("BATCHER_SAMPLES IS NOT SET: real inputs are not tested. Set it to the folder of samples.")
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
			for i, row := range out.rows {
				if err := sameValues(lines[i], row); err != nil {
					t.Fatalf("%s, line %d: %v", name, i, err)
				}
			}
		}
	}
}

// sameValues compares a line with its row, whose columns have the names of the
// line's keys: nothing but nulls may be missing or new. Timestamps are compared
// by their seconds.
func sameValues(line, row string) error {
	want, err := parse(line)
	if err != nil {
		return err
	}
	got, err := parse(row)
	if err != nil {
		return err
	}
	delete(got.(map[string]any), "_source")
	delete(got.(map[string]any), "_offset")
	return same("", want, got)
}

func parse(s string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func same(path string, want, got any) error {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok && len(w) > 0 {
			return fmt.Errorf("%s: want an object, got %v", path, got)
		}
		for k, v := range w {
			name := schema.Lower.Plain(k)
			err := same(path+"."+k, v, g[name])
			for _, other := range []string{name + "_2", k} {
				if err != nil && same(path, v, g[other]) == nil {
					err = nil
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Errorf("%s: want %d elements, got %v", path, len(w), got)
		}
		for i := range w {
			if err := same(fmt.Sprintf("%s[%d]", path, i), w[i], g[i]); err != nil {
				return err
			}
		}
		return nil
	case string:
		if g, ok := got.(string); ok && strings.HasSuffix(w, "Z") && strings.TrimSuffix(g, ".000000Z") == strings.TrimSuffix(w, "Z") {
			return nil
		}
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Errorf("%s: want %v, got %v", path, want, got)
	}
	return nil
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
			}
		}
	}
	t.Logf("%d files", tested)
}
