package datafile_test

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"batcher/column"
	"batcher/datafile"
	"batcher/schema"
)

// numbered are n rows of one int64 column a, and of b where given.
func numbered(s *schema.Schema, from, n int) *column.Block {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{}
		for _, f := range s.Fields {
			switch f.Type.Kind {
			case schema.Int64:
				rows[i][f.Name] = int64(from + i)
			case schema.List:
				rows[i][f.Name] = []any{int64(from), nil}
			case schema.Struct:
				rows[i][f.Name] = row{"x": "s"}
			}
		}
	}
	return shred(s, rows)
}

// TestD20_ColumnsAppearInsideAFile adds columns within the open row group and
// after row groups that are written.
func TestD20_ColumnsAppearInsideAFile(t *testing.T) {
	a := field(17, "a", schema.Int64)
	b := field(18, "b", schema.List, field(19, "element", schema.Int64))
	c := field(20, "c", schema.Struct, field(21, "x", schema.String))
	one, two, three := table(a), table(a, b), table(a, b, c)
	for _, rows := range []int{1, 7, 10, 25, 100} {
		t.Run(fmt.Sprintf("row groups of %d", rows), func(t *testing.T) {
			blocks := []*column.Block{numbered(one, 0, 10), numbered(two, 10, 10), numbered(two, 20, 3), numbered(three, 23, 9)}
			file, f := write(t, datafile.Options{RowGroupRows: rows}, blocks...)
			var want []string
			for i, line := range texts(blocks...) {
				line = strings.TrimSuffix(line, "}")
				if i < 10 {
					line += `,"b":null`
				}
				if i < 23 {
					line += `,"c":null`
				}
				want = append(want, line+"}")
			}
			if got := read(t, file, three); !slices.Equal(got, want) {
				t.Errorf("read\n%v\nwant\n%v", got, want)
			}
			if nulls := f.Columns[1].Nulls; f.Columns[1].ID != 21 || nulls != 23 {
				t.Errorf("x has id %d and %d nulls, want 21 and 23", f.Columns[1].ID, nulls)
			}
			p, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			for leaf, entries := range []int{32, 10 + 22*2, 32} {
				if got := libraryEntries(t, p, leaf); len(got) != entries {
					t.Errorf("parquet-go reads %d entries of leaf %d, want %d", len(got), leaf, entries)
				}
			}
		})
	}
}

// TestReadUnderAnotherSchema reads a file under schemas that have more, fewer
// and moved fields, at the top and inside structs and lists.
func TestReadUnderAnotherSchema(t *testing.T) {
	file, _ := write(t, datafile.Options{}, shred(every(), everyRow()))
	want := table(
		field(50, "new", schema.Map, field(51, "key", schema.String), field(52, "value", schema.Int64)),
		field(33, "renamed", schema.Struct,
			field(53, "n", schema.List, field(54, "element", schema.Bool)),
			field(35, "z", schema.Struct, field(55, "only_new", schema.Int64))),
		field(37, "deep", schema.List, field(38, "element", schema.Struct,
			field(56, "l", schema.List, field(57, "element", schema.Date)),
			field(43, "m", schema.String), // an id that stands elsewhere in the file is not this field
			field(42, "m2", schema.Map, field(43, "key", schema.String), field(44, "value", schema.List, field(45, "element", schema.Bool))))),
		field(23, "s", schema.JSON),
	)
	// The key of m2 needs an id of its own in a valid schema.
	want.Fields[2].Type.Fields[0].Type.Fields[1].ID = 58
	got := read(t, file, want)
	expected := []string{
		`{"new":null,"renamed":null,"deep":null,"s":null}`,
		`{"new":null,"renamed":{"n":null,"z":null},"deep":[],"s":""}`,
		`{"new":null,"renamed":{"n":null,"z":null},"deep":[null],"s":"ä\u0000\"\\\u000a"}`,
		`{"new":null,"renamed":{"n":null,"z":{"only_new":null}},"deep":[{"l":null,"m":null,"m2":null},{"l":null,"m":null,"m2":{}}],"s":"😀"}`,
		`{"new":null,"renamed":null,"deep":[{"l":null,"m":null,"m2":{"k":[true,null],"e":[],"n":null}},null,{"l":null,"m":null,"m2":{"k":[null]}}],"s":null}`,
		`{"new":null,"renamed":null,"deep":null,"s":null}`,
	}
	if !slices.Equal(got, expected) {
		t.Errorf("read\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(expected, "\n"))
	}
}

func TestReadRefusesAnotherType(t *testing.T) {
	file, _ := write(t, datafile.Options{}, shred(every(), everyRow()))
	r, err := datafile.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want *schema.Schema
		text string
	}{
		{table(field(18, "i", schema.Int64)), "is int32 in the file, not int64"},
		{table(money(22, "price", 38, 2)), "is decimal(38,3) in the file, not decimal(38,2)"},
		{table(field(28, "list", schema.Struct, field(29, "element", schema.Int64))), "not struct"},
		{table(field(28, "list", schema.List, field(99, "element", schema.Int64))), "has id 29 in the file, not 99"},
		{table(field(0, "i", schema.Int32)), "no field id"},
		{table(), "without columns"},
	} {
		n := 0
		for b, err := range r.Blocks(c.want) {
			if n++; err == nil || b != nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v, want one with %q", err, c.text)
			}
		}
		if n != 1 {
			t.Errorf("%d answers, want one error", n)
		}
	}
}

// TestThousandsOfSparseColumns writes a very wide table within little memory.
func TestThousandsOfSparseColumns(t *testing.T) {
	const wide, rows = 3000, 200
	var fields []schema.Field
	for i := range wide {
		fields = append(fields, field(int32(17+i), fmt.Sprintf("c%d", i), flatKinds[i%5]))
		if fields[i].Type.Kind == schema.Decimal {
			fields[i].Type.Precision = []int8{9, 18, 38}[i%3]
		}
	}
	s := &schema.Schema{Fields: fields, LastID: 17 + wide}
	r := newRandom(t, 7)
	var blocks []*column.Block
	for range 4 {
		lines := make([]row, rows)
		for i := range lines {
			lines[i] = row{}
			for range 5 {
				f := fields[r.IntN(wide)]
				lines[i][f.Name] = r.flat(&f.Type)
			}
		}
		blocks = append(blocks, shred(s, lines))
	}
	file, f := write(t, datafile.Options{}, blocks...)
	if got, want := read(t, file, s), texts(blocks...); !slices.Equal(got, want) {
		t.Error("rows differ")
	}
	if len(f.Columns) != 32 {
		t.Errorf("statistics of %d columns, want 32", len(f.Columns))
	}
}

// TestLongStrings writes strings far larger than a page, alone and repeated:
// each block that is read back must stay small.
func TestLongStrings(t *testing.T) {
	s := table(field(17, "s", schema.String), field(18, "n", schema.Int64))
	huge := strings.Repeat("0123456789abcdef", 3<<16) // 3 MiB
	text := strings.Repeat("x", 100<<10)
	rows := []row{{"s": huge, "n": int64(0)}, {}, {"s": huge + "y"}}
	for i := range 100 {
		rows = append(rows, row{"s": text, "n": int64(i)})
	}
	b := shred(s, rows)
	file, f := write(t, datafile.Options{}, b)
	if got, want := read(t, file, s), texts(b); !slices.Equal(got, want) {
		t.Error("rows differ")
	}
	if f.Columns[0].Max != nil || string(f.Columns[0].Min) != `"0123456789abcdef0123456789abcdef"` {
		t.Errorf("statistics are %s to %s", f.Columns[0].Min, f.Columns[0].Max)
	}
	r, err := datafile.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range r.Blocks(s) {
		if err != nil {
			t.Fatal(err)
		}
		if n := len(b.Columns[0].Plain); n > 4<<20 {
			t.Errorf("block of %d rows with %d bytes", b.Rows, n)
		}
	}
	compareWithLibrary(t, file, []*column.Block{b})
}

// TestMemoryStaysBounded writes far more than the budget and looks at the heap.
func TestMemoryStaysBounded(t *testing.T) {
	blocks := eventRows(20_000, 2_500)
	w := datafile.NewWriter(discard{}, datafile.Options{RowGroupBytes: 4 << 20})
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most := uint64(0)
	for i := range 160 { // 400,000 rows, 65 MB of values
		if err := w.Write(blocks[i%len(blocks)]); err != nil {
			t.Fatal(err)
		}
		if i%20 == 19 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc-min(before.HeapAlloc, now.HeapAlloc))
		}
	}
	f, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rows, file of %d MiB, heap grew by at most %d MiB", f.Rows, f.Size>>20, most>>20)
	if most > 48<<20 {
		t.Errorf("heap grew by %d MiB", most>>20)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
