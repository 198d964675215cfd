package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Dialect is how rows of cells are written. The zero value is RFC 4180, with what
// is not declared found out object by object.
//
// A quote opens a quoted cell only at the beginning of the cell; elsewhere it
// is text. Inside, two quotes are one, newlines and delimiters are text, and
// everything is kept as it is. Blank lines are no rows.
type Dialect struct {
	Delimiter byte     // 0: found out, of comma, tab, semicolon, bar and colon
	Quote     int      // the byte; 0: "; NoQuote: quotes mean nothing
	Escape    byte     // inside of quotes the byte after it is text; 0: none, or a backslash where rows show it
	Comment   byte     // lines that begin with it are skipped; 0: none
	Padded    bool     // blanks may stand between a delimiter and a quote; found out where Quote is not NoQuote
	Decimal   byte     // the point of numbers; 0: '.'
	Thousands byte     // between groups of three digits of numbers; 0: nothing
	Skip      int      // lines before the header; 0: found out where the table begins beyond doubt
	Header    Header   // "": found out
	Columns   []string // keys of the cells, in the place of a header's
	Pad       bool     // rows may end early: what is missing is null
	Trailing  Trailing // "": found out
	Null      []string // what an unquoted cell says to be null; nil: nothing at all
	Encoding  string   // of CSV, where it differs from Format.Encoding

	newline byte // '\r' for text of old
}

// NoQuote as a Dialect's Quote makes quotes text like any other.
const NoQuote = -1

// Header says where the keys of cells come from.
type Header string

// The headers.
const (
	Named    Header = "named"    // the first row has them
	Numbered Header = "numbered" // there is none: Dialect.Columns, or column_1, column_2, …
)

// Trailing says what a delimiter at the end of a row means.
type Trailing string

// The meanings.
const (
	Ignored Trailing = "ignored" // nothing: no cell follows it
	Cell    Trailing = "cell"    // an empty cell follows it
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

// ends is what ends a row, as row.cut takes it.
func (d *Dialect) ends() int {
	if d.newline == '\r' {
		return either
	}
	return int(d.newline)
}

// blank says whether a line is no row: it is empty, or a comment.
func (d *Dialect) blank(line []byte) bool {
	return len(withoutEnds(line)) == 0 || d.Comment != 0 && line[0] == d.Comment
}

// closing returns the index after the quote that ends the cell whose content
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

// endOfLine says what ends a line of text: a newline, or a carriage return if the
// head has more of them that no newline follows than newlines. Those between quotes
// are text of cells, and do not count; NoQuote counts all.
func endOfLine(head []byte, quote int) byte {
	if returns, newlines, _ := endsOfLines(head, quote); returns > newlines {
		return '\r'
	}
	return '\n'
}

// endOfRow is endOfLine of CSV. No name of a column has a carriage return in it, which
// therefore ends rows, too, where it ends the first one.
func endOfRow(head []byte, quote int) byte {
	if returns, newlines, first := endsOfLines(head, quote); returns > newlines || first == '\r' {
		return '\r'
	}
	return '\n'
}

// endsOfLines counts carriage returns and newlines, and says which is the first. Returns
// before a newline belong to it.
func endsOfLines(head []byte, quote int) (returns, newlines int, first byte) {
	if bytes.IndexByte(head, '\r') < 0 {
		return 0, 0, 0
	}
	run, quoted := 0, false // returns in a row
	for _, b := range head {
		switch {
		case int(b) == quote:
			quoted = !quoted
		case quoted:
		case b == '\r':
			run++
			continue
		case b == '\n':
			newlines, run = newlines+1, 0
		}
		if returns += run; first == 0 && returns+newlines > 0 {
			first = '\n'
			if run > 0 {
				first = '\r'
			}
		}
		run = 0
	}
	return returns + run, newlines, first
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

// columnKey is the key of a cell that has no name in the header, by its place.
func columnKey(place int) string { return fmt.Sprintf("column_%d", place+1) }
