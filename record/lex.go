package record

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// The functions of this file read JSON by the letter of RFC 8259 at d[i:]. d is
// one record: valid UTF-8 without a newline. They return the index behind what
// they read or, when that is not JSON, the complement (^) of the index of the
// offending byte, which is negative.

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// space skips white space.
func space(d []byte, i int) int {
	for i < len(d) && d[i] <= ' ' && (d[i] == ' ' || d[i] == '\t' || d[i] == '\r' || d[i] == '\n') {
		i++
	}
	return i
}

// stringEnd returns the index of the quote that closes a string whose content
// begins at i, and whether there are escapes in it, which it does not check.
func stringEnd(d []byte, i int) (end int, escaped bool) {
	for {
		for {
			if i+16 > len(d) {
				return stringTail(d, i, escaped)
			}
			w := d[i : i+16 : i+16]
			if m := stops(binary.LittleEndian.Uint64(w)); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			if m := stops(binary.LittleEndian.Uint64(w[8:])); m != 0 {
				i += 8 + bits.TrailingZeros64(m)>>3
				break
			}
			i += 16
		}
		if d[i] == '"' {
			return i, escaped
		}
		if d[i] != '\\' {
			return ^i, escaped
		}
		escaped = true
		i += 2
	}
}

// stops marks the bytes of v at which a string ends or is interrupted. Only its
// lowest bit is sure to be right: borrows only reach upwards.
func stops(v uint64) uint64 {
	return (((v ^ lowBits*'"') - lowBits) | ((v ^ lowBits*'\\') - lowBits) | (v - lowBits*0x20)) & (highBits &^ v)
}

// stringTail is stringEnd near the end of d.
func stringTail(d []byte, i int, escaped bool) (int, bool) {
	for i < len(d) {
		switch c := d[i]; {
		case c == '"':
			return i, escaped
		case c == '\\':
			escaped = true
			i++
		case c < 0x20:
			return ^i, escaped
		}
		i++
	}
	return ^len(d), escaped
}

// escape decodes the escape at the backslash d[i]. why says what is wrong if it
// cannot: it is none, or half of a surrogate pair without the other half.
func escape(d []byte, i int) (r rune, next int, why code) {
	if i+1 >= len(d) {
		return 0, ^i, badSyntax
	}
	switch c := d[i+1]; c {
	case '"', '\\', '/':
		return rune(c), i + 2, 0
	case 'n':
		return '\n', i + 2, 0
	case 't':
		return '\t', i + 2, 0
	case 'r':
		return '\r', i + 2, 0
	case 'b':
		return '\b', i + 2, 0
	case 'f':
		return '\f', i + 2, 0
	case 'u':
		return escapeHex(d, i)
	}
	return 0, ^(i + 1), badSyntax
}

func escapeHex(d []byte, i int) (r rune, next int, why code) {
	r, ok := hex4(d, i+2)
	if !ok {
		return 0, ^i, badSyntax
	}
	if r < 0xD800 || r > 0xDFFF {
		return r, i + 6, 0
	}
	if r < 0xDC00 && i+7 < len(d) && d[i+6] == '\\' && d[i+7] == 'u' {
		if low, ok := hex4(d, i+8); ok && low >= 0xDC00 && low <= 0xDFFF {
			return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00), i + 12, 0
		}
	}
	return 0, ^i, loneSurrogate
}

func hex4(d []byte, i int) (rune, bool) {
	if i+4 > len(d) {
		return 0, false
	}
	var r rune
	for _, c := range d[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// unescape appends the content of the string d[i:end] to dst.
func unescape(dst, d []byte, i, end int) (out []byte, next int, why code) {
	s := d[:end]
	for i < end {
		k := bytes.IndexByte(s[i:], '\\')
		if k < 0 {
			return append(dst, s[i:]...), end, 0
		}
		dst = append(dst, s[i:i+k]...)
		r, next, why := escape(s, i+k)
		if next < 0 {
			return dst, next, why
		}
		dst = utf8.AppendRune(dst, r)
		i = next
	}
	return dst, end, 0
}

// number reads a number; whole says that it has neither fraction nor exponent.
func number(d []byte, i int) (end int, whole bool) {
	if i < len(d) && d[i] == '-' {
		i++
	}
	start := i
	if i = digits(d, i); i == start {
		return ^i, false
	}
	if d[start] == '0' && i > start+1 {
		return ^(start + 1), false
	}
	whole = true
	if i < len(d) && d[i] == '.' {
		whole = false
		start = i + 1
		if i = digits(d, start); i == start {
			return ^i, false
		}
	}
	if i < len(d) && (d[i] == 'e' || d[i] == 'E') {
		whole = false
		i++
		if i < len(d) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		start = i
		if i = digits(d, start); i == start {
			return ^i, false
		}
	}
	return i, whole
}

func digits(d []byte, i int) int {
	for i < len(d) && d[i]-'0' <= 9 {
		i++
	}
	return i
}

// literal reads the word w.
func literal(d []byte, i int, w string) int {
	if len(d)-i < len(w) || string(d[i:i+len(w)]) != w {
		return ^i
	}
	return i + len(w)
}

// skip reads any value and checks all of it. depth counts the objects and lists
// around the value.
func (s *scanner) skip(d []byte, i, depth int) int {
	if i >= len(d) {
		return s.syntax(i)
	}
	switch c := d[i]; c {
	case '"':
		return s.skipString(d, i)
	case '{':
		return s.skipObject(d, i, depth)
	case '[':
		return s.skipList(d, i, depth)
	case 't':
		return s.checked(literal(d, i, "true"))
	case 'f':
		return s.checked(literal(d, i, "false"))
	case 'n':
		return s.checked(literal(d, i, "null"))
	default:
		end, _ := number(d, i)
		return s.checked(end)
	}
}

// checked turns a lexical failure into a fault.
func (s *scanner) checked(i int) int {
	if i < 0 {
		return s.syntax(^i)
	}
	return i
}

func (s *scanner) skipString(d []byte, i int) int {
	end, escaped := stringEnd(d, i+1)
	if end < 0 {
		return s.syntax(^end)
	}
	if escaped && !s.escapes(d, i+1, end) {
		return failed
	}
	return end + 1
}

// escapes checks the escapes of the string d[i:end].
func (s *scanner) escapes(d []byte, i, end int) bool {
	for {
		k := bytes.IndexByte(d[i:end], '\\')
		if k < 0 {
			return true
		}
		_, next, why := escape(d[:end], i+k)
		if next < 0 {
			s.fail(why, ^next)
			return false
		}
		i = next
	}
}

func (s *scanner) skipObject(d []byte, i, depth int) int {
	if depth >= s.maxDepth {
		return s.tooDeep(i)
	}
	i = space(d, i+1)
	if i < len(d) && d[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(d) || d[i] != '"' {
			return s.syntax(i)
		}
		if i = s.skipString(d, i); i < 0 {
			return i
		}
		if i = space(d, i); i >= len(d) || d[i] != ':' {
			return s.syntax(i)
		}
		if i = s.skip(d, space(d, i+1), depth+1); i < 0 {
			return i
		}
		if i = space(d, i); i >= len(d) {
			return s.syntax(i)
		}
		if d[i] == '}' {
			return i + 1
		}
		if d[i] != ',' {
			return s.syntax(i)
		}
		i = space(d, i+1)
	}
}

func (s *scanner) skipList(d []byte, i, depth int) int {
	if depth >= s.maxDepth {
		return s.tooDeep(i)
	}
	i = space(d, i+1)
	if i < len(d) && d[i] == ']' {
		return i + 1
	}
	for {
		if i = s.skip(d, i, depth+1); i < 0 {
			return i
		}
		if i = space(d, i); i >= len(d) {
			return s.syntax(i)
		}
		if d[i] == ']' {
			return i + 1
		}
		if d[i] != ',' {
			return s.syntax(i)
		}
		i = space(d, i+1)
	}
}
