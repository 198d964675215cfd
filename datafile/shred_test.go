package datafile_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"batcher/column"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/schema"
)

// A row is a map from column name to value: nil, bool, int32 (Int32 and Date),
// int64 (Int64 and Timestamp), float64, [16]byte (Decimal), string (String and
// JSON), []byte, map[string]any (Struct), []any (List), []pair (Map).
type row = map[string]any

type pair struct {
	key   string
	value any
}

// field makes a field; its parts come behind.
func field(id int32, name string, kind schema.Kind, parts ...schema.Field) schema.Field {
	return schema.Field{ID: id, Name: name, Type: schema.Type{Kind: kind, Fields: parts}}
}

// table makes a schema.
func table(fields ...schema.Field) *schema.Schema {
	return &schema.Schema{Fields: fields, LastID: 1000}
}

// shred makes a block of rows: the plain and slow way, from the definition of
// the levels.
func shred(s *schema.Schema, rows []row) *column.Block {
	sh := shredder{block: &column.Block{Schema: s, Rows: len(rows)}}
	for i := range s.Fields {
		sh.leaves(&s.Fields[i], 1, 0)
	}
	for _, r := range rows {
		leaf := 0
		for i := range s.Fields {
			leaf = sh.put(&s.Fields[i], r[s.Fields[i].Name], leaf, 0, 1, 0)
		}
	}
	return sh.block
}

type shredder struct{ block *column.Block }

func (s *shredder) leaves(f *schema.Field, def, rep uint8) {
	switch f.Type.Kind {
	case schema.Struct:
		for i := range f.Type.Fields {
			s.leaves(&f.Type.Fields[i], def+1, rep)
		}
	case schema.List:
		s.leaves(&f.Type.Fields[0], def+2, rep+1)
	case schema.Map:
		s.leaves(&f.Type.Fields[0], def+1, rep+1)
		s.leaves(&f.Type.Fields[1], def+2, rep+1)
	default:
		s.block.Columns = append(s.block.Columns, &column.Vector{Kind: f.Type.Kind, MaxDef: def, MaxRep: rep})
	}
}

// put appends value v of f at repetition level r; f is present at level def and
// its next list has level rep+1. It returns the leaf behind f.
func (s *shredder) put(f *schema.Field, v any, leaf int, r, def, rep uint8) int {
	parts := f.Type.Fields
	switch x := v.(type) {
	case nil:
		return s.nulls(f, leaf, r, def-1)
	case map[string]any:
		for i := range parts {
			leaf = s.put(&parts[i], x[parts[i].Name], leaf, r, def+1, rep)
		}
		return leaf
	case []any:
		if len(x) == 0 {
			return s.nulls(f, leaf, r, def)
		}
		end := leaf
		for i, e := range x {
			if i > 0 {
				r = rep + 1
			}
			end = s.put(&parts[0], e, leaf, r, def+2, rep+1)
		}
		return end
	case []pair:
		if len(x) == 0 {
			return s.nulls(f, leaf, r, def)
		}
		end := leaf
		for i, e := range x {
			if i > 0 {
				r = rep + 1
			}
			end = s.put(&parts[0], e.key, leaf, r, def+1, rep+1)
			end = s.put(&parts[1], e.value, end, r, def+2, rep+1)
		}
		return end
	}
	c := s.level(leaf, r, def)
	c.Values++
	c.Plain = appendPlain(c.Plain, v)
	return leaf + 1
}

func (s *shredder) level(leaf int, r, d uint8) *column.Vector {
	c := s.block.Columns[leaf]
	c.Def = append(c.Def, d)
	if c.MaxRep > 0 {
		c.Rep = append(c.Rep, r)
	}
	return c
}

func (s *shredder) nulls(f *schema.Field, leaf int, r, d uint8) int {
	if len(f.Type.Fields) == 0 {
		s.level(leaf, r, d)
		return leaf + 1
	}
	for i := range f.Type.Fields {
		leaf = s.nulls(&f.Type.Fields[i], leaf, r, d)
	}
	return leaf
}

func appendPlain(dst []byte, v any) []byte {
	switch x := v.(type) {
	case bool:
		if x {
			return append(dst, 1)
		}
		return append(dst, 0)
	case int32:
		return binary.LittleEndian.AppendUint32(dst, uint32(x))
	case int64:
		return binary.LittleEndian.AppendUint64(dst, uint64(x))
	case float64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	case [16]byte:
		return append(dst, x[:]...)
	case string:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(x)))
		return append(dst, x...)
	case []byte:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(x)))
		return append(dst, x...)
	}
	panic("no such value")
}

// money makes a field of a decimal.
func money(id int32, name string, precision, scale int8) schema.Field {
	f := field(id, name, schema.Decimal)
	f.Type.Precision, f.Type.Scale = precision, scale
	return f
}

// decimal is a Decimal value.
func decimal(v int64) (d [16]byte) {
	if v < 0 {
		binary.BigEndian.PutUint64(d[:8], math.MaxUint64)
	}
	binary.BigEndian.PutUint64(d[8:], uint64(v))
	return d
}

// write makes a file of blocks.
func write(t testing.TB, opts datafile.Options, blocks ...*column.Block) ([]byte, manifest.File) {
	t.Helper()
	var b bytes.Buffer
	w := datafile.NewWriter(&b, opts)
	for _, block := range blocks {
		if err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	f, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), f
}

// texts are the rows of blocks as JSON.
func texts(blocks ...*column.Block) []string {
	var out []string
	for _, b := range blocks {
		for c := column.NewCursor(b); c.Next(); {
			out = append(out, string(c.AppendJSON(nil)))
		}
	}
	return out
}

// read returns the rows of a file under a schema as JSON.
func read(t testing.TB, file []byte, want *schema.Schema) []string {
	t.Helper()
	r, err := datafile.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for b, err := range r.Blocks(want) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, texts(b)...)
	}
	return out
}
