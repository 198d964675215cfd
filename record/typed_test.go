package record_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"batcher/record"
)

// avroFile is a container with records of the fields given, by hand.
func avroFile(fields string, records ...string) string {
	return avroContainer(`{"type":"record","name":"r","fields":[`+fields+`]}`, records...)
}

// avroContainer is a container with one block.
func avroContainer(schema string, records ...string) string {
	return avroHead(schema) + long(int64(len(records))) + text(strings.Join(records, "")) + avroMarker
}

// avroMarker stands behind the head of a container and behind each block.
const avroMarker = "0123456789abcdef"

// avroHead is what stands before the blocks of a container.
func avroHead(schema string) string {
	return "Obj\x01" + long(1) + text("avro.schema") + text(schema) + long(0) + avroMarker
}

func long(v int64) string { return string(binary.AppendVarint(nil, v)) }

func text(s string) string { return long(int64(len(s))) + s }

func double(v float64) string {
	return string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
}

// TestTypedValuesBecomeColumns has one column for each kind of value.
func TestTypedValuesBecomeColumns(t *testing.T) {
	const decimal = `{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}`
	for _, c := range []struct {
		name, fields string
		records      []string
		columns      string
		rows         string
	}{
		{"plain", `{"name":"i","type":"long"},{"name":"f","type":"double"},{"name":"b","type":"boolean"},{"name":"s","type":"string"}`,
			[]string{long(1) + double(2) + "\x01" + text("x")}, "b:bool,f:float64,i:int64,s:string", `{"b":true,"f":2,"i":1,"s":"x"}`},
		{"D7 whole numbers stay exact", `{"name":"i","type":"long"}`, []string{long(9007199254740993), long(math.MinInt64)},
			"i:int64", `{"i":9007199254740993}` + "\n" + `{"i":-9223372036854775808}`},
		{"D1 a float is no whole number", `{"name":"v","type":["long","double"]}`, []string{long(0) + long(1), long(1) + double(3)},
			"v:float64", `{"v":1}` + "\n" + `{"v":3}`},
		{"text stays text", `{"name":"s","type":"string"}`, []string{text("2024-02-29"), text("2024-02-29")},
			"s:string", `{"s":"2024-02-29"}` + "\n" + `{"s":"2024-02-29"}`},
		{"date and timestamp", `{"name":"d","type":{"type":"int","logicalType":"date"}},{"name":"t","type":{"type":"long","logicalType":"timestamp-micros"}}`,
			[]string{long(19782) + long(1)}, "d:date,t:timestamp", `{"d":"2024-02-29","t":"1970-01-01T00:00:00.000001Z"}`},
		{"D24 nanoseconds are rescued", `{"name":"t","type":{"type":"long","logicalType":"timestamp-nanos"}}`, []string{long(1001)},
			"t:timestamp", `{"_rescued":"{\"t\":\"1970-01-01T00:00:00.000001001Z\"}","t":"1970-01-01T00:00:00.000001Z"}`},
		{"timestamps out of range are rescued", `{"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}}`, []string{long(0), long(253402300800000)},
			"t:timestamp", `{"t":"1970-01-01T00:00:00.000000Z"}` + "\n" + `{"_rescued":"{\"t\":\"+010000-01-01T00:00:00Z\"}","t":null}`},
		{"timestamps that microseconds do not reach are rescued", `{"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}}`,
			[]string{long(math.MaxInt64), long(0), long(math.MinInt64)}, "t:timestamp", `{"_rescued":"{\"t\":\"+292278994-08-17T07:12:55.807Z\"}","t":null}` + "\n" +
				`{"t":"1970-01-01T00:00:00.000000Z"}` + "\n" + `{"_rescued":"{\"t\":\"-292275055-05-16T16:47:04.192Z\"}","t":null}`},
		{"bytes", `{"name":"b","type":"bytes"}`, []string{text("\x00\xff")}, "b:bytes", `{"b":"AP8="}`},
		{"bytes and text", `{"name":"b","type":["bytes","string"]}`, []string{long(0) + text("\x01"), long(1) + text("x")},
			"b:bytes", `{"b":"AQ=="}` + "\n" + `{"b":"eA=="}`},
		{"bytes and number", `{"name":"b","type":["bytes","long"]}`, []string{long(0) + text("\x01"), long(1) + long(5)},
			"b:json", `{"b":{"base64":"AQ=="}}` + "\n" + `{"b":5}`},
		{"decimals", `{"name":"d","type":` + decimal + `}`, []string{text("\xff"), text("\x30\x39")},
			"d:decimal(38,2)", `{"d":-0.01}` + "\n" + `{"d":123.45}`},
		{"decimals and whole numbers", `{"name":"d","type":[` + decimal + `,"long"]}`, []string{long(0) + text("\x01"), long(1) + long(7)},
			"d:decimal(38,2)", `{"d":0.01}` + "\n" + `{"d":7.00}`},
		{"decimals of two scales", `{"name":"d","type":[` + decimal + `,{"type":"fixed","name":"f","size":1,"logicalType":"decimal","precision":2,"scale":1}]}`,
			[]string{long(1) + "\x05", long(0) + text("\x01")}, "d:decimal(38,2)", `{"d":0.50}` + "\n" + `{"d":0.01}`},
		{"decimals beyond 38 digits", `{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":50,"scale":2}}`,
			[]string{text("\x01" + strings.Repeat("\x00", 16)), text("\x01")},
			"d:string", `{"d":"3402823669209384634633746074317682114.56"}` + "\n" + `{"d":"0.01"}`},
		{"struct", `{"name":"a","type":["null",{"type":"record","name":"n","fields":[{"name":"x","type":"int"},{"name":"y","type":["null","string"]}]}]}`,
			[]string{long(1) + long(1) + long(1) + text("q"), long(0), long(1) + long(2) + long(0)},
			"a:struct<x:int64,y:string>", `{"a":{"x":1,"y":"q"}}` + "\n" + `{"a":null}` + "\n" + `{"a":{"x":2,"y":null}}`},
		{"list", `{"name":"a","type":{"type":"array","items":["null","int"]}}`,
			[]string{long(2) + long(1) + long(5) + long(0) + long(0), long(0)}, "a:list<int64>", `{"a":[5,null]}` + "\n" + `{"a":[]}`},
		{"map", `{"name":"m","type":{"type":"map","values":"long"}}`,
			[]string{long(2) + text("k") + long(1) + text("l") + long(2) + long(0), long(0)}, "m:map<string,int64>", `{"m":{"k":1,"l":2}}` + "\n" + `{"m":{}}`},
		{"map of mixed values", `{"name":"m","type":{"type":"map","values":["long",{"type":"array","items":"int"}]}}`,
			[]string{long(2) + text("k") + long(0) + long(1) + text("l") + long(1) + long(0) + long(0)}, "m:json", `{"m":{"k":1,"l":[]}}`},
		{"NaN", `{"name":"f","type":"double"}`, []string{double(math.Inf(1)), double(1)}, "f:float64", `{"f":"Infinity"}` + "\n" + `{"f":1}`},
		{"floats in text", `{"name":"v","type":["double","string"]}`, []string{long(0) + double(math.NaN()), long(0) + double(3), long(1) + text("x")},
			"v:string", `{"v":"NaN"}` + "\n" + `{"v":"3.0"}` + "\n" + `{"v":"x"}`},
		{"D3 null carries no type", `{"name":"n","type":"null"},{"name":"i","type":"int"}`, []string{long(1)}, "i:int64", `{"i":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := decode(t, record.Options{Format: record.Format{Kind: record.Auto}}, input{"o", avroFile(c.fields, c.records...)})
			if got := columns(out.schema); got != c.columns {
				t.Errorf("columns %s, want %s", got, c.columns)
			}
			if got := users(out); got != c.rows {
				t.Errorf("rows\n%s\nwant\n%s", got, c.rows)
			}
			for i, r := range out.results {
				if r.Records != int64(len(c.records)) || !r.Last || int64(r.To) != r.Records {
					t.Errorf("result %d: %+v", i, r)
				}
			}
		})
	}
}

// TestTypedValuesAndPublishedColumns shows what a column takes once its type is
// fixed, and that everything else is rescued.
func TestTypedValuesAndPublishedColumns(t *testing.T) {
	for _, c := range []struct{ column, avro, record, row string }{
		{`"int64"`, `"double"`, double(3), `{"v":3}`},
		{`"int64"`, `"double"`, double(3.5), `{"_rescued":"{\"v\":3.5}","v":null}`},
		{`"int64"`, `"string"`, text("5"), `{"v":5}`},
		{`"int64"`, `"string"`, text("005"), `{"_rescued":"{\"v\":\"005\"}","v":null}`},
		{`"decimal(9,1)"`, `"string"`, text("5.10"), `{"v":5.1}`},
		{`"bool"`, `"string"`, text("True"), `{"v":true}`},
		{`"int32"`, `"long"`, long(1 << 40), `{"_rescued":"{\"v\":1099511627776}","v":null}`},
		{`"float64"`, `"long"`, long(5), `{"v":5}`},
		{`"float64"`, `"long"`, long(1<<53 + 1), `{"_rescued":"{\"v\":9007199254740993}","v":null}`},
		{`"float64"`, `"string"`, text("NaN"), `{"v":"NaN"}`},
		{`"decimal(9,1)"`, `"long"`, long(7), `{"v":7.0}`},
		{`"decimal(9,1)"`, `{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}`, text("\x0a"), `{"v":0.1}`},
		{`"decimal(9,1)"`, `{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}`, text("\x0b"), `{"_rescued":"{\"v\":0.11}","v":null}`},
		{`"timestamp"`, `"string"`, text("2024-02-29T00:00:00Z"), `{"v":"2024-02-29T00:00:00.000000Z"}`},
		{`"timestamp"`, `{"type":"int","logicalType":"date"}`, long(0), `{"_rescued":"{\"v\":\"1970-01-01\"}","v":null}`},
		{`"date"`, `{"type":"int","logicalType":"date"}`, long(math.MaxInt32), `{"_rescued":"{\"v\":\"+5881580-07-11\"}","v":null}`},
		{`"string"`, `{"type":"int","logicalType":"date"}`, long(0), `{"v":"1970-01-01"}`},
		{`"string"`, `"boolean"`, "\x01", `{"v":"true"}`},
		{`"string"`, `"bytes"`, text("x"), `{"_rescued":"{\"v\":{\"base64\":\"eA==\"}}","v":null}`},
		{`"bytes"`, `"string"`, text("x"), `{"v":"eA=="}`},
		{`"bool"`, `"int"`, long(1), `{"_rescued":"{\"v\":1}","v":null}`},
		{`"json"`, `"double"`, double(math.NaN()), `{"v":"NaN"}`},
		{`"json"`, `{"type":"array","items":"int"}`, long(1) + long(1) + long(0), `{"v":[1]}`},
		{`"string"`, `{"type":"array","items":"int"}`, long(0), `{"_rescued":"{\"v\":[]}","v":null}`},
	} {
		table := published(t, field(17, "v", c.column))
		out := decode(t, record.Options{Table: table, Format: record.Format{Kind: record.Auto}}, input{"o", avroFile(`{"name":"v","type":`+c.avro+`}`, c.record)})
		if got := users(out); got != c.row || !out.schema.Equal(table) {
			t.Errorf("%s into %s: %s, want %s", c.avro, c.column, got, c.row)
		}
	}
}

// TestTypedTypesWidenOnceRowsWereEmitted lets types surprise after the first
// records decided them.
func TestTypedTypesWidenOnceRowsWereEmitted(t *testing.T) {
	limits := record.Limits{PrimeBytes: 1, BlockRows: 2}
	for _, c := range []struct {
		name, typ string
		records   []string
		columns   string
		rows      string
	}{
		{"int to double", `["long","double"]`, []string{long(0) + long(1), long(0) + long(2), long(0) + long(3), long(1) + double(0.5)},
			"v:float64", "1 2 3 0.5"},
		{"more digits behind the point", `[{"type":"bytes","logicalType":"decimal","precision":9,"scale":1},{"type":"fixed","name":"f","size":1,"logicalType":"decimal","precision":2,"scale":2}]`,
			[]string{long(0) + text("\x05"), long(0) + text("\x05"), long(1) + "\x01"}, "v:decimal(38,2)", "0.50 0.50 0.01"},
		{"values of a map", `{"type":"map","values":["long","double"]}`,
			[]string{long(1) + text("k") + long(0) + long(1) + long(0), long(0), long(1) + text("k") + long(1) + double(0.5) + long(0)},
			"v:map<string,float64>", `{"k":1} {} {"k":0.5}`},
		{"a field of a struct", `{"type":"record","name":"n","fields":[{"name":"x","type":"int"},{"name":"y","type":["null","int"]}]}`,
			[]string{long(1) + long(0), long(2) + long(0), long(3) + long(1) + long(4)},
			"v:struct<x:int64,y:int64>", `{"x":1,"y":null} {"x":2,"y":null} {"x":3,"y":4}`},
		{"a column of maps comes late", `["null",{"type":"map","values":"long"}]`, []string{long(0), long(0), long(1) + long(1) + text("k") + long(1) + long(0)},
			"v:map<string,int64>", `{ { {"k":1}`},
	} {
		out := decode(t, record.Options{Limits: limits, Format: record.Format{Kind: record.Auto}}, input{"o", avroFile(`{"name":"v","type":`+c.typ+`}`, c.records...)})
		got := users(out)
		got = strings.NewReplacer("{\"v\":", "", "}\n", " ").Replace(got + "\n")
		if columns(out.schema) != c.columns || got != c.rows+" " {
			t.Errorf("%s: columns %s, want %s; rows %s, want %s", c.name, columns(out.schema), c.columns, got, c.rows)
		}
	}
}

// TestTypedRecordsThatCannotBecomeRows become dead letters, rendered as JSON.
func TestTypedRecordsThatCannotBecomeRows(t *testing.T) {
	const strs = `{"name":"s","type":"string"}`
	for _, c := range []struct {
		name, body string
		policy     record.Policy
		dead, raw  string
		rows       string
	}{
		{"D12 invalid UTF-8", avroFile(strs, text("a\xff"), text("b")), record.Reject, "utf8/invalid_utf8", `{"s":{"base64":"Yf8="}}`, `{"s":"b"}`},
		{"D12 replaced", avroFile(strs, text("a\xff"), text("b")), record.Replace, "", "", "{\"s\":\"a\uFFFD\"}\n{\"s\":\"b\"}"},
		{"D14 a key twice", avroFile(`{"name":"v","type":{"type":"map","values":"int"}}`,
			long(2)+text("k")+long(1)+text("k")+long(2)+long(0), long(1)+text("k")+long(1)+long(0)), record.Reject,
			"", "", `{"_rescued":"{\"v[\\\"k\\\"]\":2}","v":{"k":1}}` + "\n" + `{"v":{"k":1}}`},
	} {
		out := decode(t, record.Options{Format: record.Format{Kind: record.Auto, Invalid: c.policy}}, input{"o", c.body})
		raw := ""
		if len(out.dead) > 0 {
			raw = string(out.dead[0].Raw)
		}
		if codes(out) != c.dead || raw != c.raw || users(out) != c.rows {
			t.Errorf("%s: dead %s %s, rows %s", c.name, codes(out), raw, users(out))
		}
	}
}

// TestTypedContainersThatBreak are refused as a whole.
// TestTypedInstantsBeyondAColumnCostLittle has timestamps and dates outside of the
// years of columns that are not published: none makes the decoder think again.
func TestTypedInstantsBeyondAColumnCostLittle(t *testing.T) {
	const fields = `{"name":"d","type":{"type":"int","logicalType":"date"}},{"name":"m","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"u","type":{"type":"long","logicalType":"timestamp-micros"}},{"name":"pad","type":"string"}`
	pad := text(strings.Repeat("x", 200))
	row := long(math.MaxInt32) + long(math.MaxInt64) + long(math.MaxInt64) + pad
	allocs := func(n int) float64 {
		body := avroHead(`{"type":"record","name":"r","fields":[`+fields+`]}`) + long(int64(n+1)) + text(strings.Repeat(long(0), 3)+pad+strings.Repeat(row, n)) + avroMarker
		return testing.AllocsPerRun(1, func() { decodeAs(t, record.Format{Kind: record.Avro}, body) })
	}
	if perRecord := (allocs(60000) - allocs(40000)) / 20000; perRecord > 0.1 {
		t.Errorf("%.3f allocations per record", perRecord)
	}
}

// TestTypedRecordsThatAreTooLongAreKeptAsJSON has records that are longer than
// allowed in their container, one of them shorter as JSON, and one nested.
func TestTypedRecordsThatAreTooLongAreKeptAsJSON(t *testing.T) {
	const most = 200 << 10
	floats := long(25<<10) + strings.Repeat(double(1), 25<<10) + long(0)
	for _, c := range []struct{ name, fields, good, bad, json, message string }{
		{"text", `{"name":"v","type":"string"}`, text("x"), text(strings.Repeat("é", most)), `{"v":"` + strings.Repeat("é", most) + `"}`, "409608 bytes, more than the 204800 that source.files.limits.record_bytes allows"},
		{"bytes", `{"name":"v","type":"bytes"}`, text("x"), text(strings.Repeat("\x00", most)), `{"v":{"base64":"` + strings.Repeat("A", 273066) + `A="}}`, "273087 bytes, more than the 204800 that source.files.limits.record_bytes allows"},
		{"list", `{"name":"v","type":{"type":"array","items":"double"}}`, long(0), floats, `{"v":[1.0` + strings.Repeat(",1.0", 25<<10-1) + `]}`, "more than the 204800 bytes that source.files.limits.record_bytes allows"},
	} {
		for _, prime := range []int{1, 1 << 20} {
			opt := record.Options{Format: record.Format{Kind: record.Avro}, Limits: record.Limits{MaxRecordBytes: most, PrimeBytes: prime}}
			out := decode(t, opt, input{"o", avroFile(c.fields, c.good, c.bad, c.good)})
			if len(out.rows) != 2 || codes(out) != "length/too_long" {
				t.Fatalf("%s: %d rows, dead %s", c.name, len(out.rows), codes(out))
			}
			if d := out.dead[0]; string(d.Raw) != c.json[:record.KeptBytes] || d.Length != int64(len(c.json)) || d.Message != c.message {
				t.Errorf("%s: %.40q of %d bytes, want %.40q of %d: %s", c.name, d.Raw, d.Length, c.json, len(c.json), d.Message)
			}
		}
	}
}

func TestTypedContainersThatBreak(t *testing.T) {
	empty := len(avroFile(`{"name":"s","type":"string"}`)) - len(long(0)+text("")+"0123456789abcdef")
	whole := avroFile(`{"name":"s","type":"string"}`, text("a"), text("b"))
	for cut := 5; cut < len(whole); cut++ {
		if cut == empty {
			continue // a file without a block is whole
		}
		if _, err := try(t, record.Options{Format: record.Format{Kind: record.Auto}}, input{"o", whole[:cut]}); err == nil || !strings.Contains(err.Error(), "broken object") {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

// TestTypedEncryptedParquet says why it is refused.
func TestTypedEncryptedParquet(t *testing.T) {
	_, err := try(t, record.Options{Format: record.Format{Kind: record.Auto}}, input{"o", "PARE" + strings.Repeat("\x00", 20) + "PARE"})
	if err == nil || !strings.Contains(err.Error(), "encrypted") {
		t.Errorf("got %v", err)
	}
}
