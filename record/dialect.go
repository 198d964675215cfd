package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Dialect is how rows of cells are written. The zero value is RFC 4180 with a
// delimiter that is found out and a header.
//
// A quote opens a quoted cell only at the beginning of the cell; elsewhere it
// is text. Inside, two quotes are one, newlines and delimiters are text, and
// everything is kept as it is. Blank lines are no rows.
type Dialect struct {
	Delimiter byte     // 0: found out object by object, of comma, semicolon, tab, bar and colon
	Quote     int      // the byte; 0: "; NoQuote: quotes mean nothing
	Escape    byte     // inside of quotes the byte behind it is text; 0: none
	Comment   byte     // lines that begin with it are skipped; 0: none
	Decimal   byte     // the point of numbers; 0: '.'
	Skip      int      // lines before the header
	Header    Header   // "" is Named
	Null      []string // what an unquoted cell says to be null; nil: nothing at all
	Encoding  string   // of CSV, where it differs from Format.Encoding

	newline byte // '\r' for text of old that has no '\n'
}

// NoQuote as a Dialect's Quote makes quotes text like any other.
const NoQuote = -1

// Header says where the keys of cells come from.
type Header string

// The headers.
const (
	Named    Header = "named"    // the first row has them
	Numbered Header = "numbered" // column_1, column_2, …
)

func (d Dialect) withDefaults() Dialect {
	if d.Quote == 0 {
		d.Quote = '"'
	}
	if d.Decimal == 0 {
		d.Decimal = '.'
	}
	if d.Null == nil {
		d.Null = []string{""}
	}
	d.newline = '\n'
	return d
}

// blank says whether a line is no row: nothing stands there, or a comment.
func (d *Dialect) blank(line []byte) bool {
	return len(bytes.TrimSuffix(line, []byte{'\r'})) == 0 || d.Comment != 0 && line[0] == d.Comment
}

// closing returns the index behind the quote that ends the cell whose content
// begins at i, or -1, and how the content is written.
func (d *Dialect) closing(text []byte, i int) (end int, as form) {
	quote := byte(d.Quote)
	for as = quoted; i <= len(text); as = escaped {
		if i += d.mark(text[i:]); i >= len(text) {
			break
		}
		if text[i] == quote && (i+1 == len(text) || text[i+1] != quote) {
			return i + 1, as
		}
		i += 2
	}
	return -1, as
}

// mark returns the index of the first quote or escape in text, or its length.
func (d *Dialect) mark(text []byte) int {
	if d.Escape != 0 {
		return indexEither(text, byte(d.Quote), d.Escape)
	}
	if at := bytes.IndexByte(text, byte(d.Quote)); at >= 0 {
		return at
	}
	return len(text)
}

// indexEither returns the index of the first a or b in text, or its length.
func indexEither(text []byte, a, b byte) int {
	i := 0
	as, bs := lowBits*uint64(a), lowBits*uint64(b)
	for ; i+8 <= len(text); i += 8 {
		v := binary.LittleEndian.Uint64(text[i:])
		x, y := v^as, v^bs
		if m := ((x-lowBits)&^x | (y-lowBits)&^y) & highBits; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(text) && text[i] != a && text[i] != b {
		i++
	}
	return i
}

// endOfLine says what ends a line of text: a newline, or a carriage return if
// there is no newline at all.
func endOfLine(head []byte) byte {
	if bytes.IndexByte(head, '\r') >= 0 && bytes.IndexByte(head, '\n') < 0 {
		return '\r'
	}
	return '\n'
}

// delimiterOf returns the delimiter that an object's name says, or 0.
func delimiterOf(name string) byte {
	switch extension(name) {
	case ".tsv", ".tab":
		return '\t'
	case ".psv":
		return '|'
	}
	return 0
}

// sniffed bounds the rows by which the delimiter is found out.
const sniffed = 200

// likely returns the delimiter under which most of the head's rows have as many
// cells as its first one, and more than one. Between delimiters of which that is
// equally true the rarer sign wins, tab before bar before semicolon before
// comma, unless a later one makes so many more cells that it cannot be the
// decimal sign of the numbers in them. A colon is one only if nothing else is.
func (d Dialect) likely(head []byte) byte {
	best, most, cells := byte(','), 0, 1
	for _, candidate := range []byte("\t|;,:") {
		if candidate == ':' && most > 0 {
			break
		}
		d.Delimiter = candidate
		width, times := d.agreement(head)
		if width > 1 && (times > most || times == most && width > cells+1) {
			best, most, cells = candidate, times, width
		}
	}
	return best
}

// agreement returns how many cells the first row of the head has, or 0 if it
// cannot be split, and how many of the rows have as many.
func (d Dialect) agreement(head []byte) (width, times int) {
	var r row
	for rows := 0; len(head) > 0 && rows < sniffed; {
		end, _ := r.cut(head, &d, int(d.newline))
		if end < 0 {
			break
		}
		head = head[end:]
		if d.blank(r.text) {
			continue
		}
		switch {
		case rows == 0 && r.wrong.code != fine:
			return 0, 0
		case rows == 0:
			width = len(r.cells)
		}
		if r.wrong.code == fine && len(r.cells) == width {
			times++
		}
		rows++
	}
	return width, times
}

// columnKey is the key of a cell that has no name in the header, by its place.
func columnKey(place int) string { return fmt.Sprintf("column_%d", place+1) }
