package record

import (
	"errors"
	"io"

	"batcher/record/typed"
)

// rows reads the records of a container with types of its own, one by one, as
// package typed writes them.
type rows interface {
	// Next appends one record to buf, or gives io.EOF.
	Next(buf []byte) ([]byte, error)
	// Skip steps over n records.
	Skip(n int64) error
}

// typedReader gives the rows of a container. A position is an ordinal.
type typedReader struct {
	rows
	by    parser
	row   int64 // ordinal of the next record
	size  int64 // bytes of the records given, as package typed writes them
	buf   []byte
	held  record
	holds bool
}

func (t *typedReader) seek(to int64) (bool, error) {
	err := t.Skip(to)
	if err == io.EOF {
		return false, nil
	}
	t.row = to
	return err == nil, broken(err)
}

func (t *typedReader) next(rec *record) error {
	if t.holds {
		*rec, t.holds = t.held, false
		return nil
	}
	var err error
	if t.buf, err = t.Next(t.buf[:0]); err != nil {
		return broken(err)
	}
	t.size += int64(len(t.buf))
	*rec = record{pos: t.row, next: t.row + 1, raw: t.buf, length: int64(len(t.buf)), valid: true, by: t.by}
	t.row++
	return nil
}

func (t *typedReader) more() (bool, error) {
	if t.holds {
		return true, nil
	}
	err := t.next(&t.held)
	t.holds = err == nil
	if err == io.EOF {
		err = nil
	}
	return t.holds, err
}

func (t *typedReader) at() int64 { return t.row }

// bytes gives what was read since the first position asked about, which is where
// this reader began.
func (t *typedReader) bytes(int64, int64) int64 { return t.size }

func (t *typedReader) verify() error {
	for {
		if err := t.next(&t.held); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// broken makes of a container's error what a Decoder says of it.
func broken(err error) error {
	var e *typed.Error
	if !errors.As(err, &e) {
		return err
	}
	return &BrokenError{Reason: e.Reason, Offset: max(e.Offset, 0), Err: e.Err}
}

// openTyped opens a container with types of its own.
func (d *Decoder) openTyped(_ Object, kind Kind) (reader, error) {
	return nil, d.in.broken("a container of format "+string(kind)+", which is not text", nil)
}
