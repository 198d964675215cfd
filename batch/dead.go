package batch

import (
	"encoding/binary"

	"batcher/column"
	"batcher/record"
	"batcher/schema"
)

// A block of letters is emitted when it has so many rows or bytes.
const (
	deadRows  = 4096
	deadBytes = 4 << 20
)

// Letters turns bad records into blocks of schema.DeadLetters, whose columns are,
// in order: _source, _offset, raw, raw_length, stage, code, message.
type Letters struct {
	emit  Sink
	block *column.Block
	bytes int
}

// NewLetters begins with no letter. Blocks go to emit.
func NewLetters(emit Sink) *Letters {
	return &Letters{emit: emit, block: emptyDead()}
}

func emptyDead() *column.Block {
	s := schema.DeadLetters()
	b := &column.Block{Schema: s}
	for _, leaf := range s.Leaves() {
		b.Columns = append(b.Columns, &column.Vector{Kind: leaf.Field.Type.Kind, MaxDef: leaf.MaxDef, MaxRep: leaf.MaxRep})
	}
	return b
}

// Add appends one bad record, of which it keeps nothing, and emits the block when
// it is full.
func (d *Letters) Add(r record.DeadLetter) error {
	c := d.block.Columns
	text(c[0], []byte(r.Source))
	number(c[1], r.Offset)
	text(c[2], r.Raw)
	number(c[3], r.Length)
	text(c[4], []byte(r.Stage))
	text(c[5], []byte(r.Code))
	text(c[6], []byte(r.Message))
	d.block.Rows++
	d.bytes += len(r.Raw) + len(r.Message) + 64
	if d.block.Rows < deadRows && d.bytes < deadBytes {
		return nil
	}
	return d.Flush()
}

// Flush emits what is there.
func (d *Letters) Flush() error {
	if d.block.Rows == 0 {
		return nil
	}
	used, err := d.emit(d.block)
	if err != nil {
		return err
	}
	if d.block = used; used == nil {
		d.block = emptyDead()
	}
	for _, c := range d.block.Columns {
		c.Def, c.Rep, c.Plain, c.Values = c.Def[:0], c.Rep[:0], c.Plain[:0], 0
	}
	d.block.Rows, d.bytes = 0, 0
	return nil
}

func text(v *column.Vector, s []byte) {
	present(v)
	v.Plain = binary.LittleEndian.AppendUint32(v.Plain, uint32(len(s)))
	v.Plain = append(v.Plain, s...)
}

func number(v *column.Vector, n int64) {
	present(v)
	v.Plain = binary.LittleEndian.AppendUint64(v.Plain, uint64(n))
}

func present(v *column.Vector) {
	v.Def = append(v.Def, v.MaxDef)
	v.Values++
}
