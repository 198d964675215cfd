package datafile

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"batcher/manifest"
	"batcher/schema"
)

// statColumns is how many leaves get statistics in a manifest: what Delta
// readers look at by default.
const statColumns = 32

// statRunes is the length of a string statistic, in runes.
const statRunes = 32

// columnStats are the statistics of one leaf in the form TABLES gives for
// Delta.
func columnStats(id int32, nulls int64, b *bounds, t *schema.Type) manifest.ColumnStats {
	s := manifest.ColumnStats{ID: id, Nulls: nulls}
	if !b.any || b.nan {
		return s
	}
	switch b.kind {
	case schema.Int32, schema.Int64:
		s.Min = strconv.AppendInt(nil, b.minI, 10)
		s.Max = strconv.AppendInt(nil, b.maxI, 10)
	case schema.Date:
		s.Min, s.Max = jsonDate(b.minI), jsonDate(b.maxI)
	case schema.Timestamp:
		s.Min, s.Max = jsonMillis(floorMillis(b.minI)), jsonMillis(ceilMillis(b.maxI))
	case schema.Float64:
		lo, hi := b.floats()
		s.Min, s.Max = jsonFloat(lo), jsonFloat(hi)
	case schema.Decimal:
		lo, hi := b.decimals()
		s.Min, s.Max = jsonDecimal(floorDigits(bigDecimal(lo), t), t), jsonDecimal(ceilDigits(bigDecimal(hi), t), t)
	case schema.String:
		s.Min, s.Max = stringStats(&b.minS, &b.maxS)
	}
	return s
}

// The first day and the first millisecond that an ISO date of four digits
// cannot name, and the first of each that it can.
const (
	firstDay, endDay       = -719162, 2932897 // 0001-01-01, 10000-01-01
	dayMillis        int64 = 86_400_000
)

// jsonDate is a day as a JSON string, or nil outside of the years 1 to 9999.
func jsonDate(day int64) json.RawMessage {
	if day < firstDay || day >= endDay {
		return nil
	}
	return time.Unix(day*86400, 0).UTC().AppendFormat(nil, `"2006-01-02"`)
}

// jsonMillis is an instant as a JSON string, or nil outside of the years 1 to
// 9999.
func jsonMillis(ms int64) json.RawMessage {
	if ms < firstDay*dayMillis || ms >= endDay*dayMillis {
		return nil
	}
	return time.UnixMilli(ms).UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`)
}

// floorMillis is the last whole millisecond that is not after us microseconds.
func floorMillis(us int64) int64 {
	ms := us / 1000
	if us%1000 < 0 {
		ms--
	}
	return ms
}

// ceilMillis is the first whole millisecond that is not before us microseconds.
func ceilMillis(us int64) int64 {
	ms := us / 1000
	if us%1000 > 0 {
		ms++
	}
	return ms
}

// jsonFloat is a float as a JSON number that reads back the same, or nil for an
// infinity, which JSON lacks.
func jsonFloat(f float64) json.RawMessage {
	switch {
	case math.IsInf(f, 0):
		return nil
	case f == 0 && math.Signbit(f):
		return json.RawMessage("-0.0") // "-0" would be an integer to some readers
	case math.Abs(f) >= 1e15 || f != 0 && math.Abs(f) < 1e-6:
		return strconv.AppendFloat(nil, f, 'e', -1, 64)
	}
	b := strconv.AppendFloat(nil, f, 'f', -1, 64)
	if f == math.Trunc(f) {
		b = append(b, ".0"...)
	}
	return b
}

// jsonDigits is how many digits a JSON number with a point may have for a reader
// that makes a double of it, and text of that, to get the same number. Trino does so.
const jsonDigits = 15

// floorDigits is n, or where t has a scale the last number with jsonDigits digits and
// zeros behind them that is not above n.
func floorDigits(n *big.Int, t *schema.Type) *big.Int {
	more := len(new(big.Int).Abs(n).String()) - jsonDigits
	if t.Scale == 0 || more <= 0 {
		return n
	}
	return new(big.Int).Sub(n, new(big.Int).Mod(n, powerOfTen(more))) // Mod is never negative
}

// ceilDigits is likewise the first number that is not below n.
func ceilDigits(n *big.Int, t *schema.Type) *big.Int {
	negative := floorDigits(new(big.Int).Neg(n), t)
	return negative.Neg(negative)
}

// jsonDecimal is a decimal as a JSON number with all digits of its scale, or nil when
// that has more digits than its type.
func jsonDecimal(n *big.Int, t *schema.Type) json.RawMessage {
	if n.CmpAbs(powerOfTen(t.Precision)) >= 0 {
		return nil
	}
	return json.RawMessage(new(big.Rat).SetFrac(n, powerOfTen(t.Scale)).FloatString(int(t.Scale)))
}

// stringStats cuts the least string to statRunes runes, which never makes it
// greater, and leaves the greatest out when it is longer than that.
func stringStats(lo, hi *edge) (least, greatest json.RawMessage) {
	if short, ok := firstRunes(lo.b, statRunes); ok {
		least = jsonString(short)
	}
	if short, ok := firstRunes(hi.b, statRunes); ok && len(short) == len(hi.b) && !hi.cut {
		greatest = jsonString(short)
	}
	return least, greatest
}

// firstRunes are the first n runes of b; ok is false when they are not UTF-8.
func firstRunes(b []byte, n int) (short []byte, ok bool) {
	at := 0
	for ; n > 0 && at < len(b); n-- {
		r, size := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && size == 1 {
			return nil, false
		}
		at += size
	}
	return b[:at], true
}

// jsonString is valid UTF-8 as a JSON string.
func jsonString(s []byte) json.RawMessage {
	b, err := json.Marshal(string(s))
	if err != nil {
		return nil // a string always encodes
	}
	return b
}
