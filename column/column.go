// Package column holds typed column vectors: what a scanner appends to and a
// Parquet writer encodes without looking at single values again.
//
// Duty: one in-memory layout for shredded (Dremel) columns: definition and
// repetition levels as bytes, present values back to back in Parquet's PLAIN
// form.
//
// Invariants: within a Block every vector covers the same rows; Values counts
// the entries of Def that equal MaxDef; len(Rep) is len(Def) or, when MaxRep is
// 0, zero.
//
// It never knows where values come from or how a file looks.
package column

import "batcher/schema"

// Vector is one leaf column of a block.
//
// Plain holds the present values in Parquet PLAIN form, except that Bool takes
// one byte (0 or 1) a value: Int32 and Date 4 bytes little-endian; Int64 and
// Timestamp 8; Float64 8 (IEEE bits); Decimal 16 big-endian; String, JSON and
// Bytes a 4-byte little-endian length and the bytes.
type Vector struct {
	Kind   schema.Kind
	MaxDef uint8
	MaxRep uint8
	Def    []byte // one per entry
	Rep    []byte // one per entry; empty when MaxRep is 0
	Values int    // present values
	Plain  []byte
}

// Block is a run of rows of one table, in row order. Columns are the leaves of
// Schema.Fields, depth first.
type Block struct {
	Schema  *schema.Schema
	Columns []*Vector
	Rows    int
}
