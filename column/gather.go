package column

import "batcher/schema"

// Gather returns the rows of a block whose indexes are given, in that order, in
// memory of its own. The block must have passed Check.
func Gather(b *Block, rows []int32) *Block {
	out := &Block{Schema: b.Schema, Rows: len(rows), Columns: make([]*Vector, len(b.Columns))}
	var at offsets
	for i, v := range b.Columns {
		at.of(v, b.Rows)
		out.Columns[i] = at.gather(v, rows)
	}
	return out
}

// offsets say where each row of a vector begins; one more says where the last
// one ends.
type offsets struct{ entry, plain []int }

func (o *offsets) of(v *Vector, rows int) {
	o.entry, o.plain = o.entry[:0], o.plain[:0]
	at := 0
	for e := range v.Def {
		if v.MaxRep == 0 || v.Rep[e] == 0 {
			o.entry, o.plain = append(o.entry, e), append(o.plain, at)
		}
		if v.Def[e] == v.MaxDef {
			at += valueSize(v, at)
		}
	}
	for len(o.entry) <= rows {
		o.entry, o.plain = append(o.entry, len(v.Def)), append(o.plain, at)
	}
}

func (o *offsets) gather(v *Vector, rows []int32) *Vector {
	entries, plain := 0, 0
	for _, r := range rows {
		entries += o.entry[r+1] - o.entry[r]
		plain += o.plain[r+1] - o.plain[r]
	}
	out := &Vector{Kind: v.Kind, MaxDef: v.MaxDef, MaxRep: v.MaxRep, Def: make([]byte, 0, entries), Plain: make([]byte, 0, plain)}
	if v.MaxRep > 0 {
		out.Rep = make([]byte, 0, entries)
	}
	for _, r := range rows {
		from, to := o.entry[r], o.entry[r+1]
		out.Def = append(out.Def, v.Def[from:to]...)
		if v.MaxRep > 0 {
			out.Rep = append(out.Rep, v.Rep[from:to]...)
		}
		out.Plain = append(out.Plain, v.Plain[o.plain[r]:o.plain[r+1]]...)
	}
	out.Values = present(out)
	return out
}

func present(v *Vector) int {
	n := 0
	for _, d := range v.Def {
		if d == v.MaxDef {
			n++
		}
	}
	return n
}

// Rows takes the rows of a block from its head, run by run.
type Rows struct {
	schema  *schema.Schema
	readers []*Reader
}

// NewRows starts before the first row of a block, which must have passed Check.
func NewRows(b *Block) *Rows {
	r := &Rows{schema: b.Schema, readers: make([]*Reader, len(b.Columns))}
	for i, v := range b.Columns {
		r.readers[i] = NewReader(v, b.Rows)
	}
	return r
}

// Take removes the next rows, of which there must be as many, and returns them as a
// block that shares memory with the one they come from.
func (r *Rows) Take(rows int) *Block {
	out := &Block{Schema: r.schema, Rows: rows, Columns: make([]*Vector, len(r.readers))}
	for i := range r.readers {
		v := r.readers[i].Take(rows)
		out.Columns[i] = &v
	}
	return out
}

// Append adds the rows of a block behind those of another, whose memory it goes on
// in. The schema may have got further columns of the table behind those of before,
// which are null in the rows before.
func Append(to, b *Block) {
	if b.Rows == 0 {
		return
	}
	for i, v := range b.Columns {
		if i == len(to.Columns) {
			nulls := &Vector{Kind: v.Kind, MaxDef: v.MaxDef, MaxRep: v.MaxRep, Def: make([]byte, to.Rows)}
			if v.MaxRep > 0 {
				nulls.Rep = make([]byte, to.Rows)
			}
			to.Columns = append(to.Columns, nulls)
		}
		w := to.Columns[i]
		w.Def, w.Rep, w.Plain = append(w.Def, v.Def...), append(w.Rep, v.Rep...), append(w.Plain, v.Plain...)
		w.Values += v.Values
	}
	to.Schema = b.Schema
	to.Rows += b.Rows
}

// Bytes is how much memory the entries and values of a block take.
func Bytes(b *Block) int {
	n := 0
	for _, v := range b.Columns {
		n += len(v.Def) + len(v.Rep) + len(v.Plain)
	}
	return n
}
