package column_test

import (
	"slices"
	"testing"

	"batcher/column"
)

// TestSelectKeepsAnyRows keeps every subset of the rows.
func TestSelectKeepsAnyRows(t *testing.T) {
	for mask := range 1 << 5 {
		b := rows()
		keep := make([]bool, b.Rows)
		var want []string
		for i := range keep {
			if keep[i] = mask&(1<<i) != 0; keep[i] {
				want = append(want, lines[i])
			}
		}
		out := column.Select(b, keep)
		if err := column.Check(out); err != nil {
			t.Fatalf("rows %05b: %v", mask, err)
		}
		var got []string
		for c := column.NewCursor(out); c.Next(); {
			got = append(got, string(c.AppendJSON(nil)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("rows %05b: %v, want %v", mask, got, want)
		}
		if all := len(want) == b.Rows; all != (out == b) {
			t.Errorf("rows %05b: the block itself: %v", mask, out == b)
		}
	}
}
