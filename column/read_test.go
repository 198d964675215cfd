package column_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"batcher/column"
	"batcher/schema"
)

func field(id int32, name string, kind schema.Kind, parts ...schema.Field) schema.Field {
	return schema.Field{ID: id, Name: name, Type: schema.Type{Kind: kind, Fields: parts}}
}

// nested is a table with a list of structs and a map.
func nested() *schema.Schema {
	return &schema.Schema{LastID: 99, Fields: []schema.Field{
		field(17, "n", schema.Int64),
		field(18, "l", schema.List, field(19, "element", schema.Struct,
			field(20, "s", schema.String),
			field(21, "t", schema.List, field(22, "element", schema.Bool)))),
		field(23, "m", schema.Map, field(24, "key", schema.String), field(25, "value", schema.Int32)),
	}}
}

// text is PLAIN strings.
func text(values ...string) []byte {
	var out []byte
	for _, v := range values {
		out = append(out, byte(len(v)), 0, 0, 0)
		out = append(out, v...)
	}
	return out
}

// rows are five rows of nested, levels by hand:
//
//	1: all null
//	2: n 7, l [], m {}
//	3: l [null], m {"k": null}
//	4: l [{s "a", t null}, {s null, t []}, {s "", t [true, null]}], m {"": 1, "b": 2}
//	5: n -1
func rows() *column.Block {
	return &column.Block{Schema: nested(), Rows: 5, Columns: []*column.Vector{
		{Kind: schema.Int64, MaxDef: 1, Def: []byte{0, 1, 0, 0, 1}, Values: 2,
			Plain: append([]byte{7, 0, 0, 0, 0, 0, 0, 0}, bytes.Repeat([]byte{255}, 8)...)},
		{Kind: schema.String, MaxDef: 4, MaxRep: 1, Values: 2, Plain: text("a", ""),
			Def: []byte{0, 1, 2, 4, 3, 4, 0}, Rep: []byte{0, 0, 0, 0, 1, 1, 0}},
		{Kind: schema.Bool, MaxDef: 6, MaxRep: 2, Values: 1, Plain: []byte{1},
			Def: []byte{0, 1, 2, 3, 4, 6, 5, 0}, Rep: []byte{0, 0, 0, 0, 1, 1, 2, 0}},
		{Kind: schema.String, MaxDef: 2, MaxRep: 1, Values: 3, Plain: text("k", "", "b"),
			Def: []byte{0, 1, 2, 2, 2, 0}, Rep: []byte{0, 0, 0, 0, 1, 0}},
		{Kind: schema.Int32, MaxDef: 3, MaxRep: 1, Values: 2, Plain: []byte{1, 0, 0, 0, 2, 0, 0, 0},
			Def: []byte{0, 1, 2, 3, 3, 0}, Rep: []byte{0, 0, 0, 0, 1, 0}},
	}}
}

// lines are the same rows as JSON.
var lines = []string{
	`{"n":null,"l":null,"m":null}`,
	`{"n":7,"l":[],"m":{}}`,
	`{"n":null,"l":[null],"m":{"k":null}}`,
	`{"n":null,"l":[{"s":"a","t":null},{"s":null,"t":[]},{"s":"","t":[true,null]}],"m":{"":1,"b":2}}`,
	`{"n":-1,"l":null,"m":null}`,
}

func TestCheck(t *testing.T) {
	if err := column.Check(rows()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		spoil func(b *column.Block)
		want  string
	}{
		{"no schema", func(b *column.Block) { b.Schema = nil }, "no schema"},
		{"column missing", func(b *column.Block) { b.Columns = b.Columns[1:] }, "4 columns, its schema 5"},
		{"nil vector", func(b *column.Block) { b.Columns[0] = nil }, "no vector"},
		{"kind", func(b *column.Block) { b.Columns[0].Kind = schema.Timestamp }, "vector of kind timestamp"},
		{"levels", func(b *column.Block) { b.Columns[0].MaxDef = 2 }, "maximal levels"},
		{"rows", func(b *column.Block) { b.Rows = 6 }, "for 6 rows"},
		{"rows of a list", func(b *column.Block) { b.Columns[1].Rep[1] = 1 }, "do not make 5 rows"},
		{"inside a row", func(b *column.Block) {
			b.Columns[1].Rep[0], b.Columns[1].Rep[4] = 1, 0
		}, "starts inside a row"},
		{"level above", func(b *column.Block) { b.Columns[1].Def[3] = 5 }, "above its maximum"},
		{"values", func(b *column.Block) { b.Columns[0].Values = 1 }, "1 values"},
		{"short values", func(b *column.Block) { b.Columns[0].Plain = b.Columns[0].Plain[8:] }, "8 bytes for 2 values"},
		{"short length", func(b *column.Block) { b.Columns[3].Plain = b.Columns[3].Plain[:7] }, "ends inside a length"},
		{"short string", func(b *column.Block) { b.Columns[3].Plain[0] = 200 }, "ends inside a value"},
		{"string behind", func(b *column.Block) { b.Columns[3].Plain = append(b.Columns[3].Plain, 0) }, "1 bytes behind"},
		{"repeats nothing", func(b *column.Block) {
			b.Columns[1].Def[3], b.Columns[1].Values = 1, 1
			b.Columns[1].Plain = text("")
		}, "repeats a list that has none"},
		{"other list", func(b *column.Block) { b.Columns[2].Def[1] = 0 }, "differ in the lists"},
		{"other map", func(b *column.Block) {
			b.Columns[4].Rep[3], b.Columns[4].Rep[4] = 1, 0
		}, "differ in the lists"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := rows()
			c.spoil(b)
			if err := column.Check(b); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestTake cuts the rows in every possible way and looks at them.
func TestTake(t *testing.T) {
	for first := range 6 {
		for second := range 7 {
			b := rows()
			parts := cut(b, first, second)
			var got []string
			for _, p := range parts {
				if err := column.Check(p); err != nil {
					t.Fatalf("cut at %d, %d: %v", first, second, err)
				}
				for c := column.NewCursor(p); c.Next(); {
					got = append(got, string(c.AppendJSON(nil)))
				}
			}
			if !slices.Equal(got, lines) {
				t.Fatalf("cut at %d, %d:\n%s", first, second, strings.Join(got, "\n"))
			}
		}
	}
}

// cut takes first rows, second rows, and the rest.
func cut(b *column.Block, first, second int) []*column.Block {
	out := []*column.Block{{Schema: b.Schema}, {Schema: b.Schema}, {Schema: b.Schema}}
	for _, v := range b.Columns {
		r := column.NewReader(v, b.Rows)
		for i, n := range []int{first, second, b.Rows} {
			had := r.Rows()
			part := r.Take(n)
			out[i].Rows = had - r.Rows()
			out[i].Columns = append(out[i].Columns, &part)
		}
	}
	return out
}
