package schema_test

import (
	"errors"
	"strings"
	"testing"

	"batcher/schema"
)

// pinsOf reads pins written as "place type" or "place type name".
func pinsOf(t testing.TB, lines ...string) []schema.Pin {
	t.Helper()
	pins := make([]schema.Pin, len(lines))
	for i, line := range lines {
		words := strings.Fields(line)
		place, err := schema.ParsePlace(words[0])
		if err != nil {
			t.Fatal(err)
		}
		typ, err := schema.ParseType(words[1])
		if err != nil {
			t.Fatal(err)
		}
		pins[i] = schema.Pin{Place: place, Type: typ}
		if len(words) > 2 {
			pins[i].Name = words[2]
		}
	}
	if i, err := schema.CheckPins(pins); err != nil {
		t.Fatalf("%s: %v", lines[i], err)
	}
	return pins
}

func TestPins_DecideWhatIsPublished(t *testing.T) {
	seen := func(root *schema.Shape) {
		record(root, 1, "a", schema.SawText, "n", schema.SawInt, "o", []any{"x", schema.SawInt, "Y", schema.SawText}, "l", list{[]any{"p", schema.SawFloat}}, "nil", nil)
	}
	for name, c := range map[string]struct {
		pins []string
		only bool
		want string
	}{
		"none":                    {nil, false, "struct<a:string,l:json,n:int64,o:json>"},
		"a type":                  {[]string{"n float64"}, false, "struct<a:string,l:json,n:float64,o:json>"},
		"a type nothing fits":     {[]string{"a int32"}, false, "struct<a:int32,l:json,n:int64,o:json>"},
		"a name":                  {[]string{"n int64 number", "A string a"}, false, "struct<a:string,l:json,number:int64,o:json>"},
		"what was never seen":     {[]string{"new decimal(18,2)", "nil date"}, false, "struct<a:string,l:json,n:int64,new:decimal(18,2),nil:date,o:json>"},
		"a struct, inferred":      {[]string{"o struct"}, false, "struct<a:string,l:json,n:int64,o:struct<x:int64,y:string>>"},
		"a struct, nothing there": {[]string{"q struct"}, false, "struct<a:string,l:json,n:int64,o:json>"},
		"a struct, listed":        {[]string{"o struct<x:int32,New:date>"}, false, "struct<a:string,l:json,n:int64,o:struct<new:date,x:int32,y:string>>"},
		"a nested place":          {[]string{"o.x float64", "q.r.s bytes"}, false, "struct<a:string,l:json,n:int64,o:struct<x:float64,y:string>,q:struct<r:struct<s:bytes>>>"},
		"in a list":               {[]string{"l[].p decimal(9,2)"}, false, "struct<a:string,l:list<struct<p:decimal(9,2)>>,n:int64,o:json>"},
		"elements":                {[]string{"l[] struct"}, false, "struct<a:string,l:list<struct<p:float64>>,n:int64,o:json>"},
		"elements, nothing there": {[]string{"m[] struct"}, false, "struct<a:string,l:json,n:int64,o:json>"},
		"a map":                   {[]string{"o map<string,struct<B:int64,b:date>>"}, false, "struct<a:string,l:json,n:int64,o:map<string,struct<b:date,b_2:int64>>>"},
		"a list as json":          {[]string{"l json"}, false, "struct<a:string,l:json,n:int64,o:json>"},
		"only listed":             {[]string{"n int32", "o.x int64"}, true, "struct<n:int32,o:struct<x:int64>>"},
		"only listed, a struct":   {[]string{"o struct"}, true, "struct<o:struct<x:int64,y:string>>"},
		"only listed, its fields": {[]string{"o struct<x:int64>"}, true, "struct<o:struct<x:int64>>"},
	} {
		t.Run(name, func(t *testing.T) {
			rules := schema.Rules{Pins: pinsOf(t, c.pins...), OnlyListed: c.only}
			s, _ := infer(rules, seen)
			if got := text(s); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if err := s.Validate(); err != nil {
				t.Error(err)
			}
			if err := rules.CheckPublished(s); err != nil {
				t.Error(err)
			}
			var root schema.Shape
			seen(&root)
			if again, added := schema.Evolve(s, &root, rules); !again.Equal(s) || len(added) > 0 {
				t.Errorf("evolving twice added %v", added)
			}
		})
	}
}

func TestPins_AreAddedToWhatIsPublished(t *testing.T) {
	published, _ := infer(schema.Rules{MinRecords: 1}, func(root *schema.Shape) {
		record(root, 1, "a", schema.SawInt, "o", []any{"x", schema.SawInt})
	})
	rules := schema.Rules{Pins: pinsOf(t, "b date", "o.y bytes"), OnlyListed: true}
	next, added := schema.Evolve(published, &schema.Shape{}, rules)
	if got, want := text(next), "struct<a:int64,o:struct<x:int64,y:bytes>,b:date>"; got != want || len(added) != 2 {
		t.Errorf("got %s, want %s (%v)", got, want, added)
	}
	if err := schema.CheckGrowth(published, next); err != nil {
		t.Error(err)
	}
}

// TestPins_GoBeyondBounds: what is declared counts against the bounds, but only
// what is inferred gives way.
func TestPins_GoBeyondBounds(t *testing.T) {
	rules := schema.Rules{Pins: pinsOf(t, "o.b struct<x:int64,y:int64>", "z date"), MaxColumns: 6, MaxLeaves: 3}
	s, _ := infer(rules, func(root *schema.Shape) {
		record(root, 1, "a", schema.SawInt, "o", []any{"a", schema.SawInt, "c", schema.SawInt, "d", schema.SawInt})
	})
	if got, want := text(s), "struct<a:int64,o:struct<a:int64,b:struct<x:int64,y:int64>>,z:date>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCheckPublished(t *testing.T) {
	published, _ := infer(schema.Rules{MinRecords: 1}, func(root *schema.Shape) {
		record(root, 1, "price", schema.SawInt, "o", []any{"x", schema.SawInt}, "l", list{[]any{"p", schema.SawFloat}}, "tags", list{schema.SawText}, "j", schema.SawList|schema.SawText)
	})
	for pin, want := range map[string]string{
		"price int64": "", "o struct": "", "o struct<x:int64>": "", "o struct<new:date>": "", "o.x int64": "", "l[].p float64": "", "tags list<string>": "", "j json": "", "new date": "", "price int64 price": "",
		"price float64":          "column price is published as int64, but the pipeline file declares float64",
		"price decimal(5,2)":     "column price is published as int64, but the pipeline file declares decimal(5,2)",
		"price int64 cost":       "column price is published as price, but the pipeline file declares the name cost",
		"new date price":         "column price is published as the column of another field, but the pipeline file declares it for new",
		"o json":                 "column o is published as struct<x:int64>, but the pipeline file declares json",
		"o.x string":             "column o.x is published as int64, but the pipeline file declares string",
		"o map<string,int64>":    "column o is published as struct<x:int64>, but the pipeline file declares map<string,int64>",
		"l[].p decimal(5,2)":     "column l[].p is published as float64, but the pipeline file declares decimal(5,2)",
		"l[] json":               "column l[] is published as struct<p:float64>, but the pipeline file declares json",
		"tags list<json>":        "column tags[] is published as string, but the pipeline file declares json",
		"j struct":               "column j is published as json, but the pipeline file declares struct",
		"j list<string>":         "column j is published as json, but the pipeline file declares list<string>",
		"j[].a date":             "column j is published as json, but the pipeline file declares list",
		"price.cents int64":      "column price is published as int64, but the pipeline file declares struct",
		"o struct<x:int32>":      "column o.x is published as int64, but the pipeline file declares int32",
		"tags list<list<int32>>": "column tags[] is published as string, but the pipeline file declares list<int32>",
	} {
		err := schema.Rules{Pins: pinsOf(t, pin)}.CheckPublished(published)
		var pe *schema.PinError
		switch {
		case err == nil && want != "":
			t.Errorf("%s: fits, want %s", pin, want)
		case err != nil && (err.Error() != want || !errors.As(err, &pe)):
			t.Errorf("%s: got %v, want %s", pin, err, want)
		}
	}
}

// TestContract_KeepsColumnsOut: once a table has columns only pins and derived
// columns are added, in structs too.
func TestContract_KeepsColumnsOut(t *testing.T) {
	seen := func(root *schema.Shape) {
		record(root, 1, "a", schema.SawInt, "b", schema.SawText, "o", []any{"x", schema.SawInt, "y", schema.SawInt})
	}
	first := schema.Rules{MinRecords: 1, Contract: schema.Freeze, Derived: []schema.Derived{{Name: "b", From: "ts"}}}
	s, _ := infer(first, func(root *schema.Shape) { record(root, 1, "a", schema.SawInt, "o", []any{"x", schema.SawInt}) })
	if got, want := text(s), "struct<a:int64,o:struct<x:int64>,b:date>"; got != want || first.Under(schema.New()).Frozen() {
		t.Errorf("a new table: got %s, want %s", got, want)
	}
	var root schema.Shape
	seen(&root)
	for _, contract := range []schema.Contract{schema.Freeze, schema.DiscardValue, schema.DiscardRow} {
		rules := schema.Rules{Contract: contract, Pins: pinsOf(t, "p date", "q struct"), Derived: []schema.Derived{{Name: "b", From: "ts"}, {Name: "ts_hour", From: "ts", Part: schema.Hour}}}
		next, added := schema.Evolve(s, &root, rules)
		if got, want := text(next), "struct<a:int64,o:struct<x:int64>,b:date,p:date,ts_hour:string>"; got != want || len(added) != 1 {
			t.Errorf("%d: got %s, want %s (%v)", contract, got, want, added)
		}
		if !rules.Under(s).Frozen() || rules.Under(schema.New()).Frozen() || rules.Under(schema.New()).Under(s).Frozen() {
			t.Error("frozen is not what the published schema says")
		}
	}
	next, _ := schema.Evolve(s, &root, schema.Rules{MinRecords: 1})
	if got, want := text(next), "struct<a:int64,o:struct<x:int64,y:int64>,b:date,b_2:string>"; got != want {
		t.Errorf("evolving: got %s, want %s", got, want)
	}
}
