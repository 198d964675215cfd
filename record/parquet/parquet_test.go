package parquet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	vendor "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"

	"batcher/record/parquet"
	"batcher/record/typed"
)

// file writes rows with the library.
func file(t testing.TB, root vendor.Node, rows []vendor.Row, options ...vendor.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	options = append(options, vendor.NewSchema("root", root))
	w := vendor.NewWriter(&b, options...)
	for _, row := range rows {
		if _, err := w.WriteRows([]vendor.Row{row}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func rendered(t *testing.T, records [][]byte) string {
	t.Helper()
	var lines []string
	for _, rec := range records {
		line, err := typed.AppendJSON(nil, rec)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	return strings.Join(lines, "\n")
}

// TestTypes has one case for each type that the format knows.
func TestTypes(t *testing.T) {
	text := func(s string) vendor.Value { return vendor.ByteArrayValue([]byte(s)) }
	fixed := func(s string) vendor.Value { return vendor.FixedLenByteArrayValue([]byte(s)) }
	leaf := vendor.Leaf
	for _, c := range []struct {
		name  string
		node  vendor.Node
		value vendor.Value
		want  string
	}{
		{"boolean", leaf(vendor.BooleanType), vendor.BooleanValue(true), `true`},
		{"int32", leaf(vendor.Int32Type), vendor.Int32Value(math.MinInt32), `-2147483648`},
		{"D7 int64", leaf(vendor.Int64Type), vendor.Int64Value(9007199254740993), `9007199254740993`},
		{"float", leaf(vendor.FloatType), vendor.FloatValue(0.1), `0.10000000149011612`},
		{"double", leaf(vendor.DoubleType), vendor.DoubleValue(2), `2.0`},
		{"NaN", leaf(vendor.DoubleType), vendor.DoubleValue(math.NaN()), `"NaN"`},
		{"infinity", leaf(vendor.FloatType), vendor.FloatValue(float32(math.Inf(-1))), `"-Infinity"`},
		{"bytes without annotation", leaf(vendor.ByteArrayType), text("ab"), `{"base64":"YWI="}`},
		{"fixed bytes", leaf(vendor.FixedLenByteArrayType(2)), fixed("ab"), `{"base64":"YWI="}`},
		{"string", vendor.String(), text("a\"ü"), `"a\"ü"`},
		{"D12 invalid UTF-8 stays", vendor.String(), text("\xff"), `{"base64":"/w=="}`},
		{"enum", vendor.Enum(), text("RED"), `"RED"`},
		{"json", vendor.JSON(), text(`{"a":1}`), `"{\"a\":1}"`},
		{"bson", vendor.BSON(), text("\x05\x00\x00\x00\x00"), `{"base64":"BQAAAAA="}`},
		{"uuid", vendor.UUID(), fixed("\xfe\x7b\xc3\x0b\x4c\xe8\x4c\x5e\xb6\x7c\x22\x34\xa2\xd3\x8e\x66"), `"fe7bc30b-4ce8-4c5e-b67c-2234a2d38e66"`},
		{"uint8", vendor.Uint(8), vendor.Int32Value(255), `255`},
		{"uint32", vendor.Uint(32), vendor.Int32Value(-1), `4294967295`},
		{"uint64", vendor.Uint(64), vendor.Int64Value(-1), `18446744073709551615`},
		{"int8", vendor.Int(8), vendor.Int32Value(-128), `-128`},
		{"decimal int32", vendor.Decimal(2, 9, vendor.Int32Type), vendor.Int32Value(-5), `-0.05`},
		{"decimal int64", vendor.Decimal(0, 18, vendor.Int64Type), vendor.Int64Value(5), `5`},
		{"decimal fixed", vendor.Decimal(3, 38, vendor.FixedLenByteArrayType(16)), fixed(strings.Repeat("\xff", 16)), `-0.001`},
		{"date", vendor.Date(), vendor.Int32Value(19782), `"2024-02-29"`},
		{"time millis", vendor.Time(vendor.Millisecond), vendor.Int32Value(86399999), `"23:59:59.999"`},
		{"time micros", vendor.Time(vendor.Microsecond), vendor.Int64Value(1), `"00:00:00.000001"`},
		{"time nanos", vendor.Time(vendor.Nanosecond), vendor.Int64Value(1), `"00:00:00.000000001"`},
		{"timestamp millis", vendor.Timestamp(vendor.Millisecond), vendor.Int64Value(-1), `"1969-12-31T23:59:59.999Z"`},
		{"timestamp micros", vendor.Timestamp(vendor.Microsecond), vendor.Int64Value(1), `"1970-01-01T00:00:00.000001Z"`},
		{"D24 timestamp nanos", vendor.Timestamp(vendor.Nanosecond), vendor.Int64Value(1), `"1970-01-01T00:00:00.000000001Z"`},
		{"int96", vendor.Leaf(vendor.Int96Type), vendor.Int96Value(deprecated.Int96{0, 0, 2440589}), `"1970-01-02T00:00:00Z"`},
		{"int96 that microseconds do not reach", vendor.Leaf(vendor.Int96Type), vendor.Int96Value(deprecated.Int96{0, 0, 1<<31 - 1}), `{"base64":"AAAAAAAAAAD///9/"}`},
		{"D23 local timestamp", vendor.TimestampAdjusted(vendor.Microsecond, false), vendor.Int64Value(0), `"1970-01-01T00:00:00.000000"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := file(t, vendor.Group{"a": c.node}, []vendor.Row{{c.value.Level(0, 0, 0)}})
			records, err := readAll(body, parquet.Limits{})
			if got := rendered(t, records); err != nil || got != `{"a":`+c.want+`}` {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}

// TestNesting_D19 reassembles what levels say, nulls and empty lists told apart.
func TestNesting_D19(t *testing.T) {
	one := func(v int32, rep, def int) vendor.Value { return vendor.Int32Value(v).Level(rep, def, 0) }
	null := func(rep, def int) vendor.Value { return vendor.Value{}.Level(rep, def, 0) }
	text := func(s string, rep, def, column int) vendor.Value {
		return vendor.ByteArrayValue([]byte(s)).Level(rep, def, column)
	}
	number := vendor.Leaf(vendor.Int32Type)
	for _, c := range []struct {
		name string
		node vendor.Node
		rows []vendor.Row
		want string
	}{
		{"list", vendor.Optional(vendor.List(vendor.Optional(number))),
			[]vendor.Row{{null(0, 0)}, {null(0, 1)}, {null(0, 2)}, {one(1, 0, 3), null(1, 2), one(2, 1, 3)}},
			`null [] [null] [1,null,2]`},
		{"list of lists", vendor.List(vendor.List(number)),
			[]vendor.Row{{null(0, 0)}, {null(0, 1)}, {one(1, 0, 2), one(2, 2, 2), null(1, 1), one(3, 1, 2)}},
			`[] [[]] [[1,2],[],[3]]`},
		{"repeated", vendor.Repeated(number), []vendor.Row{{null(0, 0)}, {one(1, 0, 1), one(2, 1, 1)}}, `[] [1,2]`},
		{"struct", vendor.Optional(vendor.Group{"x": vendor.Optional(number)}),
			[]vendor.Row{{null(0, 0)}, {null(0, 1)}, {one(1, 0, 2)}}, `null {"x":null} {"x":1}`},
		{"list of structs", vendor.List(vendor.Optional(vendor.Group{"x": number})),
			[]vendor.Row{{null(0, 0)}, {null(0, 1), one(1, 1, 2)}}, `[] [null,{"x":1}]`},
		{"map", vendor.Map(vendor.String(), vendor.Optional(vendor.String())),
			[]vendor.Row{
				{text("", 0, 0, 0).Level(0, 0, 0), vendor.Value{}.Level(0, 0, 1)},
				{text("k", 0, 1, 0), text("l", 1, 1, 0), text("v", 0, 2, 1), vendor.Value{}.Level(1, 1, 1)},
			}, `{} {"k":"v","l":null}`},
		{"map of numbers", vendor.Map(number, number),
			[]vendor.Row{{one(1, 0, 1), vendor.Int32Value(2).Level(0, 1, 1)}}, `{"1":2}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "map" { // an empty map is a null in both columns
				c.rows[0][0] = null(0, 0)
			}
			records, err := readAll(file(t, vendor.Group{"a": c.node}, c.rows), parquet.Limits{})
			got := strings.NewReplacer(`{"a":`, "", "}\n", " ").Replace(rendered(t, records) + "\n")
			if err != nil || got != c.want+" " {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}

// TestEncodings reads what the library writes in every encoding, codec and page
// version, over many pages and row groups, with and without nulls.
func TestEncodings(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	type enc = encoding.Encoding
	strs := []enc{&vendor.Plain, &vendor.DeltaLengthByteArray, &vendor.DeltaByteArray, &vendor.RLEDictionary}
	ints := []enc{&vendor.Plain, &vendor.DeltaBinaryPacked, &vendor.RLEDictionary}
	wide := []enc{&vendor.Plain, &vendor.ByteStreamSplit, &vendor.RLEDictionary}
	kinds := []struct {
		node      vendor.Node
		encodings []enc
		value     func() vendor.Value
	}{
		{vendor.Leaf(vendor.BooleanType), []enc{&vendor.Plain}, func() vendor.Value { return vendor.BooleanValue(rnd.IntN(3) == 0) }},
		{vendor.Leaf(vendor.Int32Type), ints, func() vendor.Value { return vendor.Int32Value(int32(rnd.Uint32()) >> rnd.IntN(32)) }},
		{vendor.Leaf(vendor.Int64Type), ints, func() vendor.Value { return vendor.Int64Value(int64(rnd.Uint64()) >> rnd.IntN(64)) }},
		{vendor.Leaf(vendor.FloatType), wide, func() vendor.Value { return vendor.FloatValue(rnd.Float32()) }},
		{vendor.Leaf(vendor.DoubleType), wide, func() vendor.Value { return vendor.DoubleValue(float64(rnd.IntN(50))) }},
		{vendor.String(), strs, func() vendor.Value {
			return vendor.ByteArrayValue(bytes.Repeat([]byte{'a' + byte(rnd.IntN(9))}, rnd.IntN(20)))
		}},
		{vendor.Leaf(vendor.FixedLenByteArrayType(5)), []enc{&vendor.Plain, &vendor.RLEDictionary}, func() vendor.Value {
			return vendor.FixedLenByteArrayValue([]byte(fmt.Sprintf("%05d", rnd.IntN(300))))
		}},
	}
	codecs := []compress.Codec{&vendor.Uncompressed, &vendor.Snappy, &vendor.Gzip, &vendor.Brotli, &vendor.Zstd, &vendor.Lz4Raw}
	tested := 0
	for _, k := range kinds {
		for _, e := range k.encodings {
			for def := range 2 {
				node := vendor.Encoded(k.node, e)
				if def == 1 {
					node = vendor.Optional(node)
				}
				var rows []vendor.Row
				for range 500 + rnd.IntN(500) {
					v := k.value().Level(0, def, 0)
					if def == 1 && rnd.IntN(4) == 0 {
						v = vendor.Value{}.Level(0, 0, 0)
					}
					rows = append(rows, vendor.Row{v})
				}
				codec, version := codecs[tested%len(codecs)], 1+tested/len(codecs)%2
				body := file(t, vendor.Group{"a": node}, rows, vendor.Compression(codec), vendor.DataPageVersion(version),
					vendor.PageBufferSize(512), vendor.MaxRowsPerRowGroup(300))
				got, err := readAll(body, parquet.Limits{})
				if err != nil || len(got) != len(rows) {
					t.Fatalf("%v %v %v v%d: %d rows of %d, %v", k.node, e, codec, version, len(got), len(rows), err)
				}
				for i, rec := range got {
					if want := valueText(rows[i][0]); !strings.Contains(rendered(t, [][]byte{rec}), want) {
						t.Fatalf("%v %v %v v%d: row %d is %s, want %s", k.node, e, codec, version, i, rendered(t, [][]byte{rec}), want)
					}
				}
				tested++
			}
		}
	}
	t.Logf("%d combinations", tested)
}

// legacyLz4 is LZ4 as it was written before LZ4_RAW had a name of its own: in
// Hadoop's blocks of at most size bytes or, if size is 0, bare.
type legacyLz4 struct{ size int }

func (legacyLz4) String() string                            { return "LZ4" }
func (legacyLz4) CompressionCodec() format.CompressionCodec { return format.Lz4 }
func (legacyLz4) Decode(_, _ []byte) ([]byte, error)        { return nil, errors.ErrUnsupported }

func (l legacyLz4) Encode(dst, src []byte) ([]byte, error) {
	if l.size == 0 {
		return vendor.Lz4Raw.Encode(dst, src)
	}
	dst = dst[:0]
	for len(src) > 0 {
		n := min(l.size, len(src))
		packed, err := vendor.Lz4Raw.Encode(nil, src[:n])
		if err != nil {
			return nil, err
		}
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(packed)))
		dst, src = append(dst, packed...), src[n:]
	}
	return dst, nil
}

func TestLegacyLz4(t *testing.T) {
	var rows []vendor.Row
	for i := range 3000 {
		rows = append(rows, vendor.Row{vendor.Int64Value(int64(i%50)).Level(0, 0, 0)})
	}
	for _, size := range []int{0, 1000, 1 << 20} {
		body := file(t, vendor.Group{"a": vendor.Encoded(vendor.Int(64), &vendor.Plain)}, rows, vendor.Compression(legacyLz4{size}))
		records, err := readAll(body, parquet.Limits{})
		if err != nil || len(records) != len(rows) || rendered(t, records[2999:]) != `{"a":49}` {
			t.Errorf("blocks of %d: %d records, %v", size, len(records), err)
		}
	}
}

// valueText renders a value as typed.AppendJSON does.
func valueText(v vendor.Value) string {
	b := []byte(nil)
	switch {
	case v.IsNull():
		b = typed.AppendNull(b)
	case v.Kind() == vendor.Boolean:
		return fmt.Sprint(v.Boolean())
	case v.Kind() == vendor.Int32 || v.Kind() == vendor.Int64:
		b = typed.AppendInt(b, v.Int64())
		if v.Kind() == vendor.Int32 {
			b = typed.AppendInt(b[:0], int64(v.Int32()))
		}
	case v.Kind() == vendor.Float:
		b = typed.AppendFloat(b, float64(v.Float()))
	case v.Kind() == vendor.Double:
		b = typed.AppendFloat(b, v.Double())
	case v.Kind() == vendor.FixedLenByteArray:
		b = typed.AppendBytes(b, v.ByteArray())
	default:
		b = typed.AppendString(b, v.ByteArray())
	}
	text, _ := typed.AppendJSON(nil, b)
	return string(text)
}

// small is a file with a bit of everything.
func small(t testing.TB) []byte {
	t.Helper()
	root := vendor.Group{
		"a": vendor.Encoded(vendor.String(), &vendor.RLEDictionary),
		"b": vendor.Optional(vendor.Encoded(vendor.Int(64), &vendor.DeltaBinaryPacked)),
		"c": vendor.Optional(vendor.List(vendor.Optional(vendor.Encoded(vendor.String(), &vendor.DeltaByteArray)))),
		"d": vendor.Map(vendor.String(), vendor.Decimal(2, 9, vendor.Int32Type)),
	}
	var rows []vendor.Row
	for i := range 40 {
		key := vendor.ByteArrayValue([]byte(fmt.Sprint("key", i%3)))
		rows = append(rows, vendor.Row{
			key.Level(0, 0, 0), vendor.Int64Value(int64(i)).Level(0, 1, 1),
			key.Level(0, 3, 2), vendor.Value{}.Level(1, 2, 2),
			key.Level(0, 1, 3), vendor.Int32Value(int32(i)).Level(0, 1, 4),
		})
	}
	return file(t, root, rows, vendor.Compression(&vendor.Snappy), vendor.MaxRowsPerRowGroup(20), vendor.PageBufferSize(100))
}

// TestDamage cuts a file anywhere and changes every byte of it in turn. Nothing
// may panic, go on for ever or hold more than the limits.
func TestDamage(t *testing.T) {
	whole := small(t)
	limits := parquet.Limits{MaxFooterBytes: 1 << 20, MaxPageBytes: 1 << 20, MaxOpenBytes: 1 << 22, MaxRecordBytes: 1 << 20}
	records, err := readAll(whole, limits)
	if err != nil || len(records) != 40 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for cut := range whole {
		var broken *typed.Error
		if _, err := readAll(whole[:cut], limits); !errors.As(err, &broken) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	refused := 0
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= []byte{0x01, 0x80, 0xff}[i%3]
		if _, err := readAll(damaged, limits); err != nil {
			refused++
			if errors.Is(err, typed.ErrMalformed) {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
	}
	if refused < len(whole)/3 {
		t.Errorf("only %d of %d damaged files were refused", refused, len(whole))
	}
}

func TestRefused(t *testing.T) {
	whole := small(t)
	for _, c := range []struct {
		name   string
		body   []byte
		limits parquet.Limits
		want   string
	}{
		{"nothing", nil, parquet.Limits{}, "no Parquet file"},
		{"text", []byte("id,name\n1,a\n2,b\n"), parquet.Limits{}, "it begins with"},
		{"encrypted", []byte("PARE\x00\x00\x00\x00PARE"), parquet.Limits{}, "encrypted"},
		{"footer longer than the file", []byte("PAR1\xff\xff\xff\x7fPAR1"), parquet.Limits{}, "a footer of"},
		{"footer above the limit", whole, parquet.Limits{MaxFooterBytes: 100}, "100 at most"},
		{"page above the limit", whole, parquet.Limits{MaxPageBytes: 10}, "page_bytes is 10"},
		{"open pages above the limit", whole, parquet.Limits{MaxOpenBytes: 100}, "more than 100 bytes at once"},
		{"record above the limit", whole, parquet.Limits{MaxRecordBytes: 10}, "takes more than 10 bytes"},
		{"depth above the limit", whole, parquet.Limits{MaxDepth: 1}, "nested too deep"},
		{"variant without end", variantFile(t, "\x01\x00\x00", laughs()), parquet.Limits{MaxRecordBytes: 1 << 20}, "a VARIANT takes more"},
		{"variant that holds itself", variantFile(t, "\x01\x00\x00", "\x03\x01\x00\x00"), parquet.Limits{}, "malformed VARIANT"},
		{"variant of another version", variantFile(t, "\x02\x00\x00", "\x00"), parquet.Limits{}, "another version"},
		{"variant that ends early", variantFile(t, "\x01\x00\x00", "\x18\x00"), parquet.Limits{}, "malformed VARIANT"},
	} {
		_, err := readAll(c.body, c.limits)
		var broken *typed.Error
		if !errors.As(err, &broken) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// variantFile has one VARIANT in column a.
func variantFile(t testing.TB, metadata, value string) []byte {
	t.Helper()
	column := func(s string, i int) vendor.Value { return vendor.ByteArrayValue([]byte(s)).Level(0, 0, i) }
	return file(t, vendor.Group{"a": vendor.Variant()}, []vendor.Row{{column(metadata, 0), column(value, 1)}})
}

// laughs is an array of arrays of arrays …, each of which has the next one 200
// times over.
func laughs() string {
	value := "\x00"
	for range 10 {
		value = "\x07" + "\xc8" + strings.Repeat("\x00\x00", 201) + value // offsets of 2 bytes
	}
	return value
}

// TestVariants decodes the encoding of VARIANT.
func TestVariants(t *testing.T) {
	const names = "\x01\x02\x00\x01\x03" + "abb"
	for _, c := range []struct{ name, metadata, value, want string }{
		{"null", names, "\x00", `null`},
		{"true", names, "\x04", `true`},
		{"false", names, "\x08", `false`},
		{"int8", names, "\x0c\xff", `-1`},
		{"int16", names, "\x10\x00\x01", `256`},
		{"int64", names, "\x18\xff\xff\xff\xff\xff\xff\xff\x7f", `9223372036854775807`},
		{"double", names, "\x1c\x00\x00\x00\x00\x00\x00\xf0\x3f", `1.0`},
		{"decimal4", names, "\x20\x02\xff\xff\xff\xff", `-0.01`},
		{"date", names, "\x2c\x00\x00\x00\x00", `"1970-01-01"`},
		{"timestamp", names, "\x30\x01\x00\x00\x00\x00\x00\x00\x00", `"1970-01-01T00:00:00.000001Z"`},
		{"local timestamp", names, "\x34\x01\x00\x00\x00\x00\x00\x00\x00", `"1970-01-01T00:00:00.000001"`},
		{"binary", names, "\x3c\x01\x00\x00\x00x", `{"base64":"eA=="}`},
		{"long string", names, "\x40\x01\x00\x00\x00x", `"x"`},
		{"short string", names, "\x09hi", `"hi"`},
		{"array", names, "\x03\x02\x00\x02\x03\x0c\x05\x00", `[5,null]`},
		{"object", names, "\x02\x02\x01\x00\x00\x02\x03\x0c\x05\x00", `{"bb":5,"a":null}`},
		{"empty object", names, "\x02\x00\x00", `{}`},
	} {
		records, err := readAll(variantFile(t, c.metadata, c.value), parquet.Limits{})
		text, _ := typed.AppendJSON(nil, typed.AppendString(nil, c.want))
		if got := rendered(t, records); err != nil || got != `{"a":`+string(text)+`}` {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

// TestShreddedVariants puts back what is shredded.
func TestShreddedVariants(t *testing.T) {
	node, err := vendor.ShreddedVariant(vendor.Group{"a": vendor.Int(64), "bb": vendor.List(vendor.String())})
	if err != nil {
		t.Fatal(err)
	}
	// The columns: metadata, value, of a value and typed_value, of bb value and
	// its elements' value and typed_value.
	text := func(s string, def, column int) vendor.Value {
		return vendor.ByteArrayValue([]byte(s)).Level(0, def, column)
	}
	null := func(def, column int) vendor.Value { return vendor.Value{}.Level(0, def, column) }
	metadata := text("\x01\x01\x00\x01c", 0, 0)
	body := file(t, vendor.Group{"a": node}, []vendor.Row{
		{metadata, null(0, 1), null(1, 2), vendor.Int64Value(7).Level(0, 2, 3), null(1, 4), null(3, 5), text("x", 4, 6)},
		{metadata, text("\x02\x01\x00\x00\x02\x0c\x05", 1, 1), text("\x09hi", 2, 2), null(1, 3), null(1, 4), null(1, 5), null(1, 6)},
		{metadata, text("\x04", 1, 1), null(0, 2), null(0, 3), null(0, 4), null(0, 5), null(0, 6)},
		{metadata, null(0, 1), null(0, 2), null(0, 3), null(0, 4), null(0, 5), null(0, 6)},
	})
	records, err := readAll(body, parquet.Limits{})
	want := `{"a":"{\"a\":7,\"bb\":[\"x\"]}"}` + "\n" + `{"a":"{\"a\":\"hi\",\"c\":5}"}` + "\n" + `{"a":"true"}` + "\n" + `{"a":"null"}`
	if got := rendered(t, records); err != nil || got != want {
		t.Errorf("got\n%s\n%v, want\n%s", got, err, want)
	}
}

// flaky fails at the n-th read.
type flaky struct {
	*bytes.Reader
	left int
	err  error
}

func (f *flaky) ReadAt(p []byte, at int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, f.err
	}
	return f.Reader.ReadAt(p, at)
}

// TestSourceFails tells a failing store from a broken object.
func TestSourceFails(t *testing.T) {
	whole, lost := small(t), errors.New("connection lost")
	for reads := 0; ; reads++ {
		if reads > 1000 {
			t.Fatal("no end of reads")
		}
		rd, err := parquet.NewReader(&flaky{bytes.NewReader(whole), reads, lost}, int64(len(whole)), parquet.Limits{})
		for n := 0; err == nil && n < 40; n++ {
			_, err = rd.Next(nil)
		}
		if err == nil {
			return
		}
		var broken *typed.Error
		if !errors.Is(err, lost) || errors.As(err, &broken) {
			t.Fatalf("after %d reads: %v", reads, err)
		}
	}
}

// TestReadsAreFew holds that a source for which each read is a request is asked
// three times for the footer and once for each small column chunk.
func TestReadsAreFew(t *testing.T) {
	const enough = 1 << 20
	whole := small(t)
	source := &flaky{Reader: bytes.NewReader(whole), left: enough}
	rd, err := parquet.NewReader(source, int64(len(whole)), parquet.Limits{})
	for n := 0; err == nil && n < 40; n++ {
		_, err = rd.Next(nil)
	}
	if reads := enough - source.left; err != nil || reads != 3+2*5 {
		t.Errorf("%d reads for 2 row groups of 5 columns, %v", reads, err)
	}
}

// FuzzReader feeds any bytes.
func FuzzReader(f *testing.F) {
	f.Add(small(f))
	f.Add(file(f, vendor.Group{"a": vendor.Encoded(vendor.Leaf(vendor.DoubleType), &vendor.ByteStreamSplit)},
		[]vendor.Row{{vendor.DoubleValue(1)}, {vendor.DoubleValue(2)}}, vendor.DataPageVersion(2), vendor.Compression(&vendor.Zstd)))
	f.Add(file(f, vendor.Group{"a": vendor.Leaf(vendor.Int96Type), "b": vendor.UUID()}, nil))
	f.Fuzz(func(t *testing.T, body []byte) {
		limits := parquet.Limits{MaxPageBytes: 1 << 16, MaxOpenBytes: 1 << 20, MaxRecordBytes: 1 << 16, MaxDepth: 32}
		rd, err := parquet.NewReader(bytes.NewReader(body), int64(len(body)), limits)
		for n := 0; err == nil && n < 2000; n++ {
			var rec []byte
			if rec, err = rd.Next(nil); err == nil {
				if err := typed.Check(rec, 100); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkReader reads a file of 100,000 rows of four columns.
func BenchmarkReader(b *testing.B) {
	root := vendor.Group{
		"id": vendor.Encoded(vendor.Int(64), &vendor.DeltaBinaryPacked), "name": vendor.Encoded(vendor.String(), &vendor.RLEDictionary),
		"price": vendor.Leaf(vendor.DoubleType), "tags": vendor.List(vendor.String()),
	}
	var rows []vendor.Row
	for i := range 100_000 {
		name := vendor.ByteArrayValue([]byte(fmt.Sprint("name", i%1000)))
		rows = append(rows, vendor.Row{vendor.Int64Value(int64(i)).Level(0, 0, 0), name.Level(0, 0, 1), vendor.DoubleValue(float64(i)).Level(0, 0, 2), name.Level(0, 1, 3), name.Level(1, 1, 3)})
	}
	body := file(b, root, rows, vendor.Compression(&vendor.Snappy))
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		rd, err := parquet.NewReader(bytes.NewReader(body), int64(len(body)), parquet.Limits{})
		var rec []byte
		for n := 0; err == nil && n < len(rows); n++ {
			rec, err = rd.Next(rec[:0])
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
