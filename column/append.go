package column

import (
	"encoding/binary"
	"math"
	"slices"

	"batcher/schema"
)

// Filler appends to one vector of a block, row by row, and can take back what
// the current row appended.
//
// Rows are numbered from 0 within the block and only grow. A row that appends
// nothing to a top-level column is null there: the gap is filled when the next
// value comes, or by Pad. Below the top level every row that enters a column
// says so with rep 0.
type Filler struct {
	Vector
	rows  int // MaxRep > 0: rows covered; else they are len(Def)
	entry int // MaxRep > 0: len(Def) before the latest row
	plain int // len(Plain) before the latest row
}

// NewFiller returns an empty filler for a leaf.
func NewFiller(l schema.Leaf) *Filler {
	return &Filler{Vector: Vector{Kind: l.Field.Type.Kind, MaxDef: l.MaxDef, MaxRep: l.MaxRep}}
}

// Reset empties the vector and keeps its memory.
func (f *Filler) Reset() {
	f.Def, f.Rep, f.Plain = f.Def[:0], f.Rep[:0], f.Plain[:0]
	f.Values, f.rows, f.entry, f.plain = 0, 0, 0, 0
}

// Swap returns what was appended, and goes on empty in the memory of a vector
// that nobody needs any more, which is the one it returns. Without one it allocates as much as was needed, as
// the next block will be like this one.
func (f *Filler) Swap(used *Vector) *Vector {
	if used == nil {
		used = &Vector{Def: sameRoom(f.Def), Rep: sameRoom(f.Rep), Plain: sameRoom(f.Plain)}
	}
	*used, f.Def, f.Rep, f.Plain = f.Vector, used.Def, used.Rep, used.Plain
	f.Reset()
	return used
}

// Pad makes the vector cover rows rows, null where nothing was appended.
func (f *Filler) Pad(rows int) {
	n := rows - f.covered()
	if n <= 0 {
		return
	}
	f.Def = appendZeros(f.Def, n)
	if f.MaxRep > 0 {
		f.Rep = appendZeros(f.Rep, n)
		f.rows = rows
	}
}

// covered is how many rows have entries.
func (f *Filler) covered() int {
	if f.MaxRep == 0 {
		return len(f.Def)
	}
	return f.rows
}

// Drop takes back everything that row, the latest one, appended.
func (f *Filler) Drop(row int) {
	if f.covered() <= row {
		return
	}
	if f.MaxRep == 0 {
		f.entry = row
	}
	for _, d := range f.Def[f.entry:] {
		if d == f.MaxDef {
			f.Values--
		}
	}
	f.Def, f.Plain = f.Def[:f.entry], f.Plain[:f.plain]
	if f.MaxRep > 0 {
		f.Rep = f.Rep[:f.entry]
		f.rows = row
	}
}

// Null appends an entry that holds no value: def says how deep it reaches.
func (f *Filler) Null(row int, rep, def uint8) {
	f.enter(row, rep)
	f.Def = append(f.Def, def)
}

// Bool appends a value, 0 or 1.
func (f *Filler) Bool(row int, rep, v uint8) {
	f.present(row, rep)
	f.Plain = append(f.Plain, v)
}

// Value appends a value of a top-level column in the form that it has in Plain.
func (f *Filler) Value(row int, plain []byte) {
	f.present(row, 0)
	f.Plain = append(f.Plain, plain...)
}

// Has says whether the row has a value, in a column outside of lists.
func (f *Filler) Has(row int) bool { return len(f.Def) == row+1 && f.Def[row] == f.MaxDef }

// Latest is the value of the latest row, which has one, in the form that it has in Plain.
func (f *Filler) Latest() []byte { return f.Plain[f.plain:] }

// JSON is the value of the latest row, which has one, as Cursor.AppendJSON has it.
func (f *Filler) JSON(t schema.Type) []byte {
	v := f.Latest()
	if Width(f.Kind) == 0 {
		v = v[4:]
	}
	return appendValue(nil, &t, v)
}

// Join moves values of another column of the same kind into the rows in which this one
// has none, and empties the other. Neither is in a list, both cover the same rows, and
// no row has a value in both.
func (f *Filler) Join(o *Filler) {
	if o.Values > 0 {
		plain := make([]byte, 0, len(f.Plain)+len(o.Plain))
		at, from := 0, 0
		for row := range f.Def {
			switch {
			case f.Def[row] == f.MaxDef:
				size := valueSize(&f.Vector, at)
				plain = append(plain, f.Plain[at:at+size]...)
				at += size
			case o.Def[row] == o.MaxDef:
				size := valueSize(&o.Vector, from)
				plain = append(plain, o.Plain[from:from+size]...)
				from += size
				f.Def[row] = f.MaxDef
			}
		}
		f.Plain, f.Values = plain, f.Values+o.Values
	}
	o.Reset()
}

// Int32 appends a value of an Int32 or Date column.
func (f *Filler) Int32(row int, rep uint8, v int32) {
	f.present(row, rep)
	f.Plain = binary.LittleEndian.AppendUint32(f.Plain, uint32(v))
}

// Int64 appends a value of an Int64 or Timestamp column.
func (f *Filler) Int64(row int, rep uint8, v int64) {
	f.present(row, rep)
	f.Plain = binary.LittleEndian.AppendUint64(f.Plain, uint64(v))
}

// Float64 appends a value.
func (f *Filler) Float64(row int, rep uint8, v float64) {
	f.present(row, rep)
	f.Plain = binary.LittleEndian.AppendUint64(f.Plain, math.Float64bits(v))
}

// Decimal appends a value: 16 bytes, big-endian two's complement.
func (f *Filler) Decimal(row int, rep uint8, v [16]byte) {
	f.present(row, rep)
	f.Plain = append(f.Plain, v[:]...)
}

// Bytes appends a value of a String, JSON or Bytes column.
func (f *Filler) Bytes(row int, rep uint8, v []byte) {
	f.present(row, rep)
	n := len(f.Plain)
	if cap(f.Plain)-n < 4+len(v)+wide {
		f.Plain = slices.Grow(f.Plain, 4+len(v)+wide)
	}
	p := f.Plain[:n+4+len(v)]
	binary.LittleEndian.PutUint32(p[n:], uint32(len(v)))
	if len(v) <= wide && cap(v) >= wide {
		*(*[wide]byte)(p[n+4 : n+4+wide]) = [wide]byte(v[:wide])
	} else {
		copy(p[n+4:], v)
	}
	f.Plain = p
}

// wide is up to where strings are copied as if they were that long, which costs
// less than to ask how long they are. What is behind them is written later.
const wide = 32

func (f *Filler) present(row int, rep uint8) {
	f.enter(row, rep)
	f.Def = append(f.Def, f.MaxDef)
	f.Values++
}

// enter begins the row's part of the vector with its first entry.
func (f *Filler) enter(row int, rep uint8) {
	if f.MaxRep > 0 || len(f.Def) < row {
		f.repeat(row, rep)
		return
	}
	f.plain = len(f.Plain)
}

// repeat is enter behind a gap or in a list.
func (f *Filler) repeat(row int, rep uint8) {
	if rep == 0 {
		f.Pad(row)
		f.rows, f.entry, f.plain = row+1, len(f.Def), len(f.Plain)
	}
	if f.MaxRep > 0 {
		f.Rep = append(f.Rep, rep)
	}
}

// sameRoom is an empty slice with room for what is in b and a little more.
func sameRoom(b []byte) []byte { return make([]byte, 0, len(b)+len(b)/16) }

func appendZeros(b []byte, n int) []byte {
	return append(b, make([]byte, n)...) // the compiler makes no slice of this
}
