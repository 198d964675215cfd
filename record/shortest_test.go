package record

import (
	"flag"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
)

// plainly is how numbers of cells are written.
var plainly = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$`)

// checkDouble compares with what strconv reads and prints.
func checkDouble(t *testing.T, text string) (kept bool) {
	t.Helper()
	if !plainly.MatchString(text) {
		return false
	}
	got, kept, is := double([]byte(text))
	want, err := strconv.ParseFloat(text, 64)
	if is != (err == nil && (want != 0 || isZero([]byte(text)))) {
		t.Fatalf("%q: %v, but strconv says %v", text, is, err)
	}
	if is && (math.Float64bits(got) != math.Float64bits(want) || kept != printsAs(want, []byte(text))) {
		t.Fatalf("%q: %v, kept %v, but strconv makes %v of it", text, got, kept, want)
	}
	return kept
}

func FuzzDouble(f *testing.F) {
	for _, seed := range []string{
		"0", "-0", "-", "", ".", "1.", ".5", "-0.5", "0.50", "00.5", "1.2.3", "1.2345678/", "1.1234567a", "12345678.9", "123456789012.5",
		"0.1", "0.30000000000000004", "0.30000000000000002", "0.29999999999999998", "4503599627370495.5", "4503599627370496.5", "9007199254740993.5", "1000000000000000.2",
		"0.5000000000000001", "0.50000000000000011", "0.9999999999999999", "0.99999999999999989", "1.0000000000000002", "0.00000000000000001", "0.000000000000000012",
		"9007199254740991", "9007199254740993", "1000000000000000", "1234567890123456789", "9999999999999999999", "99999999999999999999", "18446744073709551615.5",
	} {
		f.Add(seed)
		f.Add("-" + seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkDouble(t, text) })
}

// TestDoublesAreWhatStrconvReads draws numbers and spoils some of them: doubles
// as they are printed, next to powers of two, with more digits, with other ones.
func TestDoublesAreWhatStrconvReads(t *testing.T) {
	seed := rand.Uint64()
	if given, err := strconv.ParseUint(flag.Lookup("seed").Value.String(), 10, 64); err == nil && given > 0 {
		seed = given
	}
	t.Logf("repeat with -seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	shown := 0
	for range 200_000 {
		v := rng.Float64() * math.Pow(10, float64(rng.IntN(20)-3))
		if rng.IntN(4) == 0 {
			v = math.Float64frombits(math.Float64bits(math.Ldexp(1, rng.IntN(70)-10)) + rng.Uint64N(5) - 2)
		}
		digits := -1
		if rng.IntN(3) == 0 {
			digits = rng.IntN(20)
		}
		text := strconv.AppendFloat(nil, v, 'f', digits, 64)
		if rng.IntN(3) == 0 {
			text[len(text)-1-rng.IntN(min(len(text), 3))] = byte('0' + rng.IntN(10))
		}
		if checkDouble(t, string(text)) {
			shown++
		}
	}
	if shown < 50_000 {
		t.Fatalf("only %d were printed again", shown)
	}
}
