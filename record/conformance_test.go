package record_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batcher/localdev"
	"batcher/record"
)

// suite returns the files of JSONTestSuite whose names begin with a prefix:
// y_ are JSON, n_ are not, and i_ every reader decides for itself.
func suite(t *testing.T, prefix string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(samples(t), "json-conformance", prefix+"*"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	out := map[string]string{}
	for _, path := range paths {
		out[strings.TrimSuffix(filepath.Base(path), ".json")] = read(t, path)
	}
	return out
}

// wrap makes a value the only one of a record, of which it must make one row or
// one dead letter. Only a value on one line can be one of lines.
func wrap(t *testing.T, value, before string) *seen {
	t.Helper()
	kind := record.NDJSON
	if strings.Contains(value, "\n") {
		kind = record.JSON
	}
	return stream(t, kind, before+`{"v":`+value+"}")
}

// stream reads text as an object of its own.
func stream(t *testing.T, kind record.Kind, text string) *seen {
	t.Helper()
	return look(t, &truth{key: text[:min(len(text), 60)], name: "o.json", body: text}, record.Options{Format: record.Format{Kind: kind}})
}

// asJSON are records before a value under which its column keeps JSON text.
const asJSON = "{\"v\":[]}\n{\"v\":{}}\n"

func TestConformance_EveryJSONValueIsAcceptedExactly(t *testing.T) {
	files := suite(t, "y_")
	for name, value := range files {
		for _, before := range []string{"", asJSON} {
			s := wrap(t, value, before)
			if s.broken != nil || len(s.dead) > 0 {
				t.Errorf("%s: %s", name, s)
				continue
			}
			if err := checkBatch(s.outcome, before+`{"v":`+value+"}"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	figure := fmt.Sprintf("%d of %d valid values accepted exactly", len(files), len(files))
	t.Log(figure)
	localdev.Figure("JSONTestSuite, y_", figure)
}

// TestConformance_ValidFilesAreTheirRecords reads each file as it is: an object
// is a row, elements of an array are records, and what is no object is a dead
// letter that says so.
func TestConformance_ValidFilesAreTheirRecords(t *testing.T) {
	for name, text := range suite(t, "y_") {
		v, err := parse(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := []any{v}
		if elements, ok := v.([]any); ok {
			want = elements
		}
		s := stream(t, record.Auto, text)
		if s.broken != nil || s.records != int64(len(want)) {
			t.Errorf("%s: %s of %d records", name, s, len(want))
			continue
		}
		objects := 0
		for _, w := range want {
			if _, ok := w.(map[string]any); ok {
				objects++
			}
		}
		twice := strings.Count(codes(s.outcome), "duplicate_key")
		if n := strings.Count(codes(s.outcome), "not_object"); len(s.rows)+twice != objects || n+twice != len(s.dead) || twice > 0 && !strings.Contains(name, "duplicated") {
			t.Errorf("%s: %s, of which %d should be rows", name, s, objects)
		}
		if err := checkBatch(s.outcome, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// streams are files that are no JSON and yet good streams of records.
var streams = map[string]string{
	"n_single_space":                           "white space: no records",
	"n_structure_no_data":                      "nothing: no records",
	"n_structure_UTF8_BOM_no_data":             "a byte order mark: no records",
	"n_structure_object_with_trailing_garbage": "an object and a text, one after another: a row and a dead letter",
}

func TestConformance_WhatIsNoJSONIsRefused(t *testing.T) {
	files := suite(t, "n_")
	for name, value := range files {
		for _, before := range []string{"", asJSON} {
			s := wrap(t, value, before)
			if s.broken == nil && len(s.dead) == 0 {
				t.Errorf("%s: %q is accepted: %v", name, value, s.rows)
			}
		}
		s := stream(t, record.JSON, value)
		_, good := streams[name]
		if refused := s.broken != nil || wrong(s.dead); refused == good {
			t.Errorf("%s: %q as a file: %s", name, value, s)
		}
	}
	for name := range streams {
		if _, ok := files[name]; !ok {
			t.Errorf("%s is no file of the suite here", name)
		}
	}
	figure := fmt.Sprintf("%d of %d invalid values refused; as whole files too, but for %d that are streams of records", len(files), len(files), len(streams))
	t.Log(figure)
	localdev.Figure("JSONTestSuite, n_", figure)
	var b strings.Builder
	b.WriteString("| file | what it is to batcher |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(streams)) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, streams[name])
	}
	holdDoc(t, "streams", b.String())
}

// wrong says whether a dead letter says that something is no JSON.
func wrong(dead []record.DeadLetter) bool {
	return slices.ContainsFunc(dead, func(d record.DeadLetter) bool { return d.Stage == "syntax" || d.Stage == "utf8" })
}

// TestConformance_EveryOpenQuestionHasItsAnswer holds what becomes of the i_
// files to the table of the documentation.
func TestConformance_EveryOpenQuestionHasItsAnswer(t *testing.T) {
	files := suite(t, "i_")
	var b strings.Builder
	b.WriteString("| file | as a value of a record | as a file |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		value := files[name]
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, answer(wrap(t, value, "")), answer(stream(t, record.JSON, value)))
	}
	holdDoc(t, "open questions", b.String())
}

// answer says what became of a file: the types of its rows, or why there are
// none.
func answer(s *seen) string {
	if s.broken != nil || len(s.dead) > 0 {
		return s.String()
	}
	var all []string
	for _, row := range s.rows {
		all = append(all, "`"+user(row)+"`")
	}
	return fmt.Sprintf("%s, %s", s, strings.Join(append(all, columns(s.schema)), " "))
}
