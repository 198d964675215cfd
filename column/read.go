package column

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"batcher/schema"
)

// Width is the number of bytes that a present value of a kind takes in Plain,
// or 0 when each value carries its own length.
func Width(k schema.Kind) int {
	switch k {
	case schema.Bool:
		return 1
	case schema.Int32, schema.Date:
		return 4
	case schema.Int64, schema.Timestamp, schema.Float64:
		return 8
	case schema.Decimal:
		return 16
	}
	return 0
}

// Reader gives the rows of a Vector away from the front. The vector must have
// passed Check and must not change meanwhile.
type Reader struct {
	rest Vector
	rows int
}

// NewReader starts at the first of the vector's rows.
func NewReader(v *Vector, rows int) *Reader {
	return &Reader{rest: *v, rows: rows}
}

// Rows is how many rows are left.
func (r *Reader) Rows() int { return r.rows }

// Take removes the next rows (all that are left when there are fewer) and
// returns them as a vector that shares memory with the original.
func (r *Reader) Take(rows int) Vector {
	if rows >= r.rows {
		out := r.rest
		r.rest = Vector{Kind: out.Kind, MaxDef: out.MaxDef, MaxRep: out.MaxRep}
		r.rows = 0
		return out
	}
	out := r.rest
	n := rows
	if out.MaxRep > 0 {
		n = entriesOf(out.Rep, rows)
		out.Rep, r.rest.Rep = out.Rep[:n], out.Rep[n:]
	}
	out.Def, r.rest.Def = out.Def[:n], out.Def[n:]
	out.Values = bytes.Count(out.Def, []byte{out.MaxDef})
	r.rest.Values -= out.Values
	size := plainSize(out.Plain, out.Kind, out.Values)
	out.Plain, r.rest.Plain = out.Plain[:size], out.Plain[size:]
	r.rows -= rows
	return out
}

// entriesOf is the number of entries that the first rows take.
func entriesOf(rep []byte, rows int) int {
	at := 0
	for ; rows > 0; rows-- {
		next := bytes.IndexByte(rep[at+1:], 0)
		if next < 0 {
			return len(rep)
		}
		at += 1 + next
	}
	return at
}

// plainSize is the number of bytes that the first n values take.
func plainSize(plain []byte, k schema.Kind, n int) int {
	if w := Width(k); w > 0 {
		return n * w
	}
	size := 0
	for range n {
		size += 4 + int(binary.LittleEndian.Uint32(plain[size:]))
	}
	return size
}

// Check says whether the block keeps the invariants of this package: what does
// pass can be read, cut and encoded without going out of bounds. It looks at
// levels and lengths, not at values: it does not check UTF-8.
func Check(b *Block) error {
	if b.Schema == nil {
		return fmt.Errorf("block has no schema")
	}
	leaves := walk(b.Schema.Fields)
	if len(leaves) != len(b.Columns) {
		return fmt.Errorf("block has %d columns, its schema %d leaves", len(b.Columns), len(leaves))
	}
	for i, v := range b.Columns {
		if err := checkVector(v, &leaves[i], b.Rows); err != nil {
			return fmt.Errorf("column %s: %w", leaves[i].name, err)
		}
		if leaves[i].commonDef > 0 && !sameShape(b.Columns[i-1], v, leaves[i].commonDef, leaves[i].commonRep) {
			return fmt.Errorf("columns %s and %s differ in the lists they share", leaves[i-1].name, leaves[i].name)
		}
	}
	return nil
}

// leafShape is what Check must know of a leaf: its levels, the definition level
// of each list or map above it that has an entry, and the levels of the deepest
// node that it shares with the leaf before it.
type leafShape struct {
	name                 string
	kind                 schema.Kind
	def, rep             uint8
	repeated             []uint8
	commonDef, commonRep uint8
}

// walk lists the leaves of fields, depth first.
func walk(fields []schema.Field) []leafShape {
	var out []leafShape
	for i := range fields {
		out = appendLeaves(out, &fields[i], leafShape{name: fields[i].Name, def: 1})
	}
	return out
}

// appendLeaves appends the leaves of f, whose name and levels are in at.
func appendLeaves(out []leafShape, f *schema.Field, at leafShape) []leafShape {
	first := len(out)
	switch f.Type.Kind {
	case schema.Struct, schema.List, schema.Map:
	default:
		at.kind = f.Type.Kind
		return append(out, at)
	}
	if f.Type.Kind != schema.Struct {
		at.def, at.rep = at.def+1, at.rep+1
		at.repeated = append(at.repeated[:len(at.repeated):len(at.repeated)], at.def)
	}
	for i := range f.Type.Fields {
		c, below := &f.Type.Fields[i], at
		below.name += "." + c.Name
		if f.Type.Kind != schema.Map || i > 0 { // the key of a map is required
			below.def++
		}
		out = appendLeaves(out, c, below)
	}
	for i := first + 1; i < len(out); i++ {
		// An inner node that two leaves share is set before an outer one sees them.
		if out[i].commonDef == 0 {
			out[i].commonDef, out[i].commonRep = at.def, at.rep
		}
	}
	return out
}

// checkVector compares a vector with its leaf and its own counts.
func checkVector(v *Vector, l *leafShape, rows int) error {
	switch {
	case v == nil:
		return fmt.Errorf("no vector")
	case v.Kind != l.kind:
		return fmt.Errorf("vector of kind %v for a leaf of kind %v", v.Kind, l.kind)
	case v.MaxDef != l.def || v.MaxRep != l.rep:
		return fmt.Errorf("maximal levels %d and %d, want %d and %d", v.MaxDef, v.MaxRep, l.def, l.rep)
	case v.MaxRep == 0 && (len(v.Rep) != 0 || len(v.Def) != rows):
		return fmt.Errorf("%d definition and %d repetition levels for %d rows", len(v.Def), len(v.Rep), rows)
	case v.MaxRep > 0 && (len(v.Rep) != len(v.Def) || bytes.Count(v.Rep, []byte{0}) != rows):
		return fmt.Errorf("%d definition and %d repetition levels do not make %d rows", len(v.Def), len(v.Rep), rows)
	case v.MaxRep > 0 && rows > 0 && v.Rep[0] != 0:
		return fmt.Errorf("starts inside a row")
	case !within(v.Def, v.MaxDef) || !within(v.Rep, v.MaxRep):
		return fmt.Errorf("a level is above its maximum")
	case bytes.Count(v.Def, []byte{v.MaxDef}) != v.Values:
		return fmt.Errorf("%d values, definition levels say %d", v.Values, bytes.Count(v.Def, []byte{v.MaxDef}))
	}
	if !listsHold(v, l.repeated) {
		return fmt.Errorf("an entry repeats a list that has none")
	}
	return checkPlain(v)
}

// listsHold says whether each entry that repeats a list, and the entry before
// it, stand in that list: repeated[r-1] is the level at which it has entries.
func listsHold(v *Vector, repeated []uint8) bool {
	for i, r := range v.Rep {
		if r > 0 && min(v.Def[i], v.Def[i-1]) < repeated[r-1] {
			return false
		}
	}
	return true
}

// checkPlain says whether Plain holds exactly v.Values values.
func checkPlain(v *Vector) error {
	if w := Width(v.Kind); w > 0 {
		if len(v.Plain) != w*v.Values {
			return fmt.Errorf("%d bytes for %d values of %d bytes", len(v.Plain), v.Values, w)
		}
		return nil
	}
	at := 0
	for range v.Values {
		if len(v.Plain)-at < 4 {
			return fmt.Errorf("ends inside a length")
		}
		n := int(binary.LittleEndian.Uint32(v.Plain[at:]))
		at += 4
		if n > len(v.Plain)-at {
			return fmt.Errorf("ends inside a value of %d bytes", n)
		}
		at += n
	}
	if at != len(v.Plain) {
		return fmt.Errorf("%d bytes behind the last value", len(v.Plain)-at)
	}
	return nil
}

// within says whether no level is above the highest one. To count the levels that
// there are is faster than to look at each, for most entries have one of the same.
func within(levels []byte, highest uint8) bool {
	rest := len(levels) - bytes.Count(levels, []byte{highest})
	for l := uint8(0); l < highest && rest > 0; l++ {
		rest -= bytes.Count(levels, []byte{l})
	}
	return rest == 0
}

// sameShape says whether two leaves agree about the node that they share: the
// entries at repetition level ≤ rep must be the same, up to level def.
func sameShape(a, b *Vector, def, rep uint8) bool {
	if bytes.Equal(a.Def, b.Def) && bytes.Equal(a.Rep, b.Rep) {
		return true
	}
	i, j := 0, 0
	for {
		i, j = skipDeeper(a.Rep, i, rep), skipDeeper(b.Rep, j, rep)
		if i == len(a.Def) || j == len(b.Def) {
			return i == len(a.Def) && j == len(b.Def)
		}
		if min(a.Def[i], def) != min(b.Def[j], def) || repAt(a.Rep, i) != repAt(b.Rep, j) {
			return false
		}
		i, j = i+1, j+1
	}
}

// skipDeeper is the first entry from at on that repeats at level ≤ level.
func skipDeeper(rep []byte, at int, level uint8) int {
	for at < len(rep) && rep[at] > level {
		at++
	}
	return at
}

// repAt is the repetition level of entry i; a leaf in no list has none.
func repAt(rep []byte, i int) uint8 {
	if len(rep) == 0 {
		return 0
	}
	return rep[i]
}
