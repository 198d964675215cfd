package avro_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"batcher/record/avro"
	"batcher/record/typed"
)

const marker = "0123456789abcdef"

func long(v int64) string { return string(binary.AppendVarint(nil, v)) }

func text(s string) string { return long(int64(len(s))) + s }

// head makes the header of a file.
func head(schema, codec string) string {
	return "Obj\x01" + long(2) + text("avro.schema") + text(schema) + text("avro.codec") + text(codec) + long(0) + marker
}

// block makes a block of count records.
func block(count int64, data string) string { return long(count) + text(data) + marker }

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

// TestTypes has one case for each type of the specification.
func TestTypes(t *testing.T) {
	fixed := func(size, logical string) string {
		return `{"type":"fixed","name":"f","size":` + size + logical + `}`
	}
	double := func(v float64) string {
		return string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
	}
	for _, c := range []struct{ name, schema, data, want string }{
		{"null", `"null"`, "", `null`},
		{"boolean", `"boolean"`, "\x01", `true`},
		{"int", `"int"`, long(-1 << 31), `-2147483648`},
		{"long", `{"type":"long"}`, long(math.MinInt64), `-9223372036854775808`},
		{"D7 long beyond doubles", `"long"`, long(9007199254740993), `9007199254740993`},
		{"float", `"float"`, "\x00\x00\x80\x3f", `1.0`},
		{"double", `"double"`, double(0.1), `0.1`},
		{"NaN", `"double"`, double(math.NaN()), `"NaN"`},
		{"infinity", `"float"`, "\x00\x00\x80\xff", `"-Infinity"`},
		{"bytes", `"bytes"`, text("\x00\x01\x02"), `{"base64":"AAEC"}`},
		{"no bytes", `"bytes"`, text(""), `{"base64":""}`},
		{"string", `"string"`, text("a\"\x01ü"), `"a\"\u0001ü"`},
		{"D12 invalid UTF-8 stays", `"string"`, text("a\xff"), `{"base64":"Yf8="}`},
		{"fixed", fixed("2", ""), "\x01\x02", `{"base64":"AQI="}`},
		{"enum", `{"type":"enum","name":"e","symbols":["A","B"]}`, long(1), `"B"`},
		{"array", `{"type":"array","items":"int"}`, long(2) + long(1) + long(2) + long(-1) + long(1) + long(3) + long(0), `[1,2,3]`},
		{"array of nothing", `{"type":"array","items":"null"}`, long(3) + long(0), `[null,null,null]`},
		{"map", `{"type":"map","values":"boolean"}`, long(1) + text("k") + "\x00" + long(0), `{"k":false}`},
		{"union", `["null","int","string"]`, long(2) + text("x"), `"x"`},
		{"record", `{"type":"record","name":"r","fields":[{"name":"b","type":"int"},{"name":"a","type":["null","r"]}]}`,
			long(1) + long(1) + long(2) + long(0), `{"b":1,"a":{"b":2,"a":null}}`},
		{"names in namespaces", `{"type":"record","name":"n.r","fields":[{"name":"e","type":{"type":"enum","name":"e","symbols":["A"]}},{"name":"f","type":"n.e"},{"name":"g","type":"e"}]}`,
			long(0) + long(0) + long(0), `{"e":"A","f":"A","g":"A"}`},
		{"names that are empty", `{"type":"record","name":"","namespace":"n","fields":[{"name":"r","type":{"type":"record","name":"","fields":[{"name":"e","type":{"type":"enum","name":"e","symbols":["A"]}}]}},{"name":"f","type":"n.e"}]}`,
			long(0) + long(0), `{"r":{"e":"A"},"f":"A"}`},
		{"names that are missing", `{"type":"record","fields":[{"name":"x","type":{"type":"fixed","size":1}}]}`, "\x01", `{"x":{"base64":"AQ=="}}`},
		{"decimal", `{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}`, text("\xff"), `-0.01`},
		{"decimal without bytes", `{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}`, text(""), `0.00`},
		{"decimal of 39 digits", `{"type":"bytes","logicalType":"decimal","precision":50}`, text("\x7f" + strings.Repeat("\xff", 15)), `170141183460469231731687303715884105727`},
		{"decimal beyond 128 bits", `{"type":"bytes","logicalType":"decimal","precision":50}`, text("\x01" + strings.Repeat("\x00", 16)), `340282366920938463463374607431768211456`},
		{"fixed decimal", fixed("3", `,"logicalType":"decimal","precision":6,"scale":3`), "\x00\x30\x39", `12.345`},
		{"decimal with a bad scale", fixed("1", `,"logicalType":"decimal","precision":1,"scale":3`), "\x01", `{"base64":"AQ=="}`},
		{"big-decimal", `{"type":"bytes","logicalType":"big-decimal"}`, text(text("\x30\x39") + long(3)), `12.345`},
		{"big-decimal with a huge scale", `{"type":"bytes","logicalType":"big-decimal"}`, text(text("\x05") + long(math.MaxInt32)), `5e-2147483647`},
		{"date", `{"type":"int","logicalType":"date"}`, long(-719162), `"0001-01-01"`},
		{"time-millis", `{"type":"int","logicalType":"time-millis"}`, long(86399999), `"23:59:59.999"`},
		{"time-micros", `{"type":"long","logicalType":"time-micros"}`, long(1), `"00:00:00.000001"`},
		{"the end of a day", `{"type":"int","logicalType":"time-millis"}`, long(86400000), `"24:00:00.000"`},
		{"time beyond a day", `{"type":"int","logicalType":"time-millis"}`, long(86400001), `86400001`},
		{"timestamp-millis", `{"type":"long","logicalType":"timestamp-millis"}`, long(-1), `"1969-12-31T23:59:59.999Z"`},
		{"timestamp-millis beyond microseconds", `{"type":"long","logicalType":"timestamp-millis"}`, long(math.MaxInt64), `"+292278994-08-17T07:12:55.807Z"`},
		{"timestamp-micros", `{"type":"long","logicalType":"timestamp-micros"}`, long(253402300799999999), `"9999-12-31T23:59:59.999999Z"`},
		{"timestamp-nanos", `{"type":"long","logicalType":"timestamp-nanos"}`, long(-1), `"1969-12-31T23:59:59.999999999Z"`},
		{"D23 local-timestamp-millis", `{"type":"long","logicalType":"local-timestamp-millis"}`, long(1), `"1970-01-01T00:00:00.001"`},
		{"D23 local by property", `{"type":"long","logicalType":"timestamp-micros","adjust-to-utc":false}`, long(1), `"1970-01-01T00:00:00.000001"`},
		{"uuid", `{"type":"string","logicalType":"uuid"}`, text("fe7bc30b-4ce8-4c5e-b67c-2234a2d38e66"), `"fe7bc30b-4ce8-4c5e-b67c-2234a2d38e66"`},
		{"fixed uuid", fixed("16", `,"logicalType":"uuid"`), "\xfe\x7b\xc3\x0b\x4c\xe8\x4c\x5e\xb6\x7c\x22\x34\xa2\xd3\x8e\x66", `"fe7bc30b-4ce8-4c5e-b67c-2234a2d38e66"`},
		{"duration", fixed("12", `,"logicalType":"duration"`), "\x0e\x00\x00\x00\x03\x00\x00\x00\x39\x30\x00\x00", `"P14M3DT12.345S"`},
		{"unknown logical type", `{"type":"int","logicalType":"weekday"}`, long(5), `5`},
	} {
		t.Run(c.name, func(t *testing.T) {
			records, err := readAll(strings.NewReader(head(c.schema, "null")+block(1, c.data)), avro.Limits{})
			if got := rendered(t, records); err != nil || got != c.want {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}

func TestCodecs(t *testing.T) {
	data := strings.Repeat(long(7), 1000)
	var deflated bytes.Buffer
	w, _ := flate.NewWriter(&deflated, 9)
	_, _ = w.Write([]byte(data))
	w.Close()
	z, _ := zstd.NewWriter(nil)
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(data)))
	snapped := string(snappy.Encode(nil, []byte(data)))
	zstded := string(z.EncodeAll([]byte(data), nil))
	for _, c := range []struct {
		codec, stored string
		limits        avro.Limits
		want          string
	}{
		{"null", data, avro.Limits{}, ""},
		{"deflate", deflated.String(), avro.Limits{}, ""},
		{"snappy", snapped + string(sum), avro.Limits{}, ""},
		{"zstandard", zstded, avro.Limits{}, ""},
		{"null", data, avro.Limits{MaxBlockBytes: 999}, "1000 bytes, 999 at most"},
		{"deflate", deflated.String(), avro.Limits{MaxBlockBytes: 999}, "holds more than 999 bytes; source.files.limits.page_bytes is 999"},
		{"snappy", snapped + string(sum), avro.Limits{MaxBlockBytes: 999}, "999 at most"},
		{"zstandard", zstded, avro.Limits{MaxBlockBytes: 999}, "exceeded"},
		{"deflate", deflated.String()[:deflated.Len()-2], avro.Limits{}, "decompress block"},
		{"snappy", snapped + "\x00\x00\x00\x00", avro.Limits{}, "wrong checksum"},
		{"snappy", "\xff\xff\xff\xff\x0f" + string(sum), avro.Limits{}, "claim to hold"},
		{"zstandard", zstded[:len(zstded)-1], avro.Limits{}, "decompress block"},
		{"xz", data, avro.Limits{}, `codec "xz" is not supported`},
	} {
		records, err := readAll(strings.NewReader(head(`"int"`, c.codec)+block(1000, c.stored)), c.limits)
		if c.want == "" && (err != nil || len(records) != 1000) {
			t.Errorf("%s: %d records, %v", c.codec, len(records), err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.codec, err, c.want)
		}
	}
}

// TestCorrupt shows what is said about files that are not as they should be,
// and that lengths and counts that lie cost nothing.
func TestCorrupt(t *testing.T) {
	ints := head(`"int"`, "null")
	two := ints + block(2, long(1)+long(2))
	list := head(`{"type":"array","items":"null"}`, "null")
	loop := `{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"array","items":"r"}}]}`
	for _, c := range []struct {
		name, file string
		ordinal    int64
		want       string
	}{
		{"empty", "", 0, "no Avro object container file"},
		{"raw datum", "\x02\x04a", 0, "ends too early"},
		{"longer raw datum", "\x02\x04ab", 0, "without a container carry no schema"},
		{"other magic", "PAR1PAR1", 0, "it begins with"},
		{"no schema", "Obj\x01" + long(0) + marker, 0, "no avro.schema"},
		{"schema is no JSON", head("{", "null"), 0, "no JSON"},
		{"schema is no UTF-8", head("\"\xff\"", "null"), 0, "not UTF-8"},
		{"unknown type", head(`"what"`, "null"), 0, `type "what" is not known`},
		{"record without fields", head(`{"type":"record","name":"r"}`, "null"), 0, "has no fields"},
		{"field twice", head(`{"type":"record","name":"r","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}`, "null"), 0, `"a" twice`},
		{"schema too deep", head(strings.Repeat(`{"type":"array","items":`, 600)+`"int"`+strings.Repeat("}", 600), "null"), 0, "nested too deep"},
		{"fixed of a huge size", head(`{"type":"fixed","name":"f","size":1e300}`, "null"), 0, "has no size"},
		{"metadata too long", "Obj\x01" + long(1) + long(1<<40), 0, "a length of 1099511627776 bytes"},
		{"truncated header", two[:40], 0, "ends too early"},
		{"truncated block", two[:len(two)-17], 0, "ends too early"},
		{"truncated sync", two[:len(two)-1], 0, "ends too early"},
		{"wrong sync", two[:len(two)-1] + "x", 0, "no sync marker"},
		{"second block without sync", two + long(1) + text(long(3)) + "x" + marker, 2, "record 2"},
		{"more records than bytes", ints + block(3, long(1)+long(2)), 0, "claims 3 records"},
		{"fewer records than bytes", ints + block(1, long(1)+long(2)), 0, "1 bytes of the block are left"},
		{"negative count", ints + block(-1, long(1)), 0, "claims -1 records"},
		{"negative size", ints + long(1) + long(-1), 0, "a length of -1"},
		{"int of 33 bits", ints + block(1, long(1<<31)), 0, "an int of 2147483648"},
		{"endless number", ints + block(1, strings.Repeat("\xff", 20)), 0, "does not end"},
		{"second record", ints + block(2, long(1)+"\xff"), 1, "record 1"},
		{"boolean of 2", head(`"boolean"`, "null") + block(1, "\x02"), 0, "a boolean of 2"},
		{"enum symbol", head(`{"type":"enum","name":"e","symbols":["A"]}`, "null") + block(1, long(1)), 0, "symbol 1 of an enum of 1"},
		{"union branch", head(`["null","int"]`, "null") + block(1, long(2)), 0, "branch 2 of a union of 2"},
		{"string beyond the block", head(`"string"`, "null") + block(1, long(1<<40)), 0, "bytes wanted"},
		{"array of nothing without end", list + block(1, long(math.MaxInt64)), 0, "a record takes more than"},
		{"array of the least count", list + block(1, long(math.MinInt64)+long(0)), 0, "items"},
		{"array beyond the block", head(`{"type":"array","items":"int"}`, "null") + block(1, long(1<<50)), 0, "items"},
		{"array block of wrong size", head(`{"type":"array","items":"int"}`, "null") + block(1, long(-1)+long(2)+long(1)+long(0)), 0, "not as long as it says"},
		{"records of nothing without end", head(`"null"`, "null") + block(1<<60, ""), 0, "claims"},
		{"recursion", head(loop, "null") + block(1, strings.Repeat(long(1), 5000)), 0, "nested too deep"},
		{"recursion without bytes", head(`{"type":"record","name":"r","fields":[{"name":"a","type":"r"}]}`, "null") + block(1, ""), 0, "nested too deep"},
	} {
		_, err := readAll(strings.NewReader(c.file), avro.Limits{MaxRecordBytes: 1 << 20})
		var broken *typed.Error
		if !errors.As(err, &broken) || !strings.Contains(err.Error(), c.want) || broken.Ordinal != c.ordinal {
			t.Errorf("%s: %v, want %q at record %d", c.name, err, c.want, c.ordinal)
		}
	}
}

// TestSourceFails tells a failing store from a broken object.
func TestSourceFails(t *testing.T) {
	lost := errors.New("connection lost")
	file := head(`"int"`, "null") + block(2, long(1)+long(2))
	for cut := range len(file) {
		_, err := readAll(io.MultiReader(strings.NewReader(file[:cut]), iotest.ErrReader(lost)), avro.Limits{})
		var broken *typed.Error
		if !errors.Is(err, lost) || errors.As(err, &broken) {
			t.Fatalf("after %d bytes: %v", cut, err)
		}
	}
}

// TestEmptyFile holds a file without blocks, and one with empty blocks.
func TestEmptyFile(t *testing.T) {
	for _, file := range []string{head(`"int"`, "null"), head(`"int"`, "null") + block(0, "") + block(0, "")} {
		if records, err := readAll(strings.NewReader(file), avro.Limits{}); err != nil || len(records) > 0 {
			t.Errorf("%d records, %v", len(records), err)
		}
	}
}

// TestOneByteAtATime reads from a source that gives as little as it may.
func TestOneByteAtATime(t *testing.T) {
	file := head(`"string"`, "null") + block(2, text("a")+text("b")) + block(1, text("c"))
	records, err := readAll(iotest.OneByteReader(strings.NewReader(file)), avro.Limits{})
	if got := rendered(t, records); err != nil || got != "\"a\"\n\"b\"\n\"c\"" {
		t.Errorf("%s, %v", got, err)
	}
}

// FuzzReader feeds any bytes; the seeds have one file for each shape of schema.
func FuzzReader(f *testing.F) {
	f.Add([]byte(head(`"int"`, "null") + block(2, long(1)+long(2))))
	f.Add([]byte(head(`["null",{"type":"map","values":{"type":"array","items":"null"}}]`, "null") +
		block(1, long(1)+long(1)+text("k")+long(2)+long(0)+long(0))))
	f.Add([]byte(head(`{"type":"record","name":"r","fields":[{"name":"a","type":["null","r"]},{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":40,"scale":3}}]}`, "null") +
		block(1, long(0)+text("\x01\x02"))))
	f.Add([]byte(head(`{"type":"long","logicalType":"timestamp-nanos"}`, "deflate") + block(1, "\x03\x00\x00")))
	f.Add([]byte(head(`"string"`, "snappy") + block(1, "\x02\x04\x02a\x00\x00\x00\x00")))
	f.Add([]byte(head(`"bytes"`, "zstandard") + block(1, "\x28\xb5\x2f\xfd")))
	f.Fuzz(func(t *testing.T, file []byte) {
		limits := avro.Limits{MaxBlockBytes: 1 << 16, MaxRecordBytes: 1 << 16, MaxDepth: 32}
		first, err := readAll(bytes.NewReader(file), limits)
		if errors.Is(err, typed.ErrMalformed) {
			t.Fatalf("a record is malformed: %v", err)
		}
		for _, rec := range first {
			if _, err := typed.AppendJSON(nil, rec); err != nil {
				t.Fatal(err)
			}
		}
		again, _ := readAll(bytes.NewReader(file), limits)
		if len(again) != len(first) {
			t.Fatalf("%d records, then %d", len(first), len(again))
		}
	})
}

// BenchmarkReader reads a file of 100,000 records of four fields.
func BenchmarkReader(b *testing.B) {
	var file strings.Builder
	file.WriteString(head(`{"type":"record","name":"r","fields":[{"name":"id","type":"long"},{"name":"name","type":["null","string"]},`+
		`{"name":"price","type":"double"},{"name":"tags","type":{"type":"array","items":"string"}}]}`, "null"))
	record := long(123456) + long(1) + text("a name") + "\x00\x00\x00\x00\x00\x00\xf0\x3f" + long(2) + text("one") + text("two") + long(0)
	for range 100 {
		file.WriteString(block(1000, strings.Repeat(record, 1000)))
	}
	b.ReportAllocs()
	b.SetBytes(int64(file.Len()))
	for b.Loop() {
		rd, err := avro.NewReader(strings.NewReader(file.String()), avro.Limits{})
		var rec []byte
		for n := 0; err == nil && n < 100_000; n++ {
			rec, err = rd.Next(rec[:0])
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
