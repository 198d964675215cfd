package parquet

import (
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"batcher/record/typed"
)

// value is a value as its physical type stores it.
type value struct {
	bits uint64 // BOOLEAN, INT32, INT64, FLOAT, DOUBLE: little-endian, in the low bits
	data []byte // BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY, INT96
}

// converter appends a value in its typed form.
type converter func(dst []byte, v value) []byte

// converterOf returns what an element's type makes of its values. An annotation
// that does not fit the physical type is not looked at.
func converterOf(e *format.SchemaElement) converter {
	switch e.Type.V {
	case format.Boolean:
		return func(dst []byte, v value) []byte { return typed.AppendBool(dst, uint8(v.bits&1)) }
	case format.Int32:
		return int32Converter(e)
	case format.Int64:
		return int64Converter(e)
	case format.Int96:
		return appendInt96
	case format.Float:
		return func(dst []byte, v value) []byte {
			return typed.AppendFloat(dst, float64(math.Float32frombits(uint32(v.bits))))
		}
	case format.Double:
		return func(dst []byte, v value) []byte { return typed.AppendFloat(dst, math.Float64frombits(v.bits)) }
	case format.FixedLenByteArray:
		return fixedConverter(e)
	}
	return bytesConverter(e)
}

// converted returns the ConvertedType, or -1.
func converted(e *format.SchemaElement) deprecated.ConvertedType {
	if e.ConvertedType.Valid {
		return e.ConvertedType.V
	}
	return -1
}

// decimalScale returns the scale of a DECIMAL.
func decimalScale(e *format.SchemaElement) (int, bool) {
	if d, ok := e.LogicalType.Value.(*format.DecimalType); ok {
		return int(d.Scale), true
	}
	return int(e.Scale.V), converted(e) == deprecated.Decimal
}

func isUnsigned(e *format.SchemaElement) bool {
	if i, ok := e.LogicalType.Value.(*format.IntType); ok {
		return !i.IsSigned
	}
	c := converted(e)
	return c == deprecated.Uint8 || c == deprecated.Uint16 || c == deprecated.Uint32 || c == deprecated.Uint64
}

// timeUnit returns the unit of TIME.
func timeUnit(e *format.SchemaElement) (typed.Digits, bool) {
	if t, ok := e.LogicalType.Value.(*format.TimeType); ok {
		return digits(t.Unit), true
	}
	switch converted(e) {
	case deprecated.TimeMillis:
		return typed.Millis, true
	case deprecated.TimeMicros:
		return typed.Micros, true
	}
	return 0, false
}

func digits(u format.TimeUnit) typed.Digits {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		return typed.Millis
	case *format.NanoSeconds:
		return typed.Nanos
	}
	return typed.Micros
}

func int32Converter(e *format.SchemaElement) converter {
	_, isDate := e.LogicalType.Value.(*format.DateType)
	if isDate || converted(e) == deprecated.Date {
		return func(dst []byte, v value) []byte { return typed.AppendDate(dst, int64(int32(v.bits))) }
	}
	if unit, ok := timeUnit(e); ok {
		return func(dst []byte, v value) []byte { return typed.AppendTimeOfDay(dst, int64(int32(v.bits)), unit) }
	}
	if scale, ok := decimalScale(e); ok {
		return func(dst []byte, v value) []byte {
			return typed.AppendScaled(dst, int64(int32(v.bits)), scale)
		}
	}
	if isUnsigned(e) {
		return func(dst []byte, v value) []byte { return typed.AppendInt(dst, int64(uint32(v.bits))) }
	}
	return func(dst []byte, v value) []byte { return typed.AppendInt(dst, int64(int32(v.bits))) }
}

func int64Converter(e *format.SchemaElement) converter {
	if unit, ok := timeUnit(e); ok {
		return func(dst []byte, v value) []byte { return typed.AppendTimeOfDay(dst, int64(v.bits), unit) }
	}
	if t, ok := e.LogicalType.Value.(*format.TimestampType); ok {
		return timestampConverter(digits(t.Unit), t)
	}
	switch converted(e) {
	case deprecated.TimestampMillis:
		return timestampConverter(typed.Millis, nil)
	case deprecated.TimestampMicros:
		return timestampConverter(typed.Micros, nil)
	}
	if scale, ok := decimalScale(e); ok {
		return func(dst []byte, v value) []byte {
			return typed.AppendScaled(dst, int64(v.bits), scale)
		}
	}
	if isUnsigned(e) {
		return func(dst []byte, v value) []byte { return typed.AppendUint(dst, v.bits) }
	}
	return func(dst []byte, v value) []byte { return typed.AppendInt(dst, int64(v.bits)) }
}

// timestampConverter makes instants, or local times where t says so.
func timestampConverter(unit typed.Digits, t *format.TimestampType) converter {
	if t != nil && !t.IsAdjustedToUTC {
		return func(dst []byte, v value) []byte { return typed.AppendLocal(dst, int64(v.bits), unit) }
	}
	return func(dst []byte, v value) []byte { return typed.AppendInstant(dst, int64(v.bits), unit) }
}

func fixedConverter(e *format.SchemaElement) converter {
	size := e.TypeLength.V
	switch e.LogicalType.Value.(type) {
	case *format.UUIDType:
		if size == 16 {
			return func(dst []byte, v value) []byte { return typed.AppendUUID(dst, [16]byte(v.data)) }
		}
	case *format.Float16Type:
		if size == 2 {
			return func(dst []byte, v value) []byte {
				return typed.AppendFloat(dst, float16(binary.LittleEndian.Uint16(v.data)))
			}
		}
	}
	if converted(e) == deprecated.Interval && size == 12 {
		return func(dst []byte, v value) []byte {
			le := binary.LittleEndian
			return typed.AppendInterval(dst, le.Uint32(v.data), le.Uint32(v.data[4:]), le.Uint32(v.data[8:]))
		}
	}
	return bytesConverter(e)
}

func bytesConverter(e *format.SchemaElement) converter {
	if scale, ok := decimalScale(e); ok {
		return func(dst []byte, v value) []byte { return typed.AppendUnscaled(dst, v.data, scale) }
	}
	isText := converted(e) == deprecated.UTF8 || converted(e) == deprecated.Enum || converted(e) == deprecated.Json
	switch e.LogicalType.Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		isText = true
	}
	if isText {
		return func(dst []byte, v value) []byte { return typed.AppendString(dst, v.data) }
	}
	return func(dst []byte, v value) []byte { return typed.AppendBytes(dst, v.data) }
}

const (
	julianEpoch  = 2440588 // Julian day of 1970-01-01
	microsPerDay = 86400_000_000
	// maxDays is how far microseconds reach, with a day to spare.
	maxDays = math.MaxInt64/microsPerDay - 1
)

// appendInt96 appends what Impala and Hive store as an instant: nanoseconds of
// the day, Julian day.
func appendInt96(dst []byte, v value) []byte {
	nanos := int64(binary.LittleEndian.Uint64(v.data))
	days := int64(int32(binary.LittleEndian.Uint32(v.data[8:]))) - julianEpoch
	micros, rest := nanos/1000, nanos%1000
	if rest < 0 {
		micros, rest = micros-1, rest+1000
	}
	if days > maxDays || days < -maxDays || micros >= microsPerDay || micros < -microsPerDay {
		text, _ := typed.AppendJSON(nil, typed.AppendBytes(nil, v.data)) // one value is well-formed
		return typed.AppendFar(dst, text)
	}
	return typed.AppendTimestamp(dst, days*microsPerDay+micros, uint16(rest))
}

// float16 widens an IEEE 754 half.
func float16(h uint16) float64 {
	sign, exponent, fraction := 1.0, int(h>>10&0x1f), float64(h&0x3ff)
	if h>>15 == 1 {
		sign = -1
	}
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 0x1f:
		if fraction == 0 {
			return math.Inf(int(sign))
		}
		return math.NaN()
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
