package record_test

import (
	"errors"
	"fmt"
	"runtime"
	"sort"
	"strings"
	"testing"
	"time"

	"batcher/localdev"
	"batcher/record"
	"batcher/schema"
)

const (
	sampleTimeout = 20 * time.Second
	sampleMemory  = 160 << 20 // all that decoding one sample may ever allocate, beyond allocPerByte
	allocPerByte  = 100
)

// seen is what became of one sample under one format.
type seen struct {
	*outcome
	broken  *record.BrokenError
	records int64
}

// String is short enough for a table of exceptions.
func (s *seen) String() string {
	if s.broken != nil && s.broken.TooLarge {
		return s.broken.Reason
	}
	if s.broken != nil {
		return "broken: " + s.broken.Reason
	}
	out := fmt.Sprintf("%d rows", len(s.rows))
	counts := map[string]int{}
	for _, d := range s.dead {
		counts[d.Code]++
	}
	var all []string
	for code, n := range counts {
		all = append(all, fmt.Sprintf(", %d %s", n, code))
	}
	sort.Strings(all)
	return out + strings.Join(all, "")
}

// look decodes a sample. It fails the test when that takes too long or too much
// memory, or ends in anything but an outcome or a BrokenError.
func look(t *testing.T, f *truth, opt record.Options) *seen {
	t.Helper()
	type result struct {
		out *outcome
		err error
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan result, 1)
	go func() {
		out, err := try(t, opt, input{f.name, f.body})
		done <- result{out, err}
	}()
	var r result
	select {
	case r = <-done:
	case <-time.After(sampleTimeout):
		t.Fatalf("%s as %s: no end after %v", f.key, opt.Format.Kind, sampleTimeout)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > sampleMemory+allocPerByte*uint64(len(f.text(t))) {
		t.Errorf("%s as %s: %d MiB allocated for %d bytes", f.key, opt.Format.Kind, used>>20, len(f.body))
	}
	s := &seen{outcome: r.out}
	if errors.As(r.err, &s.broken) {
		return s
	}
	if r.err != nil {
		t.Fatalf("%s as %s: %v", f.key, opt.Format.Kind, r.err)
	}
	s.records = r.out.results[0].Records
	if n := int64(len(s.rows) + len(s.dead)); n != s.records {
		t.Errorf("%s as %s: %d rows and %d dead letters of %d records", f.key, opt.Format.Kind, len(s.rows), len(s.dead), s.records)
	}
	return s
}

// sums are the results of one kind of sample.
type sums struct{ files, exact, broken, records, rows, dead, facts, values int64 }

// TestSamplesAreReadAsTheirTruthSays decodes every sample and holds records,
// rows and values against what independent readers say: as the program finds
// out by itself what they are, and as the truth calls them where that differs.
func TestSamplesAreReadAsTheirTruthSays(t *testing.T) {
	kinds := map[string]*sums{}
	needed := map[string]bool{}
	for _, f := range truths(t) {
		kind := kinds[f.Format]
		if kind == nil {
			kind = &sums{}
			kinds[f.Format] = kind
		}
		kind.files++
		// The truths take the first row of CSV for the header, so it is declared.
		s := look(t, f, record.Options{Format: record.Format{Kind: record.Auto, CSV: record.Dialect{Header: record.Named}}})
		if format, ok := declared[f.key]; ok {
			if s.judge(t, f, &sums{}) == "" {
				t.Errorf("%s is found out to be what it is: it need not be declared", f.key)
			}
			if format.CSV.Header == "" {
				format.CSV.Header = record.Named
			}
			s = look(t, f, record.Options{Format: format})
		}
		complaint := s.judge(t, f, kind)
		if complaint == "" {
			kind.exact++
		}
		kind.count(s)
		e, ok := exceptions[f.key]
		switch {
		case ok != (complaint != ""):
			t.Errorf("%s: complaint %q, %s; expected an exception: %v", f.key, complaint, s, ok)
		case ok && e.is != s.String():
			t.Errorf("%s: %q, the exception says %q", f.key, s, e.is)
		}
		needed[f.key] = ok
	}
	for key := range exceptions {
		if !needed[key] {
			t.Errorf("the exception for %s is not needed", key)
		}
	}
	checkResults(t, kinds)
}

func (k *sums) count(s *seen) {
	if s.broken != nil {
		k.broken++
		return
	}
	k.records += s.records
	k.rows += int64(len(s.rows))
	k.dead += int64(len(s.dead))
}

// judge says in which way an outcome differs from the truth, or nothing.
func (s *seen) judge(t *testing.T, f *truth, k *sums) string {
	t.Helper()
	if s.broken != nil {
		return s.judgeBroken(f)
	}
	var complaints []string
	note := func(err error) {
		if err != nil {
			complaints = append(complaints, err.Error())
		}
	}
	switch f.Format {
	case "json":
		note(s.jsonCount(f))
		note(s.fields(f.JSON.Fields, k))
		note(s.eachValue(f, f.text(t), k))
	case "csv":
		note(s.csvCount(f))
		note(s.csvValues(f, f.text(t), k))
		note(s.duck(f.DuckDB.CSV, k))
	case "lines":
		if s.records != f.Records {
			note(fmt.Errorf("%d records, not %d", s.records, f.Records))
		}
		note(s.lineValues(f, f.text(t), k))
	case "parquet":
		if s.records != f.Records {
			note(fmt.Errorf("%d records, not %d", s.records, f.Records))
		}
		note(s.duck(f.DuckDB.Parquet, k))
	case "avro":
		if s.records != f.Records {
			note(fmt.Errorf("%d records, not %d", s.records, f.Records))
		}
		note(s.fields(f.Avro.Fields, k))
	}
	return strings.Join(complaints, "; ")
}

// judgeBroken says whether a sample deserves to be refused as a whole.
func (s *seen) judgeBroken(f *truth) string {
	refused := f.Expected == "must fail" || f.Expected == "must refuse" ||
		f.JSON.Shape == "not-json" || strings.HasPrefix(f.key, "avro-raw-datum/") || // no containers in spite of their names
		f.Avro.Error != "" || f.DuckDB.Parquet.Error != ""
	if refused {
		return ""
	}
	return s.String()
}

// jsonCount compares the number of records. In text that is no JSON there are as
// many as the documented rules cut.
func (s *seen) jsonCount(f *truth) error {
	want := f.Records
	switch f.JSON.Shape {
	case "ndjson-with-bad-lines":
		want = f.JSON.Lines.Good + f.JSON.Lines.Bad
	case "not-json":
		if len(s.dead) == 0 && s.records > 0 && !s.asLines() {
			return fmt.Errorf("no JSON, and yet every record is a row")
		}
		return nil
	}
	if s.records != want {
		return fmt.Errorf("%d records, not %d", s.records, want)
	}
	return nil
}

// csvCount compares the number of rows behind the header with what Python's
// reader or DuckDB found: with the one that saw as many cells as we did.
func (s *seen) csvCount(f *truth) error {
	python := max(f.CSV.Rows-1, 0)
	duck := f.DuckDB.CSV.Count
	if f.DuckDB.CSV.Error == "" && !strings.Contains(string(f.DuckDB.Sniff), `"HasHeader": true`) {
		duck--
	}
	if s.records == python || f.DuckDB.CSV.Error == "" && s.records == duck {
		return nil
	}
	return fmt.Errorf("%d records, where Python has %d and DuckDB %d", s.records, python, duck)
}

// TestSampleEventsKeepTheirValuesUnderAnyRules reads real events with nested
// values under several bounds of structs, and in several containers.
func TestSampleEventsKeepTheirValuesUnderAnyRules(t *testing.T) {
	body := read(t, samples(t), "github-events-ndjson", "github-events.ndjson")
	lines := strings.Count(strings.TrimSpace(body), "\n") + 1
	for name, rules := range map[string]schema.Rules{"json": {}, "structs": {MinRecords: 1}, "deep": {MinRecords: 1, MaxDepth: 20, MaxLeaves: 2000}} {
		for _, container := range []string{body, gzipped(t, body[:1000], body[1000:]), zstded(t, body)} {
			out := decode(t, record.Options{Rules: rules}, input{"o", container})
			if len(out.rows) != lines || len(out.dead) > 0 || len(out.notes.Misfits) > 0 {
				t.Fatalf("%s: %d rows of %d, dead %v", name, len(out.rows), lines, out.dead)
			}
			if err := checkBatch(out, body); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

// results are the lines of the table in docs/FORMATS.md.
func checkResults(t *testing.T, kinds map[string]*sums) {
	t.Helper()
	var b strings.Builder
	b.WriteString("| format | files | as their truth says | refused as a whole | records | rows | dead letters | facts of truth equal | values equal |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		k := kinds[name]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", name, k.files, k.exact, k.broken, k.records, k.rows, k.dead, k.facts, k.values)
		localdev.Figure("samples: "+name, fmt.Sprintf("%d files, %d as their truth says, %d refused as a whole; %d records are %d rows and %d dead letters; %d facts and %d values equal",
			k.files, k.exact, k.broken, k.records, k.rows, k.dead, k.facts, k.values))
	}
	b.WriteString("\n| sample | what comes of it | why it differs |\n|---|---|---|\n")
	names = names[:0]
	for key := range exceptions {
		names = append(names, key)
	}
	sort.Strings(names)
	for _, key := range names {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", key, exceptions[key].is, exceptions[key].why)
	}
	holdDoc(t, "samples", b.String())
}
