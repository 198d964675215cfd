package column_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"batcher/column"
	"batcher/schema"
)

// one is a block of one row and one column.
func one(f schema.Field, plain []byte) *column.Block {
	return &column.Block{
		Schema: &schema.Schema{Fields: []schema.Field{f}, LastID: f.ID}, Rows: 1,
		Columns: []*column.Vector{{Kind: f.Type.Kind, MaxDef: 1, Def: []byte{1}, Values: 1, Plain: plain}},
	}
}

func float(v float64) []byte {
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
}

func int64s(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

func TestValuesAsJSON(t *testing.T) {
	minus := slices.Repeat([]byte{255}, 16)
	largest := append([]byte{0x7f}, slices.Repeat([]byte{255}, 15)...)
	smallest := append([]byte{0x80}, make([]byte, 15)...)
	for _, c := range []struct {
		kind  schema.Kind
		scale int8
		plain []byte
		want  string
	}{
		{schema.Bool, 0, []byte{0}, `false`},
		{schema.Int32, 0, []byte{255, 255, 255, 255}, `-1`},
		{schema.Int64, 0, int64s(math.MinInt64), `-9223372036854775808`},
		{schema.Float64, 0, float(0.1), `0.1`},
		{schema.Float64, 0, float(1e21), `1e+21`},
		{schema.Float64, 0, float(math.NaN()), `"NaN"`},
		{schema.Float64, 0, float(math.Inf(1)), `"Infinity"`},
		{schema.Float64, 0, float(math.Inf(-1)), `"-Infinity"`},
		{schema.Decimal, 0, minus, `-1`},
		{schema.Decimal, 3, minus, `-0.001`},
		{schema.Decimal, 0, largest, `170141183460469231731687303715884105727`},
		{schema.Decimal, 38, smallest, `-1.70141183460469231731687303715884105728`},
		{schema.String, 0, text("a\"\\\x01\n<é"), `"a\"\\\u0001\u000a<é"`},
		{schema.String, 0, text("\xff"), `"` + "\uFFFD" + `"`},
		{schema.JSON, 0, text(`{"a":[1.10]}`), `{"a":[1.10]}`},
		{schema.JSON, 0, text(`{not`), `"{not"`},
		{schema.Bytes, 0, text("\x00\xff"), `"AP8="`},
		{schema.Date, 0, []byte{255, 255, 255, 255}, `"1969-12-31"`},
		{schema.Timestamp, 0, int64s(1680930880000001), `"2023-04-08T05:14:40.000001Z"`},
		{schema.Timestamp, 0, int64s(-1), `"1969-12-31T23:59:59.999999Z"`},
	} {
		f := field(17, "c", c.kind)
		f.Type.Scale = c.scale
		b := one(f, c.plain)
		if err := column.Check(b); err != nil {
			t.Fatal(err)
		}
		cursor := column.NewCursor(b)
		cursor.Next()
		got := cursor.AppendJSON(nil)
		if want := `{"c":` + c.want + `}`; string(got) != want || !json.Valid(got) {
			t.Errorf("%v: %s, want %s", c.kind, got, want)
		}
	}
}

// hashes are the hashes of a block's rows.
func hashes(b *column.Block) [][16]byte {
	var out [][16]byte
	for c := column.NewCursor(b); c.Next(); {
		out = append(out, c.Hash())
	}
	return out
}

func TestHashTellsRowsApart(t *testing.T) {
	seen := map[[16]byte]int{}
	for i, h := range hashes(rows()) {
		if j, ok := seen[h]; ok {
			t.Errorf("rows %d and %d have one hash", j, i)
		}
		seen[h] = i
	}
}

func TestHashDoesNotDependOnCuts(t *testing.T) {
	want := hashes(rows())
	for first := range 6 {
		var got [][16]byte
		for _, p := range cut(rows(), first, 1) {
			got = append(got, hashes(p)...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("cut at %d: other hashes", first)
		}
	}
}

// TestHashDoesNotDependOnNulls adds columns that are null, at the top and in
// the struct, changes names, and reads JSON as text.
func TestHashDoesNotDependOnNulls(t *testing.T) {
	want := hashes(rows())
	b := rows()
	fields := b.Schema.Fields
	fields[0].Name = "renamed"
	element := &fields[1].Type.Fields[0]
	element.Type.Fields = slices.Insert(element.Type.Fields, 1, field(30, "u", schema.Date))
	element.Type.Fields[0].Type.Kind = schema.JSON
	b.Columns[1].Kind = schema.JSON
	u := &column.Vector{Kind: schema.Date, MaxDef: 4, MaxRep: 1,
		Def: []byte{0, 1, 2, 3, 3, 3, 0}, Rep: b.Columns[1].Rep}
	b.Schema.Fields = slices.Insert(fields, 1, field(31, "new", schema.List, field(32, "element", schema.Int64)))
	null := &column.Vector{Kind: schema.Int64, MaxDef: 3, MaxRep: 1, Def: make([]byte, 5), Rep: make([]byte, 5)}
	b.Columns = []*column.Vector{b.Columns[0], null, b.Columns[1], u, b.Columns[2], b.Columns[3], b.Columns[4]}
	if err := column.Check(b); err != nil {
		t.Fatal(err)
	}
	if got := hashes(b); !slices.Equal(got, want) {
		t.Errorf("hashes\n%x\nwant\n%x", got, want)
	}
}

// TestHashSeesEveryChange changes one thing at a time.
func TestHashSeesEveryChange(t *testing.T) {
	want := hashes(rows())
	for name, change := range map[string]func(b *column.Block){
		"value": func(b *column.Block) { b.Columns[0].Plain[0]++ },
		"null to value": func(b *column.Block) {
			v := b.Columns[0]
			v.Def[0], v.Values = 1, 3
			v.Plain = append(int64s(7), v.Plain...)
		},
		"null to empty":   func(b *column.Block) { b.Columns[1].Def[0], b.Columns[2].Def[0] = 1, 1 },
		"empty to [null]": func(b *column.Block) { b.Columns[1].Def[1], b.Columns[2].Def[1] = 2, 2 },
		"[null] to [{}]":  func(b *column.Block) { b.Columns[1].Def[2], b.Columns[2].Def[2] = 3, 3 },
		"field id":        func(b *column.Block) { b.Schema.Fields[0].ID = 40 },
		"inner null": func(b *column.Block) {
			b.Columns[2].Def[6], b.Columns[2].Values = 6, 2
			b.Columns[2].Plain = []byte{1, 0}
		},
		"key": func(b *column.Block) { b.Columns[3].Plain[4] = 'x' },
		"kind": func(b *column.Block) {
			b.Schema.Fields[0].Type.Kind, b.Columns[0].Kind = schema.Timestamp, schema.Timestamp
		},
		"string to string": func(b *column.Block) { b.Columns[1].Plain = text("", "a") },
	} {
		b := rows()
		change(b)
		if err := column.Check(b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if slices.Equal(hashes(b), want) {
			t.Errorf("%s: the hashes are the same", name)
		}
	}
}
