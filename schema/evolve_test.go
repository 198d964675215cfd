package schema_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"batcher/schema"
)

func TestClassKind(t *testing.T) {
	for name, c := range map[string]struct {
		class schema.Class
		want  schema.Kind
	}{
		"D3_null carries no type":     {0, schema.None},
		"int":                         {schema.SawInt, schema.Int64},
		"D7_wide int stays int64":     {schema.SawInt | schema.SawWideInt, schema.Int64},
		"D8_int and decimal":          {schema.SawInt | schema.SawDecimal, schema.Decimal},
		"D1_int and double":           {schema.SawInt | schema.SawFloat, schema.Float64},
		"D7_wide int and double":      {schema.SawWideInt | schema.SawFloat, schema.String},
		"decimal and double":          {schema.SawDecimal | schema.SawFloat, schema.String},
		"huge":                        {schema.SawHuge | schema.SawInt, schema.String},
		"bool and int":                {schema.SawBool | schema.SawInt, schema.String},
		"date":                        {schema.SawDate, schema.Date},
		"date and timestamp":          {schema.SawDate | schema.SawTimestamp, schema.String},
		"timestamp and text":          {schema.SawTimestamp | schema.SawText, schema.String},
		"object":                      {schema.SawObject, schema.Struct},
		"object and scalar":           {schema.SawObject | schema.SawInt, schema.JSON},
		"object and list":             {schema.SawObject | schema.SawList, schema.JSON},
		"a huge number beside a list": {schema.SawHuge | schema.SawList, schema.JSON},
		"typed map":                   {schema.SawMap, schema.Map},
		"typed map and object":        {schema.SawMap | schema.SawObject, schema.JSON},
		"typed bytes":                 {schema.SawBytes, schema.Bytes},
		"typed bytes and text":        {schema.SawBytes | schema.SawText, schema.Bytes},
		"typed bytes and number":      {schema.SawBytes | schema.SawInt, schema.JSON},
		"everything":                  {1<<13 - 1, schema.JSON},
	} {
		if got := c.class.Kind(); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	for k := schema.Bool; k <= schema.Struct; k++ {
		got := schema.ClassOf(k).Kind()
		declared := map[schema.Kind]schema.Kind{schema.Int32: schema.Int64}
		want, ok := declared[k]
		if !ok {
			want = k
		}
		if got != want {
			t.Errorf("class of %s is of kind %s", k, got)
		}
	}
}

// record joins one object to root: keys in order, each with a class or, for
// nested values, a nested list of the same form.
func record(root *schema.Shape, number int64, members ...any) {
	root.SeeObject(number)
	for i := 0; i < len(members); i += 2 {
		see(root.SeeKey([]byte(members[i].(string)), 1000), number, members[i+1])
	}
}

type list []any

func see(s *schema.Shape, number int64, v any) {
	switch v := v.(type) {
	case schema.Class:
		s.See(v)
	case []any:
		record(s, number, v...)
	case list:
		s.See(schema.SawList)
		for _, e := range v {
			see(s.Element(), number, e)
		}
	}
}

func infer(rules schema.Rules, build func(root *schema.Shape)) (*schema.Schema, []schema.Added) {
	var root schema.Shape
	build(&root)
	return schema.Evolve(schema.New(), &root, rules)
}

func text(s *schema.Schema) string {
	return schema.Type{Kind: schema.Struct, Fields: s.Fields[3:]}.String()
}

func TestEvolveGivesIDsInPathOrder(t *testing.T) {
	s, _ := infer(schema.Rules{MinRecords: 1}, func(root *schema.Shape) {
		record(root, 1, "z", schema.SawInt, "a", []any{"y", schema.SawText, "b", list{schema.SawInt}}, "nothing", nil)
	})
	got := map[string]int32{}
	for _, f := range s.Fields[3:] {
		got[f.Name] = f.ID
		for _, c := range f.Type.Fields {
			got[f.Name+"."+c.Name] = c.ID
		}
	}
	want := map[string]int32{"a": 17, "a.b": 18, "a.y": 20, "z": 21}
	for k, id := range want {
		if got[k] != id {
			t.Errorf("%s has id %d, want %d (all: %v)", k, got[k], id, got)
		}
	}
	if len(got) != len(want) || s.LastID != 21 {
		t.Errorf("got %v, last id %d", got, s.LastID)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}

func TestEvolveJudgesNestedValues(t *testing.T) {
	obj := []any{"x", schema.SawInt}
	for name, c := range map[string]struct {
		rules schema.Rules
		build func(root *schema.Shape)
		want  string
	}{
		"struct when seen often": {schema.Rules{}, func(r *schema.Shape) {
			for n := range int64(100) {
				record(r, n+1, "o", obj)
			}
		}, "struct<o:struct<x:int64>>"},
		"json when seen rarely": {schema.Rules{}, func(r *schema.Shape) {
			for n := range int64(99) {
				record(r, n+1, "o", list{obj, obj, obj})
			}
		}, "struct<o:json>"},
		"map-like keys": {schema.Rules{MinRecords: 1}, func(r *schema.Shape) {
			for n := range int64(200) {
				record(r, n+1, "o", []any{"k" + strings.Repeat("x", int(n%50)), schema.SawInt})
			}
		}, "struct<o:json>"},
		"empty object":   {schema.Rules{MinRecords: 1}, func(r *schema.Shape) { record(r, 1, "o", []any{}) }, "struct<o:json>"},
		"only null keys": {schema.Rules{MinRecords: 1}, func(r *schema.Shape) { record(r, 1, "o", []any{"x", nil}) }, "struct<o:json>"},
		"list of ints":   {schema.Rules{}, func(r *schema.Shape) { record(r, 1, "l", list{schema.SawInt, nil, schema.SawFloat}) }, "struct<l:list<float64>>"},
		"empty list":     {schema.Rules{}, func(r *schema.Shape) { record(r, 1, "l", list{}) }, "struct<l:json>"},
		"mixed list":     {schema.Rules{}, func(r *schema.Shape) { record(r, 1, "l", list{schema.SawInt, obj}) }, "struct<l:json>"},
		"D19_two lists of structs": {schema.Rules{MinRecords: 1}, func(r *schema.Shape) {
			record(r, 1, "a", list{obj, nil}, "b", list{obj})
		}, "struct<a:list<struct<x:int64>>,b:list<struct<x:int64>>>"},
		"beyond depth": {schema.Rules{MinRecords: 1, MaxDepth: 2}, func(r *schema.Shape) {
			record(r, 1, "a", []any{"b", []any{"c", obj}, "d", schema.SawInt})
		}, "struct<a:struct<b:struct<c:json>,d:int64>>"},
		"widest part folded": {schema.Rules{MinRecords: 1, MaxLeaves: 3}, func(r *schema.Shape) {
			record(r, 1, "a", []any{"p", []any{"x", schema.SawInt, "y", schema.SawInt, "z", schema.SawInt}, "q", schema.SawInt, "r", schema.SawInt})
		}, "struct<a:struct<p:json,q:int64,r:int64>>"},
		"too many scalars": {schema.Rules{MinRecords: 1, MaxLeaves: 1}, func(r *schema.Shape) {
			record(r, 1, "a", []any{"q", schema.SawInt, "r", schema.SawInt})
		}, "struct<a:json>"},
		"bound of the table": {schema.Rules{MaxColumns: 5}, func(r *schema.Shape) {
			record(r, 1, "a", schema.SawInt, "b", schema.SawInt, "c", schema.SawInt)
		}, "struct<a:int64,b:int64>"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := infer(c.rules, c.build)
			if got := text(s); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestD14_CollisionsAreRenamedAndReported(t *testing.T) {
	s, added := infer(schema.Rules{MinRecords: 1}, func(r *schema.Shape) {
		record(r, 1, "Id", schema.SawInt, "id", schema.SawInt, "ID", schema.SawInt, "_source", schema.SawText, "a b", schema.SawInt,
			"o", []any{"X", schema.SawInt, "x", schema.SawInt}, "", schema.SawInt)
	})
	names := map[string]string{}
	for _, f := range s.Fields[3:] {
		names[f.Key] = f.Name
	}
	want := map[string]string{"id": "id", "ID": "id_2", "Id": "id_3", "_source": "_source_2", "a b": "a_b", "o": "o"}
	for k, n := range want {
		if names[k] != n {
			t.Errorf("key %q is named %q, want %q", k, names[k], n)
		}
	}
	if len(names) != len(want) {
		t.Errorf("got %v", names)
	}
	renamed := map[string]bool{}
	for _, a := range added {
		if a.Renamed {
			renamed[a.Path] = true
		}
	}
	for _, p := range []string{"id_2", "id_3", "_source_2", "a_b", "o.x_2"} {
		if !renamed[p] {
			t.Errorf("%s was not reported: %v", p, added)
		}
	}
	if renamed["id"] || renamed["o"] || len(renamed) != 5 {
		t.Errorf("reported %v", renamed)
	}
}

func TestPublishedTypesNeverChange(t *testing.T) {
	rng := random(t)
	for range 200 {
		published := schema.New()
		var root schema.Shape
		for n := range int64(20) {
			record(&root, n+1, randomObject(rng, 3)...)
			rules := schema.Rules{MinRecords: 1, MaxLeaves: 6, MaxColumns: 12}
			next, _ := schema.Evolve(published, &root, rules)
			if err := next.Validate(); err != nil {
				t.Fatal(err)
			}
			if !extends(schema.Type{Kind: schema.Struct, Fields: published.Fields}, schema.Type{Kind: schema.Struct, Fields: next.Fields}) {
				t.Fatalf("%s became %s", text(published), text(next))
			}
			again, added := schema.Evolve(next, &root, rules)
			if !again.Equal(next) || len(added) > 0 {
				t.Fatalf("evolving twice changed %s to %s", text(next), text(again))
			}
			published = next
		}
	}
}

// extends says whether b is a with nothing but fields added behind.
func extends(a, b schema.Type) bool {
	if a.Kind != b.Kind || len(b.Fields) < len(a.Fields) || (a.Kind != schema.Struct && len(a.Fields) != len(b.Fields)) {
		return false
	}
	for i, f := range a.Fields {
		g := b.Fields[i]
		if f.ID != g.ID || f.Name != g.Name || f.Key != g.Key || !extends(f.Type, g.Type) {
			return false
		}
	}
	return true
}

func randomObject(rng *rand.Rand, depth int) []any {
	var members []any
	for range rng.IntN(4) {
		members = append(members, string(rune('a'+rng.IntN(6))), randomValue(rng, depth))
	}
	return members
}

func randomValue(rng *rand.Rand, depth int) any {
	if depth > 0 {
		switch rng.IntN(4) {
		case 0:
			return randomObject(rng, depth-1)
		case 1:
			return list{randomValue(rng, depth-1), randomValue(rng, depth-1)}
		}
	}
	return schema.Class(1 << rng.IntN(9))
}
