package record_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"batcher/record"
	"batcher/source"
)

// fuzzText decodes an object whole and from the middle on: it becomes rows and
// dead letters one behind the other, in time, or is broken; a later range gives
// what the whole gave there.
func fuzzText(t *testing.T, opt record.Options, body string) *outcome {
	t.Helper()
	opt.Limits = record.Limits{MaxRecordBytes: 300, MaxDepth: 12, PrimeBytes: 100, BlockBytes: 300, BlockRows: 5, MaxColumns: 60}
	begin := time.Now()
	first, err := try(t, opt, input{"o", body})
	if took := time.Since(begin); took > 5*time.Second {
		t.Fatalf("%v for %d bytes", took, len(body))
	}
	var broken *record.BrokenError
	if errors.As(err, &broken) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := first.schema.Validate(); err != nil {
		t.Fatal(err)
	}
	opt.Table = first.schema
	whole := decode(t, opt, input{"o", body})
	if whole.results[0].Container != "plain" || whole.results[0].Records == 0 {
		return whole
	}
	checkPartition(t, whole, body)
	rows, dead := offsets(t, whole)
	all := slices.Concat(rows, dead)
	checkFrom(t, opt, body, whole, all[len(all)/2])
	checkTwo(t, opt, body, whole)
	return whole
}

// checkTwo decodes an object in two ranges.
func checkTwo(t *testing.T, opt record.Options, body string, whole *outcome) {
	t.Helper()
	parts := &outcome{}
	want := whole.results[0]
	var from source.Position
	var sum source.Hash
	for _, limit := range []int64{(want.Records + 1) / 2, 0} {
		d := record.NewDecoder(parts.collect(t, opt))
		res, err := d.Decode(t.Context(), record.Object{Source: "o", From: from, MaxRecords: limit}, strings.NewReader(body))
		if err == nil {
			err = d.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		from, sum = res.To, sum.Add(res.IDSum)
	}
	if sum != want.IDSum || from != want.To || strings.Join(parts.rows, "\n") != strings.Join(whole.rows, "\n") || strings.Join(letters(parts), "\n") != strings.Join(letters(whole), "\n") {
		t.Fatalf("two ranges give %d rows and %d dead letters up to %d, the whole %d and %d up to %d", len(parts.rows), len(parts.dead), from, len(whole.rows), len(whole.dead), want.To)
	}
}

func FuzzCSV(f *testing.F) {
	for _, seed := range []string{
		"a,b\n1,\"x\"\"y\"\n\n007,1.5\n", "\ufeff\"a\";\"b\"\r\n1,5;\"\r\n\"\r\n", "a\tb\rx\ty\r", "a,b\n1,\"open\n2,3\n", "a,b\n1\n1,2,3\n\"x\"y,z\n\xff,1\n", "#c\na|b\n\"\\\"\"|#\n", ",,\n1,2,3\n", "a,a,a_2\n1,2,3",
	} {
		for flags := range uint8(8) {
			f.Add(seed, flags)
		}
	}
	f.Fuzz(func(t *testing.T, body string, flags uint8) {
		checkStandard(t, body)
		var d record.Dialect
		if flags&1 > 0 {
			d.Header = record.Numbered
		}
		if flags&2 > 0 {
			d.Escape, d.Comment = '\\', '#'
		}
		if flags&4 > 0 {
			d.Decimal = ','
		}
		if flags&8 > 0 {
			d.Quote, d.Delimiter = record.NoQuote, ','
		}
		fuzzText(t, csvOptions(d), body)
	})
}

func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		`[{"a":1},{"a":"]"}, 7]`, `{"R":[{"a":1}],"x":{"R":[]}}{"R":null}`, `[{"d":{"R":[{"a":1},{}]}},{"d":1}]`, "{\"a\":1}{\"a\":\n2}\njunk\n", `{"d":{"R":[1,`, `{"R":[{"a":"\ud800"}],"R":[{}]}`, "\ufeff[]",
	} {
		f.Add(seed, uint8(0))
		f.Add(seed, uint8(1))
		f.Add(seed, uint8(2))
	}
	f.Fuzz(func(t *testing.T, body string, path uint8) {
		fuzzText(t, jsonOptions([][]string{nil, {"R"}, {"d", "R"}}[path%3]...), body)
	})
}

func FuzzEncoding(f *testing.F) {
	for _, seed := range []string{"\xff\xfea\x00\n\x00\x34\xd8\x1e\xddb\x00", "\xfe\xff\x00a\x00,\xd8\x00\x00\n\x00b", "\xd0\xcf\n\xa1", "\ufeffa,b\n1,2", "{\x00}\x00\n\x00{\x00"} {
		for name := range uint8(5) {
			f.Add(seed, name, uint8(0))
		}
	}
	names := []string{"", "utf-16le", "utf-16be", "windows-1257", "iso-8859-15"}
	forms := []record.Kind{record.Lines, record.CSV, record.JSON, record.NDJSON}
	f.Fuzz(func(t *testing.T, body string, name, kind uint8) {
		opt := record.Options{Format: record.Format{Kind: forms[int(kind)%len(forms)], Encoding: names[int(name)%len(names)]}}
		whole := fuzzText(t, opt, body)
		opt.Format.Invalid = record.Replace
		if replaced := fuzzText(t, opt, body); (replaced == nil) != (whole == nil) && opt.Format.Kind != record.CSV {
			t.Fatal("the policy decides whether an object is broken")
		}
	})
}

func FuzzFormat(f *testing.F) {
	for _, name := range []string{"o", "o.csv", "o.json", "o.ndjson.gz", "o.tsv", "o.log"} {
		for _, body := range []string{"{\"a\":1}\n{\"a\":2}\n", "[{\"a\":1}]", "a,b\n1,2\n", "\xff\xfe{\x00}\x00", "PAR1", "Obj\x01", "{\n\"a\":[\n{}\n]}\n"} {
			f.Add(name, body)
		}
	}
	f.Fuzz(func(t *testing.T, name, body string) {
		opt := record.Options{Format: record.Format{Kind: record.Auto}, Limits: record.Limits{MaxRecordBytes: 300, MaxDepth: 12, PrimeBytes: 100}}
		out, err := try(t, opt, input{name, body})
		var broken *record.BrokenError
		if errors.As(err, &broken) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := int64(len(out.rows) + len(out.dead)); n != out.results[0].Records || !out.results[0].Last {
			t.Fatalf("%d rows and dead letters of %+v", n, out.results[0])
		}
		again, err := try(t, opt, input{name, body})
		if err != nil || strings.Join(again.rows, "\n") != strings.Join(out.rows, "\n") {
			t.Fatalf("two tries differ: %v", err)
		}
	})
}
