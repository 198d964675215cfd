package record

import "encoding/binary"

// zeros are eight digits.
const zeros = lowBits * '0'

// eightDigits reads eight bytes as digits: pairs, then fours, then all of them,
// each step side by side in one word.
func eightDigits(x uint64) (v uint64, ok bool) {
	const sixes, high = lowBits * 6, lowBits * 0xf0
	if x&high != zeros || (x+sixes)&high != zeros {
		return 0, false
	}
	x -= zeros
	x = x*10 + x>>8
	const pairs = 0x000000ff000000ff
	x = x&pairs*(100+1e6<<32) + x>>16&pairs*(1+1e4<<32)
	return x >> 32, true
}

// digitsOf reads digits that fit a uint64. Up to eight are read at once where the
// slice has room for as many.
func digitsOf(text []byte) (v uint64, ok bool) {
	if n := len(text); n <= 8 && cap(text) >= 8 {
		// What stands behind them is pushed out, and zeros stand before them.
		return eightDigits(binary.LittleEndian.Uint64(text[:8])<<(64-8*n) | zeros>>(8*n))
	}
	for _, c := range text {
		if c-'0' > 9 {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, true
}
