package datafile

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"batcher/column"
	"batcher/manifest"
	"batcher/schema"
)

// Step makes of a block of a file the block that takes its place: fewer rows, or
// other columns, or the same block. It must not change the block it is given. A
// block without rows is written nowhere.
type Step func(*column.Block) (*column.Block, error)

// Rewrite streams the rows of the file under want, as Blocks does, through step to
// write, which has no more than a block in memory. It returns how many rows were
// read and written. write is what package output makes files with; it may close
// one file and begin another as it likes.
//
// This is the one way in which rows come to stand in other files: a filter
// (Filter) takes some away, a retyping (package retype) changes a column.
func (f *Reader) Rewrite(want *schema.Schema, step Step, write func(*column.Block) error) (read, written int64, err error) {
	for b, err := range f.Blocks(want) {
		if err != nil {
			return read, written, err
		}
		read += int64(b.Rows)
		out, err := step(b)
		if err != nil {
			return read, written, err
		}
		if out.Rows == 0 {
			continue
		}
		if err := write(out); err != nil {
			return read, written, err
		}
		written += int64(out.Rows)
	}
	return read, written, nil
}

// Filter is a step that keeps the rows whose record id keep says yes to. source is
// valid until keep returns. The schema's first two columns must be _source and
// _offset, as they are in every table.
func Filter(keep func(source []byte, offset int64) bool) Step {
	var mask []bool
	return func(b *column.Block) (*column.Block, error) {
		mask = mask[:0]
		err := eachRecord(b, func(source []byte, offset int64) bool {
			mask = append(mask, keep(source, offset))
			return true
		})
		if err != nil {
			return nil, err
		}
		return column.Select(b, mask), nil
	}
}

// Records yields the ids of the file's rows in order: source, valid until the next
// one, and offset. It reads these two columns alone. After an error, which comes
// with an empty source, nothing follows.
func (f *Reader) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		want := &schema.Schema{Fields: schema.Reserved()[:2], LastID: schema.LastReserved}
		for b, err := range f.Blocks(want) {
			if err != nil {
				yield(Record{}, err)
				return
			}
			more := true
			err := eachRecord(b, func(source []byte, offset int64) bool {
				more = yield(Record{source, offset}, nil)
				return more
			})
			if err != nil {
				yield(Record{}, err)
				return
			}
			if !more {
				return
			}
		}
	}
}

// Record is the id of a row.
type Record struct {
	Source []byte
	Offset int64
}

// eachRecord gives the ids of a block's rows, until one answers false.
func eachRecord(b *column.Block, each func(source []byte, offset int64) bool) error {
	ids := b.Schema.Fields
	if len(ids) < 2 || ids[0].ID != schema.SourceID || ids[1].ID != schema.OffsetID || b.Columns[0].Values != b.Rows || b.Columns[1].Values != b.Rows {
		return fmt.Errorf("%w: rows without a record id", ErrDamaged)
	}
	sources, offsets := b.Columns[0].Plain, b.Columns[1].Plain
	for range b.Rows {
		n := binary.LittleEndian.Uint32(sources)
		if !each(sources[4:4+n:4+n], int64(binary.LittleEndian.Uint64(offsets))) {
			return nil
		}
		sources, offsets = sources[4+n:], offsets[8:]
	}
	return nil
}

// MayHold says whether a file can have rows of sources from first to last, both
// included, by its statistics alone: if not there is no need to read it.
func MayHold(f *manifest.File, first, last string) bool {
	i := slices.IndexFunc(f.Columns, func(c manifest.ColumnStats) bool { return c.ID == schema.SourceID })
	if i < 0 {
		return true
	}
	least, bounded := textStat(f.Columns[i].Min)
	if bounded && last < least {
		return false
	}
	most, bounded := textStat(f.Columns[i].Max)
	return !bounded || first <= most
}

// textStat reads the bound of a string column, if there is one.
func textStat(stat json.RawMessage) (string, bool) {
	var s string
	return s, len(stat) > 0 && json.Unmarshal(stat, &s) == nil
}
