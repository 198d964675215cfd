package datafile

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"batcher/column"
	"batcher/schema"
)

// Bounds of a block that Blocks yields.
const (
	blockRows   = 16 << 10
	blockLevels = 32 << 20 // rows × columns
)

// feed says where the vector of one wanted leaf comes from.
type feed struct {
	want   leaf
	source int // leaf of the file; -1: the file has nothing there, all is null
	// When the file lacks the leaf but has the struct it belongs to, source is
	// another leaf of that struct, and these are the struct's own levels.
	lacking        bool
	capDef, capRep uint8
}

// Blocks yields the rows of the file in order, as blocks under want, a
// published schema of the table: fields are matched by their ids, fields the
// file lacks are null, fields want lacks are not read. It is an error when a
// field has another type in the file. A block has at most a few MiB; its
// vectors are to be read only. After an error nothing follows.
func (f *Reader) Blocks(want *schema.Schema) iter.Seq2[*column.Block, error] {
	return func(yield func(*column.Block, error) bool) {
		feeds, err := f.plan(want)
		if err != nil {
			yield(nil, err)
			return
		}
		z, err := newDecoder(1)
		if err != nil {
			yield(nil, err)
			return
		}
		defer z.Close()
		for i := range f.meta.RowGroups {
			s := f.newScan(want, feeds, &f.meta.RowGroups[i], z)
			for s.rows > 0 {
				b, err := s.next()
				if err != nil {
					yield(nil, fmt.Errorf("row group %d: %w", i, err))
					return
				}
				if !yield(b, nil) {
					return
				}
			}
		}
	}
}

// plan finds the source of each leaf of want.
func (f *Reader) plan(want *schema.Schema) ([]feed, error) {
	if err := checkSchema(want); err != nil {
		return nil, fmt.Errorf("wanted schema: %w", err)
	}
	p := planner{leaves: leavesOf(want.Fields)}
	if err := p.fields(want.Fields, f.fields, 0, feed{source: -1, lacking: true}); err != nil {
		return nil, err
	}
	return p.feeds, nil
}

// planner walks a wanted schema and a file's side by side.
type planner struct {
	leaves []leaf // of the wanted schema
	feeds  []feed
}

// fields plans the members of a row or struct. first is the file's first leaf
// below it; absent feeds the members that the file lacks.
func (p *planner) fields(want, have []schema.Field, first int, absent feed) error {
	type member struct{ index, leaf int }
	byID := make(map[int32]member, len(have))
	for i := range have {
		byID[have[i].ID] = member{i, first}
		first += have[i].Type.Width()
	}
	for i := range want {
		w := &want[i]
		m, ok := byID[w.ID]
		if !ok {
			for range w.Type.Width() {
				p.add(absent)
			}
			continue
		}
		if err := p.field(w, &have[m.index], m.leaf, absent.capDef+1, absent.capRep); err != nil {
			return fmt.Errorf("column %q: %w", w.Name, err)
		}
	}
	return nil
}

// field plans one field that the file has, present at level def.
func (p *planner) field(want, have *schema.Field, first int, def, rep uint8) error {
	if fileKind(want.Type.Kind) != fileKind(have.Type.Kind) {
		return fmt.Errorf("is %v in the file, not %v", have.Type, want.Type)
	}
	switch want.Type.Kind {
	case schema.Struct:
		return p.fields(want.Type.Fields, have.Type.Fields, first, feed{source: first, lacking: true, capDef: def, capRep: rep})
	case schema.List, schema.Map:
		def, rep = def+1, rep+1
		for i := range want.Type.Fields {
			w, h := &want.Type.Fields[i], &have.Type.Fields[i]
			if w.ID != h.ID {
				return fmt.Errorf("part %q has id %d in the file, not %d", w.Name, h.ID, w.ID)
			}
			below := def + 1
			if isKey(want, i) {
				below = def
			}
			if err := p.field(w, h, first, below, rep); err != nil {
				return err
			}
			first += h.Type.Width()
		}
		return nil
	}
	if want.Type.Precision != have.Type.Precision || want.Type.Scale != have.Type.Scale {
		return fmt.Errorf("is %v in the file, not %v", have.Type, want.Type)
	}
	p.add(feed{source: first})
	return nil
}

// add appends the feed of the next wanted leaf.
func (p *planner) add(f feed) {
	f.want = p.leaves[len(p.feeds)]
	p.feeds = append(p.feeds, f)
}

// scan reads one row group.
type scan struct {
	want    *schema.Schema
	feeds   []feed
	columns []*pageReader // by leaf of the file; nil where it is not needed
	taken   []column.Vector
	rows    int64 // left
	limit   int   // rows of a block
}

// newScan starts a row group.
func (f *Reader) newScan(want *schema.Schema, feeds []feed, g *format.RowGroup, z *zstd.Decoder) *scan {
	s := &scan{
		want: want, feeds: feeds, rows: g.NumRows,
		columns: make([]*pageReader, len(f.leaves)),
		taken:   make([]column.Vector, len(f.leaves)),
		limit:   max(1, min(blockRows, blockLevels/len(feeds))),
	}
	for _, from := range feeds {
		if i := from.source; i >= 0 && s.columns[i] == nil {
			s.columns[i] = newPageReader(f.in, &f.leaves[i], &g.Columns[i].MetaData, g.NumRows, z)
		}
	}
	return s
}

// next assembles the next block. It ends where the first page ends, so that no
// column needs more than one page in memory.
func (s *scan) next() (*column.Block, error) {
	n := int(min(int64(s.limit), s.rows))
	for _, c := range s.columns {
		if c == nil {
			continue
		}
		have, err := c.available()
		if err != nil {
			return nil, err
		}
		n = min(n, have)
	}
	for i, c := range s.columns {
		if c != nil {
			s.taken[i] = c.page.Take(n)
		}
	}
	s.rows -= int64(n)
	b := &column.Block{Schema: s.want, Rows: n}
	for i := range s.feeds {
		b.Columns = append(b.Columns, s.vector(&s.feeds[i], n))
	}
	if err := column.Check(b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return b, nil
}

// vector makes the vector of one wanted leaf for n rows.
func (s *scan) vector(f *feed, n int) *column.Vector {
	v := &column.Vector{Kind: f.want.Field.Type.Kind, MaxDef: f.want.MaxDef, MaxRep: f.want.MaxRep}
	switch {
	case f.source < 0:
		v.Def = make([]byte, n)
		if v.MaxRep > 0 {
			v.Rep = make([]byte, n)
		}
		return v
	case !f.lacking:
		t := &s.taken[f.source]
		v.Def, v.Rep, v.Values, v.Plain = t.Def, t.Rep, t.Values, t.Plain
		return v
	}
	return lackingVector(v, f, &s.taken[f.source])
}

// lackingVector fills v with nulls of a leaf whose struct the file knows only
// by another leaf: t's entries down to the struct.
func lackingVector(v *column.Vector, f *feed, t *column.Vector) *column.Vector {
	v.Def = make([]byte, 0, len(t.Def))
	for i, d := range t.Def {
		if t.MaxRep > 0 && t.Rep[i] > f.capRep {
			continue
		}
		v.Def = append(v.Def, min(d, f.capDef))
		if v.MaxRep > 0 {
			r := uint8(0)
			if t.MaxRep > 0 {
				r = t.Rep[i]
			}
			v.Rep = append(v.Rep, r)
		}
	}
	v.Values = bytes.Count(v.Def, []byte{v.MaxDef})
	return v
}
