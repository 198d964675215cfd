package record_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
)

// cellsOfAllKinds has cells of every class, and of the spellings at the borders of
// what a column of each type takes.
var cellsOfAllKinds = []string{
	"7", "-7", " 5 ", "9007199254740992", "9007199254740993", "-9223372036854775808", "9223372036854775808", "12345678901234567890123", strings.Repeat("9", 38), strings.Repeat("9", 39),
	"1.5", "2.0", "5.", ".5", "-0", "-0.0", "1e5", "1e-7", "1e22", "1e30", "100000000000000000000.5", "12345678901234567890123.5",
	"9007199254740993.0", "0.12345678901234567891", "1234567890123456789012345678901234567.8", "0.1234567890123456789012345678901234567", "1e400", "1e-400", "8.500000000000001",
	"007", "+1", "00.5", "true", "False", "t", "x", " x ",
	`""`, `" "`, "NA", "NULL", "NaN", "-nan", "NaT", "inf", "-Infinity",
	"2024-01-01", " 2024-01-02", "2024-01-01T00:00:00Z", "2024-01-01 00:00Z", "2024-01-01T00:00:00.1234567+02:00", "2024-01-01T00:00:00",
}

// valuesOfAllKinds are JSON for the same places.
var valuesOfAllKinds = []string{
	"7", "9007199254740993", "12345678901234567890123", "-0", "1.5", "2.0", "1e5", "8.500000000000001", "0.12345678901234567891", "1e400",
	"true", `"x"`, `""`, `"NA"`, `"7"`, `"2024-01-01"`, `"2024-01-01T00:00:00Z"`, "null",
}

// TestTypesDoNotDependOnTheOrderOfRecords reads random records in two orders: all of
// them at the head of the batch, where types are decided, and one of them there, so
// that the others come when rows are made already. Some batches are of two formats.
func TestTypesDoNotDependOnTheOrderOfRecords(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 7))
	for range 1500 {
		var objects []input
		cases := rng.IntN(4) == 0 // keys in two cases, which are one column
		mixed, sign := rng.IntN(3) == 0, [...]byte{'.', '.', ','}[rng.IntN(3)]
		for i := range 2 + rng.IntN(4) {
			if mixed && rng.IntN(2) == 0 {
				objects = append(objects, input{"o.ndjson", fmt.Sprintf(`{"k":%d,"a":%s}`, 10+i, valuesOfAllKinds[rng.IntN(len(valuesOfAllKinds))])})
			} else {
				cell := cellsOfAllKinds[rng.IntN(len(cellsOfAllKinds))]
				if rng.IntN(2) == 0 {
					cell = strings.ReplaceAll(cell, ".", string(sign))
				}
				objects = append(objects, input{"o.csv", fmt.Sprintf("k;a\n%d;%s\n", 10+i, cell)})
			}
			if o := &objects[len(objects)-1]; cases && rng.IntN(2) == 0 {
				o.body = strings.NewReplacer(`"a":`, `"A":`, ";a\n", ";A\n").Replace(o.body)
			}
		}
		want := ""
		for _, prime := range []int{1 << 20, 1} {
			rng.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
			opt := record.Options{Format: record.Format{Kind: record.Auto, CSV: record.Dialect{Delimiter: ';', Decimal: sign}}, Limits: record.Limits{PrimeBytes: prime}}
			out, err := try(t, opt, objects...)
			if err != nil {
				t.Fatalf("%q: %v, %s", objects, err, columns(out.schema))
			}
			got := typeOf(out.schema, "a") + "\n" + byKey(t, out)
			if want == "" {
				want = got
			}
			if got != want {
				t.Fatalf("%q in tries %d became\n%s\nat the head of a batch\n%s", objects, out.tries, got, want)
			}
		}
	}
}

func typeOf(s *schema.Schema, name string) string {
	for _, f := range s.Fields {
		if f.Name == name {
			return f.Type.String()
		}
	}
	return "none"
}

// byKey returns the rows in the order of their k, as k, a and what was rescued.
func byKey(t *testing.T, out *outcome) string {
	var rows []string
	for _, row := range out.rows {
		var r struct {
			K, A    json.RawMessage
			Rescued string `json:"_rescued"`
		}
		if err := json.Unmarshal([]byte(row), &r); err != nil {
			t.Fatal(err)
		}
		if string(r.A) == "null" {
			r.A = nil // as where there is no column
		}
		rows = append(rows, fmt.Sprintf("%s %s %s", r.K, r.A, r.Rescued))
	}
	slices.Sort(rows)
	return strings.Join(rows, "\n")
}

// TestPlainFiguresAreLearnedAsAnyOther holds the fast way of cells against the other,
// which blanks around a number lead to.
func TestPlainFiguresAreLearnedAsAnyOther(t *testing.T) {
	for _, cell := range []string{"0", "-0", "-7", "10", "999999999999999", "1000000000000000", "0.5", "-0.5", "0.10", "10.0", "100.000", "1.", ".5", "-.5", "00", "00.5",
		"12345678.1234567", "12345678.12345678", "0.000000000000001", "-99999999999999.9", "-", "1.5.", "1.5x", "0.0", "-0.0"} {
		// The other value makes a decimal of the column, whose scale is that of the cell where it is the larger.
		for _, with := range []string{"", "0;0.1234567890123456789\n", "0;0.12345678901234567890123456789012345678\n", "0;12345678901234567890123.5\n", "0;12345678901234567890123456789012345.5\n"} {
			plain := decode(t, csvOptions(record.Dialect{Delimiter: ';'}), input{"o", "k;a\n1;" + cell + "\n" + with})
			blank := decode(t, csvOptions(record.Dialect{Delimiter: ';'}), input{"o", "k;a\n1;" + cell + " \n" + with})
			if got, want := typeOf(plain.schema, "a"), typeOf(blank.schema, "a"); got != want {
				t.Errorf("%s with %q is %s, with a blank %s", cell, with, got, want)
			}
		}
	}
}
