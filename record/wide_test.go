package record_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
)

// TestACellThatIsNoJSONCostsNoNewSchema: in a table of many columns, text under a
// column of JSON is rescued row by row, and nothing is built anew for it, because
// no type is wider.
func TestACellThatIsNoJSONCostsNoNewSchema(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"a":{"x":1}`)
	for i := range 500 {
		fmt.Fprintf(&b, `,"c%d":1`, i)
	}
	json := b.String() + "}\n{\"a\":[1]}\n"
	allocations := func(rows int) float64 {
		csv := "a,b\n" + strings.Repeat("25-09-2001,x\n", rows)
		return testing.AllocsPerRun(1, func() {
			d := record.NewDecoder(record.Options{Table: published(t, field(17, "z", `"int64"`)), Rules: schema.Rules{MinRecords: 1}})
			for _, o := range []input{{"a.json", json}, {"b.csv", csv}} {
				if _, err := d.Decode(context.Background(), record.Object{Source: o.name}, bytes.NewReader([]byte(o.body))); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Flush(); err != nil {
				t.Fatal(err)
			}
			n := d.Notes()
			if n.Rows != int64(rows)+2 || len(n.Misfits) != 1 || n.Misfits[0].Count != int64(rows) {
				t.Fatalf("%d rows, misfits %+v", n.Rows, n.Misfits)
			}
		})
	}
	if each := (allocations(2000) - allocations(1000)) / 1000; each > 1 {
		t.Errorf("%.1f allocations a row", each)
	}
}
