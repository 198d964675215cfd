package typed

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"strconv"
)

const (
	// maxUnscaled is the longest unscaled value that is written as a number:
	// turning binary digits into decimal ones takes more than linear time.
	maxUnscaled = 4096
	// maxZeros is how many zeros stand in for an exponent.
	maxZeros = 64
)

// limit38 is 10^38, the first magnitude that a decimal does not hold.
var limit38 = new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)

// AppendUnscaled appends the number unscaled / 10^scale, where unscaled is
// big-endian two's complement of any length and no bytes mean zero. It becomes
// a decimal if it has at most 38 digits and its scale is one of a decimal, a
// number otherwise, and plain bytes if it is longer than any number in use.
func AppendUnscaled(dst, unscaled []byte, scale int) []byte {
	if len(unscaled) > maxUnscaled {
		return AppendBytes(dst, unscaled)
	}
	if fixed, ok := narrow(unscaled); ok && scale >= 0 && scale <= MaxScale && fits38(fixed) {
		return appendDecimal(dst, fixed, scale)
	}
	return AppendNumber(dst, decimalText(nil, bigOf(unscaled), scale))
}

// AppendScaled appends the number v / 10^scale as AppendUnscaled does.
func AppendScaled(dst []byte, v int64, scale int) []byte {
	var fixed [decimalBytes]byte
	binary.BigEndian.PutUint64(fixed[:8], uint64(v>>63))
	binary.BigEndian.PutUint64(fixed[8:], uint64(v))
	if scale >= 0 && scale <= MaxScale {
		return appendDecimal(dst, fixed, scale)
	}
	return AppendUnscaled(dst, bytes.Clone(fixed[:]), scale)
}

// AppendUint appends an unsigned whole number: an int, or a decimal of scale 0
// beyond it.
func AppendUint(dst []byte, v uint64) []byte {
	if v>>63 == 0 {
		return AppendInt(dst, int64(v))
	}
	var fixed [decimalBytes]byte
	binary.BigEndian.PutUint64(fixed[8:], v)
	return appendDecimal(dst, fixed, 0)
}

func appendDecimal(dst []byte, fixed [decimalBytes]byte, scale int) []byte {
	dst = binary.AppendUvarint(append(dst, byte(Decimal)), uint64(scale))
	return append(dst, fixed[:]...)
}

// narrow brings a number to 16 bytes.
func narrow(unscaled []byte) (out [decimalBytes]byte, ok bool) {
	fill := byte(0)
	if len(unscaled) > 0 && unscaled[0] >= 0x80 {
		fill = 0xff
	}
	if more := len(unscaled) - decimalBytes; more > 0 {
		for _, b := range unscaled[:more] {
			if b != fill {
				return out, false
			}
		}
		if unscaled = unscaled[more:]; unscaled[0]>>7 != fill>>7 {
			return out, false
		}
	}
	for i := range out[:decimalBytes-len(unscaled)] {
		out[i] = fill
	}
	copy(out[decimalBytes-len(unscaled):], unscaled)
	return out, true
}

// fits38 says whether a number has at most 38 digits.
func fits38(fixed [decimalBytes]byte) bool {
	hi := int64(binary.BigEndian.Uint64(fixed[:8]))
	if hi > -1<<60 && hi < 1<<60 { // 2^124 < 10^38
		return true
	}
	return bigOf(fixed[:]).CmpAbs(limit38) < 0
}

func bigOf(unscaled []byte) *big.Int {
	v := new(big.Int).SetBytes(unscaled)
	if len(unscaled) > 0 && unscaled[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(len(unscaled)*8)))
	}
	return v
}

// decimalText appends the number v / 10^scale as JSON spells it.
func decimalText(dst []byte, v *big.Int, scale int) []byte {
	digits := v.Append(nil, 10)
	if digits[0] == '-' {
		dst, digits = append(dst, '-'), digits[1:]
	}
	missing := scale - len(digits) + 1 // zeros in front of the digits
	switch {
	case scale == 0:
		return append(dst, digits...)
	case scale < 0 || missing > maxZeros:
		dst = append(append(dst, digits...), 'e')
		return strconv.AppendInt(dst, -int64(scale), 10)
	case missing > 0:
		digits = append(bytes.Repeat([]byte{'0'}, missing), digits...)
	}
	point := len(digits) - scale
	dst = append(append(dst, digits[:point]...), '.')
	return append(dst, digits[point:]...)
}
