package datafile_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"batcher/datafile"
	"batcher/schema"
)

func TestManifestStatistics(t *testing.T) {
	long := strings.Repeat("ä", 40)
	us := func(ms, rest int64) int64 { return ms*1000 + rest }
	for _, c := range []struct {
		name   string
		kind   schema.Kind
		scale  int8
		values []any
		nulls  int64
		lo, hi string
	}{
		{"all null", schema.Int64, 0, []any{nil, nil}, 2, "", ""},
		{"int64", schema.Int64, 0, []any{int64(3), nil, int64(-7)}, 1, "-7", "3"},
		{"int64 ends", schema.Int64, 0, []any{int64(math.MinInt64), int64(math.MaxInt64)}, 0, "-9223372036854775808", "9223372036854775807"},
		{"int32", schema.Int32, 0, []any{int32(0), int32(math.MinInt32)}, 0, "-2147483648", "0"},
		{"bool", schema.Bool, 0, []any{true, false, nil}, 1, "", ""},
		{"bytes", schema.Bytes, 0, []any{[]byte("a")}, 0, "", ""},
		{"json", schema.JSON, 0, []any{"{}"}, 0, "", ""},
		{"float", schema.Float64, 0, []any{1.5, -2.0, 1e300}, 0, "-2.0", "1e+300"},
		{"float zero", schema.Float64, 0, []any{0.0}, 0, "-0.0", "0.0"},
		{"float minus zero", schema.Float64, 0, []any{math.Copysign(0, -1)}, 0, "-0.0", "0.0"},
		{"float with NaN", schema.Float64, 0, []any{1.0, math.NaN()}, 0, "", ""},
		{"float with infinity", schema.Float64, 0, []any{1.0, math.Inf(1)}, 0, "1.0", ""},
		{"float tiny", schema.Float64, 0, []any{5e-324}, 0, "5e-324", "5e-324"},
		{"decimal", schema.Decimal, 2, []any{decimal(-5), decimal(12345)}, 0, "-0.05", "123.45"},
		{"decimal whole", schema.Decimal, 0, []any{decimal(math.MaxInt64)}, 0, "9223372036854775807", "9223372036854775807"},
		{"string", schema.String, 0, []any{"b", "", nil, "a\"<"}, 1, `""`, `"b"`},
		{"string by bytes", schema.String, 0, []any{"z", "ä"}, 0, `"z"`, `"ä"`},
		{"string of 32 runes", schema.String, 0, []any{long[:64]}, 0, `"` + long[:64] + `"`, `"` + long[:64] + `"`},
		{"string too long", schema.String, 0, []any{long}, 0, `"` + long[:64] + `"`, ""},
		{"string far too long", schema.String, 0, []any{strings.Repeat(long, 30), "zz"}, 0, `"zz"`, ""},
		{"not UTF-8", schema.String, 0, []any{"a", "\xff"}, 0, `"a"`, ""},
		{"date", schema.Date, 0, []any{int32(0), int32(-719162)}, 0, `"0001-01-01"`, `"1970-01-01"`},
		{"date out of range", schema.Date, 0, []any{int32(0), int32(math.MaxInt32)}, 0, `"1970-01-01"`, ""},
		{"timestamp", schema.Timestamp, 0, []any{us(1680930880000, 1), us(1680930880000, 999)}, 0, `"2023-04-08T05:14:40.000Z"`, `"2023-04-08T05:14:40.001Z"`},
		{"timestamp exact", schema.Timestamp, 0, []any{us(1680930880123, 0)}, 0, `"2023-04-08T05:14:40.123Z"`, `"2023-04-08T05:14:40.123Z"`},
		{"timestamp before 1970", schema.Timestamp, 0, []any{int64(-1), int64(-1001)}, 0, `"1969-12-31T23:59:59.998Z"`, `"1970-01-01T00:00:00.000Z"`},
		{"timestamp at the end", schema.Timestamp, 0, []any{us(253402300799999, 0), us(253402300799999, 999)}, 0, `"9999-12-31T23:59:59.999Z"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := field(17, "c", c.kind)
			if c.kind == schema.Decimal {
				f.Type.Precision, f.Type.Scale = 38, c.scale
			}
			rows := make([]row, len(c.values))
			for i, v := range c.values {
				rows[i] = row{"c": v}
			}
			// The same rows in one row group and in one for each row.
			for _, size := range []int{0, 1} {
				_, file := write(t, datafile.Options{RowGroupRows: size}, shred(table(f), rows))
				s := file.Columns[0]
				if s.ID != 17 || s.Nulls != c.nulls || string(s.Min) != c.lo || string(s.Max) != c.hi {
					t.Errorf("row groups of %d: id %d, %d nulls, %s to %s; want %d, %s to %s", size, s.ID, s.Nulls, s.Min, s.Max, c.nulls, c.lo, c.hi)
				}
			}
		})
	}
}

// TestStatisticsCoverTheFirst32Leaves counts leaves of structs, and none of
// lists and maps.
func TestStatisticsCoverTheFirst32Leaves(t *testing.T) {
	fields := []schema.Field{
		field(100, "list", schema.List, field(101, "element", schema.Int64)),
		field(102, "map", schema.Map, field(103, "key", schema.String), field(104, "value", schema.Int64)),
		field(105, "o", schema.Struct, field(106, "x", schema.Int64), field(107, "l", schema.List, field(108, "element", schema.Bool)), field(109, "y", schema.String)),
	}
	for i := range 40 {
		fields = append(fields, field(int32(200+i), fmt.Sprintf("c%d", i), schema.Int64))
	}
	_, f := write(t, datafile.Options{}, shred(table(fields...), []row{{"o": row{"x": int64(1)}}, {}}))
	if len(f.Columns) != 32 {
		t.Fatalf("%d columns, want 32", len(f.Columns))
	}
	if f.Columns[0].ID != 106 || f.Columns[1].ID != 109 || f.Columns[2].ID != 200 || f.Columns[31].ID != 229 {
		t.Errorf("columns are %v", f.Columns)
	}
	if f.Columns[0].Nulls != 1 || f.Columns[1].Nulls != 2 {
		t.Errorf("nulls of o.x and o.y are %d and %d, want 1 and 2", f.Columns[0].Nulls, f.Columns[1].Nulls)
	}
}
