package record_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
	"batcher/source"
)

// jsonOptions are those of documents, with or without an envelope.
func jsonOptions(unnest ...string) record.Options {
	return record.Options{Format: record.Format{Kind: record.JSON, Unnest: unnest}, Rules: schema.Rules{MinRecords: 1}}
}

func TestD27_Documents(t *testing.T) {
	for name, c := range map[string]struct{ body, rows, codes string }{
		"one":              {`{"a":1}`, `{"a":1}`, ""},
		"pretty":           {"{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}\n", `{"a":1,"b":[2]}`, ""},
		"array":            {`[{"a":1},{"a":2}]`, "{\"a\":1}\n{\"a\":2}", ""},
		"pretty array":     {"[\n  {\n    \"a\": 1\n  },\n  {\n    \"a\": 2\n  }\n]\n", "{\"a\":1}\n{\"a\":2}", ""},
		"empty array":      {` [ ] `, "", ""},
		"empty arrays":     {"[][]\n[{\"a\":1}]", `{"a":1}`, ""},
		"D27_concatenated": {`{"a":1}{"a":2}` + "\n" + `{"a":3} {"a":4}`, "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n{\"a\":4}", ""},
		"lines":            {"{\"a\":1}\n\n{\"a\":2}\r\n", "{\"a\":1}\n{\"a\":2}", ""},
		"array of lines":   {"[{\"a\":1},\n{\"a\":2}\n,{\"a\":3}]", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}", ""},
		"D15_mark":         {"\ufeff[{\"a\":1}]", `{"a":1}`, ""},
		"nested arrays":    {`[[{"a":1}],{"a":2}]`, `{"a":2}`, "schema/not_object"},
		"scalars":          {`[1,"x",null,true,{"a":1}] 7 "y"`, `{"a":1}`, strings.TrimSpace(strings.Repeat("schema/not_object ", 6))},
		"words":            {`[truth,1x,{"a":1}]`, `{"a":1}`, "syntax/syntax syntax/trailing"},
		"D28_bad element":  {`[{"a":},{"a":1},{"a" 1},{"a":1,}]`, `{"a":1}`, "syntax/syntax syntax/syntax syntax/syntax"},
		"brackets in text": {`[{"a":"]}\"["},{"a":"\\"}]`, `{"a":"]}\"["}` + "\n" + `{"a":"\\"}`, ""},
		"D12_invalid":      {"[{\"a\":\"\xff\"},{\"a\":1}]", `{"a":1}`, "utf8/invalid_utf8"},
		"D14_twice":        {`[{"a":1,"a":2},{"a":3}]`, `{"a":3}`, "schema/duplicate_key"},
		"junk":             {"{\"a\":1}\njunk {\"a\":2}\n{\"a\":3}", "{\"a\":1}\n{\"a\":3}", "syntax/syntax"},
		"junk at the end":  {`[{"a":1}] , "x"`, `{"a":1}`, "syntax/syntax"},
		"commas outside":   {"{\"a\":1},\n{\"a\":2}\n", "{\"a\":1}\n{\"a\":2}", "syntax/syntax"},
		"closed twice":     {`{"a":1}}`, `{"a":1}`, "syntax/syntax"},
		"open at the end":  {`{"a":1}{"a":`, `{"a":1}`, "syntax/syntax"},
		"open string":      {`{"a":1}"x`, `{"a":1}`, "syntax/syntax"},
		"deep":             {`{"a":1}` + strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10000) + `{"a":2}`, "{\"a\":1}\n{\"a\":2}", "syntax/too_deep"},
		"deep in an array": {`[{"a":1},` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `,{"a":2}]`, "{\"a\":1}\n{\"a\":2}", "syntax/too_deep"},
		"D17_nothing":      {"", "", ""},
		"D17_space":        {" \r\n\t", "", ""},
		"D17_mark":         {"\ufeff", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := decode(t, jsonOptions(), input{"o", c.body})
			if users(out) != c.rows || codes(out) != c.codes {
				t.Errorf("rows %s, dead %v; want %s, %s", users(out), letters(out), c.rows, c.codes)
			}
			checkPartition(t, out, c.body)
			checkParts(t, random(t), withTable(jsonOptions(), out.schema), c.body, decode(t, withTable(jsonOptions(), out.schema), input{"o", c.body}))
		})
	}
}

func withTable(opt record.Options, s *schema.Schema) record.Options {
	opt.Table = s
	return opt
}

// TestBrokenDocuments says that a document that cannot be cut to its end is
// broken as a whole, and that the first range of it says so already.
func TestBrokenDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		body, reason string
		unnest       []string
	}{
		"truncated array":            {`[{"a":1},{"a":2}`, "it ends inside a value", nil},
		"truncated behind a comma":   {`[{"a":1},{"a":2},`, "it ends inside a value", nil},
		"truncated element":          {`[{"a":1},{"a":2`, "it ends inside a value", nil},
		"truncated string":           {`[{"a":1},{"a":"x]`, "it ends inside a value", nil},
		"truncated number":           {`[{"a":1},12`, "it ends inside a value", nil},
		"open array":                 {`[`, "it ends inside a value", nil},
		"missing comma":              {`[{"a":1}{"a":2}]`, "unexpected '{' between elements", nil},
		"missing comma, line":        {"[{\"a\":1}\n{\"a\":2}]", "unexpected '{' between elements", nil},
		"two commas":                 {`[{"a":1},,{"a":2}]`, "unexpected ',' where an element should be", nil},
		"comma first":                {`[,{"a":1}]`, "unexpected ',' where an element should be", nil},
		"comma last":                 {`[{"a":1},]`, "unexpected ']' where an element should be", nil},
		"junk element":               {`[{"a":1},x]`, "unexpected 'x' where an element should be", nil},
		"other bracket":              {`[{"a":1},{"a":2}}`, "unexpected '}' between elements", nil},
		"NUL":                        {`[{"a":1},{"a":2}` + strings.Repeat(" ", 70000) + "\x00]", `unexpected '\x00' between elements`, nil},
		"truncated envelope":         {`{"R":[{"a":1},{"a":2}]`, "it ends inside a value", []string{"R"}},
		"truncated records":          {`{"R":[{"a":1},{"a":2}`, "it ends inside a value", []string{"R"}},
		"truncated member":           {`{"x":{"y":`, "it ends inside a value", []string{"R"}},
		"truncated key":              {`{"R":[{"a":1}],"x`, "it ends inside a value", []string{"R"}},
		"truncated behind a key":     {`{"R":[{"a":1}],"x"`, "it ends inside a value", []string{"R"}},
		"key without colon":          {`{"R" [{"a":1}]}`, "unexpected '[' behind a key", []string{"R"}},
		"envelope without comma":     {`{"R":[{"a":1}] "x":1}`, `unexpected '"' in an envelope`, []string{"R"}},
		"key is no string":           {`{"R":[{"a":1}],7:1}`, "unexpected '7' where a key should be", []string{"R"}},
		"member is no value":         {`{"x":}`, "unexpected '}' where a value should be", []string{"R"}},
		"array of envelopes":         {`[{"R":[{"a":1}]},{"R":[{"a":2}]}`, "it ends inside a value", []string{"R"}},
		"array of envelopes, commas": {`[{"R":[{"a":1}]} {"R":[{"a":2}]}]`, "unexpected '{' between elements", []string{"R"}},
		"second envelope":            {`{"R":[{"a":1}]}{"R":[{"a":2}`, "it ends inside a value", []string{"R"}},
	} {
		for limit := range 3 {
			t.Run(fmt.Sprint(name, "/limit ", limit), func(t *testing.T) {
				opt := jsonOptions(c.unnest...)
				opt.Table = schema.New()
				d := record.NewDecoder(opt)
				_, err := d.Decode(context.Background(), record.Object{Source: "o", MaxRecords: int64(limit)}, strings.NewReader(c.body))
				var broken *record.BrokenError
				if !errors.As(err, &broken) || broken.Reason != "broken JSON document: "+c.reason {
					t.Fatalf("got %v, want %s", err, c.reason)
				}
			})
		}
	}
}

func TestOverlongElements(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", 300) + `"}`
	for name, c := range map[string]struct {
		body   string
		unnest []string
	}{
		"array":        {`[{"a":1},` + long + `,{"a":2}]`, nil},
		"concatenated": {`{"a":1}` + long + `{"a":2}`, nil},
		"records":      {`{"R":[{"a":1},` + long + `,{"a":2}]}`, []string{"R"}},
	} {
		opt := jsonOptions(c.unnest...)
		opt.Limits.MaxRecordBytes = 200
		out := decode(t, opt, input{"o", c.body})
		if users(out) != "{\"a\":1}\n{\"a\":2}" || codes(out) != "length/too_long" {
			t.Fatalf("%s: rows %s, dead %v", name, users(out), letters(out))
		}
		if d := out.dead[0]; d.Offset != int64(strings.Index(c.body, long)) || d.Length != int64(len(long)) || string(d.Raw) != long || d.Message != "308 bytes, more than the 200 that source.files.limits.record_bytes allows" {
			t.Errorf("%s: dead letter %v", name, letters(out))
		}
		checkPartition(t, out, c.body)
	}
}

func TestD27_Envelopes(t *testing.T) {
	one := `{"Records":[{"a":1},{"a":2}],"x":{"Records":[{"a":9}]}}`
	for name, c := range map[string]struct{ unnest, body, rows, codes string }{
		"CloudTrail":             {"Records", one, "{\"a\":1}\n{\"a\":2}", ""},
		"concatenated":           {"Records", one + `{"Records":[{"a":3}]}`, "{\"a\":1}\n{\"a\":2}\n{\"a\":3}", ""},
		"CloudWatch, by lines":   {"logEvents", "{\"owner\":\"1\",\"logEvents\":[{\"id\":\"a\"}]}\n{\"owner\":\"2\",\"logEvents\":[{\"id\":\"b\"}]}\n", "{\"id\":\"a\"}\n{\"id\":\"b\"}", ""},
		"Firehose, control":      {"logEvents", `{"messageType":"CONTROL_MESSAGE","logEvents":[]}{"logEvents":[{"id":"b"}]}`, `{"id":"b"}`, ""},
		"path":                   {"detail.events.list", `{"detail":{"n":1,"events":{"list":[{"a":1}],"m":2}},"events":{"list":[{"a":9}]}}`, `{"a":1}`, ""},
		"pretty":                 {"d.R", "{\n \"d\": {\n  \"R\": [\n   {\n    \"a\": 1\n   }\n  ]\n }\n}\n", `{"a":1}`, ""},
		"path by pieces":         {"d.R", `{"d":{"x":1},"d":{"R":[{"a":1}]}}`, `{"a":1}`, ""},
		"array of envelopes":     {"R", `[{"R":[{"a":1}]},{"R":[]},{"R":[{"a":2}]}]`, "{\"a\":1}\n{\"a\":2}", ""},
		"arrays and envelopes":   {"R", `[{"R":[{"a":1}]}]{"R":[{"a":2}]}[]`, "{\"a\":1}\n{\"a\":2}", ""},
		"key twice":              {"R", `{"R":[{"a":1}],"R":[{"a":2}]}`, "{\"a\":1}\n{\"a\":2}", ""},
		"escaped key":            {"R", `{"\u0052":[{"a":1}]}`, `{"a":1}`, ""},
		"key of bad escape":      {"R", `{"\ud800":[{"a":9}],"\x":1,"R":[{"a":1}]}`, `{"a":1}`, ""},
		"empty":                  {"R", `{"R":[]}`, "", ""},
		"empty, and not":         {"R", `{"R":[]}{"R":[{"a":1}]}`, `{"a":1}`, ""},
		"without":                {"R", `{"x":[{"a":1}]}{"R":[{"a":1}]}`, `{"a":1}`, "envelope/no_records"},
		"of another type":        {"R", `{"R":null}{"R":{"a":1}}{"R":"[]"}{"R":[{"a":1}]}`, `{"a":1}`, "envelope/no_records envelope/no_records envelope/no_records"},
		"path ends early":        {"d.R", `{"d":[{"a":1}]}{"d":{}}{}`, "", "envelope/no_records envelope/no_records envelope/no_records"},
		"other type, then right": {"R", `{"R":7,"R":[{"a":1}]}`, `{"a":1}`, ""},
		"no envelopes":           {"R", `7 "x" [1,[{"a":1}]] junk`, "", "envelope/no_records envelope/no_records envelope/no_records envelope/no_records syntax/syntax"},
		"bad records":            {"R", `{"R":[{"a":1},{"a":},7,[{}],{"a":2}]}`, "{\"a\":1}\n{\"a\":2}", "syntax/syntax schema/not_object schema/not_object"},
		"D17_nothing":            {"R", " ", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			opt := jsonOptions(strings.Split(c.unnest, ".")...)
			out := decode(t, opt, input{"o", c.body})
			if users(out) != c.rows || codes(out) != c.codes {
				t.Errorf("rows %s, dead %v; want %s, %s", users(out), letters(out), c.rows, c.codes)
			}
			checkPartition(t, out, c.body)
			opt.Table = out.schema
			checkParts(t, random(t), opt, c.body, decode(t, opt, input{"o", c.body}))
		})
	}
}

// TestEnvelopeDeadLetters says what is kept of an envelope without records, in
// the object's encoding or another.
func TestEnvelopeDeadLetters(t *testing.T) {
	envelope := `{"é":"` + strings.Repeat("é", record.KeptBytes) + `"}`
	for _, body := range []string{"{\"x\":\"é\"}\n" + envelope + " {\"R\":[{}]}"} {
		for _, encoding := range []string{"", "utf-16le"} {
			opt := jsonOptions("R")
			from := len("{\"x\":\"é\"}\n")
			if opt.Format.Encoding = encoding; encoding != "" {
				body, from = written(body, encoding), 2*10
			}
			out := decode(t, opt, input{"o", body})
			if len(out.rows) != 1 || codes(out) != "envelope/no_records envelope/no_records" {
				t.Fatalf("%d rows, dead %s", len(out.rows), codes(out))
			}
			if d := out.dead[0]; d.Offset != 0 || d.Length != 10 || string(d.Raw) != `{"x":"é"}` {
				t.Errorf("%s: %v", encoding, letters(out)[0])
			}
			if d := out.dead[1]; d.Offset != int64(from) || d.Length != int64(len(envelope)) || string(d.Raw) != envelope[:record.KeptBytes] {
				t.Errorf("%s: at %d, length %d, %d bytes kept", encoding, d.Offset, d.Length, len(d.Raw))
			}
		}
	}
}

// TestDocumentPositions reads a document from each position on.
func TestDocumentPositions(t *testing.T) {
	body := ` [ {"a":1} ,7, {"a":2}]{"a":3}`
	opt := jsonOptions()
	opt.Table = decode(t, opt, input{"o", body}).schema
	whole := decode(t, opt, input{"o", body})
	want := []int64{3, 15, 23}
	rows, _ := offsets(t, whole)
	if fmt.Sprint(rows) != fmt.Sprint(want) {
		t.Fatalf("rows at %v, want %v", rows, want)
	}
	for from := range len(body) + 1 {
		out := &outcome{}
		d := record.NewDecoder(out.collect(t, opt))
		res, err := d.Decode(context.Background(), record.Object{Source: "o", From: source.Position(from)}, strings.NewReader(body))
		if err == nil {
			err = d.Flush()
		}
		n := 0
		for _, pos := range append(want, 12) {
			if pos >= int64(from) {
				n++
			}
		}
		if err != nil || int(res.Records) != n || res.Bytes != int64(len(body)-from) || !res.Last {
			t.Fatalf("from %d: %+v, %v; want %d records", from, res, err, n)
		}
	}
}
