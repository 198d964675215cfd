package record

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// row is a row of cells: its text, and where they stand in it. One pass finds
// both the cells and the end of the row, eight bytes at a time.
type row struct {
	text  []byte // without the newline
	cells []cell
	wrong fault // the first thing wrong with it; the cells mean nothing then
}

// cell is where the content of a cell stands in the text of its row.
type cell struct {
	from, to int
	form     form
}

// form is how a cell is written.
type form uint8

const (
	bare    form = iota // without quotes
	quoted              // between quotes
	escaped             // between quotes, with quotes or escapes in it
)

// What ends a row besides a newline: nothing but the end of its text, or a carriage
// return or a line feed.
const (
	noNewline = -1
	either    = 256
)

// cut finds the row at the head of text: it ends at the first newline that no
// quotes enclose, or else with the text. cut returns how long the row is, newline
// included, and whether there is one; inside of quotes that do not end, end is -1.
func (r *row) cut(text []byte, d *Dialect, newline int) (end int, ends bool) {
	if newline == either {
		return r.cutEither(text, d)
	}
	r.cells, r.wrong = r.cells[:0], fault{}
	signs := d.signs(newline)
	from := 0 // where the cell at hand begins
	var next int
	for i := 0; i < len(text); i = next {
		next = i + 8
		for found := signs.in(word(text, i)); found != 0; found &= found - 1 {
			at := i + bits.TrailingZeros64(found)>>3
			if text[at] == d.Delimiter {
				r.cells = append(r.cells, cell{from: from, to: at})
				from = at + 1
				continue
			}
			if int(text[at]) == newline {
				r.last(text[:at], from)
				return at + 1, true
			}
			if at > from && (!d.Padded || len(trimmed(text[from:at])) > 0) { // inside of a cell a quote is text
				continue
			}
			switch next = r.quoted(text, at, d, newline); {
			case next < 0:
				return -1, false
			case next == len(text):
				r.text = text
				return next, false
			case int(text[next]) == newline:
				r.text = text[:next]
				return next + 1, true
			case text[next] == d.Delimiter:
				next++
				from = next
			}
			break
		}
	}
	r.last(text, from)
	return len(text), false
}

// cutEither finds the row that ends at the first of a carriage return and a line feed.
func (r *row) cutEither(text []byte, d *Dialect) (end int, ends bool) {
	end, ends = r.cut(text, d, '\r')
	before := text
	if end >= 0 {
		before = text[:end]
	}
	if bytes.IndexByte(before, '\n') < 0 {
		return end, ends
	}
	if sooner, ends := r.cut(before, d, '\n'); ends {
		return sooner, true
	}
	return r.cut(text, d, '\r')
}

// last completes a row whose last cell, without quotes, begins at from.
func (r *row) last(text []byte, from int) {
	to := from + len(withoutEnds(text[from:]))
	r.text, r.cells = text, append(r.cells, cell{from: from, to: to})
}

// withoutEnds is text without what is before the newline of its line: a carriage
// return of CRLF, or several of them, as a CRLF becomes where its newline is translated
// once more.
func withoutEnds(text []byte) []byte {
	for n := len(text); n > 0 && (text[n-1] == '\r' || text[n-1] == '\n'); n-- {
		text = text[:n-1]
	}
	return text
}

// quoted adds the cell that the quote at index at opens. It returns the index of
// what ends the cell, or of what cannot follow it, or -1.
func (r *row) quoted(text []byte, at int, d *Dialect, newline int) int {
	end, form := d.closing(text, at+1)
	if end < 0 {
		r.miscut(openQuote, at)
		return -1
	}
	r.cells = append(r.cells, cell{at + 1, end - 1, form})
	for d.Padded && end < len(text) && text[end] == ' ' {
		end++
	}
	if end == len(text) || text[end] == d.Delimiter || int(text[end]) == newline {
		return end
	}
	past := end
	for past < len(text) && (text[past] == '\r' || text[past] == '\n') && int(text[past]) != newline {
		past++
	}
	if past > end && (past == len(text) || int(text[past]) == newline) {
		return past
	}
	r.miscut(badQuote, end)
	return end
}

// miscut keeps the first thing wrong with the row.
func (r *row) miscut(why code, at int) {
	if r.wrong.code == fine {
		r.wrong = fault{code: why, at: at}
	}
}

// signs are the bytes that mean something between cells, each eight times.
type signs struct{ delimiter, quote, newline uint64 }

// signs are those of a dialect; what has no meaning there is the delimiter once
// more.
func (d *Dialect) signs(newline int) signs {
	s := signs{delimiter: lowBits * uint64(d.Delimiter)}
	s.quote, s.newline = s.delimiter, s.delimiter
	if d.Quote != NoQuote {
		s.quote = lowBits * uint64(byte(d.Quote))
	}
	if newline != noNewline {
		s.newline = lowBits * uint64(byte(newline))
	}
	return s
}

// in has the highest bit of each byte of x that is one of the signs.
func (s *signs) in(x uint64) uint64 {
	const low7 = highBits - lowBits
	a, b, c := x^s.delimiter, x^s.quote, x^s.newline
	// A byte is zero if neither its low seven bits, which carry, nor its highest is set.
	return ^((a&low7+low7|a)&(b&low7+low7|b)&(c&low7+low7|c) | low7)
}

// word is the eight bytes of text from i on. After the end of text they are zero,
// which is no sign.
func word(text []byte, i int) uint64 {
	if i+8 <= len(text) {
		return binary.LittleEndian.Uint64(text[i:])
	}
	var rest [8]byte
	copy(rest[:], text[i:])
	return binary.LittleEndian.Uint64(rest[:])
}
