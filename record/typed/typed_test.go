package typed_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"batcher/record/typed"
)

// sample has every tag, and bodies longer than a byte can say.
func sample() []byte {
	b, record := typed.Open(nil, typed.Struct)
	b = typed.AppendNull(typed.AppendKey(b, "null"))
	b = typed.AppendBool(typed.AppendKey(b, "false"), 0)
	b = typed.AppendBool(typed.AppendKey(b, "true"), 1)
	b = typed.AppendInt(typed.AppendKey(b, "int"), math.MinInt64)
	b = typed.AppendFloat(typed.AppendKey(b, "float"), 3)
	b = typed.AppendUint(typed.AppendKey(b, "uint"), math.MaxUint64)
	b = typed.AppendUnscaled(typed.AppendKey(b, "decimal"), []byte{0xff}, 2)
	b = typed.AppendString(typed.AppendKey(b, "string"), "a\"b")
	b = typed.AppendBytes(typed.AppendKey(b, "bytes"), []byte{0, 1, 2})
	b = typed.AppendDate(typed.AppendKey(b, "date"), 19782)
	b = typed.AppendTimestamp(typed.AppendKey(b, "timestamp"), 1709210096123456, 789)
	b = typed.AppendNumber(typed.AppendKey(b, "number"), "1e400")
	b = typed.AppendFar(typed.AppendKey(b, "far"), []byte(`"-292275055-05-16T16:47:04.192Z"`))
	b, list := typed.Open(typed.AppendKey(b, "list"), typed.List)
	for i := range 200 {
		b = typed.AppendInt(b, int64(i%2))
	}
	b = typed.Close(b, list)
	b, inner := typed.Open(typed.AppendKey(b, "map"), typed.Map)
	b = typed.AppendString(typed.AppendKey(b, "\xff"), "\xfe")
	b = typed.Close(b, inner)
	return typed.Close(b, record)
}

func TestAppendJSON(t *testing.T) {
	got, err := typed.AppendJSON([]byte("> "), sample())
	want := `> {"null":null,"false":false,"true":true,"int":-9223372036854775808,"float":3.0,"uint":18446744073709551615,` +
		`"decimal":-0.01,"string":"a\"b","bytes":{"base64":"AAEC"},"date":"2024-02-29","timestamp":"2024-02-29T12:34:56.123456789Z",` +
		`"number":1e400,"far":"-292275055-05-16T16:47:04.192Z","list":[` + strings.TrimSuffix(strings.Repeat("0,1,", 100), ",") + `],"map":{"base64:/w==":{"base64":"/g=="}}}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
	if !json.Valid(got[2:]) {
		t.Error("it is no JSON")
	}
}

// TestJSONHead cuts the JSON of a value at every length.
func TestJSONHead(t *testing.T) {
	whole, _ := typed.AppendJSON(nil, sample())
	for most := range len(whole) + 2 {
		head, length, err := typed.JSONHead(sample(), most)
		if err != nil || length != len(whole) || string(head) != string(whole[:min(most, len(whole))]) {
			t.Fatalf("%d bytes: %q of %d, %v", most, head, length, err)
		}
	}
	if _, _, err := typed.JSONHead(sample()[:50], 10); !errors.Is(err, typed.ErrMalformed) {
		t.Errorf("cut: %v", err)
	}
}

func TestFloatsKeepAPoint(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{0, "0.0"}, {math.Copysign(0, -1), "-0.0"}, {1, "1.0"}, {-1.5, "-1.5"}, {1e20, "100000000000000000000.0"}, {1e21, "1e+21"},
		{1e-7, "1e-07"}, {math.MaxFloat64, "1.7976931348623157e+308"}, {5e-324, "5e-324"}, {float64(float32(0.1)), "0.10000000149011612"},
		{math.NaN(), `"NaN"`}, {math.Inf(1), `"Infinity"`}, {math.Inf(-1), `"-Infinity"`},
	} {
		got := typed.AppendFloatJSON(nil, c.v)
		if string(got) != c.want || !json.Valid(got) {
			t.Errorf("%v: %s, want %s", c.v, got, c.want)
		}
	}
}

// TestTruncated cuts a record anywhere, and changes any byte of it.
func TestTruncated(t *testing.T) {
	whole := sample()
	for cut := range whole {
		if err := typed.Check(whole[:cut], 10); !errors.Is(err, typed.ErrMalformed) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	if err := typed.Check(append(bytes.Clone(whole), 0), 10); !errors.Is(err, typed.ErrMalformed) {
		t.Errorf("something behind the record: %v", err)
	}
	if err := typed.Check(whole, 1); !errors.Is(err, typed.ErrMalformed) {
		t.Errorf("too deep: %v", err)
	}
	deep := []byte{byte(typed.List), 0}
	for range 5000 {
		outer, mark := typed.Open(nil, typed.List)
		deep = typed.Close(append(outer, deep...), mark)
	}
	if _, err := typed.AppendJSON(nil, deep); !errors.Is(err, typed.ErrMalformed) {
		t.Errorf("JSON too deep: %v", err)
	}
}

// TestDecimals compares with math/big.
func TestDecimals(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		unscaled := make([]byte, rnd.IntN(24))
		for i := range unscaled {
			unscaled[i] = byte(rnd.Uint32())
		}
		if len(unscaled) > 0 && rnd.IntN(2) == 0 { // sign bytes alone in front
			unscaled[0] = byte(rnd.IntN(2)) * 0xff
		}
		scale := rnd.IntN(45) - 3
		want := new(big.Int).SetBytes(unscaled)
		if len(unscaled) > 0 && unscaled[0] >= 0x80 {
			want.Sub(want, new(big.Int).Lsh(big.NewInt(1), uint(8*len(unscaled))))
		}
		power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil))
		if scale > 0 {
			power.Inv(power)
		}
		exact := power.Mul(power, new(big.Rat).SetInt(want))
		value := typed.AppendUnscaled(nil, unscaled, scale)
		text, err := typed.AppendJSON(nil, value)
		got, ok := new(big.Rat).SetString(string(text))
		if err != nil || !ok || got.Cmp(exact) != 0 {
			t.Fatalf("%x scale %d: %s, want %s (%v)", unscaled, scale, text, exact, err)
		}
		fits := len(want.Text(10)) <= 38+strings.Count(want.Text(10), "-") && scale >= 0 && scale <= 38
		if isDecimal := typed.Tag(value[0]) == typed.Decimal; isDecimal != fits {
			t.Fatalf("%x scale %d: decimal is %v", unscaled, scale, isDecimal)
		}
	}
	if v := typed.AppendUnscaled(nil, make([]byte, 5000), 0); typed.Tag(v[0]) != typed.Bytes {
		t.Errorf("a decimal of 5000 bytes has tag %d", v[0])
	}
}

// TestTimes compares with package time.
func TestTimes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	check := func(value []byte, want string) {
		t.Helper()
		got, err := typed.AppendJSON(nil, value)
		if err != nil || string(got) != `"`+want+`"` {
			t.Fatalf("got %s, want %s (%v)", got, want, err)
		}
	}
	for range 2000 {
		at := time.Unix(rnd.Int64N(315537897599)-62135596800, rnd.Int64N(1e9)).UTC()
		check(typed.AppendDate(nil, int64(math.Floor(float64(at.Unix())/86400))), at.Format("2006-01-02"))
		check(typed.AppendLocal(nil, at.UnixMilli(), typed.Millis), at.Format("2006-01-02T15:04:05.000"))
		check(typed.AppendLocal(nil, at.UnixMicro(), typed.Micros), at.Format("2006-01-02T15:04:05.000000"))
		check(typed.AppendTimestamp(nil, at.UnixMicro(), uint16(at.Nanosecond()%1000)), shortest(at))
		at = at.Truncate(time.Duration([]int64{1e9, 1e6, 1e3}[rnd.IntN(3)]))
		check(typed.AppendInstant(nil, at.UnixMicro(), typed.Micros), shortest(at))
		if near := time.Unix(0, int64(rnd.Uint64())).UTC(); near.Nanosecond()%1000 > 0 {
			check(typed.AppendInstant(nil, near.UnixNano(), typed.Nanos), near.Format("2006-01-02T15:04:05.000000000Z"))
		}
	}
	check(typed.AppendDate(nil, 2932897), "+010000-01-01")
	check(typed.AppendDate(nil, -719529), "-000001-12-31")
	check(typed.AppendInterval(nil, 1, 2, 3004), "P1M2DT3.004S")
	check(typed.AppendTimeOfDay(nil, 86399999999999, typed.Nanos), "23:59:59.999999999")
	if v := typed.AppendTimeOfDay(nil, -1, typed.Micros); typed.Tag(v[0]) != typed.Int {
		t.Errorf("a time before midnight has tag %d", v[0])
	}
}

// shortest formats an instant with no more digits than it needs, in threes.
func shortest(at time.Time) string {
	layout := "2006-01-02T15:04:05"
	switch n := at.Nanosecond(); {
	case n%1000 > 0:
		layout += ".000000000"
	case n%1e6 > 0:
		layout += ".000000"
	case n > 0:
		layout += ".000"
	}
	return at.Format(layout + "Z")
}

// FuzzCursor reads any bytes: what Check takes is rendered as JSON, and what it
// refuses is not.
func FuzzCursor(f *testing.F) {
	f.Add(sample())
	f.Add([]byte{byte(typed.Decimal), 2, 0})
	f.Add([]byte{byte(typed.Timestamp), 1, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		err := typed.Check(b, 100)
		if err != nil && !errors.Is(err, typed.ErrMalformed) {
			t.Fatal(err)
		}
		text, jsonErr := typed.AppendJSON(nil, b)
		if err == nil && jsonErr != nil {
			t.Fatalf("checked, but not rendered: %v", jsonErr)
		}
		if jsonErr == nil && !json.Valid(text) && !bytes.ContainsAny(b, string([]byte{byte(typed.Number), byte(typed.Far)})) {
			t.Fatalf("no JSON: %s", text)
		}
	})
}
