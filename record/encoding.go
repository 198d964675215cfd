package record

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/ianaindex"
)

// encoding converts text to UTF-8. Its letters have one byte each, or one or two
// units of two bytes; so the decoded text tells where in the object it stood.
//
// What is no letter becomes the byte notLetter, half a unit at the end becomes
// halfUnit: both are invalid UTF-8, and what they stand in is treated as such.
type encoding struct {
	chars  *charmap.Charmap // one byte a letter; nil for UTF-16
	little bool             // UTF-16 with the low byte first
}

const (
	notLetter = 0xff
	halfUnit  = 0xfe
)

// ParseEncoding accepts the names of encodings that text may be in: utf-8,
// utf-16, utf-16le, utf-16be and the single-byte ones by their IANA names.
func ParseEncoding(name string) error {
	_, err := encodingOf(name)
	return err
}

// encodingOf returns an encoding by its name, or nil for UTF-8.
func encodingOf(name string) (*encoding, error) {
	switch strings.ToLower(name) {
	case "", "utf-8", "utf8", "us-ascii", "ascii": // ASCII is UTF-8
		return nil, nil
	case "utf-16", "utf-16le": // a byte order mark goes before what is declared
		return &encoding{little: true}, nil
	case "utf-16be":
		return &encoding{}, nil
	}
	found, err := ianaindex.IANA.Encoding(name)
	if chars, ok := found.(*charmap.Charmap); err == nil && ok {
		return &encoding{chars: chars}, nil
	}
	return nil, fmt.Errorf("unknown encoding %q: want utf-8, utf-16, utf-16le, utf-16be or a single-byte one such as iso-8859-1 or windows-1252", name)
}

// markOf returns the encoding that a byte order mark at the head of an object
// says, how long the mark is, where UTF-8 may have several, and a reason if the encoding is not supported.
func markOf(head []byte) (e *encoding, mark int, reason string) {
	switch {
	case bytes.HasPrefix(head, []byte{0, 0, 0xfe, 0xff}), bytes.HasPrefix(head, []byte{0xff, 0xfe, 0, 0}):
		return nil, 0, "UTF-32 text: convert it to UTF-8"
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return &encoding{little: true}, 2, ""
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return &encoding{}, 2, ""
	case bytes.HasPrefix(head, []byte("\ufeff")):
		return nil, len(head) - len(bytes.TrimLeft(head, "\ufeff")), ""
	}
	return nil, 0, ""
}

// size is how many bytes a piece of decoded text was made of.
func (e *encoding) size(text []byte) int64 {
	if e.chars != nil {
		return int64(utf8.RuneCount(text))
	}
	var n int64
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r >= 0x10000:
			n += 4
		case size == 1 && text[i] == halfUnit:
			n++
		default:
			n += 2
		}
		i += size
	}
	return n
}

// prefix returns the part of text that was made of n bytes.
func prefix(text []byte, n int64, size func([]byte) int64) []byte {
	for i := 0; i < len(text); {
		_, w := utf8.DecodeRune(text[i:])
		if n -= size(text[i : i+w]); n < 0 {
			return text[:i]
		}
		i += w
	}
	return text
}

// converter gives the text of r as UTF-8, whole letters with each Read into four
// bytes or more.
type converter struct {
	encoding
	r   io.Reader
	in  []byte // bytes read and not converted yet
	out []byte // text converted and not given yet
	buf []byte
	err error // how reading ended
}

func (c *converter) Read(p []byte) (int, error) {
	for len(c.out) == 0 {
		if c.err != nil && len(c.in) == 0 {
			return 0, c.err
		}
		c.load()
	}
	n := copy(p, c.out)
	for n > 0 && n < len(c.out) && !utf8.RuneStart(c.out[n]) {
		n--
	}
	c.out = c.out[n:]
	return n, nil
}

// load reads and converts a piece.
func (c *converter) load() {
	if c.buf == nil {
		c.buf = make([]byte, storedBuffer)
	}
	kept := copy(c.buf, c.in)
	if c.err == nil {
		var n int
		n, c.err = c.r.Read(c.buf[kept:])
		kept += n
	}
	c.in, c.out = c.buf[:kept], c.out[:0]
	if c.chars != nil {
		c.single()
	} else {
		c.units()
	}
}

func (c *converter) single() {
	for _, b := range c.in {
		if r := c.chars.DecodeByte(b); r == utf8.RuneError {
			c.out = append(c.out, notLetter)
		} else {
			c.out = utf8.AppendRune(c.out, r)
		}
	}
	c.in = nil
}

func (c *converter) units() {
	in := c.in
	for len(in) >= 2 {
		r, size := c.unit(in), 2
		if utf16.IsSurrogate(r) {
			if len(in) < 4 && c.err == nil {
				break // the other half may come
			}
			if len(in) >= 4 {
				if pair := utf16.DecodeRune(r, c.unit(in[2:])); pair != utf8.RuneError {
					c.out, in = utf8.AppendRune(c.out, pair), in[4:]
					continue
				}
			}
			c.out, in = append(c.out, notLetter), in[size:]
			continue
		}
		c.out, in = utf8.AppendRune(c.out, r), in[size:]
	}
	if len(in) == 1 && c.err != nil {
		c.out, in = append(c.out, halfUnit), nil
	}
	c.in = in
}

func (c *converter) unit(b []byte) rune {
	if c.little {
		return rune(b[0]) | rune(b[1])<<8
	}
	return rune(b[1]) | rune(b[0])<<8
}

// invalidAt returns the index of the first byte that is not UTF-8, or -1.
func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}
