package record

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
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

// csvReader cuts rows at newlines that no quotes enclose.
type csvReader struct {
	*window
	dialect Dialect
	by      *csvParser
	max     int
	held    record // cut and not given yet
	holds   bool
}

// open reads what stands before the first row of data.
func (c *csvReader) open(name string) error {
	c.sniff(name)
	c.by.dialect = c.dialect
	for range c.dialect.Skip {
		_, size, _, err := c.line(c.max)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		c.advance(size)
	}
	switch err := c.next(&c.held); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	case c.held.bad != fine || !c.held.valid || !c.by.split(c.held.raw):
		return &BrokenError{Reason: "the first row cannot be read", Offset: c.held.pos}
	}
	if c.dialect.Header == Numbered {
		c.held.raw, c.holds = bytes.Clone(c.held.raw), true
		c.by.numbered()
	} else {
		c.by.name()
	}
	return nil
}

func (c *csvReader) seek(to int64) (bool, error) {
	if c.holds {
		if c.held.pos >= to {
			return true, nil
		}
		c.holds = false
	}
	for c.pos < to {
		err := c.next(&c.held)
		if err == io.EOF {
			return c.pos >= to, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

func (c *csvReader) more() (bool, error) {
	if c.holds {
		return true, nil
	}
	return c.window.more()
}

func (c *csvReader) at() int64 { return c.pos }

func (c *csvReader) bytes(from, to int64) int64 { return to - from }

func (c *csvReader) verify() error { return (&lineReader{window: c.window}).verify() }

func (c *csvReader) next(rec *record) error {
	if c.holds {
		*rec, c.holds = c.held, false
		return nil
	}
	for {
		pos := c.pos
		line, size, length, err := c.line(c.max)
		if err != nil {
			return err
		}
		if size == 0 {
			*rec = record{pos: pos, next: c.pos, raw: line, length: length, valid: true, bad: tooLong, by: c.by}
			return nil
		}
		if len(bytes.TrimSuffix(line, []byte{'\r'})) == 0 || c.dialect.Comment != 0 && line[0] == c.dialect.Comment {
			c.advance(size)
			continue
		}
		*rec = record{pos: pos, by: c.by}
		if c.dialect.Quote != NoQuote && bytes.IndexByte(line, byte(c.dialect.Quote)) >= 0 {
			if line, size, err = c.quoted(rec, len(line), size); err != nil {
				return err
			}
		}
		rec.raw = bytes.TrimSuffix(line, []byte{'\r'})
		rec.length, rec.valid = int64(len(rec.raw)), utf8.Valid(rec.raw)
		c.advance(size)
		rec.next = c.pos
		return nil
	}
}

// quoted finds the end of a row with quotes in it, whose first line has size
// bytes. When a quoted cell does not end, or not within what a row may be
// long, the first line is a bad row and the next one begins a row.
func (c *csvReader) quoted(rec *record, first, size int) (row []byte, whole int, err error) {
	for {
		end, ends := c.dialect.extent(c.rest())
		if ends || c.eof && end >= 0 {
			row = c.rest()[:end]
			return bytes.TrimSuffix(row, []byte{c.dialect.newline}), end, nil
		}
		if c.eof || len(c.rest()) > c.max {
			rec.bad = openQuote
			return c.rest()[:first], size, nil
		}
		if err := c.fill(); err != nil {
			return nil, 0, err
		}
	}
}

// extent returns how long the row at the head of text is, newline included, and
// whether it ends there. Text that ends outside of quotes without a newline is
// a row too, at the end of the object; inside of quotes end is -1.
func (d *Dialect) extent(text []byte) (end int, ends bool) {
	i := 0
	for {
		if i < len(text) && int(text[i]) == d.Quote {
			if i = d.closing(text, i+1); i < 0 {
				return -1, false
			}
		}
		next := bytes.IndexByte(text[i:], d.Delimiter)
		cell := text[i:]
		if next >= 0 {
			cell = text[i : i+next]
		}
		nl := bytes.IndexByte(cell, d.newline)
		switch {
		case nl >= 0:
			return i + nl + 1, true
		case next < 0:
			return len(text), false
		}
		i += next + 1
	}
}

// closing returns the index behind the quote that ends the cell whose content
// begins at i, or -1.
func (d *Dialect) closing(text []byte, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case c == d.Escape && d.Escape != 0 && int(c) != d.Quote:
			i += 2
		case int(c) != d.Quote:
			i++
		case i+1 < len(text) && int(text[i+1]) == d.Quote:
			i += 2
		default:
			return i + 1
		}
	}
	return -1
}

// sniff completes the dialect from the object's name and head.
func (c *csvReader) sniff(name string) {
	head := c.rest()[:min(len(c.rest()), headBytes)]
	if bytes.IndexByte(head, '\r') >= 0 && bytes.IndexByte(head, '\n') < 0 {
		c.dialect.newline, c.newline = '\r', '\r'
	}
	if c.dialect.Delimiter != 0 {
		return
	}
	switch extension(name) {
	case ".tsv", ".tab":
		c.dialect.Delimiter = '\t'
		return
	case ".psv":
		c.dialect.Delimiter = '|'
		return
	}
	if last := bytes.LastIndexByte(head, c.dialect.newline); last >= 0 && !(c.eof && len(head) == len(c.rest())) {
		head = head[:last+1]
	}
	c.dialect.Delimiter = c.dialect.likely(head)
}

// likely returns the delimiter under which the rows of the head have the same
// number of cells most often: the one that makes most cells if several do.
func (d Dialect) likely(head []byte) byte {
	best, most, cells := byte(','), 0, 1
	for _, candidate := range []byte(",;\t|:") {
		d.Delimiter = candidate
		p := csvParser{dialect: d}
		widths, rows := map[int]int{}, 0
		for text := head; len(text) > 0 && rows < 200; rows++ {
			end, _ := d.extent(text)
			if end < 0 {
				break
			}
			if row := bytes.TrimRight(text[:end], "\r\n"); len(row) > 0 && row[0] != d.Comment && p.split(row) {
				widths[len(p.cells)]++
			}
			text = text[end:]
		}
		for width, times := range widths {
			if width > 1 && (times > most || times == most && width > cells) {
				best, most, cells = candidate, times, width
			}
		}
	}
	return best
}

// columnKey is the key of a cell that has no name in the header, by its place.
func columnKey(place int) string { return fmt.Sprintf("column_%d", place+1) }
