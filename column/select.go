package column

import "bytes"

// Select returns the rows of a block for which keep is true: the block itself when
// that is all of them, or one with memory of its own. The block must have passed
// Check, and keep has one entry a row.
func Select(b *Block, keep []bool) *Block {
	rows := 0
	for _, k := range keep[:b.Rows] {
		if k {
			rows++
		}
	}
	if rows == b.Rows {
		return b
	}
	out := &Block{Schema: b.Schema, Rows: rows, Columns: make([]*Vector, len(b.Columns))}
	for i, v := range b.Columns {
		out.Columns[i] = selectVector(v, keep[:b.Rows])
	}
	return out
}

// selectVector copies the entries of the rows that are kept, run by run.
func selectVector(v *Vector, keep []bool) *Vector {
	out := &Vector{Kind: v.Kind, MaxDef: v.MaxDef, MaxRep: v.MaxRep}
	rest := NewReader(v, len(keep))
	for from := 0; from < len(keep); {
		to := from + 1
		for to < len(keep) && keep[to] == keep[from] {
			to++
		}
		run := rest.Take(to - from)
		if keep[from] {
			out.Def, out.Rep, out.Plain = append(out.Def, run.Def...), append(out.Rep, run.Rep...), append(out.Plain, run.Plain...)
		}
		from = to
	}
	out.Values = bytes.Count(out.Def, []byte{out.MaxDef})
	return out
}
