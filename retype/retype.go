// Package retype gives one column of a table, or a part of one, another type: it
// reads the values of that place again under the new type, block by block, and
// puts back the ones that did not fit the old one.
//
// Duty: the values of a rewrite. A value in _rescued that belongs to the place is
// what was received; it goes into the column and out of _rescued if the new type
// takes it. A value in the column is read from its JSON form, as `batcher head`
// prints it: 7 becomes "7", an instant its ISO text with microseconds, a struct
// the JSON of its members under their keys as received, without those that are
// null, with all that was rescued from inside of it.
//
// Invariants: rows stay rows, in their order, and every other column keeps its
// values; a value that stood in the column stands in it afterwards, or the whole
// change is refused; what package record would make of a value under the new type
// is what stands there, because it is what reads it.
//
// It never drops a value, never reads a file and never decides which types are
// wider: that is package schema's.
package retype

import (
	"bytes"
	"errors"
	"fmt"

	"batcher/column"
	"batcher/record"
	"batcher/schema"
)

// Change is a column that gets another type. It is used for one block after
// another, not at once.
type Change struct {
	column  schema.Column
	from    *schema.Schema
	to      *schema.Schema
	old     place
	fresh   int // leaves of the place under to
	rescued int // leaf of _rescued
	mini    *schema.Schema
	counts  Counts
}

// Counts says what became of rescued values of the place.
type Counts struct {
	Returned int64 `json:"returned"` // put back into the column
	Left     int64 `json:"left"`     // still in _rescued: the new type does not take them either
}

// RefusedError says that a value in the column does not fit the new type.
type RefusedError struct {
	Column schema.Column
	Type   schema.Type
	Value  string // JSON, cut
	Source string
	Offset int64
}

// Error names the value and the record that it is of.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("column %s cannot become %s: %s of the record at %d of %s would not be kept exactly", e.Column, e.Type, e.Value, e.Offset, e.Source)
}

// New prepares the change of a column of from into a type; see schema.Retype.
func New(from *schema.Schema, at schema.Column, to schema.Type, naming schema.Naming) (*Change, error) {
	next, err := schema.Retype(from, at, to, naming)
	if err != nil {
		return nil, err
	}
	f, err := next.At(at)
	if err != nil {
		return nil, err
	}
	c := &Change{column: at, from: from, to: next, fresh: f.Type.Width(), rescued: -1}
	for i, l := range from.Leaves() {
		if l.Field.ID == schema.RescuedID {
			c.rescued = i
		}
	}
	if c.rescued < 0 {
		return nil, errors.New("the table has no column " + schema.RescuedName)
	}
	if c.old, err = find(from, at); err != nil {
		return nil, err
	}
	c.mini = miniature(f.Type, next.LastID)
	return c, nil
}

// miniature is a table whose one column is the place: its values are read as the
// records of this table.
func miniature(t schema.Type, lastID int32) *schema.Schema {
	return &schema.Schema{LastID: lastID + 1, Fields: append(schema.Reserved(),
		schema.Field{ID: lastID + 1, Name: miniName, Key: miniName, Type: t})}
}

// miniName is the name and the key of the miniature's column.
const miniName = "v"

// Schema is that of the table after the change.
func (c *Change) Schema() *schema.Schema { return c.to }

// Counts is what became of rescued values so far.
func (c *Change) Counts() Counts { return c.counts }

// Step makes of a block under the old schema the block with the same rows under
// the new one. It is a step of datafile.Reader.Rewrite. The block shares the memory
// of what stays as it was.
func (c *Change) Step(b *column.Block) (*column.Block, error) {
	values := &values{change: c, block: b}
	if err := values.collect(); err != nil {
		return nil, err
	}
	if err := values.decode(); err != nil {
		return nil, err
	}
	fresh, err := values.graft()
	if err != nil {
		return nil, err
	}
	out := &column.Block{Schema: c.to, Rows: b.Rows}
	for i, v := range b.Columns {
		switch {
		case i == c.old.first:
			out.Columns = append(out.Columns, fresh...)
		case i > c.old.first && i < c.old.first+c.old.leaves:
		case i == c.rescued:
			out.Columns = append(out.Columns, values.rescuedVector(v))
		default:
			out.Columns = append(out.Columns, v)
		}
	}
	return out, column.Check(out)
}

// read decodes lines of {"v":value} under the new type. It gives the rows as blocks
// and the starts of the lines that cannot be rows.
func (c *Change) read(lines []byte) (blocks []*column.Block, bad map[int64]bool, err error) {
	bad = map[int64]bool{}
	d := record.NewDecoder(record.Options{
		Table: c.mini, Format: record.Format{Kind: record.NDJSON},
		Limits: record.Limits{MaxColumns: len(c.mini.Leaves()), MaxRecordBytes: len(lines) + 1, MaxDepth: maxDepth},
		Block: func(b *column.Block) (*column.Block, error) {
			blocks = append(blocks, b)
			return nil, nil
		},
		Dead: func(l record.DeadLetter) error {
			bad[l.Offset] = true
			return nil
		},
	})
	if _, err := d.Decode(always{}, record.Object{Source: miniName}, bytes.NewReader(lines)); err != nil {
		return nil, nil, err
	}
	return blocks, bad, d.Flush()
}

// maxDepth is deeper than any value that was taken into a table, with the record
// around it.
const maxDepth = 4096

// always goes on.
type always struct{}

func (always) Err() error { return nil }
