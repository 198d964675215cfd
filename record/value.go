package record

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"

	"batcher/schema"
)

// exact is the largest whole number up to which a double is exact.
const exact = 1 << 53

// minusZero is a whole number that no type of whole numbers has.
const minusZero = "-0"

// whole reads the digits of a whole number that int64 can hold.
func whole(b []byte) (int64, bool) {
	if len(b) > 20 || string(b) == minusZero {
		return 0, false
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	return v, err == nil
}

var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// float returns the double nearest to the number b, exactly as strconv does.
// It refuses what a double cannot hold: numbers too large, and numbers other
// than zero that would become zero.
func float(b []byte) (float64, bool) {
	if f, end, ok := shortFloat(b, 0); ok && end == len(b) {
		return f, true
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return 0, false
	}
	return f, f != 0 || isZero(b)
}

// shortFloat reads the number at d[i:] if it has no exponent and at most 16
// digits that make less than 2^53. This is Clinger's fast path: a mantissa and a
// power of ten that are both exact make a quotient that is rounded once.
func shortFloat(d []byte, i int) (f float64, end int, ok bool) {
	neg := i < len(d) && d[i] == '-'
	if neg {
		i++
	}
	start := i
	var m uint64
	for ; i < len(d) && d[i]-'0' <= 9; i++ {
		m = m*10 + uint64(d[i]-'0')
	}
	size, fraction := i-start, 0
	if size == 0 || d[start] == '0' && size > 1 {
		return 0, 0, false
	}
	if i < len(d) && d[i] == '.' {
		i++
		start = i
		for ; i < len(d) && d[i]-'0' <= 9; i++ {
			m = m*10 + uint64(d[i]-'0')
		}
		if fraction = i - start; fraction == 0 {
			return 0, 0, false
		}
	}
	if size+fraction > 16 || m >= exact || i < len(d) && d[i]|0x20 == 'e' {
		return 0, 0, false
	}
	f = float64(m)
	if fraction > 0 {
		f /= powers[fraction]
	}
	if neg {
		f = -f
	}
	return f, i, true
}

// isZero says whether no digit of the mantissa is other than zero.
func isZero(b []byte) bool {
	for _, c := range b {
		if c == 'e' || c == 'E' {
			return true
		}
		if c >= '1' && c <= '9' {
			return false
		}
	}
	return true
}

// decimal returns the number b times 10^scale as 16 bytes, if b has at most
// precision digits then and nothing but zeros is cut off. It takes no exponents
// and, like an int64 column, no point where scale is 0.
func decimal(b []byte, precision, scale int) (out [16]byte, ok bool) {
	neg := b[0] == '-'
	if neg {
		b = b[1:]
	}
	before, after, point := bytes.Cut(b, []byte{'.'})
	if point && scale == 0 {
		return out, false
	}
	after = bytes.TrimRight(after, "0")
	if before = bytes.TrimLeft(before, "0"); len(before) > precision-scale || len(after) > scale {
		return out, false
	}
	var hi, lo uint64
	add := func(c byte) {
		carry, low := bits.Mul64(lo, 10)
		sum, c1 := bits.Add64(low, uint64(c-'0'), 0)
		hi, lo = hi*10+carry+c1, sum
	}
	for _, part := range [][]byte{before, after} {
		for _, c := range part {
			if c < '0' || c > '9' {
				return out, false
			}
			add(c)
		}
	}
	for range scale - len(after) {
		add('0')
	}
	if neg && hi|lo == 0 {
		return out, false // no decimal has the sign
	}
	if neg {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	binary.BigEndian.PutUint64(out[:8], hi)
	binary.BigEndian.PutUint64(out[8:], lo)
	return out, true
}

// classOfNumber classifies a number that was read.
func classOfNumber(b []byte) schema.Class {
	if bytes.ContainsAny(b, ".eE") || string(b) == minusZero {
		if _, ok := float(b); ok {
			return schema.SawFloat
		}
		return schema.SawHuge
	}
	if v, ok := whole(b); ok {
		if v < -exact || v > exact {
			return schema.SawWideInt
		}
		return schema.SawInt
	}
	if len(bytes.TrimPrefix(b, []byte{'-'})) <= 38 {
		return schema.SawDecimal
	}
	return schema.SawHuge
}

// classOfString classifies the content of a string without escapes.
func classOfString(s []byte) schema.Class {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return schema.SawText
	}
	if _, ok := date(s); ok {
		return schema.SawDate
	}
	if isInstant(s) {
		return schema.SawTimestamp
	}
	return schema.SawText
}

// date reads YYYY-MM-DD, years 1 to 9999, as days since 1970-01-01.
func date(s []byte) (int32, bool) {
	if len(s) != 10 {
		return 0, false
	}
	days, ok := day(s)
	return int32(days), ok
}

// day reads the date at the head of s, which has at least 10 bytes.
func day(s []byte) (days int64, ok bool) {
	_ = s[9]
	y1, y2, m, d := two(s, 0), two(s, 2), two(s, 5), two(s, 8)
	if y1|y2|m|d >= noDigits || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	y := y1*100 + y2
	if y < 1 || m < 1 || m > 12 || d < 1 || d > daysIn(y, m) {
		return 0, false
	}
	// Howard Hinnant, days_from_civil: years begin in March.
	if m <= 2 {
		y--
		m += 12
	}
	era := y / 400
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + d - 1
	return int64(era*146097+yoe*365+yoe/4-yoe/100+doy) - 719468, true
}

// noDigits is a bit that no number of two digits has.
const noDigits = 1 << 7

// two reads two digits; anything else is noDigits.
func two(s []byte, i int) uint32 {
	a, b := uint32(s[i]-'0'), uint32(s[i+1]-'0')
	if a > 9 || b > 9 {
		return noDigits
	}
	return a*10 + b
}

func daysIn(y, m uint32) uint32 {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// The instants that fit a timestamp column: years 1 to 9999, in microseconds.
const (
	firstInstant = -62135596800 * 1e6
	afterInstant = 253402300800 * 1e6
)

// isInstant says whether text is an ISO 8601 date and time with zone.
func isInstant(s []byte) bool {
	us, end, _, ok := moment(s)
	if ok {
		_, ok = zoned(us, s[end:])
	}
	return ok
}

// zoned is the instant of a moment in a zone, which is Z, ±hh:mm, ±hhmm or ±hh, or UTC
// after a space, if it is in the years that dates have.
func zoned(us int64, text []byte) (int64, bool) {
	if len(text) == 1 && text[0] == 'Z' {
		return us, inYears(us)
	}
	offset, ok := zone(text)
	us -= offset * 1e6
	return us, ok && inYears(us)
}

// moment reads an ISO 8601 date and time at the head of text: "T" or one space
// between them, seconds or none, any fraction. It returns the microseconds since
// 1970-01-01T00:00:00 and where it ends; cut says that the fraction held more than that.
func moment(s []byte) (us int64, end int, cut, ok bool) {
	if len(s) < 16 || (s[10] != 'T' && s[10] != ' ') || s[13] != ':' {
		return 0, 0, false, false
	}
	days, ok := day(s)
	h, m, sec := two(s, 11), two(s, 14), uint32(0)
	i := 16
	if len(s) > i && s[i] == ':' {
		if len(s) < 19 {
			return 0, 0, false, false
		}
		sec, i = two(s, 17), 19
	}
	if !ok || h > 23 || m > 59 || sec > 59 {
		return 0, 0, false, false
	}
	us = (days*86400 + int64(h*3600+m*60+sec)) * 1e6
	if i == 19 && len(s) > i && s[i] == '.' {
		start := i + 1
		unit := int64(100000)
		for i = start; i < len(s) && s[i]-'0' <= 9; i++ {
			us += int64(s[i]-'0') * unit
			cut = cut || (unit == 0 && s[i] != '0')
			unit /= 10
		}
		if i == start {
			return 0, 0, false, false
		}
	}
	return us, i, cut, true
}

// zone reads Z, UTC or an offset from UTC, in seconds. A space may stand before
// UTC and offsets.
func zone(s []byte) (int64, bool) {
	if len(s) == 1 {
		return 0, s[0]|0x20 == 'z'
	}
	if len(s) > 1 && s[0] == ' ' {
		switch s = s[1:]; string(s) {
		case "UTC", "+0000 UTC": // BigQuery, Ruby; Go
			return 0, true
		}
	}
	if len(s) == 6 && s[3] == ':' {
		s = append(append(make([]byte, 0, 5), s[:3]...), s[4:]...)
	}
	if (len(s) != 5 && len(s) != 3) || (s[0] != '+' && s[0] != '-') {
		return 0, false
	}
	h, m := two(s, 1), uint32(0)
	if len(s) == 5 {
		m = two(s, 3)
	}
	if h > 23 || m > 59 {
		return 0, false
	}
	seconds := int64(h*3600 + m*60)
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// inInt32 says whether v fits an Int32 column.
func inInt32(v int64) bool { return v >= math.MinInt32 && v <= math.MaxInt32 }
