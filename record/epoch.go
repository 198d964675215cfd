package record

import (
	"bytes"

	"batcher/schema"
)

// places is where the point of a number of microseconds stands behind that of a
// number of the unit.
var places = [...]int{schema.Seconds: 6, schema.Milliseconds: 3, schema.Microseconds: 0, schema.Nanoseconds: -3}

// epoch reads a plain number, without exponent, of units since 1970 as
// microseconds. What lies beyond microseconds is cut off, towards the past, and
// cut says so. It refuses instants outside of the years 1 to 9999.
func epoch(text []byte, unit schema.Unit) (us int64, cut, ok bool) {
	digits, negative := bytes.CutPrefix(text, []byte{'-'})
	whole, fraction, pointed := bytes.Cut(digits, []byte{'.'})
	if len(whole) == 0 || pointed && len(fraction) == 0 || len(whole) > 1 && whole[0] == '0' {
		return 0, false, false
	}
	keep := len(whole) + places[unit] // digits that make microseconds
	if keep > 18 {
		return 0, false, false
	}
	at := 0
	for _, part := range [...][]byte{whole, fraction} {
		for _, c := range part {
			if c < '0' || c > '9' {
				return 0, false, false
			}
			if at < keep {
				us = us*10 + int64(c-'0')
			} else {
				cut = cut || c != '0'
			}
			at++
		}
	}
	for ; at < keep; at++ {
		us *= 10
	}
	if negative {
		us = -us
		if cut {
			us--
		}
	}
	return us, cut, us >= firstInstant && us < afterInstant
}
