package record_test

import (
	"fmt"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
)

func TestD28_BadRecordsBecomeDeadLetters(t *testing.T) {
	for name, c := range map[string]struct{ line, code, message string }{
		"D28_syntax":            {`{"a":}`, "syntax/syntax", `unexpected '}' at byte 5`},
		"ends early":            {`{"a":1`, "syntax/syntax", "the record ends inside a value, after 6 bytes"},
		"D27_two values":        {`{"a":1}{"a":2}`, "syntax/trailing", "something follows the object, at byte 7"},
		"D27_array":             {`[{"a":1}]`, "schema/not_object", "the record is valid JSON but no object"},
		"scalar":                {` 7`, "schema/not_object", "the record is valid JSON but no object"},
		"broken array":          {`[1,]`, "syntax/syntax", `unexpected ']' at byte 3`},
		"D12_invalid utf8":      {"{\"a\":\"x\xffy\"}", "utf8/invalid_utf8", "invalid UTF-8 at byte 7"},
		"D12_overlong utf8":     {"{\"a\":\"\xc0\xaf\"}", "utf8/invalid_utf8", "invalid UTF-8 at byte 6"},
		"D12_raw surrogate":     {"{\"a\":\"\xed\xa0\x80\"}", "utf8/invalid_utf8", "invalid UTF-8 at byte 6"},
		"D12_lone surrogate":    {`{"a":"\ud800"}`, "utf8/lone_surrogate", "half of a surrogate pair at byte 6"},
		"D12_low surrogate":     {`{"a":"x\udc00"}`, "utf8/lone_surrogate", "half of a surrogate pair at byte 7"},
		"D12_in a key":          {`{"\ud800\u0041":1}`, "utf8/lone_surrogate", "half of a surrogate pair at byte 2"},
		"D12_in json text":      {`{"j":["\ud800"]}`, "utf8/lone_surrogate", "half of a surrogate pair at byte 7"},
		"D14_duplicate":         {`{"a":1,"a":1}`, "schema/duplicate_key", "a key stands twice in one object, before byte 11"},
		"D14_escaped duplicate": {`{"a":1,"\u0061":1}`, "schema/duplicate_key", "a key stands twice in one object, before byte 16"},
		"D14_nested duplicate":  {`{"o":{"x":1,"x":2}}`, "schema/duplicate_key", "a key stands twice in one object, before byte 16"},
		"D14_null duplicate":    {`{"n":null,"n":null}`, "schema/duplicate_key", "a key stands twice in one object, before byte 14"},
		"too deep":              {`{"j":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + "}", "syntax/too_deep", "nested too deep at byte 516"},
		"deep and endless":      {`{"j":` + strings.Repeat("[", 100000), "syntax/too_deep", "nested too deep at byte 516"},
		"bad escape":            {`{"a":"\x"}`, "syntax/syntax", `unexpected 'x' at byte 7`},
		"bad hex":               {`{"a":"\u00g0"}`, "syntax/syntax", `unexpected '\\' at byte 6`},
		"control in string":     {"{\"a\":\"\t\"}", "syntax/syntax", `unexpected '\t' at byte 6`},
		"open string":           {`{"a":"x`, "syntax/syntax", "the record ends inside a value, after 7 bytes"},
		"form feed":             {"{\f\"a\":1}", "syntax/syntax", `unexpected '\f' at byte 1`},
		"too long":              {`{"a":"` + strings.Repeat("x", 100<<10) + `"}`, "length/too_long", "102408 bytes, more than the 102400 that source.files.limits.record_bytes allows"},
	} {
		for _, prime := range []int{1, 1 << 20} {
			t.Run(fmt.Sprint(name, "/prime ", prime), func(t *testing.T) {
				good := `{"a":"v","j":"t","n":null,"o":{"x":1}}` + "\n" + `{"j":{}}`
				opt := record.Options{Rules: schema.Rules{MinRecords: 1}, Limits: record.Limits{PrimeBytes: prime * len(good), MaxRecordBytes: 100 << 10}}
				out := decode(t, opt, input{"o", good + "\n" + c.line + "\n" + good + "\n"})
				if len(out.rows) != 4 || codes(out) != c.code {
					t.Fatalf("%d rows, dead %s", len(out.rows), codes(out))
				}
				d := out.dead[0]
				if d.Message != c.message || d.Source != "o" || d.Offset != int64(len(good)+1) || d.Length != int64(len(c.line)) ||
					string(d.Raw) != c.line[:min(len(c.line), record.KeptBytes)] {
					t.Errorf("dead letter at %d, length %d, %d bytes kept: %s", d.Offset, d.Length, len(d.Raw), d.Message)
				}
				if want := int64(5); out.results[0].Records != want || out.notes.Dead != 1 || out.notes.Rows != 4 {
					t.Errorf("%d records, notes %+v", out.results[0].Records, out.notes)
				}
			})
		}
	}
}

// TestD28_RowsAroundABadRecordAreWhole puts bad ends on records of every type:
// whatever was appended before the end is taken back.
func TestD28_RowsAroundABadRecordAreWhole(t *testing.T) {
	good := `{"b":true,"d":"2024-01-01","f":1.5,"i":1,"j":{},"l":[{"s":"x"},null,{"s":"y"}],"n":123456789012345678901234567890,"o":{"p":{"q":1}},"s":"text"}`
	var lines, want []string
	for cut := 1; cut < len(good); cut++ {
		lines = append(lines, good[:cut], good)
	}
	out := decode(t, record.Options{Rules: schema.Rules{MinRecords: 1}, Limits: record.Limits{BlockRows: 50}}, input{"o", strings.Join(lines, "\n")})
	if len(out.rows) != len(good)-1 || len(out.dead) != len(good)-1 {
		t.Fatalf("%d rows, %d dead", len(out.rows), len(out.dead))
	}
	for range out.rows {
		want = append(want, good)
	}
	if users(out) != strings.Join(want, "\n") {
		t.Fatalf("rows changed:\n%s", users(out))
	}
}

func TestD14_DuplicatesInJSONTextAreKeptAsReceived(t *testing.T) {
	line := `{"j":{"x":1,"x":2}}`
	out := decode(t, record.Options{}, input{"o", line})
	if len(out.dead) != 0 || users(out) != line {
		t.Fatalf("rows %s, dead %s", users(out), codes(out))
	}
}

func TestD11_OverlongRecordsAreNeverHeld(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", 5<<20) + `"}`
	opt := record.Options{Limits: record.Limits{MaxRecordBytes: 1 << 20}}
	out := decode(t, opt, input{"o", "{\"a\":1}\n" + long + "\n{\"a\":2}\n" + long})
	if users(out) != "{\"a\":1}\n{\"a\":2}" || codes(out) != "length/too_long length/too_long" {
		t.Fatalf("%d rows, dead %s", len(out.rows), codes(out))
	}
	for i, offset := range []int64{8, int64(8 + len(long) + 1 + 8)} {
		if d := out.dead[i]; d.Offset != offset || d.Length != int64(len(long)) || string(d.Raw) != long[:record.KeptBytes] {
			t.Errorf("dead letter at %d, length %d, kept %d", d.Offset, d.Length, len(d.Raw))
		}
	}
	if r := out.results[0]; r.Records != 4 || !r.Last || int(r.To) != 2*8+2*len(long)+1 {
		t.Errorf("result %+v", r)
	}
}

func TestD11_A70kBLineIsARecord(t *testing.T) {
	line := `{"a":"` + strings.Repeat("x", 3<<20) + `"}`
	out := decode(t, record.Options{}, input{"o", line + "\n" + line})
	if len(out.rows) != 2 || user(out.rows[1]) != line {
		t.Fatalf("%d rows, dead %s", len(out.rows), codes(out))
	}
}

func TestD17_NothingIsNoRecord(t *testing.T) {
	for name, body := range map[string]string{"empty": "", "newlines": "\n\r\n\n", "spaces": " \t \n  ", "mark": "\ufeff", "mark and newline": "\ufeff\n"} {
		out := decode(t, record.Options{}, input{"o", body})
		r := out.results[0]
		if out.blocks != 0 || r.Records != 0 || !r.Last || int(r.To) != len(body) || !r.IDSum.IsZero() || len(out.dead) > 0 || r.Content.IsZero() {
			t.Errorf("%s: %d blocks, dead %s, result %+v", name, out.blocks, codes(out), r)
		}
	}
}

func TestLineEnds(t *testing.T) {
	out := decode(t, record.Options{}, input{"o", "{\"a\":1}\r\n\r\n  {\"a\":2}  \r\n\n{\"a\":3}"})
	want := []string{`{"_source":"o","_offset":0,"_rescued":null,"a":1}`, `{"_source":"o","_offset":11,"_rescued":null,"a":2}`, `{"_source":"o","_offset":25,"_rescued":null,"a":3}`}
	if strings.Join(out.rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("rows %v", out.rows)
	}
}

func TestD15_ByteOrderMarkIsSteppedOver(t *testing.T) {
	out := decode(t, record.Options{}, input{"o", "\ufeff{\"a\":1}\n\ufeff{\"a\":2}\n"})
	if len(out.rows) != 1 || out.rows[0] != `{"_source":"o","_offset":3,"_rescued":null,"a":1}` || codes(out) != "syntax/syntax" {
		t.Fatalf("rows %v, dead %s", out.rows, codes(out))
	}
}
