package column_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"batcher/column"
	"batcher/schema"
)

// fill appends one random row to a filler of a list of strings or, when there
// is no list, of strings.
func fill(f *column.Filler, rng *rand.Rand, row int) {
	entries := 1
	if f.MaxRep > 0 {
		entries += rng.IntN(3)
	}
	for i := range entries {
		rep := uint8(min(i, 1))
		if rng.IntN(3) == 0 {
			f.Null(row, rep, f.MaxDef-1)
		} else {
			f.Bytes(row, rep, bytes.Repeat([]byte("x"), rng.IntN(9)))
		}
	}
}

// TestDroppedRowsLeaveNoTrace fills two vectors with the same rows, but one of
// them gets further rows that are taken back, and both leave rows out.
func TestDroppedRowsLeaveNoTrace(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	noise := rand.New(rand.NewPCG(seed, 2))
	for _, rep := range []uint8{0, 1} {
		leaf := schema.Leaf{Field: schema.Field{Type: schema.Type{Kind: schema.String}}, MaxDef: 1 + 2*rep, MaxRep: rep}
		want, got := column.NewFiller(leaf), column.NewFiller(leaf)
		for range 3 { // Reset must leave no trace either
			same, other := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 1))
			want.Reset()
			got.Reset()
			for row := range 500 {
				if noise.IntN(2) == 0 {
					fill(got, noise, row)
				}
				got.Drop(row)
				if row%3 > 0 {
					fill(want, same, row)
					fill(got, other, row)
				}
			}
			want.Pad(510)
			got.Pad(510)
			if !bytes.Equal(want.Def, got.Def) || !bytes.Equal(want.Rep, got.Rep) || !bytes.Equal(want.Plain, got.Plain) || want.Values != got.Values {
				t.Fatalf("max rep %d: %d and %d entries, %d and %d values", rep, len(want.Def), len(got.Def), want.Values, got.Values)
			}
			if rows := bytes.Count(got.Rep, []byte{0}); rep > 0 && rows != 510 || rep == 0 && len(got.Def) != 510 {
				t.Fatalf("max rep %d: %d rows, %d entries", rep, rows, len(got.Def))
			}
		}
	}
}
