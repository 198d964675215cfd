package record_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
)

// TestNumbersThatADoubleDoesNotKeepAreRescued has numbers of many digits: those
// that some double prints as, to as many digits, and those that none does.
func TestNumbersThatADoubleDoesNotKeepAreRescued(t *testing.T) {
	for _, c := range []struct {
		number string
		kept   bool
	}{
		{"0.1", true}, {"1.10", true}, {"0.30000000000000004", true}, {"-179.123456789012", true}, {"1e22", true}, {"-0", true}, {"-0.0", true}, {"0.000", true},
		{"0.10000000000000001", true}, {"0.30000000000000004441", true}, {"0.1000000000000000055511151231257827", true}, // as C and others print doubles
		{"5e-324", true}, {"4.9406564584124654e-324", true}, {"1.7976931348623157e308", true}, {"1.5000000000000000000000000000000000", true}, {"0.000000000000000000000000000001", true},
		{"9007199254740993.0", false}, {"113.990656095e-318", false}, {"8.500000000000001", false}, {"100000000000000000000.5", false}, {"0.1234567890123456789", false}, {"123456789012345678.5", false},
		{"0.30000000000000004442", false}, {"9.9999999999999999", false}, {"1.00000000000000000001e5", false}, {"-9007199254740993e0", false}, {"0." + strings.Repeat("1", 900), false},
	} {
		line := fmt.Sprintf(`{"l":[{"v":%s}],"v":%[1]s}`, c.number)
		for _, prime := range []int{1, 1 << 20} {
			opt := record.Options{Rules: schema.Rules{MinRecords: 1}, Limits: record.Limits{PrimeBytes: prime}}
			out := decode(t, opt, input{"o", `{"v":1.5,"l":[{"v":1.5}]}` + "\n" + line})
			if got := columns(out.schema); got != "l:list<struct<v:float64>>,v:float64" {
				t.Fatalf("%s: columns %s", c.number, got)
			}
			want, _ := strconv.ParseFloat(c.number, 64)
			rescued := fmt.Sprintf(`"_rescued":"{\"l[0].v\":%s,\"v\":%[1]s}"`, c.number)
			if got := strings.Contains(out.rows[1], rescued); got == c.kept || strings.Contains(out.rows[1], `"_rescued":null`) != c.kept {
				t.Errorf("%s: %s, want it kept: %v", c.number, out.rows[1], c.kept)
			}
			if v, err := valueOf(out.rows[1]); err != nil || v != want || math.Signbit(v) != math.Signbit(want) {
				t.Errorf("%s: %s, want %v", c.number, out.rows[1], want)
			}
			if len(out.notes.Misfits) > 0 && (out.notes.Misfits[0].Reason != "precision" || out.notes.Misfits[0].Cure != "batcher schema widen l[].v string") {
				t.Errorf("%s: %+v", c.number, out.notes.Misfits)
			}
		}
	}
}

// valueOf is the column v of a row.
func valueOf(row string) (float64, error) {
	_, text, _ := strings.Cut(row, `],"v":`)
	return strconv.ParseFloat(strings.TrimSuffix(text, "}"), 64)
}

// TestDoublesAreKeptHoweverTheyWerePrinted prints random doubles in many ways.
func TestDoublesAreKeptHoweverTheyWerePrinted(t *testing.T) {
	rng := random(t)
	var lines strings.Builder
	for range 20000 {
		f := math.Float64frombits(rng.Uint64())
		if rng.IntN(2) == 0 {
			f = rng.NormFloat64() * 1000
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		text := strconv.FormatFloat(f, 'e', [...]int{-1, 16, 17, 20, 40}[rng.IntN(5)], 64)
		if math.Abs(f) < 1e6 && math.Abs(f) > 1e-6 {
			text = strconv.FormatFloat(f, 'f', [...]int{-1, 25, 60}[rng.IntN(3)], 64)
			if !strings.Contains(text, ".") {
				text += ".0"
			}
		}
		fmt.Fprintf(&lines, "{\"f\":%s}\n", text)
	}
	out := decode(t, record.Options{}, input{"o", lines.String()})
	if got := columns(out.schema); got != "f:float64" || len(out.notes.Misfits) > 0 {
		t.Fatalf("columns %s, misfits %+v", got, out.notes.Misfits)
	}
	if err := checkBatch(out, lines.String()); err != nil {
		t.Fatal(err)
	}
}

// TestTheSignOfZeroIsNotLost has a negative zero among numbers that become columns
// of whole numbers or decimals.
func TestTheSignOfZeroIsNotLost(t *testing.T) {
	for _, c := range []struct {
		kind                record.Kind
		body, columns, rows string
	}{
		{record.NDJSON, `{"v":1}` + "\n" + `{"v":-0}`, "v:float64", `{"v":1}` + "\n" + `{"v":-0}`},
		{record.NDJSON, `{"v":10000000000000000000}` + "\n" + `{"v":-0}`, "v:string", `{"v":"10000000000000000000"}` + "\n" + `{"v":"-0"}`},
		{record.CSV, "v\n1\n-0", "v:float64", `{"v":1}` + "\n" + `{"v":-0}`},
		{record.CSV, "v\n10000000000000000000\n-0", "v:string", `{"v":"10000000000000000000"}` + "\n" + `{"v":"-0"}`},
	} {
		for _, prime := range []int{1, 1 << 20} {
			out := decode(t, record.Options{Format: record.Format{Kind: c.kind}, Limits: record.Limits{PrimeBytes: prime}}, input{"o", c.body})
			if got := columns(out.schema); got != c.columns || users(out) != c.rows {
				t.Errorf("%s: columns %s, rows %s", c.body, got, users(out))
			}
		}
	}
}
