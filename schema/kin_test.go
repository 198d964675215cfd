package schema_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"batcher/schema"
)

// TestNames_AreUniqueAndStay evolves tables by random keys in many cases and holds
// each step to what readers and earlier batches need of names.
func TestNames_AreUniqueAndStay(t *testing.T) {
	keys := []string{"id", "ID", "Id", "iD", "ıd", "İd", "eventTime", "eventtime", "event_time", "EVENT_TIME", "Größe", "größe", "GRO\u0308ßE", "straße", "STRASSE",
		"σ", "ς", "Σ", "€", "$", "a b", "a_b", "A B", "a_2", "a", "A", "_source", "_Source", "\u212a", "k", strings.Repeat("名", 90), strings.Repeat("名", 91),
		schema.MadeUpKey("a", 2), schema.MadeUpKey("A", 2), schema.GivenKey("a_2"), schema.GivenKey("column_1"), schema.MadeUpKey("", 1)}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		rules := schema.Rules{Names: schema.Naming(rng.IntN(2)), MinRecords: 1}
		if rng.IntN(2) == 0 {
			key := keys[rng.IntN(len(keys)-5)]
			rules.Pins = []schema.Pin{{Place: schema.Place{{Key: key}}, Type: schema.Type{Kind: schema.Date}}}
		}
		table := schema.New()
		for range 4 {
			var root schema.Shape
			root.Settle(table)
			for n := range int64(1 + rng.IntN(4)) {
				var members []any
				for _, k := range rng.Perm(len(keys))[:rng.IntN(8)] {
					members = append(members, keys[k], schema.SawInt)
				}
				record(&root, n+1, members...)
			}
			next, _ := schema.Evolve(table, &root, rules)
			holdsNames(t, seed, next, rules)
			if err := schema.CheckGrowth(table, next); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if again, added := schema.Evolve(next, &root, rules); !again.Equal(next) {
				t.Fatalf("seed %d: once more it adds %v", seed, added)
			}
			if err := rules.CheckPublished(next); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			table = next
		}
	}
}

// holdsNames demands valid names that no reader takes for one another, and that a pin
// has the name that its key makes from the first batch on.
func holdsNames(t *testing.T, seed uint64, s *schema.Schema, rules schema.Rules) {
	t.Helper()
	if err := s.Validate(); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	for i, f := range s.Fields {
		for _, o := range s.Fields[:i] {
			if mine, other := strings.ToUpper(f.Name), strings.ToUpper(o.Name); mine == other || strings.EqualFold(f.Name, o.Name) {
				t.Fatalf("seed %d: names %s and %s of keys %q and %q", seed, f.Name, o.Name, f.Key, o.Key)
			}
		}
	}
	for _, p := range rules.Pins {
		key := p.Place[0].Key
		want := rules.Names.Plain(key)
		if want == schema.SourceName {
			want += "_2"
		}
		if i := schema.IndexOf(s.Fields, key); i < 0 || s.Fields[i].Name != want || s.Fields[i].Type.Kind != schema.Date {
			t.Fatalf("seed %d: the pin %q has no column %s", seed, key, want)
		}
	}
}
