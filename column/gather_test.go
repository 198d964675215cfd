package column_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"batcher/column"
	"batcher/schema"
)

// asJSON lists the rows of a block that passes Check.
func asJSON(t *testing.T, b *column.Block) []string {
	t.Helper()
	if err := column.Check(b); err != nil {
		t.Fatal(err)
	}
	var all []string
	for c := column.NewCursor(b); c.Next(); {
		all = append(all, string(c.AppendJSON(nil)))
	}
	return all
}

// TestGatherTakesAnyRows gathers rows in any order, some twice, takes them run by
// run, and puts them together again.
func TestGatherTakesAnyRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		b := rows()
		order := make([]int32, rng.IntN(8))
		var want []string
		for i := range order {
			order[i] = int32(rng.IntN(b.Rows))
			want = append(want, lines[order[i]])
		}
		out := column.Gather(b, order)
		if got := asJSON(t, out); !slices.Equal(got, want) {
			t.Fatalf("%v: %v, want %v", order, got, want)
		}
		var together column.Block
		from := column.NewRows(out)
		for left := out.Rows; left > 0; {
			n := 1 + rng.IntN(left)
			column.Append(&together, from.Take(n))
			left -= n
		}
		if out.Rows > 0 && !slices.Equal(asJSON(t, &together), want) {
			t.Fatalf("%v in runs: %v", order, asJSON(t, &together))
		}
		if out.Rows > 0 && column.Bytes(&together) != column.Bytes(out) {
			t.Errorf("%v: %d bytes became %d", order, column.Bytes(out), column.Bytes(&together))
		}
	}
}

func TestAppendTakesNewColumns(t *testing.T) {
	narrow := &schema.Schema{LastID: 17, Fields: []schema.Field{field(17, "a", schema.Int64)}}
	wide := &schema.Schema{LastID: 19, Fields: []schema.Field{field(17, "a", schema.Int64), field(18, "l", schema.List, field(19, "element", schema.Int64))}}
	number := func(n int64) *column.Vector {
		return &column.Vector{Kind: schema.Int64, MaxDef: 1, Def: []byte{1}, Values: 1, Plain: int64s(n)}
	}
	var b column.Block
	column.Append(&b, &column.Block{Schema: narrow, Rows: 1, Columns: []*column.Vector{number(1)}})
	column.Append(&b, &column.Block{Schema: narrow, Rows: 1, Columns: []*column.Vector{number(2)}})
	column.Append(&b, &column.Block{Schema: wide, Rows: 1, Columns: []*column.Vector{number(3), {Kind: schema.Int64, MaxDef: 3, MaxRep: 1, Def: []byte{3, 3}, Rep: []byte{0, 1}, Values: 2, Plain: append(int64s(4), int64s(5)...)}}})
	want := []string{`{"a":1,"l":null}`, `{"a":2,"l":null}`, `{"a":3,"l":[4,5]}`}
	if got := asJSON(t, &b); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestKeysTellValuesApart(t *testing.T) {
	texts := &column.Vector{Kind: schema.String, MaxDef: 1, Def: []byte{1, 0, 1, 1}, Values: 3, Plain: text("a", "", "a")}
	numbers := &column.Vector{Kind: schema.Int32, MaxDef: 1, Def: []byte{1, 1, 0, 1}, Values: 3, Plain: binary.LittleEndian.AppendUint32(bytes.Repeat([]byte{7, 0, 0, 0}, 2), 7)}
	keys := column.NewKeys([]*column.Vector{texts, numbers})
	var got []string
	seen := map[string]int{}
	for row := range 4 {
		key := keys.Next()
		if first, known := seen[string(key)]; known {
			got = append(got, fmt.Sprintf("as row %d", first))
			continue
		}
		seen[string(key)] = row
		values := keys.Split(key)
		got = append(got, fmt.Sprintf("%q %v %v", values[0], values[1], values[0] == nil))
	}
	want := []string{`"a" [7 0 0 0] false`, `"" [7 0 0 0] true`, `"" [] false`, "as row 0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDerive(t *testing.T) {
	s := &schema.Schema{LastID: 19, Fields: []schema.Field{field(17, "ts", schema.Timestamp), field(18, "ts_day", schema.Date), field(19, "ts_hour", schema.String)}}
	instants := append(append(append(int64s(0), int64s(-1)...), int64s(3600e6-1)...), int64s(253402300799999999)...)
	b := &column.Block{Schema: s, Rows: 5, Columns: []*column.Vector{
		{Kind: schema.Timestamp, MaxDef: 1, Def: []byte{1, 1, 0, 1, 1}, Values: 4, Plain: instants},
		{Kind: schema.Date, MaxDef: 1, Def: []byte{0, 0, 0, 0, 0}}, {Kind: schema.String, MaxDef: 1, Def: []byte{0, 0, 0, 0, 0}},
	}}
	derived := []schema.Derived{{Name: "ts_day", From: "ts"}, {Name: "ts_hour", From: "ts", Part: schema.Hour}, {Name: "gone", From: "ts"}, {Name: "ts_day", From: "gone"}}
	for range 2 { // what stood there goes
		column.Derive(b, derived)
		got := asJSON(t, b)
		want := []string{
			`{"ts":"1970-01-01T00:00:00.000000Z","ts_day":"1970-01-01","ts_hour":"1970-01-01T00"}`,
			`{"ts":"1969-12-31T23:59:59.999999Z","ts_day":"1969-12-31","ts_hour":"1969-12-31T23"}`,
			`{"ts":null,"ts_day":null,"ts_hour":null}`,
			`{"ts":"1970-01-01T00:59:59.999999Z","ts_day":"1970-01-01","ts_hour":"1970-01-01T00"}`,
			`{"ts":"9999-12-31T23:59:59.999999Z","ts_day":"9999-12-31","ts_hour":"9999-12-31T23"}`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
