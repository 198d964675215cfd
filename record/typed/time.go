package typed

import "math"

const secondsPerDay = 86400

// Digits is how fine a time is counted: the digits behind the second.
type Digits int

// The units in use.
const (
	Millis Digits = 3
	Micros Digits = 6
	Nanos  Digits = 9
)

// perSecond returns how many units a second has.
func (d Digits) perSecond() int64 {
	n := int64(1)
	for range d {
		n *= 10
	}
	return n
}

// AppendInstant appends the instant n units after 1970-01-01T00:00:00Z as a
// timestamp, or as a far one where microseconds do not reach so far.
func AppendInstant(dst []byte, n int64, unit Digits) []byte {
	switch unit {
	case Millis:
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			var text [48]byte
			seconds, fraction := floor(n, 1000)
			return AppendFar(dst, append(appendDateTime(append(text[:0], '"'), seconds, fraction, Millis), 'Z', '"'))
		}
		return AppendTimestamp(dst, n*1000, 0)
	case Nanos:
		micros, rest := floor(n, 1000)
		return AppendTimestamp(dst, micros, uint16(rest))
	}
	return AppendTimestamp(dst, n, 0)
}

// AppendLocal appends the date and time n units after 1970-01-01T00:00:00 in no
// zone, as the string 2006-01-02T15:04:05.000 with as many digits as the unit has.
func AppendLocal(dst []byte, n int64, unit Digits) []byte {
	var text [48]byte
	seconds, fraction := floor(n, unit.perSecond())
	return AppendString(dst, appendDateTime(text[:0], seconds, fraction, unit))
}

// AppendTimeOfDay appends the time n units after midnight as the string
// 15:04:05.000 with as many digits as the unit has or, if no day has that time,
// as the bare number.
func AppendTimeOfDay(dst []byte, n int64, unit Digits) []byte {
	seconds, fraction := floor(n, unit.perSecond())
	if seconds < 0 || seconds > secondsPerDay || seconds == secondsPerDay && fraction > 0 { // 24:00:00 is the end of a day
		return AppendInt(dst, n)
	}
	var text [24]byte
	return AppendString(dst, appendFraction(appendClock(text[:0], seconds), fraction, unit))
}

// AppendUUID appends 16 bytes as 8-4-4-4-12 hexadecimal digits.
func AppendUUID(dst []byte, v [16]byte) []byte {
	const hex = "0123456789abcdef"
	var text [36]byte
	out := text[:0]
	for i, b := range v {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			out = append(out, '-')
		}
		out = append(out, hex[b>>4], hex[b&15])
	}
	return AppendString(dst, out)
}

// AppendInterval appends months, days and milliseconds, which have no common
// measure, as the ISO 8601 duration P14M3DT12.345S, every part always there.
func AppendInterval(dst []byte, months, days, millis uint32) []byte {
	var text [48]byte
	out := appendPadded(append(text[:0], 'P'), int64(months), 1)
	out = appendPadded(append(out, 'M'), int64(days), 1)
	out = appendPadded(append(out, 'D', 'T'), int64(millis/1000), 1)
	out = appendPadded(append(out, '.'), int64(millis%1000), 3)
	return AppendString(dst, append(out, 'S'))
}

// floor divides so that the rest is never negative.
func floor(n, by int64) (quotient, rest int64) {
	quotient, rest = n/by, n%by
	if rest < 0 {
		return quotient - 1, rest + by
	}
	return quotient, rest
}

func appendDateTime(dst []byte, seconds, fraction int64, unit Digits) []byte {
	days, second := floor(seconds, secondsPerDay)
	dst = append(appendDate(dst, days), 'T')
	return appendFraction(appendClock(dst, second), fraction, unit)
}

func appendClock(dst []byte, second int64) []byte {
	dst = append(appendPadded(dst, second/3600, 2), ':')
	dst = append(appendPadded(dst, second/60%60, 2), ':')
	return appendPadded(dst, second%60, 2)
}

func appendFraction(dst []byte, fraction int64, unit Digits) []byte {
	return appendPadded(append(dst, '.'), fraction, int(unit))
}

// appendDate appends YYYY-MM-DD; years beyond four digits have a sign and at
// least six digits, as ISO 8601 wants it.
func appendDate(dst []byte, days int64) []byte {
	// Howard Hinnant, civil_from_days: years begin in March.
	days += 719468
	era, doe := floor(days, 146097)
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day, month, year := doy-(153*mp+2)/5+1, mp+3, era*400+yoe
	if month > 12 {
		month -= 12
		year++
	}
	switch {
	case year < 0:
		dst = appendPadded(append(dst, '-'), -year, 6)
	case year > 9999:
		dst = appendPadded(append(dst, '+'), year, 6)
	default:
		dst = appendPadded(dst, year, 4)
	}
	dst = appendPadded(append(dst, '-'), month, 2)
	return appendPadded(append(dst, '-'), day, 2)
}

// appendPadded appends v, which is not negative, with at least width digits.
func appendPadded(dst []byte, v int64, width int) []byte {
	var text [20]byte
	i := len(text)
	for v > 0 || len(text)-i < width {
		i--
		text[i] = byte('0' + v%10)
		v /= 10
	}
	return append(dst, text[i:]...)
}
