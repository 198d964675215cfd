package record_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"batcher/column"
	"batcher/record"
	"batcher/schema"
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
	if opt.Format.Kind == "" {
		opt.Format.Kind = record.NDJSON
	}
	opt.Block = func(b *column.Block) (*column.Block, error) {
		out.blocks++
		if err := column.Check(b); err != nil {
			t.Fatalf("block is malformed: %v", err)
		}
		c := column.NewCursor(b)
		for c.Next() {
			out.rows = append(out.rows, string(c.AppendJSON(nil)))
		}
		return b, nil
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

// user returns the columns of a row that are not reserved, and _rescued where it
// is not null.
func user(row string) string {
	_, rest, _ := strings.Cut(row, `"_rescued":`)
	if columns, null := strings.CutPrefix(rest, "null"); null {
		return "{" + strings.TrimPrefix(columns, ",")
	}
	return `{"_rescued":` + rest
}

func users(out *outcome) string {
	var rows []string
	for _, r := range out.rows {
		rows = append(rows, user(r))
	}
	return strings.Join(rows, "\n")
}

// codes says stage and code of each dead letter.
func codes(out *outcome) string {
	var all []string
	for _, d := range out.dead {
		all = append(all, d.Stage+"/"+d.Code)
	}
	return strings.Join(all, " ")
}

// published makes a schema of columns "name type" with ids from 17 on, named
// by their keys.
func published(t testing.TB, fields string) *schema.Schema {
	t.Helper()
	var s schema.Schema
	head := `{"last_id":99,"fields":[{"id":1,"name":"_source","type":"string"},{"id":2,"name":"_offset","type":"int64"},{"id":3,"name":"_rescued","type":"string"},`
	if err := json.Unmarshal([]byte(head+fields+"]}"), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// field is one published column in the stored form.
func field(id int, name, typ string) string {
	return fmt.Sprintf(`{"id":%d,"name":%q,"key":%q,"type":%s}`, id, name, name, typ)
}

var seedFlag = flag.Uint64("seed", 0, "seed of random tests; 0 draws one")

// random returns a source of randomness whose seed the test prints, and which
// -seed repeats.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with -seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}
