package record

import "bytes"

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
	defer func() { v.length += n }()
	if v.length == 0 && len(b) > 0 && b[0] != '{' && b[0] != '[' && b[0] != '"' {
		v.scalar = true
	}
	if v.scalar {
		if n = bytes.IndexAny(b, ",]} \t\r\n:{[\""); n < 0 {
			return len(b), false
		}
		return n, true
	}
	for n < len(b) {
		if v.quoted {
			if n += v.inString(b[n:]); v.quoted {
				return len(b), false
			}
			if v.depth == 0 {
				return n, true
			}
			continue
		}
		c := b[n]
		n++
		switch c {
		case '"':
			v.quoted = true
		case '{', '[':
			v.depth++
		case '}', ']':
			if v.depth--; v.depth <= 0 {
				return n, true
			}
		}
	}
	return n, false
}

// inString looks for the quote that ends a string.
func (v *skimmer) inString(b []byte) int {
	for i := 0; i < len(b); i++ {
		if v.escaped {
			v.escaped = false
			continue
		}
		next := bytes.IndexByte(b[i:], '"')
		if next < 0 {
			next = len(b) - i
		}
		slash := bytes.IndexByte(b[i:i+next], '\\')
		if slash >= 0 {
			v.escaped = true
			i += slash
			continue
		}
		if i += next; i < len(b) {
			v.quoted = false
			return i + 1
		}
	}
	return len(b)
}
