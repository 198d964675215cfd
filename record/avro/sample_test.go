package avro_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batcher/localdev"
	"batcher/record/avro"
	"batcher/record/typed"
)

// truth is what an independent reader found in a file.
type truth struct {
	Format  string
	Records int
	Avro    struct {
		ReadError string `json:"read_error"`
		Fields    map[string]struct {
			Null     int
			Types    map[string]int
			Min, Max any
			Mixed    bool
		}
	}
}

// samples calls do for each sample file with what is known about it.
func samples(t *testing.T, do func(name string, body []byte, known truth)) {
	t.Helper()
	root := os.Getenv("BATCHER_SAMPLES")
	if root == "" {
		localdev.Skip(t, "BATCHER_SAMPLES is not set to the folder of samples: real Avro files are not read")
	}
	for _, folder := range []string{"arrow-rs-avro", "arrow-testing-avro", "avro-share", "pinot-avro", "avro-raw-datum"} {
		var all struct{ Files map[string]truth }
		readJSON(t, filepath.Join(root, folder, "truth.json"), &all)
		if len(all.Files) == 0 {
			t.Fatalf("%s has no files", folder)
		}
		for name, known := range all.Files {
			body, err := os.ReadFile(filepath.Join(root, folder, name))
			if err != nil {
				t.Fatal(err)
			}
			do(folder+"/"+name, body, known)
		}
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// readAll returns the records of a file.
func readAll(r io.Reader, limits avro.Limits) ([][]byte, error) {
	rd, err := avro.NewReader(r, limits)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for {
		rec, err := rd.Next(nil)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if err := typed.Check(rec, 512); err != nil {
			return out, fmt.Errorf("%w: %x", err, rec)
		}
		out = append(out, rec)
	}
}

// TestSamples reads real files and holds them against what an independent
// reader says. What that one cannot read is judged by hand.
func TestSamples(t *testing.T) {
	var files, refused, records, fields int
	samples(t, func(name string, body []byte, known truth) {
		files++
		got, err := readAll(bytes.NewReader(body), avro.Limits{})
		if known.Format != "avro" || known.Avro.ReadError != "" {
			refused++
			var broken *typed.Error
			if !errors.As(err, &broken) {
				t.Errorf("%s: %v, want a refusal", name, err)
			}
			return
		}
		if err != nil || len(got) != known.Records {
			t.Errorf("%s: %d records of %d, %v", name, len(got), known.Records, err)
			return
		}
		records += len(got)
		fields += checkFields(t, name, got, known)
		checkSkip(t, name, body, got)
	})
	localdev.Figure("record/avro: sample files read", files-refused)
	localdev.Figure("record/avro: sample files refused", refused)
	localdev.Figure("record/avro: sample records", records)
	localdev.Figure("record/avro: sample fields with equal nulls, types, min and max", fields)
}

// pythonTypes are the names that the truth has for tags; several where a logical
// type makes more of a value than Python does.
var pythonTypes = map[typed.Tag][]string{
	typed.Null: {"null"}, typed.False: {"bool"}, typed.True: {"bool"}, typed.Int: {"int"}, typed.Float: {"float"},
	typed.Decimal: {"Decimal"}, typed.Number: {"Decimal"}, typed.String: {"str", "int", "bytes", "UUID", "time", "datetime"},
	typed.Bytes: {"bytes"}, typed.Date: {"date"}, typed.Timestamp: {"datetime", "int"}, typed.List: {"list"},
	typed.Struct: {"dict"}, typed.Map: {"dict"},
}

// checkFields compares nulls, types, and the extremes of plain values.
func checkFields(t *testing.T, name string, records [][]byte, known truth) int {
	t.Helper()
	stats := map[string]*extremes{}
	for _, rec := range records {
		c := typed.NewCursor(rec)
		v, _ := c.Next()
		if v.Tag != typed.Struct {
			continue
		}
		for in := c.Inside(v); !in.Done(); {
			key, _ := in.Key()
			v, _ := in.Next()
			if stats[string(key)] == nil {
				stats[string(key)] = &extremes{}
			}
			stats[string(key)].add(v)
		}
	}
	for field, want := range known.Avro.Fields {
		got := stats[field]
		if got == nil || got.nulls != want.Null {
			t.Errorf("%s: field %s: %+v, want %+v", name, field, got, want)
			continue
		}
		for tag := range got.tags {
			matched := false
			for _, python := range pythonTypes[tag] {
				matched = matched || want.Types[python] > 0
			}
			if !matched {
				t.Errorf("%s: field %s has tag %d, want %v", name, field, tag, want.Types)
			}
		}
		if want.Mixed || got.low == "" || want.Min == nil {
			continue
		}
		if got.tags[typed.Timestamp] || got.tags[typed.String] && want.Types["str"] != len(records)-want.Null {
			continue // Python has other values for the logical type
		}
		if !sameText(got.low, want.Min) || !sameText(got.high, want.Max) {
			t.Errorf("%s: field %s from %s to %s, want %v to %v", name, field, got.low, got.high, want.Min, want.Max)
		}
	}
	return len(known.Avro.Fields)
}

// extremes are facts about one field.
type extremes struct {
	nulls     int
	tags      map[typed.Tag]bool
	low, high string
	lowF      float64
	highF     float64
}

func (e *extremes) add(v typed.Value) {
	if e.tags == nil {
		e.tags = map[typed.Tag]bool{}
	}
	e.tags[v.Tag] = true
	var text string
	var number float64
	switch v.Tag {
	case typed.Null:
		e.nulls++
		return
	case typed.Int:
		text, number = fmt.Sprint(v.Int), float64(v.Int)
	case typed.Float:
		text, number = fmt.Sprint(v.Float()), v.Float()
	case typed.String:
		text = string(v.Data)
	default:
		return
	}
	less := func(a string, af float64, b string, bf float64) bool {
		if v.Tag == typed.String {
			return a < b
		}
		return af < bf
	}
	if number != number {
		return
	}
	if e.low == "" || less(text, number, e.low, e.lowF) {
		e.low, e.lowF = text, number
	}
	if e.high == "" || less(e.high, e.highF, text, number) {
		e.high, e.highF = text, number
	}
}

// sameText compares a value with what JSON has of it.
func sameText(got string, want any) bool {
	text := fmt.Sprint(want)
	if got == text {
		return true
	}
	var a, b float64
	_, errA := fmt.Sscan(got, &a)
	_, errB := fmt.Sscan(text, &b)
	return errA == nil && errB == nil && a == b && strings.ContainsAny(got+text, ".e")
}

// checkSkip reads on from several ordinals.
func checkSkip(t *testing.T, name string, body []byte, records [][]byte) {
	t.Helper()
	for _, from := range []int{0, 1, len(records) / 2, len(records) - 1, len(records)} {
		if from < 0 || from > len(records) {
			continue
		}
		rd, err := avro.NewReader(bytes.NewReader(body), avro.Limits{})
		if err == nil {
			err = rd.Skip(int64(from))
		}
		if err != nil {
			t.Errorf("%s: skip %d: %v", name, from, err)
			continue
		}
		rec, err := rd.Next(nil)
		if from == len(records) {
			if err != io.EOF {
				t.Errorf("%s: behind the last record: %v", name, err)
			}
		} else if err != nil || !bytes.Equal(rec, records[from]) {
			t.Errorf("%s: record %d after Skip differs, %v", name, from, err)
		}
	}
}
