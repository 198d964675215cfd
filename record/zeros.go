package record

import "bytes"

// zeros takes the bytes 0 at the head of text, which a file system leaves where a
// program that appended died before its data were on the disk. They are one
// record, which is bad; nil if there are none.
func (d *Decoder) zeros() (*record, error) {
	w := &d.text
	var rec *record
	for {
		rest := w.rest()
		n := len(rest) - len(bytes.TrimLeft(rest, "\x00"))
		if n > 0 && rec == nil {
			rec = &record{pos: w.pos, raw: bytes.Clone(rest[:min(n, KeptBytes)]), valid: true, bad: nulBytes, by: zerosParser{}}
		}
		if rec == nil {
			return nil, nil
		}
		rec.length += int64(n)
		w.advance(n)
		if rec.next = w.pos; n < len(rest) || w.eof && w.start == w.end {
			return rec, nil
		}
		if err := w.fill(); err != nil {
			return nil, err
		}
	}
}

// zerosReader gives the record of zero bytes before those of the text after it.
type zerosReader struct {
	reader
	zeros *record // nil: given
}

func (z *zerosReader) seek(to int64) (bool, error) {
	if to > z.zeros.pos {
		z.zeros = nil
	}
	return z.reader.seek(to)
}

func (z *zerosReader) next(rec *record) error {
	if z.zeros == nil {
		return z.reader.next(rec)
	}
	*rec, z.zeros = *z.zeros, nil
	return nil
}

func (z *zerosReader) more() (bool, error) {
	if z.zeros != nil {
		return true, nil
	}
	return z.reader.more()
}

// zerosParser understands nothing: what it is asked about is bad already.
type zerosParser struct{}

func (zerosParser) scan(*record) bool                { return false }
func (zerosParser) valid(*record) bool               { return false }
func (zerosParser) teaches(*record, when) bool       { return false }
func (zerosParser) observe(*record, when)            {}
func (zerosParser) show(rec *record) ([]byte, int64) { return rec.head() }
