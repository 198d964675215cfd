package typed

import (
	"bytes"
	"unicode/utf8"
)

// replacement stands where text was invalid.
var replacement = []byte("\uFFFD")

// Whole returns how many digits a Decimal has in front of its point.
func (v Value) Whole() int {
	digits := bigOf(v.Data).Append(nil, 10)
	digits = bytes.TrimLeft(digits, "-0")
	return max(0, len(digits)-int(v.Scale))
}

// InvalidText returns the index of the first string or key in a record that is
// no UTF-8, or -1. What is malformed is not looked into.
func InvalidText(record []byte) int {
	c := NewCursor(record)
	return c.invalid(maxJSONDepth)
}

func (c *Cursor) invalid(depth int) int {
	start := c.at
	v, err := c.Next()
	switch {
	case err != nil || depth <= 0:
		return -1
	case v.Tag == String && !utf8.Valid(v.Data):
		return start
	case !v.Tag.IsNested():
		return -1
	}
	for in := c.Inside(v); !in.Done(); {
		at := in.at
		if v.Tag != List {
			key, err := in.Key()
			if err != nil {
				return -1
			}
			if !utf8.Valid(key) {
				return at
			}
		}
		before := in.at
		if at := in.invalid(depth - 1); at >= 0 {
			return at
		}
		if in.at == before {
			return -1
		}
	}
	return -1
}

// AppendMended appends a record in which U+FFFD stands for every run of bytes in
// strings and keys that is no UTF-8. What is malformed ends it.
func AppendMended(dst, record []byte) []byte {
	c := NewCursor(record)
	dst, _ = c.mended(dst, maxJSONDepth)
	return dst
}

func (c *Cursor) mended(dst []byte, depth int) ([]byte, error) {
	start := c.at
	v, err := c.Next()
	if err != nil {
		return dst, err
	}
	if v.Tag == String {
		return AppendString(dst, bytes.ToValidUTF8(v.Data, replacement)), nil
	}
	if !v.Tag.IsNested() || depth <= 0 {
		return append(dst, c.record[start:c.at]...), nil
	}
	dst, mark := Open(dst, v.Tag)
	for in := c.Inside(v); !in.Done(); {
		if v.Tag != List {
			key, err := in.Key()
			if err != nil {
				return dst, err
			}
			dst = AppendKey(dst, bytes.ToValidUTF8(key, replacement))
		}
		if dst, err = in.mended(dst, depth-1); err != nil {
			return dst, err
		}
	}
	return Close(dst, mark), nil
}
