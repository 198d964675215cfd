package retype

import (
	"encoding/binary"
	"strconv"

	"batcher/column"
	"batcher/record"
	"batcher/schema"
)

func appendQuoted(dst, s []byte) []byte { return record.AppendQuoted(dst, s) }

// unknown appends what was rescued from a struct under keys that are no fields. The
// object begins at from.
func (w *writer) unknown(dst []byte, from int, path string) []byte {
	if w.rescued == nil {
		return dst
	}
	for _, m := range w.rescued.members {
		key, ok := keyStep(m.path, path)
		if m.taken || !ok {
			continue
		}
		w.rescued.take(m)
		w.inner++
		if len(dst) > from+1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, key...), ':'), m.raw...)
	}
	return dst
}

// keyStep returns the quoted key by which a path goes on from another, if that is
// all by which it does.
func keyStep(path, from string) (string, bool) {
	if !isInside(path, from) || len(path) < len(from)+4 || path[len(from):len(from)+2] != `["` || path[len(path)-2:] != `"]` {
		return "", false
	}
	key := path[len(from)+1 : len(path)-1]
	return key, jsonString(key)
}

// jsonString says whether text is one JSON string from end to end.
func jsonString(text string) bool {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i == len(text)-1
		}
	}
	return false
}

// elements appends a list or a map.
func (w *writer) elements(dst []byte, s *shape, path string) ([]byte, error) {
	open, end := byte('['), byte(']')
	if s.field.Type.Kind == schema.Map {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	lead := w.leaf(s.first)
	if lead.Def[w.at[s.first].entry] == s.def {
		w.skipNode(s)
		return append(dst, end), nil
	}
	for i := 0; i == 0 || w.at[s.first].entry < len(lead.Rep) && lead.Rep[w.at[s.first].entry] == s.rep; i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		below := path + "[" + strconv.Itoa(i) + "]"
		if open == '{' {
			key := w.pass(s.first)
			dst = append(appendQuoted(dst, key), ':')
			below = string(record.AppendKey([]byte(path), key))
		}
		var err error
		if dst, err = w.node(dst, &s.parts[len(s.parts)-1], below); err != nil {
			return dst, err
		}
	}
	return append(dst, end), nil
}

// graft makes the vectors of the place under the new type: the decoded values, each
// where it was, and nulls where there was none.
func (v *values) graft() ([]*column.Vector, error) {
	p, rows := &v.change.old, &rowReader{blocks: v.decoded}
	out := make([]*column.Vector, 0, v.change.fresh)
	for _, l := range v.change.mini.Leaves()[reservedLeaves:] {
		out = append(out, &column.Vector{Kind: l.Field.Type.Kind, MaxDef: l.MaxDef + p.def - 1, MaxRep: l.MaxRep + p.rep})
	}
	for i := range v.instances {
		in := &v.instances[i]
		if in.line < 0 || v.bad[int64(in.line)] {
			if in.line >= 0 {
				if err := v.misfit(in); err != nil {
					return nil, err
				}
			}
			null(out, in.rep, min(in.def, p.def-1))
			continue
		}
		parts, rest := rows.next()
		for k, part := range parts {
			appendEntries(out[k], part, in.rep, p)
		}
		if err := v.settle(in, rest); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// reservedLeaves are those of the miniature before its column.
const reservedLeaves = 3

func null(out []*column.Vector, rep, def uint8) {
	for _, v := range out {
		v.Def = append(v.Def, def)
		if v.MaxRep > 0 {
			v.Rep = append(v.Rep, rep)
		}
	}
}

// appendEntries appends one decoded value: levels go down by those above the place.
func appendEntries(out *column.Vector, part column.Vector, rep uint8, p *place) {
	for i, d := range part.Def {
		out.Def = append(out.Def, d+p.def-1)
		if out.MaxRep == 0 {
			continue
		}
		r := rep
		if i > 0 {
			r = part.Rep[i] + p.rep
		}
		out.Rep = append(out.Rep, r)
	}
	out.Values += part.Values
	out.Plain = append(out.Plain, part.Plain...)
}

// settle books an instance that was decoded: rest is what did not fit.
func (v *values) settle(in *instance, rest []byte) error {
	if rest == nil {
		v.returned(in)
		return nil
	}
	left, err := parseRescued(0, rest)
	if err != nil {
		return err
	}
	if left.at(miniName) != nil {
		return v.misfit(in)
	}
	row := v.rescued[in.row]
	if row == nil {
		row = &rescuedRow{row: in.row}
		v.rescued[in.row] = row
	}
	if in.path == "" {
		in.path = v.pathOf(in)
	}
	for _, m := range left.members { // from inside of the value
		row.giveBack(in.path+m.path[len(miniName):], m.raw)
	}
	v.returned(in)
	return nil
}

func (v *values) returned(in *instance) {
	v.change.counts.Returned += int64(in.inner)
	if in.rescued != nil {
		v.rescued[in.row].take(in.rescued)
		v.change.counts.Returned++
	}
}

// misfit is a value that the new type does not take. One that was rescued stays so;
// one that stood in the column would leave it, and that is refused.
func (v *values) misfit(in *instance) error {
	if in.rescued != nil && in.def < v.change.old.def {
		v.change.counts.Left++
		return nil
	}
	f, err := v.change.to.At(v.change.column)
	if err != nil {
		return err
	}
	e := &RefusedError{Column: v.change.column, Type: f.Type}
	text := v.lines[in.line+len(`{"`+miniName+`":`) : in.end]
	e.Value = string(text[:min(len(text), 200)])
	e.Source, e.Offset = idOf(v.block, in.row)
	return e
}

// idOf is the record id of a row.
func idOf(b *column.Block, row int) (string, int64) {
	sources := b.Columns[0].Plain
	for range row {
		sources = sources[4+binary.LittleEndian.Uint32(sources):]
	}
	n := binary.LittleEndian.Uint32(sources)
	return string(sources[4 : 4+n]), int64(binary.LittleEndian.Uint64(b.Columns[1].Plain[8*row:]))
}

// pathOf finds the path of an instance whose row had nothing rescued.
func (v *values) pathOf(in *instance) string {
	t := newTrail(&v.change.old, v.block)
	for i := range v.instances {
		t.next(v.instances[i].rep)
		if &v.instances[i] == in {
			break
		}
	}
	return t.path()
}

// rowReader gives the rows of blocks, one after another.
type rowReader struct {
	blocks  []*column.Block
	readers []*column.Reader
	off     int // in _rescued
	row     int
	parts   []column.Vector
}

// next returns the leaves of the miniature's column in the next row, and what of it
// was rescued.
func (r *rowReader) next() ([]column.Vector, []byte) {
	for r.readers == nil || r.row == r.blocks[0].Rows {
		if r.readers != nil {
			r.blocks = r.blocks[1:]
		}
		r.readers, r.row, r.off = r.readers[:0], 0, 0
		for _, v := range r.blocks[0].Columns[reservedLeaves:] {
			r.readers = append(r.readers, column.NewReader(v, r.blocks[0].Rows))
		}
	}
	r.parts = r.parts[:0]
	for _, reader := range r.readers {
		r.parts = append(r.parts, reader.Take(1))
	}
	text := r.blocks[0].Columns[reservedLeaves-1]
	r.row++
	if text.Def[r.row-1] < text.MaxDef {
		return r.parts, nil
	}
	n := int(binary.LittleEndian.Uint32(text.Plain[r.off:]))
	rest := text.Plain[r.off+4 : r.off+4+n]
	r.off += 4 + n
	return r.parts, rest
}
