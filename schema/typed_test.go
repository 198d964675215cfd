package schema_test

import (
	"slices"
	"testing"

	"batcher/schema"
)

// TestTypedDecimals joins digits in front of the point and behind it.
func TestTypedDecimals(t *testing.T) {
	for _, c := range []struct {
		name string
		see  func(*schema.Shape)
		want string
	}{
		{"one scale", func(s *schema.Shape) { s.SeeDecimal(3, 2) }, "decimal(38,2)"},
		{"the larger scale", func(s *schema.Shape) { s.SeeDecimal(3, 2); s.SeeDecimal(1, 9) }, "decimal(38,9)"},
		{"with whole numbers", func(s *schema.Shape) { s.SeeDecimal(3, 2); s.See(schema.SawInt | schema.SawWideInt); s.Measure(19, 0) }, "decimal(38,2)"},
		{"no room for whole numbers", func(s *schema.Shape) { s.SeeDecimal(3, 20); s.See(schema.SawWideInt); s.Measure(19, 0) }, "string"},
		{"all digits", func(s *schema.Shape) { s.SeeDecimal(20, 2); s.SeeDecimal(2, 18) }, "decimal(38,18)"},
		{"a digit too many", func(s *schema.Shape) { s.SeeDecimal(20, 2); s.SeeDecimal(2, 19) }, "string"},
		{"D8_whole numbers of 38 digits", func(s *schema.Shape) { s.See(schema.SawDecimal); s.Measure(38, 0); s.SeeDecimal(1, 1) }, "string"},
		{"D8_whole numbers of 20 digits", func(s *schema.Shape) { s.See(schema.SawDecimal); s.Measure(20, 0); s.SeeDecimal(1, 1) }, "decimal(38,1)"},
		{"D8_whole numbers alone", func(s *schema.Shape) { s.See(schema.SawDecimal); s.Measure(38, 0) }, "decimal(38,0)"},
		{"written fractions", func(s *schema.Shape) { s.See(schema.SawFraction); s.Measure(2, 3) }, "decimal(38,18)"},
		{"written fractions of many digits", func(s *schema.Shape) { s.See(schema.SawFraction | schema.SawInt); s.Measure(25, 3) }, "decimal(38,13)"},
		{"written fractions of more digits", func(s *schema.Shape) { s.See(schema.SawFraction); s.Measure(2, 30) }, "decimal(38,30)"},
		{"written fractions of too many digits", func(s *schema.Shape) { s.See(schema.SawFraction | schema.SawFloat); s.Measure(20, 19) }, "string"},
		{"written fractions and whole numbers beyond 2^53", func(s *schema.Shape) { s.See(schema.SawFraction | schema.SawWideInt); s.Measure(16, 3) }, "string"},
		{"written fractions and infinities", func(s *schema.Shape) { s.See(schema.SawFraction | schema.SawInfinite); s.Measure(16, 3) }, "string"},
		{"blanks and numbers", func(s *schema.Shape) { s.See(schema.SawBlank | schema.SawInt) }, "int64"},
		{"blanks alone", func(s *schema.Shape) { s.See(schema.SawBlank) }, "string"},
		{"with floats", func(s *schema.Shape) { s.SeeDecimal(1, 1); s.See(schema.SawFloat) }, "string"},
	} {
		var root schema.Shape
		c.see(root.SeeKey([]byte("v"), 10))
		next, _ := schema.Evolve(schema.New(), &root, schema.Rules{})
		if got := next.Fields[3].Type.String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestTypedNesting infers declared structs from one record, and maps from values
// of one kind.
func TestTypedNesting(t *testing.T) {
	for _, c := range []struct {
		name string
		see  func(*schema.Shape)
		want string
	}{
		{"struct", func(s *schema.Shape) { s.SeeStruct(1); s.SeeKey([]byte("a"), 10).See(schema.SawInt) }, "struct<a:int64>"},
		{"object seen once", func(s *schema.Shape) { s.SeeObject(1); s.SeeKey([]byte("a"), 10).See(schema.SawInt) }, "json"},
		{"map", func(s *schema.Shape) { s.See(schema.SawMap); s.Element().See(schema.SawDate) }, "map<string,date>"},
		{"map of mixed values", func(s *schema.Shape) { s.See(schema.SawMap); s.Element().See(schema.SawInt | schema.SawBool) }, "map<string,string>"},
		{"map of lists", func(s *schema.Shape) { s.See(schema.SawMap); s.Element().See(schema.SawList) }, "json"},
		{"empty map", func(s *schema.Shape) { s.See(schema.SawMap) }, "json"},
		{"map and list", func(s *schema.Shape) { s.See(schema.SawMap | schema.SawList); s.Element().See(schema.SawInt) }, "json"},
	} {
		var root schema.Shape
		c.see(root.SeeKey([]byte("v"), 10))
		next, _ := schema.Evolve(schema.New(), &root, schema.Rules{})
		if got := next.Fields[3].Type.String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		var again schema.Shape
		again.Settle(next)
		if settled, _ := schema.Evolve(schema.New(), &again, schema.Rules{}); schema.Widened(next, settled) {
			t.Errorf("%s: what was decided is %s when it is decided again", c.name, settled.Fields[3].Type)
		}
	}
}

// TestClassesJoinToWiderKinds joins every set of classes of plain values with every
// other class: a kind never gives way to a narrower one, so that what a column takes
// without a look at its class does not count.
func TestClassesJoinToWiderKinds(t *testing.T) {
	classes := []schema.Class{schema.SawBool, schema.SawInt, schema.SawWideInt, schema.SawDecimal, schema.SawFloat, schema.SawHuge, schema.SawDate,
		schema.SawTimestamp, schema.SawText, schema.SawBlank, schema.SawFraction, schema.SawInfinite, schema.SawFloat | schema.SawDouble}
	wider := map[schema.Kind][]schema.Kind{
		schema.Bool: {schema.String}, schema.Date: {schema.String}, schema.Timestamp: {schema.String}, schema.Decimal: {schema.String},
		schema.Int64: {schema.Float64, schema.Decimal, schema.String}, schema.Float64: {schema.Decimal, schema.String},
	}
	const undecided = schema.SawBlank | schema.SawInfinite
	for set := range 1 << len(classes) {
		var of schema.Class
		for i, c := range classes {
			if set>>i&1 == 1 {
				of |= c
			}
		}
		if of&^undecided == 0 {
			continue
		}
		for _, c := range classes {
			if from, to := of.Kind(), (of | c).Kind(); from != to && !slices.Contains(wider[from], to) {
				t.Fatalf("%b is %s, and %s with %b", of, from, to, c)
			}
		}
	}
}
