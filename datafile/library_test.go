package datafile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"batcher/column"
	"batcher/datafile"
)

// entryText is a value and its levels as the library gives them.
func entryText(typ parquet.Type, v parquet.Value) string {
	rep, def := v.RepetitionLevel(), v.DefinitionLevel()
	if v.IsNull() {
		return fmt.Sprintf("%d/%d null", rep, def)
	}
	return fmt.Sprintf("%d/%d %x", rep, def, libraryPlain(typ, v))
}

// libraryPlain is a value of the library in the form of column.Vector.
func libraryPlain(typ parquet.Type, v parquet.Value) []byte {
	isDecimal := strings.HasPrefix(typ.String(), "DECIMAL")
	switch {
	case isDecimal && v.Kind() == parquet.Int32:
		d := decimal(int64(v.Int32()))
		return d[:]
	case isDecimal && v.Kind() == parquet.Int64:
		d := decimal(v.Int64())
		return d[:]
	}
	switch v.Kind() {
	case parquet.Boolean:
		return appendPlain(nil, v.Boolean())
	case parquet.Int32:
		return appendPlain(nil, v.Int32())
	case parquet.Int64:
		return appendPlain(nil, v.Int64())
	case parquet.Double:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v.Double()))
	case parquet.FixedLenByteArray:
		return v.ByteArray()
	}
	return appendPlain(nil, v.ByteArray())
}

// vectorEntries are the entries of a vector in the same form.
func vectorEntries(v *column.Vector) []string {
	var out []string
	off := 0
	for i, d := range v.Def {
		rep := 0
		if v.MaxRep > 0 {
			rep = int(v.Rep[i])
		}
		if d < v.MaxDef {
			out = append(out, fmt.Sprintf("%d/%d null", rep, d))
			continue
		}
		size := column.Width(v.Kind)
		if size == 0 {
			size = 4 + int(binary.LittleEndian.Uint32(v.Plain[off:]))
		}
		out = append(out, fmt.Sprintf("%d/%d %x", rep, d, v.Plain[off:off+size]))
		off += size
	}
	return out
}

// libraryEntries reads one column of a file with parquet-go alone.
func libraryEntries(t testing.TB, f *parquet.File, leaf int) []string {
	t.Helper()
	var out []string
	for _, g := range f.RowGroups() {
		pages := g.ColumnChunks()[leaf].Pages()
		for {
			p, err := pages.ReadPage()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			values := make([]parquet.Value, p.NumValues())
			if n, err := p.Values().ReadValues(values); n != len(values) {
				t.Fatalf("%d of %d values: %v", n, len(values), err)
			}
			for _, v := range values {
				out = append(out, entryText(g.ColumnChunks()[leaf].Type(), v))
			}
			parquet.Release(p)
		}
		if err := pages.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// compareWithLibrary compares what parquet-go reads with the blocks that were
// written, which have one schema.
func compareWithLibrary(t testing.TB, file []byte, blocks []*column.Block) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for leaf := range blocks[0].Columns {
		var want []string
		for _, b := range blocks {
			want = append(want, vectorEntries(b.Columns[leaf])...)
		}
		got := libraryEntries(t, f, leaf)
		if len(got) != len(want) {
			t.Fatalf("column %d: parquet-go reads %d entries, want %d", leaf, len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("column %d entry %d: parquet-go reads %s, want %s", leaf, i, got[i], want[i])
			}
		}
	}
}

// TestLibrarySeesFieldIDsAndTypes looks at the footer through parquet-go.
func TestLibrarySeesFieldIDsAndTypes(t *testing.T) {
	file, _ := write(t, datafile.Options{}, shred(every(), everyRow()))
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Schema().Columns(); fmt.Sprint(got[0], got[len(got)-1]) != "[_source] [deep list element m key_value value list element]" {
		t.Errorf("columns are %v", got)
	}
	ids := map[string]int{}
	var walk func(c *parquet.Column)
	walk = func(c *parquet.Column) {
		ids[fmt.Sprint(c.Path())] = c.ID()
		for _, below := range c.Columns() {
			walk(below)
		}
	}
	walk(f.Root())
	for path, id := range map[string]int{
		"[_source]": 1, "[list]": 28, "[list list]": 0, "[list list element]": 29, "[map key_value key]": 31,
		"[o z w]": 36, "[deep list element m key_value value list element]": 45,
	} {
		if ids[path] != id {
			t.Errorf("%s has field id %d, want %d", path, ids[path], id)
		}
	}
	for i, want := range []string{"STRING", "INT64", "BOOLEAN", "INT32", "INT64", "DOUBLE", "DECIMAL(38,3)", "DECIMAL(9,2)", "DECIMAL(18,0)", "STRING", "STRING", "BYTE_ARRAY", "DATE", "TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)"} {
		if got := f.Root().Columns()[i].Type().String(); got != want {
			t.Errorf("column %d has type %s, want %s", i, got, want)
		}
	}
}

// TestFooterBoundsHold looks at the statistics of every column chunk of random
// files: no value may lie outside.
func TestFooterBoundsHold(t *testing.T) {
	r := newRandom(t, 0)
	seen := 0
	for range 40 {
		s := r.schema()
		file, _ := write(t, r.options(), r.blocks(s)...)
		f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		for g, group := range f.RowGroups() {
			for i, c := range group.ColumnChunks() {
				m := f.Metadata().RowGroups[g].Columns[i].MetaData
				checkBounds(t, f, c, m.Statistics.MinValue, m.Statistics.MaxValue, m.Statistics.NullCount)
				if m.Statistics.MinValue != nil {
					seen++
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no chunk had bounds")
	}
}

// compare orders a value and a bound. The library orders decimals as unsigned
// bytes; the format says signed.
func compare(typ parquet.Type, v parquet.Value, bound []byte) int {
	if v.Kind() != parquet.FixedLenByteArray {
		return typ.Compare(v, typ.Kind().Value(bound))
	}
	a, b := bytes.Clone(v.ByteArray()), bytes.Clone(bound)
	a[0], b[0] = a[0]^0x80, b[0]^0x80
	return bytes.Compare(a, b)
}

func checkBounds(t *testing.T, f *parquet.File, c parquet.ColumnChunk, lo, hi []byte, nulls int64) {
	t.Helper()
	typ := c.Type()
	pages := c.Pages()
	defer pages.Close()
	for {
		p, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		values := make([]parquet.Value, p.NumValues())
		p.Values().ReadValues(values)
		for _, v := range values {
			if v.IsNull() {
				nulls--
				continue
			}
			if lo == nil {
				continue
			}
			if compare(typ, v, lo) < 0 || compare(typ, v, hi) > 0 {
				t.Fatalf("%v: value %v outside of %x..%x", typ, v, lo, hi)
			}
			if v.Kind() == parquet.Double && math.IsNaN(v.Double()) {
				t.Fatal("bounds in spite of a NaN")
			}
		}
	}
	if nulls != 0 {
		t.Fatalf("null count is wrong by %d", nulls)
	}
}
