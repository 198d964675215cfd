package record_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"batcher/column"
	"batcher/record"
	"batcher/schema"
)

func TestColumnsFollowEveryValue(t *testing.T) {
	for name, c := range map[string]struct{ lines, columns, rows string }{
		"flat": {`{"b":true,"i":1,"f":1.5,"s":"x"}`,
			"b:bool,f:float64,i:int64,s:string", `{"b":true,"f":1.5,"i":1,"s":"x"}`},
		"D1_int and fraction": {"{\"a\":1}\n{\"a\":1.5}\n{\"a\":-0}",
			"a:float64", "{\"a\":1}\n{\"a\":1.5}\n{\"a\":-0}"},
		"D1_int and bool": {"{\"a\":1}\n{\"a\":true}",
			"a:string", "{\"a\":\"1\"}\n{\"a\":\"true\"}"},
		"D3_null carries no type": {"{\"a\":null,\"c\":null}\n{\"a\":{\"x\":1},\"b\":1}",
			"a:struct<x:int64>,b:int64", "{\"a\":null,\"b\":null}\n{\"a\":{\"x\":1},\"b\":1}"},
		"D5_missing is null": {"{\"a\":\"\",\"b\":0}\n{}",
			"a:string,b:int64", "{\"a\":\"\",\"b\":0}\n{\"a\":null,\"b\":null}"},
		"D7_exact int64": {"{\"a\":9007199254740993}\n{\"a\":-9223372036854775808}\n{\"a\":9223372036854775807}",
			"a:int64", "{\"a\":9007199254740993}\n{\"a\":-9223372036854775808}\n{\"a\":9223372036854775807}"},
		"D7_wide int and fraction": {"{\"a\":9007199254740993}\n{\"a\":1.50}",
			"a:string", "{\"a\":\"9007199254740993\"}\n{\"a\":\"1.50\"}"},
		"D8_30 digits": {"{\"a\":123456789012345678901234567890}\n{\"a\":-7}",
			"a:decimal(38,0)", "{\"a\":123456789012345678901234567890}\n{\"a\":-7}"},
		"D8_39 digits": {"{\"a\":123456789012345678901234567890123456789}",
			"a:string", `{"a":"123456789012345678901234567890123456789"}`},
		"beyond double":       {`{"a":1e400}`, "a:string", `{"a":"1e400"}`},
		"becomes zero":        {`{"a":1e-999,"b":0e-999}`, "a:string,b:float64", `{"a":"1e-999","b":0}`},
		"2^53 stays exact":    {"{\"a\":9007199254740992}\n{\"a\":0.5}", "a:float64", "{\"a\":9007199254740992}\n{\"a\":0.5}"},
		"date and text":       {"{\"a\":\"2024-02-29\"}\n{\"a\":\"soon\"}", "a:string", "{\"a\":\"2024-02-29\"}\n{\"a\":\"soon\"}"},
		"date":                {"{\"a\":\"2024-02-29\"}\n{\"a\":\"0001-01-01\"}", "a:date", "{\"a\":\"2024-02-29\"}\n{\"a\":\"0001-01-01\"}"},
		"no such date":        {`{"a":"2023-02-29"}`, "a:string", `{"a":"2023-02-29"}`},
		"local time is text":  {`{"a":"2023-02-03T04:05:06"}`, "a:string", `{"a":"2023-02-03T04:05:06"}`},
		"timestamp":           {"{\"a\":\"2023-02-03T04:05:06Z\"}\n{\"a\":\"2023-02-03 04:05:06.25+0130\"}", "a:timestamp", "{\"a\":\"2023-02-03T04:05:06.000000Z\"}\n{\"a\":\"2023-02-03T02:35:06.250000Z\"}"},
		"year 0 by its zone":  {`{"a":"0001-01-01T00:30:00+01:00"}`, "a:string", `{"a":"0001-01-01T00:30:00+01:00"}`},
		"leap second is text": {`{"a":"2016-12-31T23:59:60Z"}`, "a:string", `{"a":"2016-12-31T23:59:60Z"}`},
		"nanoseconds": {`{"a":"2023-02-03T04:05:06.123456789Z"}`,
			"a:timestamp", `{"_rescued":"{\"a\":\"2023-02-03T04:05:06.123456789Z\"}","a":"2023-02-03T04:05:06.123456Z"}`},
		"nanoseconds of zero": {`{"a":"2023-02-03T04:05:06.123456000Z"}`,
			"a:timestamp", `{"a":"2023-02-03T04:05:06.123456Z"}`},
		"D19_null in list": {"{\"a\":[1,null,2.5]}\n{\"a\":[]}\n{\"a\":null}",
			"a:list<float64>", "{\"a\":[1,null,2.5]}\n{\"a\":[]}\n{\"a\":null}"},
		"D19_two lists of structs": {`{"a":[{"x":1},null,{"y":"z"}],"b":[{"x":[1,2]},{"x":[]}]}`,
			"a:list<struct<x:int64,y:string>>,b:list<struct<x:list<int64>>>", `{"a":[{"x":1,"y":null},null,{"x":null,"y":"z"}],"b":[{"x":[1,2]},{"x":[]}]}`},
		"mixed shapes": {"{\"a\":{\"x\": 1}}\n{\"a\":[1, 2]}\n{\"a\":\"t\"}\n{\"a\":null}",
			"a:json", "{\"a\":{\"x\": 1}}\n{\"a\":[1, 2]}\n{\"a\":\"t\"}\n{\"a\":null}"},
		"empty object and list": {`{"a":{},"b":[ ],"c":[null]}`,
			"a:json,b:json,c:json", `{"a":{},"b":[ ],"c":[null]}`},
		"D14_case collision": {`{"id":1,"Id":2}`, "id:int64,id_2:int64", `{"id":1,"id_2":2}`},
		"reserved name":      {`{"_source":"mine","_offset":7}`, "_offset_2:int64,_source_2:string", `{"_offset_2":7,"_source_2":"mine"}`},
		"empty key":          {`{"":1,"a":2}`, "a:int64", `{"_rescued":"{\"[\\\"\\\"]\":1}","a":2}`},
		"escapes":            {`{"a\u0062":"\ud83d\ude00\n\/\u0000","q\"":"\\"}`, "ab:string,q_:string", `{"ab":"😀\u000a/\u0000","q_":"\\"}`},
		"escaped time":       {`{"a":"2023-02-03T04:05:06\u005a"}`, "a:string", `{"a":"2023-02-03T04:05:06Z"}`},
	} {
		t.Run(name, func(t *testing.T) {
			out := decode(t, record.Options{Rules: schema.Rules{MinRecords: 1}}, input{"o", c.lines})
			if got := columns(out.schema); got != c.columns {
				t.Errorf("columns %s, want %s", got, c.columns)
			}
			if got := users(out); got != c.rows {
				t.Errorf("rows\n%s\nwant\n%s", got, c.rows)
			}
			if len(out.dead) > 0 || out.tries != 1 {
				t.Errorf("%d tries, dead letters %v", out.tries, out.dead)
			}
		})
	}
}

func TestD20_AlternatingShapesShareOneSchema(t *testing.T) {
	var lines strings.Builder
	for i := range 500 {
		fmt.Fprintf(&lines, "{\"a\":%d}\n{\"b\":\"%d\",\"a\":null}\n", i, i)
	}
	out := decode(t, record.Options{}, input{"o", lines.String()})
	if out.blocks != 1 || len(out.rows) != 1000 || columns(out.schema) != "a:int64,b:string" {
		t.Fatalf("%d blocks, %d rows, %s", out.blocks, len(out.rows), columns(out.schema))
	}
}

// tiny makes types be decided from the first record alone, and every record a
// block of its own.
func tiny() record.Options {
	return record.Options{Rules: schema.Rules{MinRecords: 1}, Limits: record.Limits{PrimeBytes: 1, BlockRows: 1}}
}

func TestLateColumnsNeedNoRestart(t *testing.T) {
	out := decode(t, tiny(), input{"o", `{"a":1}
{"a":2,"s":"x","n":null}
{"a":3,"o":{"k":[1]},"s":"y"}
{"n":1.5,"l":[1]}`})
	if out.tries != 1 {
		t.Errorf("%d tries", out.tries)
	}
	if got, want := columns(out.schema), "a:int64,s:string,o:json,l:json,n:float64"; got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
	want := `{"a":1}
{"a":2,"s":"x"}
{"a":3,"s":"y","o":{"k":[1]}}
{"a":null,"s":null,"o":null,"l":[1],"n":1.5}`
	if got := users(out); got != want {
		t.Errorf("rows\n%s\nwant\n%s", got, want)
	}
	for i, f := range out.schema.Fields[3:] {
		if f.ID != schema.LastReserved+1+int32(i) {
			t.Errorf("column %s has id %d", f.Name, f.ID)
		}
	}
}

func TestLateColumnFillsItsBlock(t *testing.T) {
	opt := tiny()
	opt.Limits.BlockRows = 100
	out := decode(t, opt, input{"o", "{\"a\":1}\n{\"a\":2}\n{\"b\":{\"x\":[]},\"a\":3}\n{\"a\":4}"})
	if out.blocks != 1 || out.tries != 1 {
		t.Errorf("%d blocks, %d tries", out.blocks, out.tries)
	}
	if want := "{\"a\":1,\"b\":null}\n{\"a\":2,\"b\":null}\n{\"a\":3,\"b\":{\"x\":[]}}\n{\"a\":4,\"b\":null}"; users(out) != want {
		t.Errorf("rows\n%s\nwant\n%s", users(out), want)
	}
}

func TestWideningRestartsAndConverges(t *testing.T) {
	for name, c := range map[string]struct {
		lines, columns, rows string
		tries                int
	}{
		"D1_int to double": {"{\"a\":1}\n{\"a\":2.5}", "a:float64", "{\"a\":1}\n{\"a\":2.5}", 2},
		"wide int to text": {"{\"a\":9007199254740993}\n{\"a\":2.5}", "a:string", "{\"a\":\"9007199254740993\"}\n{\"a\":\"2.5\"}", 2},
		"wide int later": {"{\"a\":1}\n{\"a\":9007199254740993}\n{\"a\":2.5}", "a:string",
			"{\"a\":\"1\"}\n{\"a\":\"9007199254740993\"}\n{\"a\":\"2.5\"}", 2},
		"to json":             {"{\"a\":\"x\"}\n{\"a\":{\"k\":1}}", "a:json", "{\"a\":\"x\"}\n{\"a\":{\"k\":1}}", 2},
		"new field in struct": {"{\"a\":{\"x\":1}}\n{\"a\":{\"y\":[2]}}", "a:struct<x:int64,y:json>", "{\"a\":{\"x\":1,\"y\":null}}\n{\"a\":{\"x\":null,\"y\":[2]}}", 2},
		"element widens":      {"{\"a\":[1]}\n{\"a\":[\"x\"]}", "a:list<string>", "{\"a\":[\"1\"]}\n{\"a\":[\"x\"]}", 2},
		"null field in struct": {"{\"a\":{\"x\":1}}\n{\"a\":{\"x\":2,\"y\":null}}\n{\"a\":{\"y\":null}}", "a:struct<x:int64>",
			"{\"a\":{\"x\":1}}\n{\"a\":{\"x\":2}}\n{\"a\":{\"x\":null}}", 1},
	} {
		t.Run(name, func(t *testing.T) {
			out := decode(t, tiny(), input{"o", c.lines})
			if columns(out.schema) != c.columns || users(out) != c.rows || out.tries != c.tries {
				t.Errorf("%d tries, %s\n%s\nwant %d, %s\n%s", out.tries, columns(out.schema), users(out), c.tries, c.columns, c.rows)
			}
			if out.schema.Validate() != nil || len(out.dead) > 0 {
				t.Errorf("schema %v, dead %v", out.schema.Validate(), out.dead)
			}
		})
	}
}

// TestRestartsAreFew gives a batch in which every record but the first widens
// another column, and one in which a struct gets a new field each time.
func TestRestartsAreFew(t *testing.T) {
	var widen, grow strings.Builder
	widen.WriteString("{")
	for i := range 1000 {
		fmt.Fprintf(&widen, "\"c%03d\":1,", i)
	}
	widen.WriteString("\"z\":1}\n")
	for i := range 1000 {
		fmt.Fprintf(&widen, "{\"c%03d\":1.5}\n", i)
		fmt.Fprintf(&grow, "{\"o\":{\"k%d\":1}}\n", i)
	}
	opt := tiny()
	opt.Limits.BlockRows = 100
	for name, lines := range map[string]string{"widen": widen.String(), "grow": grow.String()} {
		out := decode(t, opt, input{"o", lines})
		if out.tries > 14 {
			t.Errorf("%s: %d tries", name, out.tries)
		}
		if len(out.dead) > 0 || out.results[0].Records != int64(len(out.rows)) {
			t.Errorf("%s: %d rows of %d, %d dead", name, len(out.rows), out.results[0].Records, len(out.dead))
		}
		t.Logf("%s: %d tries for %d bytes, %d leaves", name, out.tries, len(lines), len(out.schema.Leaves()))
	}
}

// TestTypesComeFromTheHeadOfTheBatch has the second object decide the type of
// the first one's column before anything is emitted.
func TestTypesComeFromTheHeadOfTheBatch(t *testing.T) {
	out := decode(t, record.Options{}, input{"x", "{\"a\":1}\n"}, input{"y", "{\"a\":2.5}"}, input{"z", ""})
	want := `{"_source":"x","_offset":0,"_rescued":null,"a":1}` + "\n" + `{"_source":"y","_offset":0,"_rescued":null,"a":2.5}`
	if out.tries != 1 || columns(out.schema) != "a:float64" || strings.Join(out.rows, "\n") != want {
		t.Fatalf("%d tries, %s, rows %v", out.tries, columns(out.schema), out.rows)
	}
	if n := fmt.Sprint(out.results[0].Records, out.results[1].Records, out.results[2].Records); n != "1 1 0" {
		t.Fatalf("records %s", n)
	}
}

// TestAVoidTryEndsSoon widens a type early in a long object: the try goes on for
// as long again and then stops, long before the end.
func TestAVoidTryEndsSoon(t *testing.T) {
	body := strings.Repeat("{\"a\":1}\n", 20000) + "{\"a\":2.5}\n" + strings.Repeat("{\"a\":3}\n", 1<<20)
	r := strings.NewReader(body)
	opt := tiny()
	opt.Table, opt.Limits.BlockRows = schema.New(), 1000
	d := record.NewDecoder(opt)
	_, err := d.Decode(t.Context(), record.Object{Source: "o"}, r)
	if read := len(body) - r.Len(); !errors.Is(err, record.ErrRestart) || read > 2<<20 {
		t.Fatalf("%v after %d of %d bytes", err, read, len(body))
	}
	if got := columns(d.Schema()); got != "a:float64" {
		t.Fatalf("learned %s", got)
	}
}

func TestATableWithoutReservedColumnsIsRefused(t *testing.T) {
	err := (&outcome{}).run(record.NewDecoder(record.Options{Format: ndjson, Table: &schema.Schema{}}), []input{{"o", "{}"}})
	if err == nil {
		t.Fatal("accepted")
	}
}

func TestPublishedColumnsRescueWhatDoesNotFit(t *testing.T) {
	table := published(t, field(17, "i", `"int64"`)+","+field(18, "t", `"timestamp"`)+","+field(19, "s", `"string"`)+","+
		field(20, "o", `{"struct":[{"id":21,"name":"x","key":"x","type":"int64"}]}`)+","+
		field(22, "l", `{"list":{"id":23,"type":{"struct":[{"id":24,"name":"n","key":"n","type":"bool"}]}}}`)+","+
		field(25, "m", `{"map":{"key":{"id":26,"type":"string"},"value":{"id":27,"type":"float64"}}}`)+","+
		field(28, "d", `"decimal(5,2)"`)+","+field(29, "w", `"int32"`)+","+field(30, "j", `"json"`)+","+field(31, "f", `"float64"`))
	for name, c := range map[string]struct{ line, rescued, row string }{
		"fraction in int":     {`{"i":9.99}`, `{"i":9.99}`, `"i":null`},
		"fraction of zero":    {`{"i":1.0}`, ``, `"i":1`},
		"int beyond int64":    {`{"i":9223372036854775808}`, `{"i":9223372036854775808}`, `"i":null`},
		"text in int":         {`{"i":"x7"}`, `{"i":"x7"}`, `"i":null`},
		"number in text":      {`{"i":" 7","f":"1.10","d":"-1.5e1","w":"8e0","o":{"x":"9"},"m":{"a":".5"}}`, ``, `"i":7,"t":null,"s":null,"o":{"x":9},"l":null,"m":{"a":0.5},"d":-15.00,"w":8,"j":null,"f":1.1`},
		"identifier in text":  {`{"i":"007","f":"+1"}`, `{"i":"007","f":"+1"}`, `"i":null`},
		"empty text":          {`{"i":"","t":" ","s":"","f":"","l":[{"n":""}]}`, ``, `"i":null,"t":null,"s":"","o":null,"l":[{"n":null}]`},
		"null word":           {`{"i":"NA"}`, `{"i":"NA"}`, `"i":null`},
		"bool in text":        {`{"l":[{"n":"TRUE"},{"n":"t"},{"n":1}]}`, `{"l[1].n":"t","l[2].n":1}`, `"l":[{"n":true},{"n":null},{"n":null}]`},
		"not quite whole":     {`{"i":1e-1,"w":1.00000001}`, `{"i":1e-1,"w":1.00000001}`, `"i":null`},
		"whole however":       {`{"i":1.20e1}`, ``, `"i":12`},
		"int64 in text":       {`{"i":"9223372036854775807"}`, ``, `"i":9223372036854775807`},
		"beyond in text":      {`{"i":"9223372036854775808","w":"2147483648","f":"9007199254740993"}`, `{"i":"9223372036854775808","w":"2147483648","f":"9007199254740993"}`, `"i":null`},
		"number in string":    {`{"s":1.50}`, ``, `"s":"1.50"`},
		"bool in string":      {`{"s":true}`, ``, `"s":"true"`},
		"object in string":    {`{"s":{"a":[1]}}`, `{"s":{"a":[1]}}`, `"s":null`},
		"scalar in struct":    {`{"o":7}`, `{"o":7}`, `"o":null`},
		"text in field":       {`{"o":{"x":"y"}}`, `{"o.x":"y"}`, `"o":{"x":null}`},
		"in a list":           {`{"l":[{"n":true},{"n":1},3]}`, `{"l[1].n":1,"l[2]":3}`, `"l":[{"n":true},{"n":null},null]`},
		"map":                 {`{"m":{"a":1,"b":null}}`, ``, `"m":{"a":1,"b":null}`},
		"text in map":         {`{"m":{"a":1,"b.\"":"x"}}`, `{"m[\"b.\\\"\"]":"x"}`, `"m":{"a":1,"b.\"":null}`},
		"decimal":             {`{"d":123.40}`, ``, `"d":123.40`},
		"decimal and zeros":   {`{"d":-0.5000}`, ``, `"d":-0.50`},
		"decimal exponent":    {`{"d":1e1}`, ``, `"d":10.00`},
		"decimal too long":    {`{"d":1234.5}`, `{"d":1234.5}`, `"d":null`},
		"decimal too fine":    {`{"d":1.234}`, `{"d":1.234}`, `"d":null`},
		"beyond int32":        {`{"w":2147483648}`, `{"w":2147483648}`, `"w":null`},
		"int32":               {`{"w":-2147483648}`, ``, `"w":-2147483648`},
		"json takes anything": {`{"j": [1, {}] }`, ``, `"j":[1, {}]`},
		"int beyond double":   {`{"f":9007199254740993}`, `{"f":9007199254740993}`, `"f":null`},
		"minus zero":          {`{"i":-0}`, ``, `"i":0`},
		"minus zero, int32":   {`{"w":-0}`, ``, `"w":0`},
		"minus zero, decimal": {`{"d":-0.00}`, ``, `"d":0.00`},
		"minus zero, double":  {`{"f":-0}`, ``, `"f":-0`},
		"too fine in a map":   {`{"m":{"a":8.500000000000001}}`, `{"m[\"a\"]":8.500000000000001}`, `"m":{"a":8.500000000000002}`},
		"local time":          {`{"t":"2023-01-01T00:00:00"}`, `{"t":"2023-01-01T00:00:00"}`, `"t":null`},
		"two at once":         {`{"i":"a","t":1}`, `{"i":"a","t":1}`, `"i":null`},
	} {
		t.Run(name, func(t *testing.T) {
			opt := tiny()
			opt.Table = table
			out := decode(t, opt, input{"o", "{\"i\":1}\n" + c.line})
			if len(out.rows) != 2 || len(out.dead) != 0 || out.tries != 1 || !out.schema.Equal(table) {
				t.Fatalf("%d tries, rows %v, dead %v, columns %s", out.tries, out.rows, out.dead, columns(out.schema))
			}
			rescued := "null"
			if c.rescued != "" {
				rescued = quote(c.rescued)
			}
			if !strings.Contains(out.rows[1], `"_rescued":`+rescued+",") || !strings.Contains(out.rows[1], c.row) {
				t.Errorf("row %s, want %s and %s", out.rows[1], rescued, c.row)
			}
			if (len(out.notes.Misfits) > 0) != (c.rescued != "") {
				t.Errorf("notes %+v", out.notes)
			}
		})
	}
}

func quote(s string) string {
	return `"` + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`) + `"`
}

func TestPublishedStructsGrow(t *testing.T) {
	table := published(t, field(17, "o", `{"struct":[{"id":18,"name":"x","key":"x","type":"int64"}]}`))
	for _, prime := range []int{1, 1 << 20} {
		opt := tiny()
		opt.Table, opt.Limits.PrimeBytes = table, prime
		out := decode(t, opt, input{"o", "{\"o\":{\"x\":1}}\n{\"o\":{\"y\":\"z\",\"a\":1}}\n{\"b\":2}"})
		if got, want := columns(out.schema), "o:struct<x:int64,a:int64,y:string>,b:int64"; got != want {
			t.Errorf("prime %d: columns %s, want %s", prime, got, want)
		}
		ids := fmt.Sprint(out.schema.Fields[3].Type.Fields[0].ID, out.schema.Fields[3].Type.Fields[1].ID, out.schema.Fields[3].Type.Fields[2].ID, out.schema.Fields[4].ID)
		if ids != "18 100 101 102" {
			t.Errorf("prime %d: ids %s", prime, ids)
		}
		if got, want := user(out.rows[1]), `{"o":{"x":null,"a":1,"y":"z"}`; !strings.HasPrefix(got, want) {
			t.Errorf("prime %d: row %s, want %s", prime, got, want)
		}
	}
}

func TestD27_BeyondTheBoundsNothingIsLost(t *testing.T) {
	opt := tiny()
	opt.Table = published(t, field(17, "o", `{"struct":[{"id":18,"name":"x","key":"x","type":"int64"},{"id":19,"name":"y","key":"y","type":"int64"}]}`))
	opt.Rules.MaxLeaves, opt.Limits.MaxColumns = 2, 6
	out := decode(t, opt, input{"o", `{"o":{"x":1}}
{"o":{"z":{"q":1},"n":null},"a":1}
{"a":1,"b":2,"c":null}
{"b":3,"o":{"x":2,"w\"":true}}`})
	want := `{"o":{"x":1,"y":null}}
{"_rescued":"{\"o[\\\"z\\\"]\":{\"q\":1}}","o":{"x":null,"y":null},"a":1}
{"_rescued":"{\"[\\\"b\\\"]\":2}","o":null,"a":1}
{"_rescued":"{\"[\\\"b\\\"]\":3,\"o[\\\"w\\\\\\\"\\\"]\":true}","o":{"x":2,"y":null},"a":null}`
	if users(out) != want {
		t.Errorf("rows\n%s\nwant\n%s", users(out), want)
	}
	if out.tries != 1 || len(out.notes.Misfits) != 2 || out.notes.Misfits[0].Count != 2 || out.notes.Misfits[1].Count != 2 {
		t.Errorf("%d tries, notes %+v", out.tries, out.notes.Misfits)
	}
}

func TestNotesNameColumnCountAndCure(t *testing.T) {
	opt := tiny()
	opt.Table = published(t, field(17, "price", `"int64"`)+","+field(18, "l", `{"list":{"id":19,"type":"int64"}}`)+","+field(20, "t", `"timestamp"`))
	out := decode(t, opt, input{"o", "{\"price\":9.99}\n{\"price\":1,\"l\":[1,\"x\",{}]}\n{\"price\":0.5,\"t\":\"2023-01-01T00:00:00.1234567Z\"}"})
	want := []record.Misfit{
		{Column: "price", Type: "int64", Reason: "type", Count: 2, Example: "9.99", Source: "o", Offset: 0, Cure: "batcher schema widen price float64"},
		{Column: "l[]", Type: "int64", Reason: "type", Count: 2, Example: `"x"`, Source: "o", Offset: 15, Cure: "batcher schema widen l[] json"},
		{Column: "t", Type: "timestamp", Reason: "precision", Count: 1, Example: `"2023-01-01T00:00:00.1234567Z"`, Source: "o", Offset: 42, Cure: "batcher schema widen t string"},
	}
	if fmt.Sprint(out.notes.Misfits) != fmt.Sprint(want) {
		t.Errorf("notes\n%+v\nwant\n%+v", out.notes.Misfits, want)
	}
	if out.notes.Rows != 3 || out.notes.Dead != 0 {
		t.Errorf("%d rows, %d dead", out.notes.Rows, out.notes.Dead)
	}
}

func TestFailingCallbacksStopTheBatch(t *testing.T) {
	stop := errors.New("stop")
	for name, body := range map[string]string{"block": "{}", "dead letter": "x"} {
		opt := record.Options{
			Table: schema.New(),
			Block: func(*column.Block) (*column.Block, error) { return nil, stop },
			Dead:  func(record.DeadLetter) error { return stop },
		}
		if err := (&outcome{}).run(record.NewDecoder(opt), []input{{"o", body}}); !errors.Is(err, stop) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNanosecondsCostNoAllocation has every row rescue a timestamp.
func TestNanosecondsCostNoAllocation(t *testing.T) {
	line := "{\"t\":\"2023-02-03T04:05:06.123456789Z\"}\n"
	short, long := strings.Repeat(line, 150000), strings.Repeat(line, 250000)
	few := testing.AllocsPerRun(1, func() { decodeRows(t, short) })
	many := testing.AllocsPerRun(1, func() { decodeRows(t, long) })
	if perRecord := (many - few) / 100000; perRecord > 0.01 {
		t.Errorf("%.3f allocations per record", perRecord)
	}
}
