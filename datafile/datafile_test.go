package datafile_test

import (
	"crypto/sha256"
	"math"
	"slices"
	"testing"

	"batcher/datafile"
	"batcher/schema"
)

// every is a schema with every kind, flat and nested.
func every() *schema.Schema {
	return table(
		field(1, "_source", schema.String),
		field(2, "_offset", schema.Int64),
		field(17, "b", schema.Bool),
		field(18, "i", schema.Int32),
		field(19, "l", schema.Int64),
		field(20, "f", schema.Float64),
		money(22, "price", 38, 3),
		money(46, "cents", 9, 2),
		money(47, "paid", 18, 0),
		field(23, "s", schema.String),
		field(24, "j", schema.JSON),
		field(25, "y", schema.Bytes),
		field(26, "d", schema.Date),
		field(27, "t", schema.Timestamp),
		field(28, "list", schema.List, field(29, "element", schema.Int64)),
		field(30, "map", schema.Map, field(31, "key", schema.String), field(32, "value", schema.Float64)),
		field(33, "o", schema.Struct, field(34, "x", schema.Int64), field(35, "z", schema.Struct, field(36, "w", schema.String))),
		field(37, "deep", schema.List, field(38, "element", schema.Struct,
			field(39, "n", schema.String),
			field(40, "tags", schema.List, field(41, "element", schema.String)),
			field(42, "m", schema.Map, field(43, "key", schema.String), field(44, "value", schema.List, field(45, "element", schema.Bool))))),
	)
}

// everyRow are rows with nulls, zeros and ends of ranges in every column.
func everyRow() []row {
	return []row{
		{},
		{"_source": "", "_offset": int64(0), "b": false, "i": int32(0), "l": int64(0), "f": 0.0, "price": decimal(0), "cents": decimal(0), "paid": decimal(0), "s": "", "j": "{}", "y": []byte{}, "d": int32(0), "t": int64(0), "list": []any{}, "map": []pair{}, "o": row{}, "deep": []any{}},
		{"_source": "a/b.json", "_offset": int64(7), "b": true, "i": int32(math.MinInt32), "l": int64(math.MinInt64), "f": math.Inf(-1), "price": decimal(math.MinInt64), "cents": decimal(-999_999_999), "paid": decimal(-999_999_999_999_999_999), "s": "ä\x00\"\\\n", "j": `{"a": [1, null]}`, "y": []byte{0, 255}, "d": int32(-719162), "t": int64(-62135596800000000), "list": []any{nil}, "map": []pair{{"", nil}}, "o": row{"x": int64(0)}, "deep": []any{nil}},
		{"_source": "a/b.json", "_offset": int64(8), "b": true, "i": int32(math.MaxInt32), "l": int64(math.MaxInt64), "f": math.MaxFloat64, "price": decimal(math.MaxInt64), "cents": decimal(999_999_999), "paid": decimal(999_999_999_999_999_999), "s": "\U0001F600", "j": `"text"`, "y": []byte("x"), "d": int32(2932896), "t": int64(253402300799999999), "list": []any{int64(0), nil, int64(-1)}, "map": []pair{{"k", 1.5}, {"n", nil}}, "o": row{"z": row{"w": ""}}, "deep": []any{row{}, row{"n": "", "tags": []any{}, "m": []pair{}}}},
		{"f": math.NaN(), "deep": []any{
			row{"n": "x", "tags": []any{"a", nil, ""}, "m": []pair{{"k", []any{true, nil}}, {"e", []any{}}, {"n", nil}}},
			nil,
			row{"tags": []any{nil}, "m": []pair{{"k", []any{nil}}}},
		}},
		{"f": math.Copysign(0, -1), "l": int64(-1), "price": decimal(-1), "cents": decimal(-1), "paid": decimal(-1)},
	}
}

func TestRoundTripOfEveryType(t *testing.T) {
	for _, c := range []datafile.Compression{datafile.Zstd, datafile.Snappy, datafile.Uncompressed} {
		t.Run(string(c), func(t *testing.T) {
			b := shred(every(), everyRow())
			file, f := write(t, datafile.Options{Compression: c}, b)
			if f.Rows != int64(b.Rows) || f.Size != int64(len(file)) || f.SHA256 != sha256.Sum256(file) {
				t.Errorf("file is described as %d rows, %d bytes, %v", f.Rows, f.Size, f.SHA256)
			}
			if got, want := read(t, file, b.Schema), texts(b); !slices.Equal(got, want) {
				t.Errorf("read\n%v\nwant\n%v", got, want)
			}
		})
	}
}
