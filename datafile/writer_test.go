package datafile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"batcher/column"
	"batcher/datafile"
	"batcher/schema"
)

func TestWriteRefuses(t *testing.T) {
	base := table(field(17, "a", schema.Int64), field(18, "l", schema.List, field(19, "element", schema.Int64)))
	good := func() *column.Block {
		return shred(base, []row{{"a": int64(1), "l": []any{int64(1), int64(2)}}, {}})
	}
	spoil := func(f func(b *column.Block)) *column.Block {
		b := good()
		f(b)
		return b
	}
	for _, c := range []struct {
		name  string
		block *column.Block
		text  string
	}{
		{"fewer columns", shred(table(base.Fields[0]), []row{{}}), "1 columns after 2"},
		{"another id", shred(table(field(20, "a", schema.Int64), base.Fields[1]), nil), "is not the column"},
		{"another name", shred(table(field(17, "b", schema.Int64), base.Fields[1]), nil), "is not the column"},
		{"another type", shred(table(field(17, "a", schema.Timestamp), base.Fields[1]), nil), "is not the column"},
		{"another order", shred(table(base.Fields[1], base.Fields[0]), nil), "is not the column"},
		{"another inner id", shred(table(base.Fields[0], field(18, "l", schema.List, field(20, "element", schema.Int64))), nil), "is not the column"},
		{"no field id", shred(table(append(base.Clone().Fields, field(0, "new", schema.Bool))...), nil), "has no field id"},
		{"an id twice", shred(table(append(base.Clone().Fields, field(17, "new", schema.Bool))...), nil), "twice"},
		{"no schema", &column.Block{}, "no schema"},
		{"a vector too few", spoil(func(b *column.Block) { b.Columns = b.Columns[:1] }), "1 columns, its schema 2"},
		{"more rows than levels", spoil(func(b *column.Block) { b.Rows = 3 }), "for 3 rows"},
		{"values cut", spoil(func(b *column.Block) { b.Columns[0].Plain = b.Columns[0].Plain[:7] }), "7 bytes for 1 values"},
		{"level too high", spoil(func(b *column.Block) { b.Columns[1].Def[0] = 4 }), "above its maximum"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := datafile.NewWriter(discard{}, datafile.Options{})
			if err := w.Write(good()); err != nil {
				t.Fatal(err)
			}
			err := w.Write(c.block)
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("error %v, want one with %q", err, c.text)
			}
			if again := w.Write(good()); !errors.Is(again, err) {
				t.Errorf("a later write answers %v", again)
			}
			if _, closed := w.Close(); !errors.Is(closed, err) {
				t.Errorf("close answers %v", closed)
			}
		})
	}
}

// TestKeysAndJSONMayDiffer: a file knows neither.
func TestKeysAndJSONMayDiffer(t *testing.T) {
	a, b := table(field(17, "a", schema.String)), table(field(17, "a", schema.JSON))
	b.Fields[0].Key = "A"
	file, _ := write(t, datafile.Options{}, shred(a, []row{{"a": "1"}}), shred(b, []row{{"a": "2"}}))
	if got := read(t, file, a); len(got) != 2 || got[1] != `{"a":"2"}` {
		t.Errorf("read %v", got)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []datafile.Options{{Compression: "lzo"}, {RowGroupRows: -1}, {RowGroupBytes: -1}} {
		if err := datafile.NewWriter(discard{}, o).Write(shred(every(), nil)); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func TestCloseTwiceAndEmpty(t *testing.T) {
	if _, err := datafile.NewWriter(discard{}, datafile.Options{}).Close(); err == nil {
		t.Error("a file without a schema is closed")
	}
	var out bytes.Buffer
	w := datafile.NewWriter(&out, datafile.Options{})
	if err := w.Write(shred(every(), nil)); err != nil {
		t.Fatal(err)
	}
	f, err := w.Close()
	if err != nil || f.Rows != 0 || f.Size != int64(out.Len()) {
		t.Errorf("empty file: %+v, %v", f, err)
	}
	if got := read(t, out.Bytes(), every()); len(got) != 0 {
		t.Errorf("empty file has rows %v", got)
	}
	if _, err := w.Close(); err == nil {
		t.Error("closed twice")
	}
	if err := w.Write(shred(every(), nil)); err == nil {
		t.Error("written after close")
	}
}

// failing is a writer that takes a number of bytes and then fails.
type failing struct{ left int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if len(p) > f.left {
		n := f.left
		f.left = 0
		return n, errFull
	}
	f.left -= len(p)
	return len(p), nil
}

func TestWriterReportsItsOutputsError(t *testing.T) {
	b := shred(every(), everyRow())
	opts := datafile.Options{RowGroupRows: 2, Compression: datafile.Snappy}
	file, _ := write(t, opts, b)
	for n := 0; n < len(file); n += 7 {
		w := datafile.NewWriter(&failing{n}, opts)
		err := w.Write(b)
		if err == nil {
			_, err = w.Close()
		}
		if !errors.Is(err, errFull) {
			t.Fatalf("after %d of %d bytes: %v", n, len(file), err)
		}
	}
}

// TestDictionariesOfShortValuesAreBounded writes columns whose dictionaries hold
// little text, yet take more memory together than they may: what finds a value
// counts.
func TestDictionariesOfShortValuesAreBounded(t *testing.T) {
	const columns, values, rounds = 200, 500, 4
	s := &schema.Schema{LastID: schema.LastReserved}
	b := &column.Block{Schema: s, Rows: values}
	for i := range columns {
		s.LastID++
		s.Fields = append(s.Fields, schema.Field{ID: s.LastID, Name: fmt.Sprintf("c%d", i), Key: "k", Type: schema.Type{Kind: schema.String}})
		s.Fields[i].Key = s.Fields[i].Name
		v := &column.Vector{Kind: schema.String, MaxDef: 1, Def: bytes.Repeat([]byte{1}, values), Values: values}
		for n := range values {
			text := strconv.Itoa(n)
			v.Plain = append(binary.LittleEndian.AppendUint32(v.Plain, uint32(len(text))), text...)
		}
		b.Columns = append(b.Columns, v)
	}
	for open, want := range map[int]bool{8 << 20: true, 512 << 10: false} { // 0.7 MB of text, 2.8 MB in all
		var out bytes.Buffer
		w := datafile.NewWriter(&out, datafile.Options{OpenBytes: open})
		for range rounds {
			if err := w.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatal(err)
		}
		plain := 0
		for _, c := range f.Metadata().RowGroups[0].Columns {
			if c.MetaData.TotalUncompressedSize > 8<<10 { // 6 KiB with one
				plain++
			}
		}
		if all := plain == 0; all != want {
			t.Errorf("%d bytes open: %d of %d columns without a dictionary", open, plain, columns)
		}
	}
}

func TestSizeGrowsWithWhatIsWritten(t *testing.T) {
	var out bytes.Buffer
	w := datafile.NewWriter(&out, datafile.Options{RowGroupRows: 20_000})
	last := w.Size()
	for i, b := range eventRows(100_000, 2_500) {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if w.Size() < last || w.Size() < int64(out.Len()) {
			t.Fatalf("block %d: size %d after %d, %d written", i, w.Size(), last, out.Len())
		}
		last = w.Size()
	}
	f, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if last < f.Size*9/10 || last > f.Size || w.Size() != f.Size {
		t.Errorf("size before close %d, after %d, file %d", last, w.Size(), f.Size)
	}
}

func TestSchemaFromFooter(t *testing.T) {
	file, _ := write(t, datafile.Options{}, shred(every(), everyRow()))
	r, err := datafile.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	want := every()
	want.LastID = 47
	want.Fields[10].Type.Kind = schema.String // JSON
	if got := r.Schema(); !got.Equal(want) {
		t.Errorf("schema is\n%v\nwant\n%v", got, want)
	}
	if r.Rows() != int64(len(everyRow())) {
		t.Errorf("%d rows", r.Rows())
	}
}
