package typed

import (
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"
)

// maxJSONDepth bounds what AppendJSON walks into.
const maxJSONDepth = 4096

// AppendJSON appends a record, or one value of it, as JSON:
//
//	int, decimal, number  as number, decimals with all digits of their scale
//	float                 as number with point or exponent; "NaN", "Infinity", "-Infinity"
//	string                as string; one that is no UTF-8 as bytes
//	bytes                 as {"base64": "AAEC"}
//	date, timestamp       as ISO 8601 strings, instants with Z and 0, 3, 6 or 9 digits
//	far                   as its text
//	list                  as array
//	struct, map           as object; a key that is no UTF-8 as base64:AAEC
//
// It fails with ErrMalformed, and appends nothing then.
func AppendJSON(dst, value []byte) ([]byte, error) {
	c := NewCursor(value)
	out, err := c.json(dst, maxJSONDepth)
	if err == nil && !c.Done() {
		err = malformed(c.at, "something follows the value")
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

// json appends the next value.
func (c *Cursor) json(dst []byte, depth int) ([]byte, error) {
	start := c.at
	v, err := c.Next()
	if err != nil {
		return dst, err
	}
	if !v.Tag.IsNested() {
		return v.json(dst), nil
	}
	if depth <= 0 {
		return dst, malformed(start, "nested too deep")
	}
	in := c.Inside(v)
	if v.Tag == List {
		return in.members(append(dst, '['), v.Tag, ']', depth-1)
	}
	return in.members(append(dst, '{'), v.Tag, '}', depth-1)
}

// members appends everything that follows, and the closing bracket.
func (c *Cursor) members(dst []byte, in Tag, end byte, depth int) ([]byte, error) {
	for first := len(dst); !c.Done(); {
		if len(dst) > first {
			dst = append(dst, ',')
		}
		var err error
		if in != List {
			var key []byte
			if key, err = c.Key(); err != nil {
				return dst, err
			}
			dst = append(appendKeyJSON(dst, key), ':')
		}
		if dst, err = c.json(dst, depth); err != nil {
			return dst, err
		}
	}
	return append(dst, end), nil
}

// json appends a scalar.
func (v Value) json(dst []byte) []byte {
	switch v.Tag {
	case False:
		return append(dst, "false"...)
	case True:
		return append(dst, "true"...)
	case Int:
		return strconv.AppendInt(dst, v.Int, 10)
	case Float:
		return AppendFloatJSON(dst, v.Float())
	case Decimal:
		return decimalText(dst, bigOf(v.Data), int(v.Scale))
	case Number, Far:
		return append(dst, v.Data...)
	case String:
		if utf8.Valid(v.Data) {
			return AppendQuoted(dst, v.Data)
		}
		return appendBase64(dst, v.Data)
	case Bytes:
		return appendBase64(dst, v.Data)
	case Date:
		return append(appendDate(append(dst, '"'), v.Int), '"')
	case Timestamp:
		return append(v.instant(append(dst, '"')), '"')
	}
	return append(dst, "null"...)
}

// instant appends a timestamp with as many digits as it needs, in threes.
func (v Value) instant(dst []byte) []byte {
	seconds, micros := floor(v.Int, 1e6)
	switch {
	case v.Nanos > 0:
		dst = appendDateTime(dst, seconds, micros*1000+int64(v.Nanos), Nanos)
	case micros%1000 > 0:
		dst = appendDateTime(dst, seconds, micros, Micros)
	case micros > 0:
		dst = appendDateTime(dst, seconds, micros/1000, Millis)
	default:
		days, second := floor(seconds, secondsPerDay)
		dst = appendClock(append(appendDate(dst, days), 'T'), second)
	}
	return append(dst, 'Z')
}

// AppendFloatJSON appends a double as the shortest text that gives it back. It
// always has a point or an exponent, so that it does not pass for a whole
// number; NaN and the infinities are quoted words.
func AppendFloatJSON(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	if size := math.Abs(f); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, b := range dst[from:] {
		if b == '.' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

// AppendQuoted appends text as a JSON string. It must be UTF-8.
func AppendQuoted(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

func appendBase64(dst, b []byte) []byte {
	dst = append(dst, `{"base64":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"', '}')
}

func appendKeyJSON(dst, key []byte) []byte {
	if utf8.Valid(key) {
		return AppendQuoted(dst, key)
	}
	dst = append(dst, `"base64:`...)
	dst = base64.StdEncoding.AppendEncode(dst, key)
	return append(dst, '"')
}
