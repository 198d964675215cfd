package schema_test

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"batcher/schema"
)

var update = flag.Bool("update", false, "rewrite golden files")

func column(id int32, name, key string, t schema.Type) schema.Field {
	return schema.Field{ID: id, Name: name, Key: key, Type: t}
}

func of(k schema.Kind) schema.Type { return schema.Type{Kind: k} }

// everyType is a schema that has each type and each stored member once.
func everyType() *schema.Schema {
	s := schema.New()
	part := func(id int32, name string, t schema.Type) schema.Field { return column(id, name, "", t) }
	s.Fields = append(s.Fields,
		column(17, "ts", "ts", of(schema.Timestamp)),
		column(18, "actor", "Actor", schema.Type{Kind: schema.Struct, Fields: []schema.Field{
			column(19, "id", "id", of(schema.Int64)), column(20, "id_2", "Id", of(schema.String))}}),
		column(21, "tags", "tags", schema.Type{Kind: schema.List, Fields: []schema.Field{
			part(22, "element", schema.Type{Kind: schema.Struct, Fields: []schema.Field{column(23, "n", "n", of(schema.Int32))}})}}),
		column(24, "labels", "labels", schema.Type{Kind: schema.Map, Fields: []schema.Field{
			part(25, "key", of(schema.String)), part(26, "value", of(schema.Float64))}}),
		column(27, "big", "big", schema.Type{Kind: schema.Decimal, Precision: 38}),
		column(28, "price", "price", schema.Type{Kind: schema.Decimal, Precision: 10, Scale: 2}),
		column(29, "ok", "ok", of(schema.Bool)), column(30, "doc", "doc<>", of(schema.JSON)),
		column(31, "raw", "raw", of(schema.Bytes)), column(32, "day", "day", of(schema.Date)))
	s.LastID = 40
	return s
}

func TestStoredFormMatchesGoldenFile(t *testing.T) {
	got, err := json.Marshal(everyType())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "schema-v1.json")
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Fatalf("stored form changed:\n%s\nwant\n%s", got, want)
	}
	var back schema.Schema
	if err := json.Unmarshal(want, &back); err != nil {
		t.Fatal(err)
	}
	if !back.Equal(everyType()) {
		t.Fatalf("read back %+v", back)
	}
}

func TestStoredFormIsTheSameInsideAnotherObject(t *testing.T) {
	alone, err := json.Marshal(everyType())
	if err != nil {
		t.Fatal(err)
	}
	inside, err := json.Marshal(map[string]*schema.Schema{"inline": everyType()})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"inline":` + string(alone) + `}`; string(inside) != want {
		t.Fatalf("got %s, want %s", inside, want)
	}
}

func TestReaderRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"unknown member of schema": `{"last_id":17,"fields":[],"x":1}`,
		"unknown member of field":  `{"last_id":17,"fields":[{"id":17,"name":"a","type":"bool","nullable":true}]}`,
		"unknown type":             `{"last_id":17,"fields":[{"id":17,"name":"a","type":"int128"}]}`,
		"unknown nested type":      `{"last_id":17,"fields":[{"id":17,"name":"a","type":{"set":"bool"}}]}`,
		"two nested types":         `{"last_id":18,"fields":[{"id":17,"name":"a","type":{"struct":[{"id":18,"name":"b","type":"bool"}],"list":{"type":"bool"}}}]}`,
		"no type":                  `{"last_id":17,"fields":[{"id":17,"name":"a"}]}`,
		"none":                     `{"last_id":17,"fields":[{"id":17,"name":"a","type":"none"}]}`,
		"decimal out of range":     `{"last_id":17,"fields":[{"id":17,"name":"a","type":"decimal(39,0)"}]}`,
		"decimal spelled oddly":    `{"last_id":17,"fields":[{"id":17,"name":"a","type":"decimal(038,0)"}]}`,
		"empty struct":             `{"last_id":17,"fields":[{"id":17,"name":"a","type":{"struct":[]}}]}`,
		"id twice":                 `{"last_id":17,"fields":[{"id":17,"name":"a","type":"bool"},{"id":17,"name":"b","type":"bool"}]}`,
		"name twice":               `{"last_id":18,"fields":[{"id":17,"name":"a","type":"bool"},{"id":18,"name":"a","type":"bool"}]}`,
		"key twice":                `{"last_id":18,"fields":[{"id":17,"name":"a","key":"k","type":"bool"},{"id":18,"name":"b","key":"k","type":"bool"}]}`,
		"id above last":            `{"last_id":16,"fields":[{"id":17,"name":"a","type":"bool"}]}`,
		"bad name":                 `{"last_id":17,"fields":[{"id":17,"name":"A","type":"bool"}]}`,
		"part with a name":         `{"last_id":18,"fields":[{"id":17,"name":"a","type":{"list":{"id":18,"name":"element","type":"bool"}}}]}`,
		"map without value":        `{"last_id":18,"fields":[{"id":17,"name":"a","type":{"map":{"key":{"id":18,"type":"string"}}}}]}`,
		"too deep":                 `{"last_id":17,"fields":[{"name":"a","type":` + strings.Repeat(`{"list":{"type":`, 70) + `"bool"` + strings.Repeat(`}}`, 70) + `}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var s schema.Schema
			if err := json.Unmarshal([]byte(in), &s); err == nil {
				t.Fatalf("accepted %s", in)
			}
		})
	}
}

func TestNothingIsStoredThatCannotBeReadBack(t *testing.T) {
	for name, fields := range map[string][]schema.Field{
		"a key twice":               {{Name: "a", Key: "k"}, {Name: "b", Key: "k"}},
		"D12_a key that is no text": {{Name: "a", Key: "\xff"}},
		"D12_the same in a struct":  {{Name: "a", Key: "a", Type: schema.Type{Kind: schema.Struct, Fields: []schema.Field{{Name: "b", Key: "\xed\xa0\x80"}}}}},
		"a name that is none":       {{Name: "A", Key: "a"}},
	} {
		s := schema.New()
		for _, f := range fields {
			s.LastID++
			f.ID = s.LastID
			if f.Type.Kind == schema.None {
				f.Type.Kind = schema.String
			}
			s.Fields = append(s.Fields, f)
		}
		for i := range s.Fields[len(s.Fields)-1].Type.Fields {
			f := &s.Fields[len(s.Fields)-1].Type.Fields[i]
			s.LastID++
			f.ID, f.Type.Kind = s.LastID, schema.String
		}
		if err := s.Validate(); err == nil {
			t.Errorf("%s: valid", name)
		}
		if text, err := json.Marshal(s); err == nil {
			t.Errorf("%s: stored as %s", name, text)
		}
	}
}

func TestLeavesAreDepthFirstWithLevels(t *testing.T) {
	type leaf struct {
		path     string
		def, rep uint8
	}
	var got []leaf
	for _, l := range everyType().Leaves() {
		got = append(got, leaf{strings.Join(l.Path, "."), l.MaxDef, l.MaxRep})
	}
	want := []leaf{{"_source", 1, 0}, {"_offset", 1, 0}, {"_rescued", 1, 0}, {"ts", 1, 0}, {"actor.id", 2, 0}, {"actor.id_2", 2, 0},
		{"tags.element.n", 4, 1}, {"labels.key", 2, 1}, {"labels.value", 3, 1}, {"big", 1, 0}, {"price", 1, 0}, {"ok", 1, 0}, {"doc", 1, 0}, {"raw", 1, 0}, {"day", 1, 0}}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	a := everyType()
	b := a.Clone()
	b.Fields[4].Type.Fields[0].Name = "changed"
	if !a.Equal(everyType()) || a.Equal(b) {
		t.Fatal("the clone shares fields with the original")
	}
}

func TestDeadLettersAndReservedAreValid(t *testing.T) {
	for _, s := range []*schema.Schema{schema.DeadLetters(), schema.New(), everyType()} {
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func FuzzSchema(f *testing.F) {
	seed, err := json.Marshal(everyType())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, in []byte) {
		var s schema.Schema
		if json.Unmarshal(in, &s) != nil {
			return
		}
		out, err := json.Marshal(&s)
		if err != nil {
			t.Fatalf("accepted %s but cannot write it: %v", in, err)
		}
		var back schema.Schema
		if err := json.Unmarshal(out, &back); err != nil || !back.Equal(&s) {
			t.Fatalf("%s became %s: %v", in, out, err)
		}
		s.Leaves()
	})
}

var seedFlag = flag.Uint64("seed", 0, "seed of random tests; 0 draws one")

// random returns a source of randomness whose seed the test prints, and which
// -seed repeats.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with -seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}
