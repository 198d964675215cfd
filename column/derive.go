package column

import (
	"encoding/binary"
	"slices"
	"time"

	"batcher/schema"
)

// Derive fills the derived columns of a block, row by row from the columns that
// they follow. Whatever stood in them goes. A null, or a name that the block
// lacks, derives nulls. The block must have passed Check.
func Derive(b *Block, derived []schema.Derived) {
	for _, d := range derived {
		from, to := b.Column(d.From), b.Column(d.Name)
		if d.Part == schema.Offset || d.Part == schema.FromKey || from == nil || to == nil || from.Kind != schema.Timestamp || to.Kind != d.Type().Kind {
			continue
		}
		to.Def = append(to.Def[:0], from.Def...)
		to.Plain, to.Values = to.Plain[:0], from.Values
		if d.Part == schema.Hour {
			appendHours(to, from)
		} else {
			appendDays(to, from)
		}
	}
}

// Column returns the vector of a column of the table that holds values itself,
// or nil.
func (b *Block) Column(name string) *Vector {
	at := 0
	for _, f := range b.Schema.Fields {
		if f.Name == name && !f.Type.Kind.IsNested() {
			return b.Columns[at]
		}
		at += f.Type.Width()
	}
	return nil
}

const (
	hourMicros = 3600 * 1e6
	dayMicros  = 24 * hourMicros
)

func appendDays(to, from *Vector) {
	for at := 0; at < len(from.Plain); at += 8 {
		us := int64(binary.LittleEndian.Uint64(from.Plain[at:]))
		to.Plain = binary.LittleEndian.AppendUint32(to.Plain, uint32(floor(us, dayMicros)))
	}
}

// appendHours writes an hour out once for a run of rows in it.
func appendHours(to, from *Vector) {
	to.Plain = slices.Grow(to.Plain, from.Values*17)
	var text []byte
	var last int64
	for at := 0; at < len(from.Plain); at += 8 {
		hour := floor(int64(binary.LittleEndian.Uint64(from.Plain[at:])), hourMicros)
		if text == nil || hour != last {
			text = time.Unix(hour*3600, 0).UTC().AppendFormat(text[:0], "2006-01-02T15")
			last = hour
		}
		to.Plain = binary.LittleEndian.AppendUint32(to.Plain, uint32(len(text)))
		to.Plain = append(to.Plain, text...)
	}
}

// floor divides towards the past.
func floor(us, unit int64) int64 {
	if us < 0 {
		return (us+1)/unit - 1
	}
	return us / unit
}
