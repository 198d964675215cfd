package record

import (
	"bytes"
	"io"
	"unicode/utf8"
)

const (
	cutBuffer = 512 << 10
	headBytes = 64 << 10
)

// window is the part of an object's text that is in memory. Positions count
// bytes of the decoded object; where its text was converted to UTF-8, width
// says how many of them a piece of text stands for, and what is in memory ends
// with a whole letter.
type window struct {
	r          io.Reader
	buf        []byte
	start, end int   // what is read and not given yet
	pos        int64 // position of buf[start]
	given      int64 // bytes of text before buf[start]
	eof        bool
	width      func([]byte) int64 // nil: text is as it was
	newline    byte               // what ends a line
	either     bool               // a line feed does as well
}

// reset begins an object. Its buffer is used again, unless it grew very large.
func (w *window) reset(r io.Reader) {
	if w.buf == nil || len(w.buf) > 4*cutBuffer {
		w.buf = make([]byte, cutBuffer)
	}
	*w = window{r: r, buf: w.buf, newline: '\n'}
}

// rest is what is in memory and not given yet.
func (w *window) rest() []byte { return w.buf[w.start:w.end] }

// fill reads until no further letter fits into the buffer or the object ends.
// The buffer grows if it is full of what was not given yet.
func (w *window) fill() error {
	if w.start > 0 {
		copy(w.buf, w.rest())
		w.start, w.end = 0, w.end-w.start
	}
	room := 1
	if w.width != nil {
		room = utf8.UTFMax
	}
	if len(w.buf)-w.end < room {
		w.buf = append(w.buf, make([]byte, len(w.buf))...)
	}
	for empty := 0; len(w.buf)-w.end >= room && !w.eof; {
		n, err := w.r.Read(w.buf[w.end:])
		w.end += n
		if err == io.EOF {
			w.eof = true
		} else if err != nil {
			return err
		}
		if empty++; n > 0 {
			empty = 0
		} else if empty > 100 {
			return io.ErrNoProgress
		}
	}
	return nil
}

// advance gives up the next n bytes in memory.
func (w *window) advance(n int) {
	w.pos += w.size(w.buf[w.start : w.start+n])
	w.start += n
	w.given += int64(n)
}

// size is how many decoded bytes a piece of text stands for.
func (w *window) size(text []byte) int64 {
	if w.width == nil {
		return int64(len(text))
	}
	return w.width(text)
}

// more says whether anything follows.
func (w *window) more() (bool, error) {
	if w.start == w.end && !w.eof {
		if err := w.fill(); err != nil {
			return false, err
		}
	}
	return w.start < w.end, nil
}

// line returns the next line without its end, and how long it is with it. It is
// in memory until the next call. A line whose end is not among the next max
// bytes in memory, and one more, which may be the first half of a CRLF, is not:
// length says its true length, line is its head, size is 0, and it is given up
// already.
func (w *window) line(max int) (line []byte, size int, length int64, err error) {
	for from := 0; ; {
		rest := w.rest()
		if nl := w.endIn(rest[from:]); nl >= 0 {
			return rest[:from+nl], from + nl + 1, int64(from + nl), nil
		}
		if w.eof {
			if len(rest) == 0 {
				return nil, 0, 0, io.EOF
			}
			return rest, len(rest), int64(len(rest)), nil
		}
		if from = len(rest); from > max+1 {
			line, length, err := w.long()
			return line, 0, length, err
		}
		if err := w.fill(); err != nil {
			return nil, 0, 0, err
		}
	}
}

// endIn returns where in text its first line ends, or -1.
func (w *window) endIn(text []byte) int {
	nl := bytes.IndexByte(text, w.newline)
	if !w.either {
		return nl
	}
	if nl >= 0 {
		text = text[:nl]
	}
	if lf := bytes.IndexByte(text, '\n'); lf >= 0 {
		return lf
	}
	return nl
}

// long keeps the head of a line whose end is not in sight, and gives up all of
// it, newline included.
func (w *window) long() (head []byte, length int64, err error) {
	head = bytes.Clone(w.buf[w.start:min(w.end, w.start+KeptBytes)])
	for {
		rest := w.rest()
		if nl := w.endIn(rest); nl >= 0 {
			w.advance(nl + 1)
			return head, length + int64(nl), nil
		}
		length += int64(len(rest))
		w.advance(len(rest))
		if w.eof {
			return head, length, nil
		}
		if err := w.fill(); err != nil {
			return nil, 0, err
		}
	}
}
