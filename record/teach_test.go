package record_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
)

// TestD12_AMendedKeyIsTheKeyOfItsColumn reads keys with bytes that are no text
// under each policy: what is learned can be stored and is what the rows hold.
func TestD12_AMendedKeyIsTheKeyOfItsColumn(t *testing.T) {
	late := strings.Repeat("{\"p\":\"x\"}\n", 50)
	utf16 := func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			b.WriteString(s[i:i+1] + "\x00")
		}
		return b.String()
	}
	for _, c := range []struct {
		name, body    string
		kind          record.Kind
		encoding      string
		replace, keep string // columns
	}{
		{"key", "{\"\xff\":1}\n", record.NDJSON, "", "\ufffd:int64", ""},
		{"two keys that are mended alike", "{\"\xff\":1}\n{\"\xfe\":2}\n{\"\ufffd\":3}\n", record.NDJSON, "", "\ufffd:int64", "\ufffd:int64"},
		{"twice in a record once mended", "{\"\xff\":1,\"\xfe\":2}\n{\"a\":1}\n", record.NDJSON, "", "a:int64", "a:int64"},
		{"nested", "{\"o\":{\"\xff\":1,\"b\":2}}\n{\"o\":{\"\xfe\":1,\"b\":2}}\n", record.NDJSON, "", "o:struct<b:int64,\ufffd:int64>", ""},
		{"late", late + "{\"\xff\":1}\n", record.NDJSON, "", "p:string,\ufffd:int64", "p:string"},
		{"document", "[{\"a\":1},{\"\xff\":2}]", record.JSON, "", "a:int64,\ufffd:int64", "a:int64"},
		{"windows-1252", "{\"\x81\":1}\n", record.NDJSON, "windows-1252", "\ufffd:int64", ""},
		{"utf-16", utf16("{\"") + "\x00\xd8" + utf16("\":1}\n"), record.NDJSON, "utf-16le", "\ufffd:int64", ""},
		{"avro", avroContainer(`{"type":"map","values":"long"}`, long(1)+text("\xff")+long(1)+long(0)), record.Auto, "", "", ""},
		{"map of avro", avroFile(`{"name":"m","type":{"type":"map","values":"long"}}`, long(1)+text("\xff")+long(1)+long(0)), record.Auto, "", "m:map<string,int64>", ""},
	} {
		for policy, want := range map[record.Policy]string{record.Replace: c.replace, record.Keep: c.keep, record.Reject: c.keep} {
			opt := record.Options{Rules: schema.Rules{MinRecords: 1}, Limits: record.Limits{PrimeBytes: 60},
				Format: record.Format{Kind: c.kind, Encoding: c.encoding, Invalid: policy}}
			out := decode(t, opt, input{"o", c.body})
			if got := columnKeys(out.schema); got != want {
				t.Errorf("%s, %q: columns %s, want %s", c.name, policy, got, want)
			}
			for _, row := range out.rows {
				if !strings.Contains(row, `"_rescued":null`) {
					t.Errorf("%s, %q: row %s", c.name, policy, row)
				}
			}
			stored, err := json.Marshal(out.schema)
			var back schema.Schema
			if err != nil || json.Unmarshal(stored, &back) != nil || !back.Equal(out.schema) {
				t.Errorf("%s, %q: %v, stored as %s", c.name, policy, err, stored)
			}
		}
	}
}

// columnKeys lists keys and types of a table's columns.
func columnKeys(s *schema.Schema) string {
	var typed func(schema.Type) string
	typed = func(t schema.Type) string {
		if t.Kind != schema.Struct {
			return t.String()
		}
		var fields []string
		for _, f := range t.Fields {
			fields = append(fields, f.Key+":"+typed(f.Type))
		}
		slices.Sort(fields)
		return "struct<" + strings.Join(fields, ",") + ">"
	}
	var all []string
	for _, f := range s.Fields {
		if f.Key != "" {
			all = append(all, f.Key+":"+typed(f.Type))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// TestARecordThatIsNoRowTeachesNothing has one bad record among good ones, before
// and behind the point up to which types are learned first.
func TestARecordThatIsNoRowTeachesNothing(t *testing.T) {
	many := `{"id":1`
	for i := range 3000 {
		many += fmt.Sprintf(`,"k%d":1`, i)
	}
	avroFields := `{"name":"id","type":["long","string"]},{"name":"m","type":{"type":"map","values":["long","string"]}},{"name":"s","type":["null","string"]}`
	avroGood := long(0) + long(1) + long(1) + text("a") + long(0) + long(1) + long(0) + long(0)
	for _, c := range []struct {
		name      string
		format    record.Format
		good, bad string
		columns   string
	}{
		{"D14_type and column", record.Format{}, `{"id":1}`, `{"id":"x","id":2,"zz":5}`, "id:int64"},
		{"D14_many columns", record.Format{}, `{"id":1}`, many + `,"id":2}`, "id:int64"},
		{"D14_escaped", record.Format{}, `{"id":1}`, `{"new":"x","n\u0065w":2}`, "id:int64"},
		{"D14_nested", record.Format{}, `{"o":{"x":1}}`, `{"z":1,"o":{"x":1.5,"x":"s","y":1}}`, "o:struct<x:int64>"},
		{"D14_in a list", record.Format{}, `{"o":[{"x":1}]}`, `{"z":1,"o":[{"x":1},{"x":1,"x":"s"}]}`, "o:list<struct<x:int64>>"},
		{"D14_in a map", record.Format{}, `{"id":1,"m":{"x":1}}`, `{"id":"s","m":{"x":1,"x":2}}`, "id:int64"},
		{"D14_a wide integer", record.Format{}, `{"id":1}`, `{"id":9007199254740993,"x":1,"x":2}` + "\n" + `{"id":1.5}`, "id:float64"},
		{"D14_document", record.Format{Kind: record.JSON}, `{"id":1}`, `{"id":"x","id":2,"zz":5}`, "id:int64"},
		{"D12_invalid text", record.Format{Invalid: record.Keep}, `{"id":1}`, "{\"id\":\"\xff\",\"zz\":5}", "id:int64"},
		{"D12_invalid text, bytes besides", record.Format{Invalid: record.Keep}, "{\"id\":1,\"raw\":\"\xff\"}", "{\"id\":\"\xff\",\"zz\":5,\"raw\":\"\xff\"}", "id:int64"},
		{"D12_invalid cell", record.Format{Kind: record.CSV, Invalid: record.Keep}, "1,\xff", "\xff,\xff", "id:int64"},
		{"ragged", record.Format{Kind: record.CSV}, "1,x", "y", "id:int64"},
		{"bad quote", record.Format{Kind: record.CSV}, "1,x", `y,"x"y`, "id:int64"},
		{"D12_invalid line", record.Format{Kind: record.Lines, Invalid: record.Keep}, "", "\xff", ""},
		{"D12_avro", record.Format{Kind: record.Avro, Invalid: record.Keep}, avroGood, long(1) + text("\xff") + long(0) + long(1) + text("s"), "id:int64"},
	} {
		for _, before := range []int{0, 1, 200} {
			for _, prime := range []int{50, 1 << 20} {
				if c.format.Kind == "" {
					c.format.Kind = record.NDJSON
				}
				opt := record.Options{Format: c.format, Limits: record.Limits{PrimeBytes: prime}, Rules: pinned(t, "raw bytes", "m map<string,int64>")}
				lines := slices.Concat(slices.Repeat([]string{c.good}, before), []string{c.bad}, slices.Repeat([]string{c.good}, 200))
				body := strings.Join(lines, "\n")
				switch c.format.Kind {
				case record.CSV:
					body = "id,raw\n" + body
				case record.JSON:
					body = "[" + strings.Join(lines, ",") + "]"
				case record.Avro:
					body = avroFile(avroFields, lines...)
				}
				out := decode(t, opt, input{"o", body})
				if got := strings.TrimPrefix(columns(out.schema), "m:map<string,int64>,"); len(out.dead) != 1 || !isAmong(got, c.columns) {
					t.Errorf("%s, %d before, primed %d: %d rows, dead %s, columns %.200s, want %s", c.name, before, prime, len(out.rows), codes(out), got, c.columns)
				}
			}
		}
	}
}

// isAmong says whether columns are those wanted and the pinned ones.
func isAmong(columns, want string) bool {
	for _, pinned := range []string{"m:map<string,int64>", "raw:bytes"} {
		columns = strings.ReplaceAll(strings.ReplaceAll(columns, ","+pinned, ""), pinned, "")
	}
	return strings.TrimPrefix(columns, ",") == want
}

// TestDeadLettersChangeNoRow takes the bad records out of random batches: what is
// left becomes the same rows under the same schema.
func TestDeadLettersChangeNoRow(t *testing.T) {
	rng := random(t)
	dead := 0
	for range 2000 {
		var lines []string
		for range 1 + rng.IntN(30) {
			line := randomObject(rng, 1+rng.IntN(8), 4)
			switch rng.IntN(8) {
			case 0:
				line = line[:len(line)-1] + `,"w":` + randomValue(rng, 9, 2) + `,"w":1}`
			case 1:
				line = `{"w":` + line + line[1:]
			case 2:
				line = line[:len(line)-1] + "\xff"
			case 3:
				line = strings.Replace(line, `"`, "\"\xff", 1)
			}
			lines = append(lines, strings.Replace(line, "{,", "{", 1))
		}
		opt := small()
		opt.Limits.PrimeBytes = 1 << 20
		opt.Format.Invalid = [...]record.Policy{record.Reject, record.Replace, record.Keep}[rng.IntN(3)]
		all := decode(t, opt, input{"o", strings.Join(lines, "\n")})
		var good []string
		bad := map[string]bool{}
		for _, d := range all.dead {
			bad[string(d.Raw)] = true
		}
		for _, line := range lines {
			if !bad[line] {
				good = append(good, line)
			}
		}
		dead += len(all.dead)
		rest := decode(t, opt, input{"o", strings.Join(good, "\n")})
		if len(rest.dead) > 0 || users(rest) != users(all) || !rest.schema.Equal(all.schema) {
			t.Fatalf("policy %q\n%s\n became\n%s\n%s\n and without the bad records\n%s\n%s\n%s", opt.Format.Invalid, strings.Join(lines, "\n"), columns(all.schema), users(all), columns(rest.schema), users(rest), codes(rest))
		}
	}
	if dead < 1000 {
		t.Errorf("%d dead letters: too few to say anything", dead)
	}
}
