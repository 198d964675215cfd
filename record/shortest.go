package record

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// fives are the powers of five by which plain decimals are divided.
var fives = [...]uint64{1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125, 9765625, 48828125, 244140625, 1220703125, 6103515625, 30517578125, 152587890625, 762939453125, 3814697265625}

// plainDecimal is a number in its one plain spelling: no exponent, no sign but
// minus, a digit before the point, no zero before others, and a point only before
// digits, the last of which is not zero.
type plainDecimal struct {
	negative bool
	digits   uint64 // without the point
	count    int    // how many there are; beyond countable, digits holds nothing
	scale    int    // how many of them stand behind the point
}

// countable is how many digits surely fit a uint64.
const countable = 19

// decimalOf reads a number that is written plainly.
func decimalOf(text []byte) (d plainDecimal, ok bool) {
	if len(text) > 0 && text[0] == '-' {
		d.negative, text = true, text[1:]
	}
	point := 0
	for point < len(text) && text[point]-'0' <= 9 {
		d.digits = d.digits*10 + uint64(text[point]-'0')
		point++
	}
	d.count = point
	if point == 0 || text[0] == '0' && (point > 1 || d.negative && len(text) == 1) {
		return d, false
	}
	if point == len(text) {
		return d, true
	}
	fraction := text[point+1:]
	d.scale = len(fraction)
	d.count += d.scale
	if text[point] != '.' || d.scale == 0 || fraction[d.scale-1] == '0' {
		return d, false
	}
	for ; len(fraction) >= 8; fraction = fraction[8:] {
		eight, ok := eightDigits(binary.LittleEndian.Uint64(fraction))
		if !ok {
			return d, false
		}
		d.digits = d.digits*1e8 + eight
	}
	for _, c := range fraction {
		if c-'0' > 9 {
			return d, false
		}
		d.digits = d.digits*10 + uint64(c-'0')
	}
	return d, true
}

// quotient returns the double nearest to the number, but for its sign, as a
// mantissa of 53 bits and a power of two: strconv's number too, as each is the
// only one. The digits are not zero and countable.
func (d *plainDecimal) quotient() (mantissa uint64, exponent int) {
	// Both with their highest bit set, w/five lies between 1/2 and 2, and the
	// quotient of w·2^63 has 63 or 64 bits; what is left only breaks a tie.
	five := fives[d.scale]
	w, by := bits.LeadingZeros64(d.digits), bits.LeadingZeros64(five)
	high := d.digits << w
	q, left := bits.Div64(high>>1, high<<63, five<<by)
	cut := 64 - 53 - bits.LeadingZeros64(q)
	mantissa, exponent = q>>cut, cut+by-w-63-d.scale
	half := uint64(1) << (cut - 1)
	if rest := q & (2*half - 1); rest > half || rest == half && (left > 0 || mantissa&1 == 1) {
		mantissa++
	}
	return mantissa, exponent
}

// answer is what a quick look may find out.
type answer uint8

const (
	unsure answer = iota
	no
	yes
)

// shortest says whether no other decimal with as many digits or fewer is as near
// to mantissa·2^exponent as this one, the double nearest to which that is: it is
// what is printed for that double then.
//
// With s = -exponent-scale the number is the double where digits·2^s is
// mantissa·5^scale. How far it is away, and what half a step from double to double
// is, fits 64 bits in units of half of that; a difference of products needs only
// their low ends. A decimal with fewer digits is one of the two multiples of ten
// around the digits. Where a distance is exactly the bound nothing is said.
func (d *plainDecimal) shortest(mantissa uint64, exponent int) answer {
	s := -exponent - d.scale
	if d.scale == 0 || s < 0 || mantissa&(1<<52-1) == 0 { // a power of two: steps below it are half as wide
		return unsure
	}
	if d.digits >= 1e17 {
		return no
	}
	unit := int64(1) << (s + 1) // one in the last digit
	half := int64(fives[d.scale])
	off := int64(d.digits<<(s+1) - 2*mantissa*fives[d.scale])
	last := int64(d.digits % 10)
	near := min(abs(off-last*unit), abs(off+(10-last)*unit))
	switch {
	case near == half || 2*abs(off) == unit:
		return unsure
	case near < half || 2*abs(off) > unit:
		return no
	}
	return yes
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// surelyExact bounds the whole numbers of so few digits that any double of as many
// digits gives them back.
const surelyExact = 1e15

// of returns mantissa·2^exponent, as quotient returns them, with the number's sign.
func (d *plainDecimal) of(mantissa uint64, exponent int) float64 {
	return d.signed(math.Float64frombits(uint64(exponent+1074)<<52 + mantissa))
}

func (d *plainDecimal) signed(f float64) float64 {
	if d.negative {
		return -f
	}
	return f
}
