package datafile

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"batcher/column"
	"batcher/schema"
)

// A decimal stands in a file as Parquet recommends: up to 9 digits as INT32, up to 18
// as INT64, and beyond in 16 bytes, as vectors have all of them. So there is one
// storage for each type. It must be this one: Trino takes statistics of a decimal of
// up to 18 digits that has more than 8 bytes for zeros, and then finds no rows.
const (
	intDigits    = 9
	longDigits   = 18
	decimalBytes = 16
)

// decimalType is the Parquet type of a decimal of so many digits.
func decimalType(precision int8) format.Type {
	switch {
	case precision <= intDigits:
		return format.Int32
	case precision <= longDigits:
		return format.Int64
	}
	return format.FixedLenByteArray
}

// appendInts appends PLAIN values of a type that files have as integers. A decimal
// with more digits than its type has is an error.
func appendInts[T int32 | int64](dst []T, t *schema.Type, plain []byte) ([]T, error) {
	width := column.Width(t.Kind)
	dst = slices.Grow(dst, len(plain)/width)
	switch width {
	case 4:
		for ; len(plain) >= 4; plain = plain[4:] {
			dst = append(dst, T(binary.LittleEndian.Uint32(plain)))
		}
	case 8:
		for ; len(plain) >= 8; plain = plain[8:] {
			dst = append(dst, T(binary.LittleEndian.Uint64(plain)))
		}
	case decimalBytes:
		limit := powerOfTen(t.Precision).Int64()
		for ; len(plain) >= decimalBytes; plain = plain[decimalBytes:] {
			high, n := int64(binary.BigEndian.Uint64(plain)), int64(binary.BigEndian.Uint64(plain[8:]))
			if high != n>>63 || n <= -limit || n >= limit {
				return dst, fmt.Errorf("%s has more digits than %v", column.AppendDecimal(nil, plain[:decimalBytes], int(t.Scale)), t)
			}
			dst = append(dst, T(n))
		}
	}
	return dst, nil
}

// plainInts undoes appendInts.
func plainInts[T int32 | int64](t *schema.Type, ints []T) []byte {
	width := column.Width(t.Kind)
	plain := make([]byte, 0, width*len(ints))
	switch width {
	case 4:
		for _, v := range ints {
			plain = binary.LittleEndian.AppendUint32(plain, uint32(v))
		}
	case 8:
		for _, v := range ints {
			plain = binary.LittleEndian.AppendUint64(plain, uint64(v))
		}
	case decimalBytes:
		for _, v := range ints {
			plain = appendDecimal(plain, int64(v))
		}
	}
	return plain
}

// appendDecimal appends a value as vectors have it.
func appendDecimal(dst []byte, v int64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(v>>63))
	return binary.BigEndian.AppendUint64(dst, uint64(v))
}

// storedDecimal is a value as statistics of a file have it.
func storedDecimal(t *schema.Type, v [decimalBytes]byte) []byte {
	switch decimalType(t.Precision) {
	case format.Int32:
		return binary.LittleEndian.AppendUint32(nil, binary.BigEndian.Uint32(v[12:]))
	case format.Int64:
		return binary.LittleEndian.AppendUint64(nil, binary.BigEndian.Uint64(v[8:]))
	}
	return v[:]
}

// vectorDecimal undoes storedDecimal. What it is given must have the length of the
// type; else it returns nil.
func vectorDecimal(t *schema.Type, stored []byte) []byte {
	switch physical := decimalType(t.Precision); {
	case physical == format.Int32 && len(stored) == 4:
		return appendDecimal(nil, int64(int32(binary.LittleEndian.Uint32(stored))))
	case physical == format.Int64 && len(stored) == 8:
		return appendDecimal(nil, int64(binary.LittleEndian.Uint64(stored)))
	case physical == format.FixedLenByteArray && len(stored) == decimalBytes:
		return stored
	}
	return nil
}

// bigDecimal is a value as a number, without its scale.
func bigDecimal(v [decimalBytes]byte) *big.Int {
	n := new(big.Int).SetBytes(v[:])
	if v[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 8*decimalBytes))
	}
	return n
}

// powerOfTen is 10 to the n.
func powerOfTen[T int | int8](n T) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}
