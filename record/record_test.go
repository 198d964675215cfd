package record_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"batcher/column"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
)

// outcome is all that a batch came to.
type outcome struct {
	rows    []string // as JSON, _source and _offset first
	dead    []record.DeadLetter
	results []record.Result
	schema  *schema.Schema
	notes   record.Notes
	tries   int
	blocks  int
}

// input is one object of a batch.
type input struct {
	name string
	body string
}

// collect sets Block and Dead so that out receives copies.
func (out *outcome) collect(t testing.TB, opt record.Options) record.Options {
	opt.Block = func(b *column.Block) error {
		out.blocks++
		if err := column.Check(b); err != nil {
			t.Fatalf("block is malformed: %v", err)
		}
		c := column.NewCursor(b)
		for c.Next() {
			out.rows = append(out.rows, string(c.AppendJSON(nil)))
		}
		return nil
	}
	opt.Dead = func(d record.DeadLetter) error {
		d.Raw = append([]byte(nil), d.Raw...)
		out.dead = append(out.dead, d)
		return nil
	}
	return opt
}

// decode decodes a batch, as often as it takes.
func decode(t testing.TB, opt record.Options, objects ...input) *outcome {
	t.Helper()
	out, err := try(t, opt, objects...)
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	return out
}

func try(t testing.TB, opt record.Options, objects ...input) (*outcome, error) {
	t.Helper()
	if opt.Table == nil {
		opt.Table = schema.New()
	}
	for tries := 1; ; tries++ {
		out := &outcome{tries: tries}
		d := record.NewDecoder(out.collect(t, opt))
		err := out.run(d, objects)
		out.schema, out.notes = d.Schema(), d.Notes()
		if tries < 100 && errors.Is(err, record.ErrRestart) {
			opt.Learned = out.schema
			continue
		}
		return out, err
	}
}

func (out *outcome) run(d *record.Decoder, objects []input) error {
	for _, o := range objects {
		res, err := d.Decode(context.Background(), record.Object{Source: o.name}, strings.NewReader(o.body))
		if err != nil {
			return err
		}
		out.results = append(out.results, res)
	}
	return d.Flush()
}

// columns says the columns that are not reserved.
func columns(s *schema.Schema) string {
	text := schema.Type{Kind: schema.Struct, Fields: s.Fields[3:]}.String()
	return strings.TrimSuffix(strings.TrimPrefix(text, "struct<"), ">")
}

// user returns a row without _source and _offset.
func user(row string) string {
	i := strings.Index(row, `"_rescued"`)
	if i < 0 {
		if i = strings.Index(row, `"_offset":`); i >= 0 {
			if j := strings.IndexByte(row[i:], ','); j >= 0 {
				return "{" + row[i+j+1:]
			}
			return "{}"
		}
	}
	return "{" + row[i:]
}

func TestTypesFollowEveryValue(t *testing.T) {
	for name, c := range map[string]struct {
		lines string
		want  string
		row   string // the last row
	}{
		"flat":                    {`{"b":true,"i":1,"f":1.5,"s":"x"}`, "b:bool,f:float64,i:int64,s:string", `{"b":true,"f":1.5,"i":1,"s":"x"}`},
		"D3_null carries no type": {"{\"a\":null}\n{\"a\":null,\"b\":1}", "b:int64", `{"b":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			out := decode(t, record.Options{Rules: schema.Rules{MinRecords: 1}}, input{"o", c.lines})
			if got := columns(out.schema); got != c.want {
				t.Errorf("columns %s, want %s", got, c.want)
			}
			t.Log(out.rows)
		})
	}
}

var _ = io.EOF
var _ = fmt.Sprint
var _ source.Hash
