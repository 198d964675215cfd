package record

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// documentReader cuts JSON that is no lines: one document, the elements of an
// array, values one after another, and the elements of an array inside of
// envelopes. Only the value at hand is in memory.
//
// What stands between values must be right, or the object is broken: none of
// its records is kept. What stands inside of one is the parser's business. A
// value at the top that does not begin like one ends with its line.
type documentReader struct {
	*window
	by     parser
	max    int
	unnest []string
	name   []byte // the key at hand, decoded
	state  inside
	first  bool // no element of the array at hand was cut
	depth  int  // envelopes around, the outermost included
	outer  bool // the envelopes are elements of an array

	envelope record // the outermost one, as far as it is known
	begun    int64  // what was given up before it
	found    bool   // it has the array
	label    record // the key at hand
	held     record // cut and not given yet
	holds    bool
}

// inside says what is around the place at hand.
type inside uint8

const (
	top      inside = iota
	elements        // an array of records
	members         // an envelope, behind one of its members
)

func (j *documentReader) at() int64 { return j.pos }

func (j *documentReader) seek(to int64) (bool, error) {
	for j.pos < to {
		err := j.cut(&j.held)
		if err == io.EOF {
			return j.pos >= to, nil
		}
		if err != nil {
			return false, err
		}
		if j.holds = j.held.pos >= to; j.holds {
			j.held.raw = bytes.Clone(j.held.raw)
			return true, nil
		}
	}
	return true, nil
}

func (j *documentReader) next(rec *record) error {
	if j.holds {
		*rec, j.holds = j.held, false
		return nil
	}
	return j.cut(rec)
}

func (j *documentReader) more() (bool, error) {
	if j.holds {
		return true, nil
	}
	err := j.cut(&j.held)
	if err == io.EOF {
		return false, nil
	}
	j.holds = err == nil
	return j.holds, err
}

func (j *documentReader) verify() error {
	for {
		if err := j.next(&j.held); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// advance gives up bytes as a window does. The head of an envelope is kept until
// it is known to have records.
func (j *documentReader) advance(n int) {
	if room := KeptBytes - len(j.envelope.raw); j.depth > 0 && !j.found && room > 0 {
		j.envelope.raw = append(j.envelope.raw, j.rest()[:min(n, room)]...)
	}
	j.window.advance(n)
}

// unexpected says that the document cannot be cut at the place at hand, where c
// stands, or nothing.
func (j *documentReader) unexpected(c byte, where string) error {
	what := fmt.Sprintf("unexpected %q %s", rune(c), where)
	if c == 0 && j.atEnd() {
		what = "it ends inside a value"
	}
	return &BrokenError{Reason: "broken JSON document: " + what, Offset: j.pos}
}

// letter steps over white space and returns the byte behind it, or 0 at the end.
func (j *documentReader) letter() (byte, error) {
	for {
		rest := j.rest()
		n := space(rest, 0)
		j.advance(n)
		if n < len(rest) {
			return rest[n], nil
		}
		if j.eof {
			return 0, nil
		}
		if err := j.fill(); err != nil {
			return 0, err
		}
	}
}

// cut cuts the next record.
func (j *documentReader) cut(rec *record) error {
	for {
		c, err := j.letter()
		if err != nil {
			return err
		}
		var done bool
		switch {
		case j.state == top && c == 0 && j.atEnd():
			return io.EOF
		case j.atEnd():
			return j.unexpected(0, "")
		case j.state == top:
			done, err = j.top(rec, c)
		case j.state == elements:
			done, err = j.element(rec, c)
		default:
			done, err = j.member(rec, c)
		}
		if done || err != nil {
			return err
		}
	}
}

func (j *documentReader) atEnd() bool { return j.eof && j.start == j.end }

// top looks at what stands in nothing.
func (j *documentReader) top(rec *record, c byte) (bool, error) {
	switch {
	case c == '[':
		j.advance(1)
		j.state, j.first, j.outer = elements, true, len(j.unnest) > 0
		return false, nil
	case len(j.unnest) > 0:
		return j.open(rec, c)
	case !begins(c):
		return true, j.junk(rec)
	}
	return true, j.value(rec)
}

// element looks at what stands in an array: of records or, outside of
// envelopes, of envelopes.
func (j *documentReader) element(rec *record, c byte) (bool, error) {
	if c == ']' {
		j.advance(1)
		j.first = false
		if j.state = top; j.depth > 0 {
			j.state = members
		} else {
			j.outer = false
		}
		return false, nil
	}
	if !j.first {
		if c != ',' {
			return false, j.unexpected(c, "between elements")
		}
		j.advance(1)
		var err error
		if c, err = j.letter(); err != nil {
			return false, err
		}
	}
	if j.first = false; !begins(c) {
		return false, j.unexpected(c, "where an element should be")
	}
	if j.outer && j.depth == 0 {
		return j.open(rec, c)
	}
	return true, j.value(rec)
}

// open enters an envelope. What is none is a record that cannot be read.
func (j *documentReader) open(rec *record, c byte) (bool, error) {
	if c != '{' {
		if !begins(c) {
			return true, j.junk(rec)
		}
		err := j.value(rec)
		if rec.bad == fine {
			rec.bad = noRecords
		}
		return true, err
	}
	j.envelope = record{pos: j.pos, by: j.by, bad: noRecords, raw: j.envelope.raw[:0]}
	j.begun = j.given
	j.state, j.depth, j.found, j.first = members, 1, false, true
	j.advance(1)
	return false, nil
}

// member looks at what stands in an envelope.
func (j *documentReader) member(rec *record, c byte) (bool, error) {
	if c == '}' {
		j.advance(1)
		return j.close(rec)
	}
	if !j.first {
		if c != ',' {
			return false, j.unexpected(c, "in an envelope")
		}
		j.advance(1)
		if _, err := j.letter(); err != nil {
			return false, err
		}
	}
	j.first = false
	if err := j.key(); err != nil {
		return false, err
	}
	c, err := j.letter()
	if err != nil {
		return false, err
	}
	if j.depth <= len(j.unnest) && string(j.name) == j.unnest[j.depth-1] {
		switch {
		case c == '[' && j.depth == len(j.unnest):
			j.advance(1)
			j.state, j.first, j.found = elements, true, true
			return false, nil
		case c == '{' && j.depth < len(j.unnest):
			j.advance(1)
			j.depth, j.first = j.depth+1, true
			return false, nil
		}
	}
	if !begins(c) {
		return false, j.unexpected(c, "where a value should be")
	}
	return false, j.skip()
}

// close leaves an envelope. One in which no array of records was found is a
// record that cannot be read: what it holds must not vanish. Nor must a second
// array under the same key, whose elements are records like those of the first.
func (j *documentReader) close(rec *record) (bool, error) {
	j.first = false
	if j.depth--; j.depth > 0 {
		return false, nil
	}
	if j.state = top; j.outer {
		j.state = elements
	}
	if j.found {
		return false, nil
	}
	*rec = j.envelope
	rec.next, rec.length = j.pos, j.given-j.begun
	rec.valid = utf8.Valid(rec.raw)
	return true, nil
}

// key reads a key and the colon behind it.
func (j *documentReader) key() error {
	j.name = j.name[:0]
	c, err := j.letter()
	if err != nil {
		return err
	}
	if c != '"' {
		return j.unexpected(c, "where a key should be")
	}
	if err := j.value(&j.label); err != nil {
		return err
	}
	if raw := j.label.raw; j.label.bad == fine {
		var next int
		if j.name, next, _ = unescape(j.name, raw, 1, len(raw)-1); next < 0 {
			j.name = j.name[:0] // a key that nobody asked for
		}
	}
	if c, err = j.letter(); err != nil {
		return err
	}
	if c != ':' {
		return j.unexpected(c, "behind a key")
	}
	j.advance(1)
	return nil
}

// skip steps over a value without holding it.
func (j *documentReader) skip() error {
	var v skimmer
	_, err := j.skim(&v)
	return err
}

// skim gives up bytes until the value ends, and counts them.
func (j *documentReader) skim(v *skimmer) (length int64, err error) {
	for {
		n, done := v.feed(j.rest())
		length += int64(n)
		j.advance(n)
		if done || (j.eof && v.scalar) {
			return length, nil
		}
		if j.eof {
			if j.state == top && j.depth == 0 {
				return length, nil // the parser says what is missing
			}
			return length, j.unexpected(0, "")
		}
		if err := j.fill(); err != nil {
			return length, err
		}
	}
}

// value cuts the value at hand. One that is too long is not held.
func (j *documentReader) value(rec *record) error {
	*rec = record{pos: j.pos, by: j.by}
	var v skimmer
	for from := 0; ; {
		n, done := v.feed(j.rest()[from:])
		if from += n; done || j.eof {
			break
		}
		if from > j.max {
			return j.long(rec, &v, from)
		}
		if err := j.fill(); err != nil {
			return err
		}
	}
	return j.take(rec, &v)
}

// take gives up a value that is in memory.
func (j *documentReader) take(rec *record, v *skimmer) error {
	if j.eof && v.open() && (j.state != top || j.depth > 0) {
		j.advance(len(j.rest()))
		return j.unexpected(0, "")
	}
	rec.raw = j.rest()[:v.length]
	rec.length = int64(v.length)
	rec.valid = utf8.Valid(rec.raw)
	j.advance(v.length)
	rec.next = j.pos
	return nil
}

// long keeps the head of a value that is too long and gives up all of it.
func (j *documentReader) long(rec *record, v *skimmer, seen int) error {
	rec.raw, rec.bad, rec.valid = bytes.Clone(j.rest()[:min(seen, KeptBytes)]), tooLong, true
	j.advance(seen)
	rest, err := j.skim(v)
	rec.length, rec.next = int64(seen)+rest, j.pos
	return err
}

// junk cuts what begins like no value, up to the end of its line.
func (j *documentReader) junk(rec *record) error {
	*rec = record{pos: j.pos, by: j.by}
	line, size, length, err := j.line(j.max)
	if err != nil {
		return err
	}
	rec.raw, rec.length = line, length
	if size == 0 {
		rec.bad = tooLong
	}
	j.advance(size)
	rec.valid, rec.next = rec.bad == tooLong || utf8.Valid(line), j.pos
	return nil
}

// begins says whether a JSON value can begin with c.
func begins(c byte) bool {
	switch c {
	case '{', '[', '"', '-', 't', 'f', 'n':
		return true
	}
	return c >= '0' && c <= '9'
}
