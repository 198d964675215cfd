package record

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// skimmer finds the end of a JSON value, piece by piece, by its brackets and
// quotes alone. The zero value stands before a value's first byte.
type skimmer struct {
	depth   int
	length  int // bytes of the value so far
	quoted  bool
	escaped bool // the byte at hand stands behind a backslash
	scalar  bool // a number or a word, which ends where something else begins
}

// open says whether the value needs more bytes to be whole.
func (v *skimmer) open() bool { return v.depth > 0 || v.quoted }

// feed looks at the next piece. It returns how many bytes of it belong to the
// value, and whether the value ends with them.
func (v *skimmer) feed(b []byte) (n int, done bool) {
	if v.length == 0 && len(b) > 0 && b[0] != '{' && b[0] != '[' && b[0] != '"' {
		v.scalar = true
	}
	if v.scalar {
		n, done = len(b), false
		if end := bytes.IndexAny(b, ",]} \t\r\n:{[\""); end >= 0 {
			n, done = end, true
		}
	} else {
		n, done = v.brackets(b)
	}
	v.length += n
	return n, done
}

// brackets looks for the end of a string, an object or an array.
func (v *skimmer) brackets(b []byte) (n int, done bool) {
	for n < len(b) {
		if v.quoted {
			if n += v.inString(b[n:]); v.quoted {
				return len(b), false
			}
			if v.depth == 0 {
				return n, true
			}
		}
		if n += structural(b[n:]); n == len(b) {
			return n, false
		}
		n++
		switch b[n-1] {
		case '"':
			v.quoted = true
		case '{', '[':
			v.depth++
		default:
			if v.depth--; v.depth <= 0 {
				return n, true
			}
		}
	}
	return n, false
}

// inString looks for the quote that ends a string and returns the index behind
// it, or the length of b.
func (v *skimmer) inString(b []byte) int {
	i := 0
	if v.escaped && len(b) > 0 {
		v.escaped = false
		i = 1
	}
	for {
		if i += indexEither(b[i:], '"', '\\'); i >= len(b) {
			return len(b)
		}
		if b[i] == '"' {
			v.quoted = false
			return i + 1
		}
		if i += 2; i > len(b) {
			v.escaped = true
			return len(b)
		}
	}
}

// structural returns the index of the first quote, brace or bracket of b, or its
// length.
func structural(b []byte) int {
	const brackets = 0x20 * lowBits // tells [ from { and ] from }
	i := 0
	for ; i+8 <= len(b); i += 8 {
		v := binary.LittleEndian.Uint64(b[i:])
		q, open, shut := v^lowBits*'"', (v|brackets)^lowBits*'{', (v|brackets)^lowBits*'}'
		m := ((q - lowBits) &^ q) | ((open - lowBits) &^ open) | ((shut - lowBits) &^ shut)
		if m &= highBits; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(b) && b[i] != '"' && b[i]|0x20 != '{' && b[i]|0x20 != '}' {
		i++
	}
	return i
}
