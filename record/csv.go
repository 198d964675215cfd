package record

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// csvReader cuts rows at newlines that no quotes enclose. Where a row ends
// depends on nothing but the text from its first byte on.
type csvReader struct {
	*window
	dialect Dialect
	by      *csvParser
	max     int
	held    record // cut and not given yet
	holds   bool
	fed     bool   // the last row ended with a line feed
	doubt   bool   // nothing but its text makes a header of the first row
	cells   int    // of a row, as the head shows
	above   int    // lines that were found out to be above the table
	earlier Header // what was found out when the object was read first; "": it is now
}

// open completes the dialect and reads what is before the first row of data.
func (c *csvReader) open(name string) error {
	c.newline = endOfRow(c.rest()[:min(len(c.rest()), headBytes)], c.dialect.Quote)
	c.dialect.newline, c.either = c.newline, c.newline == '\r'
	if c.dialect.Delimiter == 0 {
		c.dialect.Delimiter = delimiterOf(name)
	}
	if err := c.skip(); err != nil {
		return err
	}
	if err := c.sniff(); err != nil {
		return err
	}
	c.by.dialect = c.dialect
	err := c.next(&c.held)
	if err == io.EOF {
		return nil
	}
	if err == nil {
		err = c.first()
	}
	return err
}

// skip steps over the lines before the header.
func (c *csvReader) skip() error {
	for range c.dialect.Skip {
		_, size, _, err := c.line(c.max)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		c.advance(size)
	}
	return nil
}

// sniff finds out what was not declared, by the rows that are whole in the head.
func (c *csvReader) sniff() error {
	if len(c.rest()) < headBytes && !c.eof {
		if err := c.fill(); err != nil {
			return err
		}
	}
	head := c.rest()[:min(len(c.rest()), headBytes)]
	last, goesOn := bytes.LastIndexByte(head, c.newline), !c.eof || len(head) < len(c.rest())
	if last >= 0 && goesOn {
		head = head[:last+1]
	}
	r, from := c.dialect.sniff(head)
	c.dialect = r.dialect
	if c.dialect.Header == "" {
		if c.dialect.Header = c.earlier; c.earlier == "" {
			c.dialect.Header = r.header(c.by.known)
			c.doubt = c.dialect.Header == Named && r.doubtful(c.by.known)
		}
	}
	if c.cells = r.cells(); last < 0 && goesOn {
		c.cells = 0 // the first row is longer than the head
	}
	if c.dialect.Header == Numbered && r.empty {
		from = 0
	}
	c.above = bytes.Count(head[:from], []byte{c.newline})
	c.advance(from)
	return nil
}

// first takes the keys from the first row, or from what was declared. The first row is
// a record where there is no header, and says how many cells there are if the head did not.
func (c *csvReader) first() error {
	if named := c.dialect.Columns; c.dialect.Header == Numbered && len(named)+c.cells > 0 {
		if len(named) == 0 {
			named = make([]string, c.cells)
		}
		c.by.named(named)
		c.held.raw, c.holds = bytes.Clone(c.held.raw), true
		return nil
	}
	switch row := &c.held; {
	case row.bad == fine && !fits(row.raw, c.max):
		return c.headless(fault{code: tooLong})
	case row.bad != fine:
		return c.headless(fault{code: row.bad})
	case !row.valid:
		return c.headless(fault{code: invalidUTF8, at: invalidAt(row.raw)})
	case !c.by.split(row.raw):
		return c.headless(c.by.fault)
	}
	switch {
	case len(c.dialect.Columns) > 0:
		c.by.named(c.dialect.Columns)
	case c.dialect.Header == Numbered:
		c.by.named(make([]string, len(c.by.hand.cells)))
		c.held.raw, c.holds = bytes.Clone(c.held.raw), true
	default:
		c.by.name()
	}
	return nil
}

// headless says why the first row cannot be read, without which no other can.
func (c *csvReader) headless(f fault) error {
	if f.code == tooLong {
		return &BrokenError{Reason: fmt.Sprintf("%s: the first row; source.files.limits.record_bytes is %d", TooLargeReason, c.max), Offset: c.held.pos, TooLarge: true}
	}
	return &BrokenError{Reason: "the first row cannot be read: " + f.message(), Offset: c.held.pos}
}

func (c *csvReader) seek(to int64) (bool, error) {
	if c.holds = c.holds && c.held.pos >= to; c.holds {
		return true, nil
	}
	for c.pos < to {
		err := c.next(&c.held)
		if err == io.EOF {
			return c.pos >= to, nil
		}
		if err != nil {
			return false, err
		}
		if c.holds = c.held.pos >= to; c.holds { // blank lines stood before it
			c.held.raw = bytes.Clone(c.held.raw)
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

func (c *csvReader) verify() error { return (&lineReader{window: c.window}).verify() }

func (c *csvReader) next(rec *record) error {
	if c.holds {
		*rec, c.holds = c.held, false
		return nil
	}
	for {
		if c.either && !c.fed && len(c.rest()) > 0 && c.rest()[0] == '\n' {
			c.advance(1) // of a CRLF among lines that end with CR
		}
		if c.whole(rec) {
			return nil
		}
		pos := c.pos
		line, size, length, err := c.line(c.max)
		if err != nil {
			return err
		}
		if size > 0 && c.dialect.blank(line) {
			row, err := c.lone(line, size)
			if err != nil {
				return err
			}
			if !row {
				c.give(size)
				continue
			}
			line = c.rest()[:len(line)]
		}
		*rec = record{pos: pos, next: c.pos, raw: line, length: length, valid: true, by: c.by}
		if size == 0 {
			rec.bad, c.fed = tooLong, false
			return nil
		}
		if fits(line, c.max) && c.dialect.Quote != NoQuote && bytes.IndexByte(line, byte(c.dialect.Quote)) >= 0 {
			if size, err = c.quoted(rec, len(line), size); err != nil {
				return err
			}
		}
		rec.length, rec.valid = int64(len(rec.raw)), utf8.Valid(rec.raw)
		c.give(size)
		rec.next = c.pos
		return nil
	}
}

// give gives up a row and what ends it.
func (c *csvReader) give(size int) {
	c.advance(size)
	if c.either {
		c.fed = c.buf[c.start-1] == '\n'
	}
}

// lone says whether a blank line is a row: one without a value, in a table of one
// column. At the end of the object it is none.
func (c *csvReader) lone(line []byte, size int) (bool, error) {
	if len(c.by.keys) != 1 || c.dialect.Comment != 0 && len(line) > 0 && line[0] == c.dialect.Comment {
		return false, nil
	}
	if len(c.rest()) == size && !c.eof {
		if err := c.fill(); err != nil {
			return false, err
		}
	}
	return len(c.rest()) > size, nil
}

// whole cuts the next row, with its cells, if all of it is in memory.
func (c *csvReader) whole(rec *record) bool {
	text := c.rest()
	text = text[:min(len(text), c.max+2)] // with either end of a line
	end, ends := c.by.hand.cut(text, &c.dialect, c.dialect.ends())
	raw := c.by.hand.text
	if c.by.cut = ends && fits(raw, c.max) && !c.dialect.blank(raw); !c.by.cut {
		return false
	}
	pos := c.pos
	c.give(end)
	*rec = record{pos: pos, next: c.pos, raw: raw, length: int64(len(raw)), valid: utf8.Valid(raw), by: c.by}
	return true
}

// quoted finds the end of a row with quotes in it, whose first line is line bytes
// long, with its end size bytes. When the row does not end within what a record
// may be long, the first line is a bad row and the next one begins a row.
func (c *csvReader) quoted(rec *record, line, size int) (whole int, err error) {
	for {
		text := c.rest()[:min(len(c.rest()), c.max+2)]
		end, ends := c.by.hand.cut(text, &c.dialect, c.dialect.ends())
		switch {
		case ends && fits(text[:end-1], c.max):
			rec.raw = text[:end-1]
			return end, nil
		case !ends && c.eof && fits(text, c.max) && end >= 0:
			rec.raw = text
			return end, nil
		case ends || c.eof || len(text) > c.max+1:
			rec.bad, rec.raw = openQuote, c.rest()[:line]
			return size, nil
		}
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
}
