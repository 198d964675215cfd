package datafile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"batcher/column"
	"batcher/datafile"
	"batcher/schema"
)

// random draws schemas and rows.
type random struct {
	*rand.Rand
	id int32
}

// newRandom prints its seed, so that a failure can be repeated.
func newRandom(t testing.TB, seed uint64) *random {
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	return &random{Rand: rand.New(rand.NewPCG(seed, 1)), id: 16}
}

var flatKinds = []schema.Kind{
	schema.Bool, schema.Int32, schema.Int64, schema.Float64, schema.Decimal,
	schema.String, schema.JSON, schema.Bytes, schema.Date, schema.Timestamp,
}

func (r *random) field(name string, depth int) schema.Field {
	r.id++
	f := schema.Field{ID: r.id, Name: name}
	kind := schema.Kind(0)
	if depth < 4 {
		kind = []schema.Kind{0, 0, schema.List, schema.Map, schema.Struct}[r.IntN(5)]
	}
	switch kind {
	case schema.List:
		f.Type.Fields = []schema.Field{r.field("element", depth+1)}
	case schema.Map:
		r.id++
		f.Type.Fields = []schema.Field{field(r.id, "key", schema.String), r.field("value", depth+1)}
	case schema.Struct:
		for i := range 1 + r.IntN(3) {
			f.Type.Fields = append(f.Type.Fields, r.field(fmt.Sprintf("f%d", i), depth+1))
		}
	default:
		kind = flatKinds[r.IntN(len(flatKinds))]
	}
	f.Type.Kind = kind
	if kind == schema.Decimal {
		f.Type.Precision, f.Type.Scale = []int8{5, 9, 10, 18, 19, 38}[r.IntN(6)], int8(r.IntN(6))
	}
	return f
}

func (r *random) schema() *schema.Schema {
	s := &schema.Schema{}
	for i := range 1 + r.IntN(6) {
		s.Fields = append(s.Fields, r.field(fmt.Sprintf("c%d", i), 1))
	}
	s.LastID = r.id
	return s
}

func (r *random) value(f *schema.Field) any {
	if r.IntN(4) == 0 {
		return nil
	}
	parts := f.Type.Fields
	switch f.Type.Kind {
	case schema.List:
		x := []any{}
		for range r.IntN(4) {
			x = append(x, r.value(&parts[0]))
		}
		return x
	case schema.Map:
		x := []pair{}
		for i := range r.IntN(4) {
			x = append(x, pair{fmt.Sprint("k", i), r.value(&parts[1])})
		}
		return x
	case schema.Struct:
		x := row{}
		for i := range parts {
			x[parts[i].Name] = r.value(&parts[i])
		}
		return x
	}
	return r.flat(&f.Type)
}

func (r *random) flat(t *schema.Type) any {
	switch t.Kind {
	case schema.Bool:
		return r.IntN(2) == 0
	case schema.Int32, schema.Date:
		return []int32{0, 1, -1, math.MinInt32, math.MaxInt32, int32(r.Uint32())}[r.IntN(6)]
	case schema.Int64, schema.Timestamp:
		return []int64{0, 1, -1, math.MinInt64, math.MaxInt64, int64(r.Uint64())}[r.IntN(6)]
	case schema.Float64:
		return []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), r.NormFloat64()}[r.IntN(6)]
	case schema.Decimal:
		most := int64(math.MaxInt64)
		if t.Precision <= 18 {
			most = int64(math.Pow10(int(t.Precision))) - 1
		}
		return decimal([]int64{0, -1, -most, most, r.Int64N(most) - r.Int64N(most)}[r.IntN(5)])
	case schema.JSON:
		return []string{"{}", "[]", "1.10", `{"a":[null]}`}[r.IntN(4)]
	case schema.Bytes:
		return []byte{byte(r.IntN(256)), 0}[:r.IntN(3)]
	}
	return []string{"", "a", "\x00", "ß", fmt.Sprint("v", r.IntN(3000)), string(make([]byte, r.IntN(300)))}[r.IntN(6)]
}

// blocks draws rows and cuts them.
func (r *random) blocks(s *schema.Schema) []*column.Block {
	var out []*column.Block
	for range 1 + r.IntN(5) {
		rows := make([]row, r.IntN(200))
		for i := range rows {
			rows[i] = row{}
			for k := range s.Fields {
				rows[i][s.Fields[k].Name] = r.value(&s.Fields[k])
			}
		}
		out = append(out, shred(s, rows))
	}
	return out
}

func (r *random) options() datafile.Options {
	return datafile.Options{
		Compression:   []datafile.Compression{"", datafile.Snappy, datafile.Uncompressed}[r.IntN(3)],
		RowGroupRows:  []int{0, 1, 50, 1000}[r.IntN(4)],
		RowGroupBytes: []int{0, 1000}[r.IntN(2)],
	}
}

// TestRandomTablesRoundTrip reads random files back through this package and,
// level by level and value by value, through parquet-go's own reader.
func TestRandomTablesRoundTrip(t *testing.T) {
	r := newRandom(t, 0)
	for range 60 {
		s := r.schema()
		blocks := r.blocks(s)
		opts := r.options()
		file, _ := write(t, opts, blocks...)
		want := texts(blocks...)
		if got := read(t, file, s); !slices.Equal(got, want) {
			t.Fatalf("%+v: read\n%v\nwant\n%v", opts, got, want)
		}
		compareWithLibrary(t, file, blocks)
		again, _ := write(t, opts, blocks...)
		if !slices.Equal(file, again) {
			t.Fatalf("%+v: the same blocks gave other bytes", opts)
		}
	}
}
