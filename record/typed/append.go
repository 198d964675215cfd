package typed

import (
	"encoding/binary"
	"math"
	"slices"
)

// AppendNull appends a null.
func AppendNull(dst []byte) []byte { return append(dst, byte(Null)) }

// AppendBool appends false for 0, true for anything else.
func AppendBool(dst []byte, v uint8) []byte {
	if v == 0 {
		return append(dst, byte(False))
	}
	return append(dst, byte(True))
}

// AppendInt appends a whole number.
func AppendInt(dst []byte, v int64) []byte {
	return binary.AppendVarint(append(dst, byte(Int)), v)
}

// AppendFloat appends a double; NaN and the infinities stay what they are.
func AppendFloat(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, byte(Float)), math.Float64bits(v))
}

// AppendString appends text as it is stored.
func AppendString[T string | []byte](dst []byte, v T) []byte {
	return appendData(append(dst, byte(String)), v)
}

// AppendBytes appends bytes.
func AppendBytes(dst, v []byte) []byte {
	return appendData(append(dst, byte(Bytes)), v)
}

// AppendNumber appends the text of a JSON number.
func AppendNumber[T string | []byte](dst []byte, text T) []byte {
	return appendData(append(dst, byte(Number)), text)
}

// AppendDate appends days since 1970-01-01.
func AppendDate(dst []byte, days int64) []byte {
	return binary.AppendVarint(append(dst, byte(Date)), days)
}

// AppendTimestamp appends an instant: microseconds since 1970-01-01T00:00:00Z
// and 0 to 999 nanoseconds behind them.
func AppendTimestamp(dst []byte, micros int64, nanos uint16) []byte {
	dst = binary.AppendVarint(append(dst, byte(Timestamp)), micros)
	return binary.AppendUvarint(dst, uint64(nanos))
}

// AppendFar appends the JSON text of an instant that AppendTimestamp cannot hold.
func AppendFar(dst, text []byte) []byte { return appendData(append(dst, byte(Far)), text) }

// AppendKey appends the key of the next value of a struct or map.
func AppendKey[T string | []byte](dst []byte, key T) []byte { return appendData(dst, key) }

// Append appends v as it was read. It must not be a list, struct or map.
func (v Value) Append(dst []byte) []byte {
	switch v.Tag {
	case Int:
		return AppendInt(dst, v.Int)
	case Date:
		return AppendDate(dst, v.Int)
	case Timestamp:
		return AppendTimestamp(dst, v.Int, v.Nanos)
	case Float:
		return AppendFloat(dst, v.Float())
	case Decimal:
		return appendDecimal(dst, v.Unscaled(), int(v.Scale))
	case String, Bytes, Number, Far:
		return appendData(append(dst, byte(v.Tag)), v.Data)
	}
	return append(dst, byte(v.Tag))
}

func appendData[T string | []byte](dst []byte, v T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(v)))
	return append(dst, v...)
}

// Open begins a list, struct or map. The values follow; Close with the returned
// mark ends it.
func Open(dst []byte, t Tag) (out []byte, mark int) {
	dst = append(dst, byte(t), 0)
	return dst, len(dst)
}

// Close writes the length of the body that began at mark. Everything opened
// within it must have been closed.
func Close(dst []byte, mark int) []byte {
	n := len(dst) - mark
	if n < 0x80 {
		dst[mark-1] = byte(n)
		return dst
	}
	var length [binary.MaxVarintLen64]byte
	size := binary.PutUvarint(length[:], uint64(n))
	dst = slices.Grow(dst, size-1)[:len(dst)+size-1]
	copy(dst[mark+size-1:], dst[mark:mark+n])
	copy(dst[mark-1:], length[:size])
	return dst
}
