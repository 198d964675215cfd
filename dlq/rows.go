package dlq

import (
	"encoding/binary"
	"fmt"

	"batcher/column"
	"batcher/datafile"
	"batcher/record"
	"batcher/schema"
)

// rows gives the rows of a block of letters away from the front.
type rows struct{ left [letterColumns][]byte }

// letterColumns is the number of columns of schema.DeadLetters.
const letterColumns = 7

// rowsOf begins with the first row of a block, whose columns have no nulls.
func rowsOf(b *column.Block) (*rows, error) {
	r := &rows{}
	if len(b.Columns) != letterColumns {
		return nil, fmt.Errorf("%w: %d columns of letters", datafile.ErrDamaged, len(b.Columns))
	}
	for i, c := range b.Columns {
		if c.Values != b.Rows {
			return nil, fmt.Errorf("%w: letters without %s", datafile.ErrDamaged, schema.DeadLetters().Fields[i].Name)
		}
		r.left[i] = c.Plain
	}
	return r, nil
}

// next takes the next row. Its bytes are the block's.
func (r *rows) next() record.DeadLetter {
	return record.DeadLetter{
		Source: string(r.text(0)), Offset: r.number(1), Raw: r.text(2), Length: r.number(3),
		Stage: string(r.text(4)), Code: string(r.text(5)), Message: string(r.text(6)),
	}
}

func (r *rows) text(i int) []byte {
	n := 4 + int(binary.LittleEndian.Uint32(r.left[i]))
	text := r.left[i][4:n:n]
	r.left[i] = r.left[i][n:]
	return text
}

func (r *rows) number(i int) int64 {
	n := int64(binary.LittleEndian.Uint64(r.left[i]))
	r.left[i] = r.left[i][8:]
	return n
}
