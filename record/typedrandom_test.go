package record_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
	"batcher/source"
)

// avroType is a random type, and writes random values of it: in Avro, and as the
// JSON that stands for them.
type avroType struct {
	schema string
	write  func(avro, text *strings.Builder)
}

// avroTypes draws types.
type avroTypes struct {
	rnd   *rand.Rand
	names int // of records so far
}

// any draws a type with at most depth levels below it.
func (a *avroTypes) any(depth int) avroType {
	kinds := 8
	if depth == 0 {
		kinds = 5
	}
	switch a.rnd.IntN(kinds) {
	case 0:
		return avroType{`"boolean"`, func(avro, text *strings.Builder) {
			v := a.rnd.IntN(2)
			avro.WriteByte(byte(v))
			fmt.Fprint(text, v == 1)
		}}
	case 1:
		return avroType{`"long"`, func(avro, text *strings.Builder) {
			v := int64(a.rnd.Uint64()) >> a.rnd.IntN(64)
			avro.WriteString(long(v))
			fmt.Fprint(text, v)
		}}
	case 2:
		return avroType{`"double"`, a.double}
	case 3:
		return avroType{`"string"`, func(avro, t *strings.Builder) {
			v := string(rune('a'+a.rnd.IntN(20))) + strings.Repeat("ü\"\x01", a.rnd.IntN(3))
			avro.WriteString(text(v))
			quoted, _ := json.Marshal(v)
			t.Write(quoted)
		}}
	case 4:
		return a.union(depth)
	case 5:
		return a.record(depth - 1)
	case 6:
		return a.array(depth - 1)
	}
	return a.mapping()
}

func (a *avroTypes) double(avro, text *strings.Builder) {
	v := float64(a.rnd.IntN(1000)) / 8
	avro.WriteString(double(v))
	t := fmt.Sprint(v)
	if v == math.Trunc(v) {
		t += ".0"
	}
	text.WriteString(t)
}

// union draws a union of null and up to two other types.
func (a *avroTypes) union(depth int) avroType {
	parts := []avroType{{`"null"`, func(_, text *strings.Builder) { text.WriteString("null") }}}
	seen := map[string]bool{}
	for range 1 + a.rnd.IntN(2) {
		if p := a.any(max(0, depth-1)); !strings.HasPrefix(p.schema, "[") && !seen[p.schema] {
			parts, seen[p.schema] = append(parts, p), true
		}
	}
	var schemas []string
	for _, p := range parts {
		schemas = append(schemas, p.schema)
	}
	return avroType{"[" + strings.Join(schemas, ",") + "]", func(avro, text *strings.Builder) {
		branch := a.rnd.IntN(len(parts))
		avro.WriteString(long(int64(branch)))
		parts[branch].write(avro, text)
	}}
}

func (a *avroTypes) record(depth int) avroType {
	a.names++
	name := fmt.Sprintf("r%d", a.names)
	var parts []avroType
	var fields []string
	for i := range 1 + a.rnd.IntN(4) {
		parts = append(parts, a.any(max(0, depth)))
		fields = append(fields, fmt.Sprintf(`{"name":"f%d","type":%s}`, i, parts[i].schema))
	}
	schema := fmt.Sprintf(`{"type":"record","name":%q,"fields":[%s]}`, name, strings.Join(fields, ","))
	return avroType{schema, func(avro, text *strings.Builder) {
		for i, p := range parts {
			text.WriteString(",{"[1-min(i, 1):][:1] + fmt.Sprintf(`"f%d":`, i))
			p.write(avro, text)
		}
		text.WriteByte('}')
	}}
}

func (a *avroTypes) array(depth int) avroType {
	item := a.any(max(0, depth))
	return avroType{`{"type":"array","items":` + item.schema + `}`, func(avro, text *strings.Builder) {
		text.WriteByte('[')
		for i := range a.rnd.IntN(4) {
			text.WriteString(","[:min(i, 1)])
			avro.WriteString(long(1))
			item.write(avro, text)
		}
		avro.WriteString(long(0))
		text.WriteByte(']')
	}}
}

func (a *avroTypes) mapping() avroType {
	return avroType{`{"type":"map","values":"int"}`, func(avro, t *strings.Builder) {
		t.WriteByte('{')
		for i := range a.rnd.IntN(3) {
			v := int64(a.rnd.IntN(9))
			t.WriteString(","[:min(i, 1)])
			fmt.Fprintf(t, `"k%d":%d`, i, v)
			avro.WriteString(long(1) + text(fmt.Sprintf("k%d", i)) + long(v))
		}
		avro.WriteString(long(0))
		t.WriteByte('}')
	}}
}

// TestTypedRandom decodes random records of random types under bounds that make
// anything happen early, and demands every value back from row or _rescued, and
// the same rows of the published table from two ranges as from the whole.
func TestTypedRandom(t *testing.T) {
	rnd := random(t)
	restarts := 0
	for range 300 {
		a := &avroTypes{rnd: rnd}
		top := a.record(3)
		var records, lines []string
		for range 1 + rnd.IntN(30) {
			var avro, text strings.Builder
			top.write(&avro, &text)
			records, lines = append(records, avro.String()), append(lines, text.String())
		}
		body := avroContainer(top.schema, records...)
		opt := small()
		opt.Format.Kind = record.Auto
		opt.Limits.MaxRecordBytes = 1 << 20
		if rnd.IntN(2) == 0 {
			opt.Rules = schema.Rules{}
		}
		out := decode(t, opt, input{"o", body})
		restarts += out.tries - 1
		if len(out.rows) != len(lines) || len(out.dead) > 0 {
			t.Fatalf("schema %s: %d rows and %d dead letters of %d records", top.schema, len(out.rows), len(out.dead), len(lines))
		}
		for i, row := range out.rows {
			var head struct {
				Rescued *string `json:"_rescued"`
			}
			if err := json.Unmarshal([]byte(row), &head); err != nil {
				t.Fatal(err)
			}
			if err := checkRow(out.schema, lines[i], row, head.Rescued); err != nil {
				t.Fatalf("schema %s\ncolumns %s\nrecord %s\nrow %s: %v", top.schema, columns(out.schema), lines[i], row, err)
			}
		}
		opt.Table = out.schema
		whole := decode(t, opt, input{"o", body})
		if parts := decodeInTwo(t, opt, body, source.Position(1+rnd.IntN(len(lines)))); strings.Join(parts.rows, "\n") != strings.Join(whole.rows, "\n") {
			t.Fatalf("schema %s: two ranges give\n%s\nthe whole\n%s", top.schema, strings.Join(parts.rows, "\n"), strings.Join(whole.rows, "\n"))
		}
	}
	if restarts == 0 {
		t.Error("no type ever widened: the test is too tame")
	}
}

// decodeInTwo decodes the records of an object before an ordinal, and then those
// from it on.
func decodeInTwo(t *testing.T, opt record.Options, body string, at source.Position) *outcome {
	t.Helper()
	out := &outcome{}
	d := record.NewDecoder(out.collect(t, opt))
	for _, o := range []record.Object{{Source: "o", To: at}, {Source: "o", From: at}} {
		res, err := d.Decode(context.Background(), o, strings.NewReader(body))
		if err != nil {
			t.Fatalf("from %d to %d: %v", o.From, o.To, err)
		}
		out.results = append(out.results, res)
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	return out
}
