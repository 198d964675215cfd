package retype_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"batcher/column"
	"batcher/record"
	"batcher/retype"
	"batcher/schema"
)

func field(id int32, name string, t schema.Type) schema.Field {
	return schema.Field{ID: id, Name: strings.ToLower(name), Key: name, Type: t}
}

func kind(k schema.Kind, parts ...schema.Field) schema.Type {
	t := schema.Type{Kind: k, Fields: parts}
	if k == schema.Decimal {
		t.Precision = 38
	}
	return t
}

func list(id int32, t schema.Type) schema.Type {
	return kind(schema.List, schema.Field{ID: id, Name: schema.ElementName, Type: t})
}

// table has the places that the tests give other types.
func table() *schema.Schema {
	labels := kind(schema.Map, schema.Field{ID: 27, Name: schema.KeyName, Type: kind(schema.String)}, schema.Field{ID: 28, Name: schema.ValueName, Type: kind(schema.Int64)})
	return &schema.Schema{LastID: 40, Fields: append(schema.Reserved(),
		field(17, "n", kind(schema.Int64)),
		field(18, "Actor", kind(schema.Struct, field(19, "Id", kind(schema.Int64)), field(20, "name", kind(schema.String)))),
		field(21, "tags", list(22, kind(schema.Int64))),
		field(23, "items", list(24, kind(schema.Struct, field(25, "price", kind(schema.Int64)), field(26, "q", list(35, kind(schema.Int64)))))),
		field(29, "labels", labels),
		field(30, "t", kind(schema.Timestamp)), field(31, "ok", kind(schema.Bool)), field(32, "d", kind(schema.Date)),
		field(33, "big", kind(schema.Decimal)), field(34, "doc", kind(schema.JSON)),
		field(36, "s", kind(schema.String)),
	)}
}

// decode reads lines under a published schema that learns nothing more.
func decode(t testing.TB, s *schema.Schema, lines string) []*column.Block {
	t.Helper()
	var out []*column.Block
	d := record.NewDecoder(record.Options{Table: s, Format: record.Format{Kind: record.NDJSON}, Limits: record.Limits{MaxColumns: len(s.Leaves())},
		Block: func(b *column.Block) (*column.Block, error) { out = append(out, b); return nil, nil },
		Dead:  func(l record.DeadLetter) error { return fmt.Errorf("dead letter %s: %s", l.Raw, l.Message) }})
	if _, err := d.Decode(context.Background(), record.Object{Source: "o"}, strings.NewReader(lines)); err != nil {
		t.Fatal(err)
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	return out
}

func texts(blocks []*column.Block) []string {
	var out []string
	for _, b := range blocks {
		for c := column.NewCursor(b); c.Next(); {
			out = append(out, string(c.AppendJSON(nil)))
		}
	}
	return out
}

// widen decodes lines under the table and gives a column another type.
func widen(t testing.TB, lines, at string, to schema.Type) ([]string, *retype.Change, error) {
	t.Helper()
	c, err := retype.New(table(), schema.Column(at), to, schema.Lower)
	if err != nil {
		t.Fatal(err)
	}
	var out []*column.Block
	for _, b := range decode(t, table(), lines) {
		next, err := c.Step(b)
		if err != nil {
			return nil, c, err
		}
		out = append(out, next)
	}
	return texts(out), c, nil
}

// TestWidenedIsAsIfItHadAlwaysBeenSo gives columns other types and holds each row
// against the same records decoded under the new type at once.
func TestWidenedIsAsIfItHadAlwaysBeenSo(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 5))
	places := []struct {
		at string
		to schema.Type
	}{
		{"n", kind(schema.Float64)}, {"n", kind(schema.String)}, {"n", kind(schema.JSON)}, {"n", kind(schema.Decimal)},
		{"actor.id", kind(schema.String)}, {"actor.id", kind(schema.JSON)}, {"tags[]", kind(schema.Float64)}, {"tags[]", kind(schema.String)},
		{"items[].price", kind(schema.Float64)}, {"items[].price", kind(schema.JSON)}, {"items[].q[]", kind(schema.String)},
		{"labels[]", kind(schema.String)}, {"t", kind(schema.String)}, {"ok", kind(schema.String)},
		{"d", kind(schema.JSON)}, {"big", kind(schema.String)},
	}
	for range 60 {
		var lines strings.Builder
		for range 1 + rnd.IntN(60) {
			lines.WriteString(randomRecord(rnd) + "\n")
		}
		for _, p := range places {
			got, c, err := widen(t, lines.String(), p.at, p.to)
			if err != nil {
				t.Fatalf("%s to %s: %v\n%s", p.at, p.to, err, lines.String())
			}
			want := texts(decode(t, c.Schema(), lines.String()))
			for i, line := range strings.Split(strings.TrimSpace(lines.String()), "\n") {
				if len(got) != len(want) || got[i] != want[i] {
					t.Fatalf("%s to %s\n%s\ngot\n%s\nwant\n%s", p.at, p.to, line, got[i], want[i])
				}
			}
		}
	}
}

// randomRecord has a value, null or nothing at every place, in one case of six one
// that does not fit.
func randomRecord(rnd *rand.Rand) string {
	odd := []string{`9.5`, `"text \"quoted\"\n\u00e9"`, `true`, `{"a":[1,{"b":2}]}`, `[1,"x"]`, `123456789012345678901234567890`}
	value := func(fit ...string) string {
		switch n := rnd.IntN(12); {
		case n < 2:
			return odd[rnd.IntN(len(odd))]
		case n < 3:
			return "null"
		default:
			return fit[rnd.IntN(len(fit))]
		}
	}
	many := func(form func() string) string {
		parts := make([]string, rnd.IntN(4))
		for i := range parts {
			parts[i] = form()
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	number := func() string { return value("0", "7", "-12", "9007199254740992") }
	item := func() string {
		return value(fmt.Sprintf(`{"price":%s,"q":%s}`, number(), many(number)), fmt.Sprintf(`{"q":%s}`, value(many(number))), `{}`)
	}
	var members []string
	add := func(key, v string) {
		if rnd.IntN(8) > 0 {
			members = append(members, fmt.Sprintf("%q:%s", key, v))
		}
	}
	add("n", number())
	add("Actor", value(fmt.Sprintf(`{"Id":%s,"name":%s}`, number(), value(`"x"`)), fmt.Sprintf(`{"Id":%s,"we.ird\"":%s}`, number(), number())))
	add("tags", value(many(number)))
	add("items", value(many(item)))
	add("labels", value(fmt.Sprintf(`{"a.b":%s,"c\"]":%s,"":%s}`, number(), number(), number()), `{}`))
	add("t", value(`"2026-01-02T03:04:05.123456Z"`))
	add("ok", value("true", "false"))
	add("d", value(`"2026-01-02"`))
	add("big", value(`99999999999999999999`))
	add("s", value(`"a"`, `""`))
	rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

func TestAStructBecomesJSONWithAllThatWasRescuedFromIt(t *testing.T) {
	lines := `{"n":1,"Actor":{"Id":1,"name":"a"}}
{"n":2.5,"Actor":{"Id":"x","name":"b","more.\"":[1, 2]}}
{"Actor":{"Id":7}}
{"Actor":"whole"}
{"Actor":{"odd":null,"other":3}}
{"n":3}
`
	got, c, err := widen(t, lines, "actor", kind(schema.JSON))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`{"Id":1,"name":"a"}|null`, `{"Id":"x","name":"b","more.\"":[1, 2]}|{"n":2.5}`, `{"Id":7}|null`, `"whole"|null`, `{"other":3}|null`, `null|null`}
	for i, line := range got {
		var r struct {
			Actor   json.RawMessage
			Rescued *string `json:"_rescued"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		rescued := "null"
		if r.Rescued != nil {
			rescued = *r.Rescued
		}
		if is := string(r.Actor) + "|" + rescued; is != want[i] {
			t.Errorf("row %d: %s, want %s", i, is, want[i])
		}
	}
	if n := c.Counts(); n.Returned != 4 || n.Left != 0 {
		t.Errorf("%+v", n)
	}
	if _, err := c.Schema().At("actor.id"); err == nil {
		t.Error("a part of it is a column still")
	}
}

func TestListsAndMapsBecomeJSON(t *testing.T) {
	lines := `{"tags":[1,"two",null,3],"items":[{"price":1,"q":[1,"b"]},"odd",{"q":null}],"labels":{"a\"b":1,"c":[2]}}` + "\n"
	for at, want := range map[string]string{
		"tags": `"tags":[1,"two",null,3]`, "items": `"items":[{"price":1,"q":[1,"b"]},"odd",{}]`,
		"labels": `"labels":{"a\"b":1,"c":[2]}`, "items[]": `"items":[{"price":1,"q":[1,"b"]},"odd",{}]`, "items[].q": `"q":[1,"b"]`,
	} {
		got, _, err := widen(t, lines, at, kind(schema.JSON))
		if err != nil || !strings.Contains(got[0], want) {
			t.Errorf("%s: %s, %v", at, got, err)
		}
	}
}

// TestTextBecomesJSON shows the one loss: a text does not tell whether a number was
// received.
func TestTextBecomesJSON(t *testing.T) {
	got, _, err := widen(t, `{"s":"a\u0022"}`+"\n"+`{"s":9.50}`+"\n"+`{"s":{"x":1}}`+"\n", "s", kind(schema.JSON))
	for i, want := range []string{`"s":"a\""`, `"s":"9.50"`, `"s":{"x":1}`} {
		if err != nil || !strings.Contains(got[i], want) {
			t.Errorf("%s, %v, want %s", got[i], err, want)
		}
	}
}

func TestJSONBecomesAStruct(t *testing.T) {
	to := kind(schema.Struct, field(0, "Id", kind(schema.Int64)), field(0, "tags", list(0, kind(schema.String))))
	lines := `{"doc":{"Id":1,"tags":["a",2]}}
{"doc":{"Id":"x","more":1}}
{"n":1}
{"doc":null}
`
	got, c, err := widen(t, lines, "doc", to)
	if err != nil {
		t.Fatal(err)
	}
	want := texts(decode(t, c.Schema(), lines))
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if f, err := c.Schema().At("doc.tags[]"); err != nil || f.ID != 43 || c.Schema().LastID != 43 {
		t.Errorf("ids: %+v, %v, last %d", f, err, c.Schema().LastID)
	}
}

func TestAValueThatWouldNotBeKeptRefusesTheChange(t *testing.T) {
	for _, c := range []struct {
		line, at string
		to       schema.Type
		value    string
	}{
		{`{"n":9007199254740993}`, "n", kind(schema.Float64), "9007199254740993"},
		{`{"n":123}`, "n", schema.Type{Kind: schema.Decimal, Precision: 4, Scale: 2}, "123"},
		{`{"doc":[1]}`, "doc", kind(schema.Struct, field(0, "a", kind(schema.Bool))), "[1]"},
		{`{"doc":{"a":true,"a":true}}`, "doc", kind(schema.Struct, field(0, "a", kind(schema.Bool))), `{"a":true,"a":true}`},
	} {
		_, _, err := widen(t, `{"n":1}`+"\n"+c.line+"\n", c.at, c.to)
		var refused *retype.RefusedError
		if c.at == "doc" {
			_, _, err = widen(t, c.line+"\n", c.at, c.to)
		}
		if !errors.As(err, &refused) || refused.Value != c.value || refused.Source != "o" {
			t.Errorf("%s to %s: %v", c.at, c.to, err)
		}
	}
}

func TestWhatStillDoesNotFitStaysRescued(t *testing.T) {
	got, c, err := widen(t, "{\"n\":1}\n{\"n\":2.5}\n{\"n\":\"x\"}\n", "n", kind(schema.Float64))
	if err != nil || c.Counts() != (retype.Counts{Returned: 1, Left: 1}) {
		t.Fatalf("%+v, %v", c.Counts(), err)
	}
	for i, want := range []string{`"_rescued":null,"n":1,`, `"_rescued":null,"n":2.5,`, `"_rescued":"{\"n\":\"x\"}","n":null,`} {
		if !strings.Contains(got[i], want) {
			t.Errorf("row %d: %s, want %s", i, got[i], want)
		}
	}
}

// TestTextOfANumberComesBack: a rescued text is taken by the wider column as the next
// batch's would be.
func TestTextOfANumberComesBack(t *testing.T) {
	lines := `{"n":1}
{"n":"1.50"}
{"n":" 2.5e1 "}
{"n":"007"}
{"n":"x"}
{"n":"NaN"}
`
	got, c, err := widen(t, lines, "n", kind(schema.Float64))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`1|null`, `1.5|null`, `25|null`, `null|{"n":"007"}`, `null|{"n":"x"}`, `"NaN"|null`}
	for i, row := range got {
		var r struct {
			N       json.RawMessage
			Rescued *string `json:"_rescued"`
		}
		if err := json.Unmarshal([]byte(row), &r); err != nil {
			t.Fatal(err)
		}
		rest := "null"
		if r.Rescued != nil {
			rest = *r.Rescued
		}
		if have := string(r.N) + "|" + rest; have != want[i] {
			t.Errorf("row %d: %s, want %s", i, have, want[i])
		}
	}
	if counts := c.Counts(); counts.Returned != 2 || counts.Left != 2 { // 25 was never rescued: it is whole
		t.Errorf("%+v", counts)
	}
}

func TestOnlyWiderTypesAndColumnsOfTheInput(t *testing.T) {
	for at, to := range map[string]schema.Type{
		"t": kind(schema.Date), "s": kind(schema.Int64), "n": kind(schema.Bool), "_source": kind(schema.JSON), "nowhere": kind(schema.JSON),
		"n[]": kind(schema.String), "n.x": kind(schema.String), "doc": kind(schema.Struct), "big": kind(schema.Decimal), "tags[].x": kind(schema.JSON), "items[]]": kind(schema.JSON),
	} {
		if _, err := retype.New(table(), schema.Column(at), to, schema.Lower); err == nil {
			t.Errorf("%s to %s is accepted", at, to)
		}
	}
}
