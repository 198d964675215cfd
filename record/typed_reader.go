package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"batcher/record/avro"
	"batcher/record/parquet"
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
	rest  io.Reader // what was not read of the stored bytes, all of which are hashed
	row   int64     // ordinal of the next record
	size  int64     // bytes of the records given, as package typed writes them
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
		return t.ended(err)
	}
	t.size += int64(len(t.buf))
	*rec = record{pos: t.row, next: t.row + 1, raw: t.buf, length: int64(len(t.buf)), valid: true, by: t.by}
	t.row++
	return nil
}

// ended reads what nobody asked for once there are no more rows.
func (t *typedReader) ended(err error) error {
	if err != io.EOF {
		return broken(err)
	}
	if _, err := io.Copy(io.Discard, t.rest); err != nil {
		return fmt.Errorf("read object to its end: %w", err)
	}
	return io.EOF
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
	return &BrokenError{Reason: e.Reason, Offset: max(e.Offset, 0), Err: e.Err, TooLarge: e.Limit}
}

// Sized is what an object's reader may be besides, so that a Parquet file can be
// read from its end without being held: random access to the stored bytes, and
// how many there are.
type Sized interface {
	io.ReaderAt
	Size() int64
}

// maxHeld is how large a Parquet file may be that has to be held, because it is
// compressed as a whole or its reader is not Sized.
const maxHeld = 64 << 20

// maxWhole is how large a Parquet file may be that is held though its reader is
// Sized: the bytes that are hashed are then the ones that rows come from, in one
// request to a store instead of two passes and a request for each piece of a column.
const maxWhole = 8 << 20

// openTyped opens a container with types of its own, the head of which is in the
// window.
func (d *Decoder) openTyped(_ Object, kind Kind) (reader, error) {
	t := &typedReader{
		by:   &typedParser{scanner: &d.scanner, learner: &d.learner, notes: &d.notes, policy: d.opt.Format.Invalid},
		rest: io.MultiReader(bytes.NewReader(bytes.Clone(d.text.rest())), &d.in),
	}
	var err error
	if most := max(2*d.limits.MaxRecordBytes, 64<<20); kind == Avro {
		t.rows, err = avro.NewReader(t.rest, avro.Limits{MaxRecordBytes: most, MaxBlockBytes: d.limits.MaxPageBytes, MaxDepth: d.limits.MaxDepth})
	} else {
		t.rows, err = d.openParquet(t.rest, parquet.Limits{MaxRecordBytes: most, MaxPageBytes: d.limits.MaxPageBytes, MaxDepth: min(d.limits.MaxDepth, 100)})
	}
	return t, broken(err)
}

func (d *Decoder) openParquet(r io.Reader, limits parquet.Limits) (rows, error) {
	var held bytes.Buffer
	if at, ok := d.in.stored.r.(Sized); ok && d.in.kind == containerPlain {
		if at.Size() > maxWhole {
			return parquet.NewReader(at, at.Size(), limits)
		}
		held.Grow(int(at.Size()) + bytes.MinRead)
	}
	if _, err := held.ReadFrom(io.LimitReader(r, maxHeld+1)); err != nil {
		return nil, err
	}
	if held.Len() > maxHeld {
		return nil, &BrokenError{Reason: fmt.Sprintf("%s: a compressed Parquet file of more than %d bytes, which has to be held: unpack it", TooLargeReason, maxHeld), TooLarge: true}
	}
	return parquet.NewReader(bytes.NewReader(held.Bytes()), int64(held.Len()), limits)
}
