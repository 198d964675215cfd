package record_test

import (
	"errors"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
)

// pin reads "place type", with a default behind "=" and a unit behind "@".
func pin(t testing.TB, text string) schema.Pin {
	t.Helper()
	text, unit, _ := strings.Cut(text, "@")
	text, value, defaulted := strings.Cut(text, "=")
	words := strings.Fields(text)
	place, err := schema.ParsePlace(words[0])
	if err != nil {
		t.Fatal(err)
	}
	typ, err := schema.ParseType(words[1])
	if err != nil {
		t.Fatal(err)
	}
	p := schema.Pin{Place: place, Type: typ}
	p.Unit = map[string]schema.Unit{"": schema.ISO, "s": schema.Seconds, "ms": schema.Milliseconds, "us": schema.Microseconds, "ns": schema.Nanoseconds}[unit]
	if len(words) > 2 {
		p.Name = words[2]
	}
	if defaulted {
		if p.Default, err = schema.ParseDefault(typ, value); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func pinned(t testing.TB, texts ...string) schema.Rules {
	t.Helper()
	rules := schema.Rules{MinRecords: 1}
	for _, text := range texts {
		rules.Pins = append(rules.Pins, pin(t, text))
	}
	if _, err := schema.CheckPins(rules.Pins); err != nil {
		t.Fatal(err)
	}
	return rules
}

func TestPins(t *testing.T) {
	for name, c := range map[string]struct {
		pins []string
		in   string
		cols string
		want string
	}{
		"int32": {[]string{"a int32"}, `{"a":1}|{"a":3000000000}|{"a":"x"}|{"a":null}|{}`, "a:int32",
			`{"a":1}|{"_rescued":"{\"a\":3000000000}","a":null}|{"_rescued":"{\"a\":\"x\"}","a":null}|{"a":null}|{"a":null}`},
		"json":          {[]string{"a json"}, `{"a":1}|{"a":{"b":[1]}}|{"a":"x"}`, "a:json", `{"a":1}|{"a":{"b":[1]}}|{"a":"x"}`},
		"decimal":       {[]string{"a decimal(6,2)"}, `{"a":1}|{"a":-12.5}|{"a":1.555}`, "a:decimal(6,2)", `{"a":1.00}|{"a":-12.50}|{"_rescued":"{\"a\":1.555}","a":null}`},
		"bytes":         {[]string{"a bytes"}, `{"a":"hi"}|{"a":1}`, "a:bytes", `{"a":"aGk="}|{"_rescued":"{\"a\":1}","a":null}`},
		"never seen":    {[]string{"z date"}, `{"a":1}`, "a:int64,z:date", `{"a":1,"z":null}`},
		"a name":        {[]string{"eventTime timestamp at"}, `{"eventTime":"2026-11-30T08:00:00Z"}`, "at:timestamp", `{"at":"2026-11-30T08:00:00.000000Z"}`},
		"map":           {[]string{"m map<string,int64>"}, `{"m":{"k":1,"l":"x"}}|{"m":{}}|{"m":1}`, "m:map<string,int64>", `{"_rescued":"{\"m[\\\"l\\\"]\":\"x\"}","m":{"k":1,"l":null}}|{"m":{}}|{"_rescued":"{\"m\":1}","m":null}`},
		"map of struct": {[]string{"m map<string,struct<a:int64>>"}, `{"m":{"k":{"a":1,"b":2}}}`, "m:map<string,struct<a:int64>>", `{"_rescued":"{\"m[\\\"k\\\"][\\\"b\\\"]\":2}","m":{"k":{"a":1}}}`},
		"nested":        {[]string{"o.x float64", "o.j json"}, `{"o":{"x":1,"j":{"k":1},"n":1}}|{"o":{"x":"no"}}|{"o":7}`, "o:struct<j:json,n:int64,x:float64>", `{"o":{"j":{"k":1},"n":1,"x":1}}|{"_rescued":"{\"o.x\":\"no\"}","o":{"j":null,"n":null,"x":null}}|{"_rescued":"{\"o\":7}","o":null}`},
		"list":          {[]string{"l[].p decimal(5,1)"}, `{"l":[{"p":1.5},{"p":2,"q":true}]}`, "l:list<struct<p:decimal(5,1),q:bool>>", `{"l":[{"p":1.5,"q":null},{"p":2.0,"q":true}]}`},
		"struct":        {[]string{"o struct<X:int32>"}, `{"o":{"X":1}}|{"o":{"X":2,"y":"new"}}`, "o:struct<x:int32,y:string>", `{"o":{"x":1,"y":null}}|{"o":{"x":2,"y":"new"}}`},
		"default":       {[]string{"a int32=7", "s string=?", "j json={}"}, `{}|{"a":null,"s":"x"}|{"a":1,"s":null,"j":null}`, "a:int32,j:json,s:string", `{"a":7,"j":{},"s":"?"}|{"a":null,"j":{},"s":"x"}|{"a":1,"j":null,"s":null}`},
		"default below": {[]string{"o.a int64=-1"}, `{"o":{}}|{"o":{"b":1}}|{"o":null}|{}`, "o:struct<a:int64,b:int64>", `{"o":{"a":-1,"b":null}}|{"o":{"a":-1,"b":1}}|{"o":null}|{"o":null}`},
		"in a list":     {[]string{"l[].a int64=0"}, `{"l":[{},{"a":2}]}`, "l:list<struct<a:int64>>", `{"l":[{"a":0},{"a":2}]}`},
	} {
		for _, prime := range []int{1, 1 << 20} {
			t.Run(name, func(t *testing.T) {
				opt := record.Options{Rules: pinned(t, c.pins...), Limits: record.Limits{PrimeBytes: prime}}
				out := decode(t, opt, input{"o", strings.ReplaceAll(c.in, "|", "\n")})
				if got := strings.ReplaceAll(users(out), "\n", "|"); columns(out.schema) != c.cols || got != c.want || len(out.dead) > 0 {
					t.Errorf("prime %d: %s, dead %q\n got %s\nwant %s", prime, columns(out.schema), codes(out), got, c.want)
				}
			})
		}
	}
}

// TestPins_InCells: columns of CSV and lines are pinned as those of JSON are.
func TestPins_InCells(t *testing.T) {
	opt := record.Options{Rules: pinned(t, "a int32", "d decimal(9,2)", "t timestamp@ms", "gone string=n/a", "j json"), Format: record.Format{Kind: record.CSV}}
	out := decode(t, opt, input{"a.csv", "a,d,t,j,more\n1,7.50,1764489600123,\"{\"\"k\"\":1}\",x\n1.5,1.999,soon,{,\n"})
	want := `{"a":1,"d":7.50,"gone":"n/a","j":{"k":1},"more":"x","t":"2025-11-30T08:00:00.123000Z"}` + "\n" +
		`{"_rescued":"{\"a\":\"1.5\",\"d\":\"1.999\",\"t\":\"soon\",\"j\":\"{\"}","a":null,"d":null,"gone":"n/a","j":null,"more":null,"t":null}`
	if got := users(out); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	opt = record.Options{Rules: pinned(t, "kind string=log", "line string text"), Format: record.Format{Kind: record.Lines}}
	if got, want := users(decode(t, opt, input{"a.log", "one\n"})), `{"kind":"log","text":"one"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPins_EventTimeUnits(t *testing.T) {
	const day = "2026-11-30T08:00:00"
	for _, c := range []struct{ unit, value, want, rescued string }{
		{"s", `1796025600`, day + ".000000Z", ""},
		{"s", `"1796025600"`, day + ".000000Z", ""},
		{"s", `1796025600.123456`, day + ".123456Z", ""},
		{"s", `1796025600.1234567`, day + ".123456Z", `1796025600.1234567`},
		{"s", `1796025600.1234560`, day + ".123456Z", ""},
		{"s", `0`, "1970-01-01T00:00:00.000000Z", ""},
		{"s", `-1.5`, "1969-12-31T23:59:58.500000Z", ""},
		{"s", `-0.0000001`, "1969-12-31T23:59:59.999999Z", `-0.0000001`},
		{"ms", `1796025600123`, day + ".123000Z", ""},
		{"ms", `"1796025600123.4"`, day + ".123400Z", ""},
		{"us", `1796025600123456`, day + ".123456Z", ""},
		{"us", `1796025600123456.5`, day + ".123456Z", `1796025600123456.5`},
		{"ns", `1796025600123456000`, day + ".123456Z", ""},
		{"ns", `"1796025600123456789"`, day + ".123456Z", `"1796025600123456789"`},
		{"ns", `7`, "1970-01-01T00:00:00.000000Z", `7`},
		{"ns", `-7`, "1969-12-31T23:59:59.999999Z", `-7`},
		{"s", `-62135596800`, "0001-01-01T00:00:00.000000Z", ""},
		{"s", `253402300799.999999`, "9999-12-31T23:59:59.999999Z", ""},
		{"s", `253402300800`, "", `253402300800`},
		{"s", `-62135596801`, "", `-62135596801`},
		{"s", `99999999999999999999`, "", `99999999999999999999`},
		{"s", `1.7e9`, "", `1.7e9`},
		{"s", `"2026-11-30T08:00:00Z"`, "", `"2026-11-30T08:00:00Z"`},
		{"s", `""`, "", ""}, {"s", `"1."`, "", `"1."`}, {"s", `"01"`, "", `"01"`}, {"s", `"-"`, "", `"-"`}, {"s", `true`, "", `true`}, {"s", `[1]`, "", `[1]`},
		{"", `"2026-11-30T09:00:00.1234567+01:00"`, day + ".123456Z", `"2026-11-30T09:00:00.1234567+01:00"`},
		{"", `1796025600`, "", `1796025600`},
	} {
		out := decode(t, record.Options{Rules: pinned(t, "t timestamp@"+c.unit)}, input{"o", `{"t":` + c.value + "}\n"})
		value, rescued := "null", ""
		if c.want != "" {
			value = `"` + c.want + `"`
		}
		if c.rescued != "" {
			rescued = `"_rescued":"{\"t\":` + strings.ReplaceAll(c.rescued, `"`, `\"`) + `}",`
		}
		if got, want := users(out), "{"+rescued+`"t":`+value+"}"; got != want {
			t.Errorf("%s %s: got %s, want %s", c.unit, c.value, got, want)
		}
	}
}

// FuzzEventTime: whatever stands there, the record becomes one row, and what is no
// instant is kept.
func FuzzEventTime(f *testing.F) {
	f.Add("1796025600.123456", uint8(0))
	f.Add("-7", uint8(3))
	f.Fuzz(func(t *testing.T, text string, unit uint8) {
		units := []string{"s", "ms", "us", "ns"}
		one := record.Options{Rules: pinned(t, "t timestamp@"+units[unit%4], "s string")}
		quoted := `"` + text + `"`
		if strings.ContainsAny(text, "\"\\\n\r") || strings.ToValidUTF8(text, "") != text || strings.IndexFunc(text, func(r rune) bool { return r < ' ' }) >= 0 {
			return
		}
		a := decode(t, one, input{"o", `{"t":` + quoted + `,"s":` + quoted + `}`})
		if len(a.rows)+len(a.dead) != 1 {
			t.Fatalf("%d rows of %s", len(a.rows), quoted)
		}
		if len(a.rows) == 1 && strings.Contains(a.rows[0], `"t":null`) && len(a.notes.Misfits) == 0 {
			t.Errorf("%s vanished: %s", quoted, a.rows[0])
		}
	})
}

func TestDerivedColumns(t *testing.T) {
	rules := pinned(t, "t timestamp ts@s", "day_of string")
	rules.Derived = []schema.Derived{{Name: "ts_day", From: "ts"}, {Name: "ts_hour", From: "ts", Part: schema.Hour}}
	out := decode(t, record.Options{Rules: rules, Limits: record.Limits{BlockRows: 2}}, input{"o", "{\"t\":0}\n{\"t\":-1}\n{\"t\":\"x\"}\n{\"t\":1796025600,\"ts_day\":\"theirs\"}\n"})
	want := []string{
		`{"day_of":null,"ts":"1970-01-01T00:00:00.000000Z","ts_day_2":null,"ts_day":"1970-01-01","ts_hour":"1970-01-01T00"}`,
		`{"day_of":null,"ts":"1969-12-31T23:59:59.000000Z","ts_day_2":null,"ts_day":"1969-12-31","ts_hour":"1969-12-31T23"}`,
		`{"_rescued":"{\"ts\":\"x\"}","day_of":null,"ts":null,"ts_day_2":null,"ts_day":null,"ts_hour":null}`,
		`{"day_of":null,"ts":"2026-11-30T08:00:00.000000Z","ts_day_2":"theirs","ts_day":"2026-11-30","ts_hour":"2026-11-30T08"}`,
	}
	if got := users(out); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	rules.Derived[0].From = "nothing"
	if _, err := try(t, record.Options{Rules: rules}, input{"o", "{}\n"}); err == nil || !strings.Contains(err.Error(), "declares one that ts_day follows") {
		t.Errorf("a column without a timestamp: %v", err)
	}
}

func TestOnlyListed(t *testing.T) {
	rules := pinned(t, "a int64", "o.x int64")
	rules.OnlyListed = true
	out := decode(t, record.Options{Rules: rules}, input{"o", `{"a":1,"b":2,"o":{"x":3,"y":{"z":4}}}` + "\n" + `{"b":5,"a":"x","c":null}` + "\n"})
	if got, want := users(out), `{"a":1,"o":{"x":3}}`+"\n"+`{"_rescued":"{\"a\":\"x\"}","a":null,"o":null}`; got != want || len(out.notes.Misfits) != 3 {
		t.Errorf("got  %s\nwant %s\n%+v", got, want, out.notes.Misfits)
	}
	for _, m := range out.notes.Misfits {
		if m.Dropped != (m.Reason == "unknown_key") || m.Dropped && (m.Column == "" && m.Count != 2 || m.Example != "2" && m.Example != `{"z":4}`) {
			t.Errorf("%+v", m)
		}
	}
	out = decode(t, record.Options{Rules: rules, Format: record.Format{Kind: record.CSV}}, input{"o.csv", "a,b\n1,2\n"})
	if got := users(out); got != `{"a":1,"o":null}` || len(out.notes.Misfits) != 1 || !out.notes.Misfits[0].Dropped {
		t.Errorf("%s %+v", got, out.notes.Misfits)
	}
}

func TestContracts(t *testing.T) {
	table := func() *schema.Schema {
		return published(t, field(17, "a", `"int64"`)+","+field(18, "o", `{"struct":[{"id":19,"name":"x","key":"x","type":"int64"}]}`))
	}
	const good, misfit, fresh, inside, null = `{"a":1,"o":{"x":1}}`, `{"a":"x"}`, `{"a":2,"b":3}`, `{"o":{"x":1,"y":2}}`, `{"b":null}`
	run := func(contract schema.Contract, lines ...string) (*outcome, error) {
		return try(t, record.Options{Table: table(), Rules: schema.Rules{Contract: contract}}, input{"o", strings.Join(lines, "\n")})
	}
	t.Run("discard_value", func(t *testing.T) {
		out, err := run(schema.DiscardValue, good, misfit, fresh, inside, null)
		want := `{"a":1,"o":{"x":1}}|{"a":null,"o":null}|{"a":2,"o":null}|{"a":null,"o":{"x":1}}|{"a":null,"o":null}`
		if err != nil || strings.ReplaceAll(users(out), "\n", "|") != want || len(out.dead) > 0 || columns(out.schema) != "a:int64,o:struct<x:int64>" {
			t.Fatalf("%v: %s, %s", err, users(out), columns(out.schema))
		}
		var seen []string
		for _, m := range out.notes.Misfits {
			if !m.Dropped || m.Count != 1 {
				t.Errorf("%+v", m)
			}
			seen = append(seen, m.Reason+" "+m.Column+" "+m.Example)
		}
		if got := strings.Join(seen, "; "); got != `type a "x"; unknown_key  3; unknown_key o 2` {
			t.Error(got)
		}
	})
	t.Run("discard_row", func(t *testing.T) {
		out, err := run(schema.DiscardRow, good, misfit, fresh, inside, null)
		if err != nil || len(out.rows) != 2 || codes(out) != "schema/contract_type schema/contract_new_column schema/contract_new_column" {
			t.Fatalf("%v: %d rows, %s", err, len(out.rows), codes(out))
		}
		for i, want := range []string{`a is int64 and does not take "x"`, `["b"] has no column`, `o["y"] has no column`} {
			if out.dead[i].Message != want || string(out.dead[i].Raw) != []string{misfit, fresh, inside}[i] {
				t.Errorf("got %s, want %s", out.dead[i].Message, want)
			}
		}
		if got, want := users(out), `{"a":1,"o":{"x":1}}`+"\n"+`{"a":null,"o":null}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("freeze", func(t *testing.T) {
		if out, err := run(schema.Freeze, good, null); err != nil || len(out.rows) != 2 {
			t.Errorf("%v", err)
		}
		for line, want := range map[string]string{
			misfit: `o at 20: a is int64 and does not take "x", and schema.contract is freeze: batch not committed; batcher schema widen a string`,
			fresh:  `o at 20: ["b"] has no column, and schema.contract is freeze: batch not committed; a pin under schema.columns adds the column, schema.contract: evolve any`,
			inside: `o at 20: o["y"] has no column, and schema.contract is freeze: batch not committed; a pin under schema.columns adds the column, schema.contract: evolve any`,
		} {
			_, err := run(schema.Freeze, good, line, good)
			var broken *record.ContractError
			if !errors.As(err, &broken) || broken.Error()+"; "+broken.Cure != want {
				t.Errorf("%s: %v\nwant %s", line, err, want)
			}
		}
	})
	t.Run("a table without columns", func(t *testing.T) {
		for _, contract := range []schema.Contract{schema.Freeze, schema.DiscardRow, schema.DiscardValue} {
			opt := record.Options{Rules: schema.Rules{Contract: contract, Pins: []schema.Pin{pin(t, "p date")}}, Limits: record.Limits{PrimeBytes: 1}}
			out := decode(t, opt, input{"o", good + "\n" + fresh + "\n"})
			if len(out.rows) != 2 || len(out.dead)+len(out.notes.Misfits) > 0 || columns(out.schema) != "a:int64,o:json,b:int64,p:date" && columns(out.schema) != "a:int64,o:json,p:date,b:int64" {
				t.Errorf("%d: %d rows, %s, %s", contract, len(out.rows), codes(out), columns(out.schema))
			}
		}
	})
	t.Run("cut instants break nothing", func(t *testing.T) {
		opt := record.Options{Rules: pinned(t, "t timestamp@ns")}
		opt.Rules.Contract = schema.Freeze
		if got := users(decode(t, opt, input{"o", `{"t":1}`})); got != `{"_rescued":"{\"t\":1}","t":"1970-01-01T00:00:00.000000Z"}` {
			t.Error(got)
		}
	})
}
