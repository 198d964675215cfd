package retype

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"batcher/column"
	"batcher/schema"
)

// instance is one value of the place, or the lack of one.
type instance struct {
	rep, def uint8 // of its first entry
	line     int   // where its line begins; -1: there is no value
	end      int
	row      int
	rescued  *member // the value is this one
	path     string  // where row has something rescued
	inner    int     // values from inside of it that were put into its line
}

// values are those of one block.
type values struct {
	change    *Change
	block     *column.Block
	rescued   map[int]*rescuedRow
	instances []instance
	lines     []byte
	decoded   []*column.Block
	bad       map[int64]bool
}

// collect walks over the place and writes a line for each value.
func (v *values) collect() error {
	p := &v.change.old
	if err := v.parse(v.block.Columns[v.change.rescued]); err != nil {
		return err
	}
	lead := v.block.Columns[p.first]
	trail := newTrail(p, v.block)
	out := newRenderer(p, v.block)
	row := -1
	for e := 0; e < len(lead.Def); {
		rep := uint8(0)
		if lead.MaxRep > 0 {
			rep = lead.Rep[e]
		}
		if rep == 0 {
			row++
		}
		trail.next(rep)
		in := instance{rep: rep, def: lead.Def[e], line: -1, row: row}
		rescued := v.rescued[row]
		if rescued != nil {
			in.path = trail.path()
			in.rescued = rescued.at(in.path)
		}
		if err := v.write(&in, out, rescued); err != nil {
			return err
		}
		v.instances = append(v.instances, in)
		for e++; e < len(lead.Def) && lead.MaxRep > p.rep && lead.Rep[e] > p.rep; e++ {
		}
	}
	return nil
}

// parse reads _rescued of the rows that have any.
func (v *values) parse(text *column.Vector) error {
	v.rescued = map[int]*rescuedRow{}
	off := 0
	for row, def := range text.Def {
		if def < text.MaxDef {
			continue
		}
		n := int(binary.LittleEndian.Uint32(text.Plain[off:]))
		r, err := parseRescued(row, text.Plain[off+4:off+4+n])
		if err != nil {
			return err
		}
		v.rescued[row] = r
		off += 4 + n
	}
	return nil
}

// write appends the line of an instance, if it has a value.
func (v *values) write(in *instance, out *renderer, rescued *rescuedRow) error {
	present := in.def >= out.place.def
	if !present && in.rescued == nil && (in.def+1 != out.place.def || !rescued.inside(in.path)) {
		out.skip()
		return nil
	}
	in.line = len(v.lines)
	v.lines = append(v.lines, `{"`+miniName+`":`...)
	at := len(v.lines)
	if in.rescued != nil {
		out.skip()
		v.lines = append(v.lines, in.rescued.raw...)
	} else {
		var err error
		if v.lines, in.inner, err = out.value(v.lines, in.path, rescued); err != nil {
			return err
		}
	}
	for i := at; i < len(v.lines); i++ {
		if v.lines[i] == '\n' {
			v.lines[i] = ' ' // between tokens: strings have none
		}
	}
	in.end = len(v.lines)
	v.lines = append(v.lines, '}', '\n')
	return nil
}

// decode reads all lines under the new type.
func (v *values) decode() (err error) {
	if len(v.lines) == 0 {
		return nil
	}
	v.decoded, v.bad, err = v.change.read(v.lines)
	return err
}

// renderer writes the values of the place as JSON, one instance after another.
type renderer struct {
	place *place
	block *column.Block
	root  shape
	at    []cursor // by leaf of the place
}

type cursor struct{ entry, off int }

// shape is a field below the place.
type shape struct {
	field    *schema.Field
	def, rep uint8
	first    int // leaf of the place
	leaves   int
	parts    []shape
}

func newRenderer(p *place, b *column.Block) *renderer {
	r := &renderer{place: p, block: b, at: make([]cursor, p.leaves)}
	r.root = shapeOf(p.field, p.def, p.rep, 0)
	return r
}

func shapeOf(f *schema.Field, def, rep uint8, first int) shape {
	s := shape{field: f, def: def, rep: rep, first: first, leaves: f.Type.Width()}
	if f.Type.Kind == schema.List || f.Type.Kind == schema.Map {
		s.rep, def = rep+1, def+1
	}
	for i := range f.Type.Fields {
		below := def + 1
		if f.Type.Kind == schema.Map && i == 0 {
			below = def
		}
		part := shapeOf(&f.Type.Fields[i], below, s.rep, first)
		first += part.leaves
		s.parts = append(s.parts, part)
	}
	return s
}

func (r *renderer) leaf(i int) *column.Vector { return r.block.Columns[r.place.first+i] }

// skip passes one instance of the place.
func (r *renderer) skip() {
	for i := range r.at {
		v := r.leaf(i)
		for first := true; r.at[i].entry < len(v.Def) && (first || v.MaxRep > r.place.rep && v.Rep[r.at[i].entry] > r.place.rep); first = false {
			r.pass(i)
		}
	}
}

// pass passes one entry of a leaf and returns its value, if it has one.
func (r *renderer) pass(i int) []byte {
	v, at := r.leaf(i), &r.at[i]
	at.entry++
	if v.Def[at.entry-1] < v.MaxDef {
		return nil
	}
	head, size := 0, column.Width(v.Kind)
	if size == 0 {
		head, size = 4, 4+int(binary.LittleEndian.Uint32(v.Plain[at.off:]))
	}
	value := v.Plain[at.off+head : at.off+size]
	at.off += size
	return value
}

// value appends the next instance with what was rescued from inside of it, and
// says how many values that were.
func (r *renderer) value(dst []byte, path string, rescued *rescuedRow) ([]byte, int, error) {
	w := writer{renderer: r, rescued: rescued}
	dst, err := w.node(dst, &r.root, path)
	return dst, w.inner, err
}

// writer writes one instance.
type writer struct {
	*renderer
	rescued *rescuedRow
	inner   int
}

// node appends the next value of a field. What is rescued at exactly its path goes
// before what stands in its column.
func (w *writer) node(dst []byte, s *shape, path string) ([]byte, error) {
	from := len(dst)
	present := w.leaf(s.first).Def[w.at[s.first].entry] >= s.def
	var err error
	switch {
	case !present && s.field.Type.Kind == schema.Struct && w.rescued.inside(path):
		w.skipNode(s)
		dst = w.unknown(append(dst, '{'), from, path)
		dst = append(dst, '}')
	case !present:
		w.skipNode(s)
		dst = append(dst, "null"...)
	case s.field.Type.Kind == schema.Struct:
		dst, err = w.members(dst, s, path)
	case s.field.Type.Kind.IsNested():
		dst, err = w.elements(dst, s, path)
	default:
		dst = w.scalar(dst, s)
	}
	if m := w.rescued.at(path); m != nil && s != &w.root {
		w.rescued.take(m)
		w.inner++
		dst = append(dst[:from], m.raw...)
	}
	return dst, err
}

func (w *writer) skipNode(s *shape) {
	for i := s.first; i < s.first+s.leaves; i++ {
		w.at[i].entry++
	}
}

func (w *writer) scalar(dst []byte, s *shape) []byte {
	v := w.pass(s.first)
	if s.field.Type.Kind == schema.Bytes {
		if !utf8.Valid(v) {
			return append(dst, `["not UTF-8"]`...) // which no type takes that bytes may become
		}
		return appendQuoted(dst, v)
	}
	if s.field.Type.Kind == schema.String {
		return appendQuoted(dst, v)
	}
	return column.AppendValue(dst, &s.field.Type, v)
}

// members appends a struct: its fields under their keys, without null ones, and
// what was rescued under keys that are no fields.
func (w *writer) members(dst []byte, s *shape, path string) ([]byte, error) {
	from := len(dst)
	dst = append(dst, '{')
	for i := range s.parts {
		part := &s.parts[i]
		at := len(dst)
		if at > from+1 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, []byte(part.field.Key)), ':')
		value := len(dst)
		var err error
		if dst, err = w.node(dst, part, path+"."+part.field.Name); err != nil {
			return dst, err
		}
		if bytes.Equal(dst[value:], []byte("null")) {
			dst = dst[:at]
		}
	}
	return append(w.unknown(dst, from, path), '}'), nil
}
