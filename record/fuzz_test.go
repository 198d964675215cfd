package record_test

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
)

func FuzzDecoder(f *testing.F) {
	f.Add([]byte("{\"a\":1,\"b\":[1,2,null],\"c\":{\"x\":\"y\"}}\n{\"a\":1.5,\"c\":{\"z\":{}}}\r\n\n[1]\n{\"a\":\"\\ud83d\\ude00\"}"))
	f.Add([]byte("{\"t\":\"2023-01-01T00:00:00.123456789+01:00\",\"d\":\"2024-02-29\"}\n{\"t\":1,\"d\":null,\"d\":null}"))
	f.Add([]byte("\ufeff{\"n\":123456789012345678901234567890}\n{\"n\":-1e-5}\n{\"n\":9007199254740993}\n{\"n\":true}"))
	f.Add([]byte("{\"\xff\":1,\"o\":{\"\xfe\":8.500000000000001}}\n{\"\xff\":-0}\n{\"n\":0.30000000000000004441,\"n\":1}"))
	f.Add([]byte(gzipped(f, "{\"a\":1}\n", "{\"b\":2}")))
	f.Add([]byte(zstded(f, "{\"a\":1}\n", "{\"b\":2}")))
	f.Fuzz(func(t *testing.T, in []byte) {
		body := string(in)
		out, err := try(t, small(), input{"o", body})
		var broken *record.BrokenError
		if errors.As(err, &broken) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, policy := range []record.Policy{record.Replace, record.Keep} {
			opt := small()
			opt.Format.Invalid = policy
			if other, err := try(t, opt, input{"o", body}); err != nil || other.schema.Validate() != nil {
				t.Fatalf("%q: %v, %v", policy, err, other.schema.Validate())
			}
		}
		if out.tries > 30 {
			t.Fatalf("%d tries for %d bytes", out.tries, len(body))
		}
		if err := out.schema.Validate(); err != nil {
			t.Fatal(err)
		}
		if out.results[0].Container != "plain" {
			return
		}
		if err := checkBatch(out, body); err != nil {
			t.Fatal(err)
		}
	})
}

// TestRandomBatchesKeepEveryValue makes batches of records whose values change
// their types all the time, some of them under a published schema, and holds the
// rows against encoding/json.
func TestRandomBatchesKeepEveryValue(t *testing.T) {
	rng := random(t)
	restarts := 0
	for range 2000 {
		opt := small()
		for range 1 + rng.IntN(3) {
			text := randomLines(rng, 1+rng.IntN(30))
			out, err := try(t, opt, input{"o", text})
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if err := checkBatch(out, text); err != nil {
				t.Fatalf("%v\ntable %s\nbatch\n%s", err, columns(opt.Table), text)
			}
			if err := out.schema.Validate(); err != nil {
				t.Fatal(err)
			}
			if most := 2 + bits.Len(uint(len(text)/opt.Limits.PrimeBytes)); out.tries > most {
				t.Fatalf("%d tries, want at most %d\ntable %s\nbatch\n%s", out.tries, most, columns(opt.Table), text)
			}
			restarts += out.tries - 1
			opt.Table = out.schema
		}
	}
	t.Logf("%d restarts", restarts)
}

func randomLines(rng *rand.Rand, n int) string {
	kinds := 1 + rng.IntN(8)
	var b strings.Builder
	for range n {
		b.WriteString(randomObject(rng, kinds, 4))
		b.WriteByte('\n')
	}
	return b.String()
}

func randomObject(rng *rand.Rand, kinds, depth int) string {
	var members []string
	picks := rng.Perm(7)[:rng.IntN(5)]
	if len(picks) > 0 && rng.IntN(8) == 0 {
		picks = append(picks, picks[0]) // twice, or in two cases
	}
	for i, k := range picks {
		key := string(rune('a' + k))
		if i > 0 && i == len(picks)-1 && k == picks[0] && rng.IntN(4) > 0 {
			key = strings.ToUpper(key)
		}
		switch rng.IntN(20) {
		case 0, 3:
			key = strings.ToUpper(key)
		case 1:
			key = fmt.Sprintf(`\u%04x`, 'a'+k)
		case 2:
			key = strconv.Itoa(rng.IntN(50)) + `\"`
		}
		members = append(members, fmt.Sprintf(`"%s":%s`, key, randomValue(rng, kinds, depth-1)))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func randomValue(rng *rand.Rand, kinds, depth int) string {
	pick := rng.IntN(kinds + 1)
	if rng.IntN(12) == 0 {
		pick = rng.IntN(10)
	}
	switch pick {
	case 0:
		return "null"
	case 1:
		return strconv.Itoa(rng.IntN(1000) - 500)
	case 2:
		return strconv.FormatFloat(rng.NormFloat64(), 'g', -1, 64)
	case 3:
		return [...]string{`"x"`, `""`, `"\u00e9\n"`, `"2023-01-01"`, `"2023-01-01T00:00:00Z"`, `"2023-01-01 00:00:00.123456789-02"`}[rng.IntN(6)]
	case 4:
		return `"2023-01-01T00:00:0` + strconv.Itoa(rng.IntN(10)) + `Z"`
	case 5, 6:
		if depth > 0 {
			return randomObject(rng, kinds, depth)
		}
		return "true"
	case 7:
		if depth > 0 {
			return "[" + randomValue(rng, kinds, depth-1) + " , " + randomValue(rng, kinds, depth-1) + "]"
		}
		return "[]"
	case 8:
		return [...]string{"9007199254740993", "-9223372036854775809", "1e400", "1e-400", "-0", "1.0", "123456789012345678901234567890123456789"}[rng.IntN(7)]
	}
	return [...]string{"true", "false", "{}", "[]", `{"p":[{"q":{}}]}`}[rng.IntN(5)]
}

// TestFloatsAreExact compares doubles with strconv, which the random batches do
// as well, on the digits where fast paths end.
func TestFloatsAreExact(t *testing.T) {
	rng := random(t)
	var lines strings.Builder
	for range 20000 {
		digits := strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 10)
		at := rng.IntN(len(digits))
		whole := digits[:at]
		if whole == "" || whole[0] == '0' {
			whole = "0"
		}
		exponent := ""
		if rng.IntN(3) == 0 {
			exponent = "e" + strconv.Itoa(rng.IntN(640)-320)
		}
		number := whole + "." + digits[at:] + exponent
		if f, err := strconv.ParseFloat(number, 64); err != nil || f == 0 {
			continue
		}
		fmt.Fprintf(&lines, "{\"f\":%s}\n", number)
	}
	out := decode(t, record.Options{Table: schema.New()}, input{"o", lines.String()})
	if got := columns(out.schema); got != "f:float64" {
		t.Fatalf("columns %s", got)
	}
	if err := checkBatch(out, lines.String()); err != nil {
		t.Fatal(err)
	}
}
