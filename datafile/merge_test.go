package datafile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"batcher/column"
	"batcher/datafile"
	"batcher/localdev"
	"batcher/schema"
)

// grow adds fields to a row or struct and to all structs below it, behind the others or
// between them.
func (r *random) grow(fields []schema.Field, depth int) []schema.Field {
	for i := range fields {
		f := &fields[i]
		for below := depth + 1; len(f.Type.Fields) > 0; below++ {
			if f.Type.Kind == schema.Struct {
				f.Type.Fields = r.grow(f.Type.Fields, below)
				break
			}
			f = &f.Type.Fields[len(f.Type.Fields)-1] // the element of a list, the value of a map
		}
	}
	if r.IntN(3) > 0 {
		return fields
	}
	at := len(fields)
	if depth > 1 {
		at = r.IntN(at + 1)
	}
	return slices.Insert(fields, at, r.field(fmt.Sprint("g", r.id), depth))
}

// generations are a schema and what becomes of it.
func (r *random) generations() []*schema.Schema {
	r.id = 16
	out := []*schema.Schema{r.schema()}
	if r.IntN(2) == 0 {
		out[0].Fields = out[0].Fields[:1]
	}
	for range r.IntN(3) {
		next := out[len(out)-1].Clone()
		next.Fields = r.grow(next.Fields, 1)
		next.LastID = r.id
		out = append(out, next)
	}
	return out
}

// rows draws rows; in some draws half of the columns are all null.
func (r *random) rows(s *schema.Schema, count int) []row {
	every := 1 + r.IntN(2)*r.IntN(2)
	rows := make([]row, count)
	for i := range rows {
		rows[i] = row{}
		for k := 0; k < len(s.Fields); k += every {
			rows[i][s.Fields[k].Name] = r.value(&s.Fields[k])
		}
	}
	return rows
}

// TestRandomFilesMerge writes files of a table whose columns grow, at the top and inside
// of structs, with all layouts and codecs, and makes one file of them as a merge does:
// copied where that can be, else decoded under the newest schema. Rows and statistics are
// those of all rows written at once, also to parquet-go's own reader.
func TestRandomFilesMerge(t *testing.T) {
	r := newRandom(t, 0)
	copies, decoded := 0, 0
	for range 40 {
		schemas, opts := r.generations(), r.options()
		opts.RowGroupRows = []int{0, 1000, 10_000}[r.IntN(3)]
		newest := schemas[len(schemas)-1]
		var merged bytes.Buffer
		w := datafile.NewWriter(&merged, opts)
		all := r.rows(newest, 1)
		err := w.Write(shred(newest, all))
		for range 1 + r.IntN(4) {
			s, layout, count := schemas[r.IntN(len(schemas))], r.options(), r.IntN(200)
			if len(newest.Leaves()) < 6 && r.IntN(3) == 0 {
				count, layout.RowGroupRows = 8000+r.IntN(4000), 0 // pages that are copied as they are
			}
			if r.IntN(4) > 0 {
				layout.Compression = opts.Compression
			}
			rows := r.rows(s, count)
			file, _ := write(t, layout, shred(s, rows))
			all = append(all, rows...)
			in := open(t, file)
			if opts.Copies(in, newest) {
				copies++
				err = w.Copy(in, newest)
			} else {
				decoded++
				_, _, err = in.Rewrite(newest, func(b *column.Block) (*column.Block, error) { return b, nil }, w.Write)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		f, closed := w.Close()
		if err != nil || closed != nil {
			t.Fatal(err, closed)
		}
		whole := shred(newest, all)
		if !slices.Equal(read(t, merged.Bytes(), newest), texts(whole)) {
			t.Fatalf("%+v: rows are not the %d that were merged", opts, len(all))
		}
		compareWithLibrary(t, merged.Bytes(), []*column.Block{whole})
		got, err := json.Marshal(f.Columns)
		if err != nil {
			t.Fatal(err)
		}
		_, f = write(t, opts, whole)
		if want, err := json.Marshal(f.Columns); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%+v: statistics %s, want %s, %v", opts, got, want, err)
		}
	}
	localdev.Figure("random merges of files whose columns grow", fmt.Sprintf("40, of %d files copied and %d decoded", copies, decoded))
}
