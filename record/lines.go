package record

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// lineReader cuts text at the ends of its lines. Lines with nothing but white space are
// none. A line longer than max is never held: its head is kept and the rest
// counted.
type lineReader struct {
	*window
	by      parser
	max     int
	checked int  // bytes of whole lines at the head of what is in memory
	utf8    bool // they are valid UTF-8
}

func (l *lineReader) seek(to int64) (bool, error) {
	for l.pos < to {
		rest := l.rest()
		n := len(rest)
		if l.width == nil {
			n = int(min(to-l.pos, int64(n)))
		} else {
			n = len(prefix(rest, to-l.pos, l.width))
		}
		l.advance(n)
		if l.pos >= to {
			break
		}
		if n > 0 && l.start < l.end {
			continue
		}
		if l.eof {
			return false, nil
		}
		if err := l.fill(); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (l *lineReader) next(rec *record) error {
	for {
		if l.checked == 0 {
			if long, err := l.load(rec); err != nil || long {
				return err
			}
		}
		run := l.buf[l.start : l.start+l.checked]
		line, size := run, len(run)
		if nl := bytes.IndexByte(run, l.newline); nl >= 0 {
			line, size = run[:nl], nl+1
		}
		pos := l.pos
		l.advance(size)
		l.checked -= size
		if space(line, 0) == len(line) {
			continue
		}
		*rec = record{pos: pos, next: l.pos, raw: line, length: int64(len(line)), by: l.by, valid: l.utf8 || utf8.Valid(line)}
		return nil
	}
}

// load brings whole lines into memory and looks at all of them at once. If the
// first one is too long it is the record.
func (l *lineReader) load(rec *record) (long bool, err error) {
	for {
		rest := l.rest()
		n := bytes.LastIndexByte(rest, l.newline) + 1
		if n == 0 && l.eof {
			if n = len(rest); n == 0 {
				return false, io.EOF
			}
		}
		if n > 0 {
			l.checked, l.utf8 = n, utf8.Valid(rest[:n])
			return false, nil
		}
		if len(rest) > l.max+1 { // one more may be the first half of a CRLF
			*rec = record{pos: l.pos, by: l.by, valid: true, bad: tooLong}
			rec.raw, rec.length, err = l.long()
			rec.next = l.pos
			return true, err
		}
		if err := l.fill(); err != nil {
			return false, err
		}
	}
}

func (l *lineReader) at() int64 { return l.pos }

// verify reads what is left. Lines can always be cut; a checksum at the end of
// what holds them may be wrong.
func (l *lineReader) verify() error {
	for {
		l.advance(l.end - l.start)
		if l.eof {
			return nil
		}
		if err := l.fill(); err != nil {
			return err
		}
	}
}
