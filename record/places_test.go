package record_test

import (
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
)

// several declares a column that places feed, the ones before go first; at is the column's.
func several(t *testing.T, typ, at string, places ...string) schema.Rules {
	t.Helper()
	p := pin(t, at+" "+typ)
	for _, text := range places {
		p.Places = append(p.Places, pin(t, text+" "+typ).Place)
	}
	if _, err := schema.CheckPins([]schema.Pin{p}); err != nil {
		t.Fatal(err)
	}
	return schema.Rules{MinRecords: 1, Pins: []schema.Pin{p}}
}

func TestSeveralPlacesFeedAColumn(t *testing.T) {
	for name, c := range map[string]struct {
		rules    schema.Rules
		in, want string
	}{
		"either": {several(t, "int64", "b", "b", "a"), `{"a":1}|{"b":2}|{}|{"a":3,"x":1}`,
			`{"b":1,"x":null}|{"b":2,"x":null}|{"b":null,"x":null}|{"b":3,"x":1}`},
		"both": {several(t, "int64", "b", "b", "a"), `{"a":1,"b":2}|{"b":2,"a":1}|{"a":7,"b":7}`,
			`{"_rescued":"{\"[\\\"a\\\"]\":1}","b":2}|{"_rescued":"{\"[\\\"a\\\"]\":1}","b":2}|{"b":7}`},
		"the column's own is the second": {several(t, "string", "b", "a", "b"), `{"a":"x","b":"y"}|{"b":"y"}|{"a":null,"b":"z"}`,
			`{"_rescued":"{\"b\":\"y\"}","b":"x"}|{"b":"y"}|{"b":"z"}`},
		"null says nothing": {several(t, "int64", "b", "b", "a"), `{"b":null,"a":1}|{"a":null,"b":null}`, `{"b":1}|{"b":null}`},
		"three":             {several(t, "int64", "a", "a", "b", "c"), `{"c":3,"b":2}|{"c":3}`, `{"_rescued":"{\"[\\\"c\\\"]\":3}","a":2}|{"a":3}`},
		"misfit":            {several(t, "int64", "b", "b", "a"), `{"a":"x","b":2}|{"a":"x"}`, `{"_rescued":"{\"[\\\"a\\\"]\":\"x\"}","b":2}|{"_rescued":"{\"[\\\"a\\\"]\":\"x\"}","b":null}`},
		"other case":        {several(t, "int64", "user_id", "user_id", "userId"), `{"USERID":1}|{"USER_ID":2}`, `{"user_id":1}|{"user_id":2}`},
		"in an object": {several(t, "int64", "id", "id", "user.id"), `{"user":{"id":1,"n":"x"}}|{"user":{"n":"y"},"id":2}|{"user":null}|{"user":{"id":3}}|{"user":{"id":4},"id":5}`,
			`{"id":1,"user":{"n":"x"}}|{"id":2,"user":{"n":"y"}}|{"id":null,"user":null}|{"id":3,"user":{"n":null}}|{"_rescued":"{\"user[\\\"id\\\"]\":4}","id":5,"user":{"n":null}}`},
		"alone in an object":      {several(t, "int64", "id", "id", "u.v.id"), `{"u":{"v":{"id":1}}}|{"u":{}}|{"u":7}`, `{"id":1}|{"id":null}|{"_rescued":"{\"u\":7}","id":null}`},
		"times":                   {several(t, "timestamp", "at", "at", "time"), `{"time":"2024-01-01T00:00:00+01:00"}|{"time":"2024-01-01T00:00:00Z","at":"2024-01-01T01:00:00+01:00"}`, `{"at":"2023-12-31T23:00:00.000000Z"}|{"at":"2024-01-01T00:00:00.000000Z"}`},
		"decimals":                {several(t, "decimal(5,2)", "p", "p", "q"), `{"q":1.5}|{"q":1.5,"p":2}`, `{"p":1.50}|{"_rescued":"{\"[\\\"q\\\"]\":1.50}","p":2.00}`},
		"json":                    {several(t, "json", "p", "p", "q"), `{"q":{"a":[1]}}|{"q":1,"p":"x"}`, `{"p":{"a":[1]}}|{"_rescued":"{\"[\\\"q\\\"]\":1}","p":"x"}`},
		"a record that is no row": {several(t, "int64", "b", "b", "a"), `{"a":1,|{"b":2}|{"a":3}x|{"a":4}`, `{"b":2}|{"b":4}`},
	} {
		for _, rows := range []int{0, 1, 2} {
			out := decode(t, record.Options{Rules: c.rules, Limits: record.Limits{BlockRows: rows}}, input{"o", strings.ReplaceAll(c.in, "|", "\n")})
			if got := sortedKeys(t, users(out)); got != sortedKeys(t, strings.ReplaceAll(c.want, "|", "\n")) {
				t.Errorf("%s, %d rows: %s\nwant %s", name, rows, strings.ReplaceAll(users(out), "\n", "|"), c.want)
			}
		}
	}
}

// TestSeveralPlacesUnderAPublishedTable goes on in the column that is there, under its
// name, whichever place goes first, and refuses two columns that would be one.
func TestSeveralPlacesUnderAPublishedTable(t *testing.T) {
	before := decode(t, record.Options{}, input{"o", `{"userId":1}`})
	rules := several(t, "int64", "user_id", "user_id", "userId")
	out := decode(t, record.Options{Table: before.schema, Rules: rules}, input{"p", `{"user_id":2}` + "\n" + `{"userId":3}`})
	if got := users(out); got != `{"userid":2}`+"\n"+`{"userid":3}` {
		t.Errorf("%s", got)
	}
	if err := rules.CheckPublished(before.schema); err != nil {
		t.Error(err)
	}
	for _, body := range []string{`{"user_id":1,"userId":2}`, `{"user_id":1,"u":{"id":1,"n":2}}`} {
		before := decode(t, record.Options{Rules: schema.Rules{MinRecords: 1}}, input{"o", body})
		if err := several(t, "int64", "user_id", "user_id", "userId", "u.id").CheckPublished(before.schema); err == nil {
			t.Errorf("%s: two columns become one", body)
		}
	}
}

// TestSeveralPlacesOfCells and of values with types of their own.
func TestSeveralPlacesOfCells(t *testing.T) {
	opt := csvOptions(record.Dialect{})
	opt.Rules = several(t, "int64", "b", "b", "a")
	out := decode(t, opt, input{"1", "a,x\n1,x\n"}, input{"2", "x,b\ny,2\n"}, input{"3", "a,b,x\n3,,z\n4,4,z\n5,6,z\n"})
	want := `{"b":1,"x":"x"}|{"b":2,"x":"y"}|{"b":3,"x":"z"}|{"b":4,"x":"z"}|{"_rescued":"{\"[\\\"a\\\"]\":5}","b":6,"x":"z"}`
	if got := sortedKeys(t, users(out)); got != strings.ReplaceAll(want, "|", "\n") {
		t.Errorf("%s, want %s", got, want)
	}
	misfit := out.notes.Misfits[0]
	if misfit.Column != "b" || misfit.Reason != "second_place" || misfit.Count != 1 || misfit.Example != "5" || !strings.Contains(misfit.Cure, "goes first") {
		t.Errorf("%+v", misfit)
	}
	if len(out.notes.Unmet) != 0 {
		t.Errorf("unmet: %v", out.notes.Unmet)
	}
	typed := record.Options{Rules: opt.Rules, Format: record.Format{Kind: record.Avro, Invalid: record.Replace}}
	out = decode(t, typed, input{"o.avro", avroFile(`{"name":"a","type":"long"},{"name":"s","type":"string"}`, long(1)+text("\xff"), long(2)+text("x"))})
	if got := users(out); got != `{"b":1,"s":"`+"\ufffd"+`"}`+"\n"+`{"b":2,"s":"x"}` {
		t.Errorf("Avro: %s", got)
	}
	out = decode(t, record.Options{Rules: opt.Rules}, input{"o", `{"x":1}`})
	if got := strings.Join(out.notes.Unmet, " "); got != "b" {
		t.Errorf("unmet: %s", got)
	}
}

// TestSeveralPlacesUnderAnEarlierType reads a table again as it was published, under a pin
// that was changed since: the column has the type that it had.
func TestSeveralPlacesUnderAnEarlierType(t *testing.T) {
	body := `{"a":1}` + "\n" + `{"b":2}` + "\n" + `{"b":"x"}` + "\n" + `{"a":3,"b":4}`
	first := several(t, "int64", "a", "a", "b")
	out := decode(t, record.Options{Rules: first}, input{"o", body})
	for _, typ := range []string{"string", "bool", "decimal(38,4)", "timestamp", "int32"} {
		again := decode(t, record.Options{Table: out.schema, Rules: several(t, typ, "a", "a", "b")}, input{"o", body})
		if users(again) != users(out) {
			t.Errorf("%s: %s, want %s", typ, users(again), users(out))
		}
	}
	object := decode(t, record.Options{Rules: schema.Rules{MinRecords: 1}}, input{"o", `{"a":{"x":1}}`})
	again := decode(t, record.Options{Table: object.schema, Rules: first}, input{"o", `{"a":{"x":1}}` + "\n" + `{"b":5}`})
	if got := users(again); got != `{"a":{"x":1}}`+"\n"+`{"_rescued":"{\"[\\\"b\\\"]\":5}","a":null}` {
		t.Errorf("an object: %s", got)
	}
}
