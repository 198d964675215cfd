package record

import (
	"bytes"
	"math"
	"strconv"
)

// surelyKept is how long the text of a number may be that shortFloat reads, so that
// the double gives it back: 15 digits and a point, or a whole number.
const surelyKept = 16

// double returns the double nearest to a number as float does, and whether it keeps
// the number: printed with as many digits, it is the same number again. So it is with
// every number of up to 15 digits that is not tiny, and with every double that was
// printed, in whatever way, by who sent it.
func double(b []byte) (v float64, kept, ok bool) {
	if d, plain := decimalOf(b); plain && d.count <= countable && d.digits > 0 {
		if d.digits < surelyExact {
			return d.signed(float64(d.digits) / powers[d.scale]), true, true
		}
		mantissa, exponent := d.quotient()
		if d.shortest(mantissa, exponent) == yes {
			return d.of(mantissa, exponent), true, true
		}
	}
	v, ok = float(b)
	return v, ok && printsAs(v, b), ok
}

// smallestNormal is the smallest double that has all of its bits.
const smallestNormal = 0x1p-1022

// mostDigits bounds the digits of doubles; those behind them are all zero.
const mostDigits = 800

// printsAs says whether a double, printed with as many digits as a number has, is
// that number. It is the double nearest to it.
func printsAs(v float64, number []byte) bool {
	var room [2 * countable]byte
	want := significant(room[:0], number)
	if len(want) <= 15 && (math.Abs(v) >= smallestNormal || v == 0) {
		return true
	}
	if len(want) > mostDigits {
		return false
	}
	var text [mostDigits + 10]byte
	printed := strconv.AppendFloat(text[:0], v, 'e', len(want)-1, 64)
	var digits [mostDigits]byte
	return bytes.Equal(significant(digits[:0], printed), want)
}

// significant appends the digits of a number without its sign, its point, its
// exponent, and the zeros at either end.
func significant(dst, number []byte) []byte {
	for _, c := range number {
		if c|0x20 == 'e' {
			break
		}
		if c-'0' <= 9 && (c > '0' || len(dst) > 0) {
			dst = append(dst, c)
		}
	}
	return bytes.TrimRight(dst, "0")
}
