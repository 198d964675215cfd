package record

import (
	"bytes"
	"io"
	"unicode/utf8"
)

const (
	cutBuffer = 512 << 10
	headBytes = 4 << 10
)

// cutter cuts the decoded bytes of an object into runs of whole lines. A line
// longer than max is never held: its head is kept and the rest counted.
type cutter struct {
	r          io.Reader
	buf        []byte
	start, end int   // what is read and not given yet
	pos        int64 // position of buf[start]
	eof        bool
	max        int
	kept       []byte
}

// run is a piece of an object: whole lines or, if length is not 0, the head of
// one line that is too long.
type run struct {
	data   []byte
	pos    int64
	length int64 // true length of the line, without the newline
	next   int64 // position behind the run
}

func (c *cutter) reset(r io.Reader, max int) {
	if c.buf == nil || len(c.buf) > 4*cutBuffer {
		c.buf = make([]byte, cutBuffer)
	}
	*c = cutter{r: r, buf: c.buf, kept: c.kept, max: max}
}

// fill reads until the buffer is full or the object ends. The buffer grows if
// it is full of a line that may still be short enough.
func (c *cutter) fill() error {
	if c.start > 0 {
		copy(c.buf, c.buf[c.start:c.end])
		c.start, c.end = 0, c.end-c.start
	}
	if c.end == len(c.buf) {
		c.buf = append(c.buf, make([]byte, len(c.buf))...)
	}
	for empty := 0; c.end < len(c.buf) && !c.eof; {
		n, err := c.r.Read(c.buf[c.end:])
		c.end += n
		if err == io.EOF {
			c.eof = true
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

// head checks that the object begins like text and steps over a byte order
// mark. It comes first and once.
func (c *cutter) head() (reason string, err error) {
	if err := c.fill(); err != nil {
		return "", err
	}
	head := c.buf[:min(c.end, headBytes)]
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}), bytes.HasPrefix(head, []byte{0, 0, 0xfe, 0xff}):
		return "UTF-16 or UTF-32 text; convert it to UTF-8", nil
	case bytes.IndexByte(head, 0) >= 0:
		return "binary data, not lines of JSON", nil
	case bytes.HasPrefix(head, []byte("\ufeff")):
		c.advance(3)
	}
	return "", nil
}

func (c *cutter) advance(n int) {
	c.start += n
	c.pos += int64(n)
}

// seek steps forward to a position. It says whether the object reaches it.
func (c *cutter) seek(to int64) (bool, error) {
	for c.pos < to {
		c.advance(int(min(to-c.pos, int64(c.end-c.start))))
		if c.pos == to {
			break
		}
		if c.eof {
			return false, nil
		}
		if err := c.fill(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// more says whether anything follows.
func (c *cutter) more() (bool, error) {
	if c.start == c.end && !c.eof {
		if err := c.fill(); err != nil {
			return false, err
		}
	}
	return c.start < c.end, nil
}

// next returns the next run, or io.EOF. It is valid until the next call.
func (c *cutter) next() (run, error) {
	for {
		rest := c.buf[c.start:c.end]
		size := bytes.LastIndexByte(rest, '\n') + 1
		if size == 0 && c.eof {
			size = len(rest)
			if size == 0 {
				return run{}, io.EOF
			}
		}
		if size > 0 {
			r := run{data: rest[:size], pos: c.pos, next: c.pos + int64(size)}
			c.advance(size)
			return r, nil
		}
		if len(rest) > c.max {
			return c.long()
		}
		if err := c.fill(); err != nil {
			return run{}, err
		}
	}
}

// long gives the head of a line whose end is not in sight, and steps over the
// rest of it.
func (c *cutter) long() (run, error) {
	r := run{pos: c.pos}
	c.kept = append(c.kept[:0], c.buf[c.start:min(c.end, c.start+KeptBytes)]...)
	for {
		rest := c.buf[c.start:c.end]
		nl := bytes.IndexByte(rest, '\n')
		if nl >= 0 {
			r.length += int64(nl)
			c.advance(nl + 1)
			break
		}
		r.length += int64(len(rest))
		c.advance(len(rest))
		if c.eof {
			break
		}
		if err := c.fill(); err != nil {
			return run{}, err
		}
	}
	r.data, r.next = c.kept, c.pos
	return r, nil
}

// invalidAt returns the index of the first byte that is not UTF-8, or -1.
func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}
