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
	p := printer{out: dst, most: math.MaxInt}
	if err := p.record(value); err != nil {
		return dst, err
	}
	return p.out, nil
}

// JSONHead returns the first most bytes, at most, of what AppendJSON would append
// for a value, and how much that would be. It holds no more of it than that and
// the JSON of one value without parts. It fails with ErrMalformed.
func JSONHead(value []byte, most int) (head []byte, length int, err error) {
	p := printer{most: most}
	if err := p.record(value); err != nil {
		return nil, 0, err
	}
	return p.out, len(p.out) + p.lost, nil
}

// printer appends values as JSON.
type printer struct {
	out  []byte
	most int // where to stop keeping what is appended
	lost int // bytes behind that
}

// record appends a value behind which nothing follows.
func (p *printer) record(value []byte) error {
	c := NewCursor(value)
	if err := p.value(&c, maxJSONDepth); err != nil {
		return err
	}
	if !c.Done() {
		return malformed(c.at, "something follows the value")
	}
	return nil
}

// text appends text that was made behind out, as far as it is kept.
func (p *printer) text(out []byte) {
	p.out = out
	if over := len(p.out) - p.most; over > 0 {
		p.lost += over
		p.out = p.out[:p.most]
	}
}

// value appends the next value.
func (p *printer) value(c *Cursor, depth int) error {
	start := c.at
	v, err := c.Next()
	if err != nil {
		return err
	}
	if !v.Tag.IsNested() {
		p.text(v.json(p.out))
		return nil
	}
	if depth <= 0 {
		return malformed(start, "nested too deep")
	}
	in, brackets := c.Inside(v), "{}"
	if v.Tag == List {
		brackets = "[]"
	}
	p.text(append(p.out, brackets[0]))
	if err := p.members(&in, v.Tag, depth-1); err != nil {
		return err
	}
	p.text(append(p.out, brackets[1]))
	return nil
}

// members appends everything that follows.
func (p *printer) members(c *Cursor, in Tag, depth int) error {
	for first := true; !c.Done(); first = false {
		if !first {
			p.text(append(p.out, ','))
		}
		if in != List {
			key, err := c.Key()
			if err != nil {
				return err
			}
			p.text(append(appendKeyJSON(p.out, key), ':'))
		}
		if err := p.value(c, depth); err != nil {
			return err
		}
	}
	return nil
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
