package record

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"batcher/column"
	"batcher/schema"
)

// maxKeys bounds the keys that are told apart in one nested object.
const maxKeys = 4096

// node is a place of the records as the scanner sees it: a column, a part of
// one, or a key under which nothing but null was seen (kind None).
type node struct {
	kind             schema.Kind
	precision, scale int
	name             string
	column           string // names from the table down, "[]" after lists
	parent           *node
	shape            *schema.Shape  // nil where nothing is to be learned
	fixed            bool           // published or pinned: the type never changes
	pinned           bool           // the type was declared: text of a container is read as it says
	sealed           bool           // it lies in a map, whose type never grows
	listed           bool           // Struct: keys without a column are asked for, though they may have none
	unit             schema.Unit    // Timestamp: what a number means
	reads            writing        // Timestamp, Date, Bool: how its texts are written
	offset           *column.Filler // Timestamp: of the column that keeps the UTC offsets of its texts; nil: none does
	missing          []byte         // JSON text in place of a missing key; nil: null
	depth            int            // objects and lists around a value
	width            int            // leaves of the column the node belongs to
	def              uint8          // level at which the place is present
	rep              uint8          // list, map: level of the elements after the first
	leaf             *column.Filler
	leaves           []*column.Filler

	// Struct. next[i] is the field that followed field i last time, next[len]
	// the first one; keys holds `"key":` for a look ahead.
	fields []*node
	keys   []expected
	byKey  map[string]int32
	next   []int32
	seen   []uint64 // epoch in which the field was seen
	epoch  uint64
	closed bool // no field may be added
	filled bool // some field has a value where its key is missing

	wide     bool // Int64: shape knows of values that are not exact in a double
	blank    bool // None: a column of text, as long as nothing but blank cells comes
	unlisted bool // its values are in a column elsewhere, see places.go
	written  bool // Decimal: of fractions that were written as text

	elem    *node // List, Map: the element or value
	index   int   // List: the element at hand
	key     string
	mapKeys keySet

	folds folding
	met   bool // some header has it; of objects the struct around it knows
}

// hasColumn says whether more than null was seen at the place.
func (n *node) hasColumn() bool { return n.kind != schema.None || n.blank }

// builder makes the tree for one schema. Fillers are kept from tree to tree by
// field id.
type builder struct {
	table   *schema.Schema // published
	rules   schema.Rules
	fillers map[int32]*column.Filler
	leaves  []schema.Leaf
	columns []*column.Filler
	full    bool
	pins    []pinnedNode                // of the tree
	homes   map[*schema.Pin]schema.Type // of columns that several places feed
	fed     map[string]*column.Filler   // by place: of places that feed columns elsewhere
	met     map[string]bool             // places of pins of which some record had the key
}

// pinnedNode is the node of a place that a pin declares.
type pinnedNode struct {
	*node
	pin   *schema.Pin
	place string // of its places the one where the node is
}

// build returns the root for a schema and what was seen so far, and the columns
// in block order.
func (b *builder) build(s *schema.Schema, seen *schema.Shape) (*node, []*column.Filler) {
	b.leaves, b.columns, b.pins = s.Leaves(), nil, nil
	b.full = b.rules.MaxColumns > 0 && len(b.leaves) >= b.rules.MaxColumns
	root := &node{kind: schema.Struct, shape: seen}
	pins := b.rules.Pinned()
	b.homes = homesOf(s, pins)
	b.fields(root, s.Fields, 0, pins)
	root.closed = !b.room(root, pins) || len(root.fields) >= rootKeys(b.rules)
	b.offsets(s)
	root.leaves = slices.AppendSeq(slices.Clip(b.columns), maps.Values(b.fed))
	return root, b.columns
}

// offsets gives the declared places the columns that keep their UTC offsets.
func (b *builder) offsets(s *schema.Schema) {
	for _, p := range b.pins {
		for _, f := range s.Fields {
			if f.Name == p.pin.Offset && f.Key == "" && f.Type.Kind == schema.Int32 && p.kind == schema.Timestamp {
				p.offset = b.fillers[f.ID]
			}
		}
	}
}

// rootKeys bounds the keys of a record that are told apart.
func rootKeys(r schema.Rules) int { return 2*r.MaxColumns + maxKeys }

// fields makes the children of a struct and one None node for each key under
// which only null was seen.
func (b *builder) fields(n *node, fields []schema.Field, rep uint8, pins *schema.Pinned) {
	n.byKey = make(map[string]int32, len(fields))
	n.listed = pins.Listed()
	bound := pins.Bind(fields)
	for _, f := range fields {
		c := b.node(n, f, n.shape.Field(f.Key), rep, bound.Of(f.Key))
		if f.Key != "" {
			n.append(c, f.Key)
			n.filled = n.filled || c.missing != nil
		}
	}
	b.others(n, rep, pins)
	for _, key := range n.shape.Keys() {
		seen := n.shape.Field(key)
		if _, known := n.byKey[key]; known || key == "" || seen.Saw() != 0 {
			continue
		}
		if seen.Apart() && b.room(n, pins) || n.fold(key) == unfolded {
			n.append(&node{name: key, parent: n, shape: seen, depth: n.depth + 1}, key)
		}
	}
	n.folds = folding{}
	n.next = make([]int32, len(n.fields)+1)
	n.seen = make([]uint64, len(n.fields))
	for i := range n.fields {
		n.next[i] = int32(i) + 1
	}
	n.next[len(n.fields)] = 0
}

// room says whether a struct may get another field.
func (b *builder) room(n *node, pins *schema.Pinned) bool {
	return !b.full && pins.Open() && !n.sealed && (n.parent == nil || n.width < b.rules.MaxLeaves)
}

func (n *node) append(c *node, key string) {
	n.byKey[key] = int32(len(n.fields))
	n.fields = append(n.fields, c)
	n.keys = append(n.keys, expect(key))
}

// expected is a key, in quotes and with its colon, by which a field is known at
// once. Keys that have to be escaped are looked up instead.
type expected struct {
	text       []byte
	head, mask uint64 // the first 8 bytes of text, and which there are
	tail       uint64 // the last 8 bytes of text, if there are as many
}

func expect(key string) expected {
	for i := 0; i < len(key); i++ {
		if key[i] < 0x20 || key[i] == '"' || key[i] == '\\' {
			return expected{text: []byte{0}, head: 1} // no JSON begins so
		}
	}
	e := expected{text: []byte(`"` + key + `":`), mask: math.MaxUint64}
	var head [8]byte
	if n := copy(head[:], e.text); n < 8 {
		e.mask = 1<<(8*n) - 1
	} else {
		e.tail = binary.LittleEndian.Uint64(e.text[len(e.text)-8:])
	}
	e.head = binary.LittleEndian.Uint64(head[:])
	return e
}

// stands says whether the key stands at d[i:].
func (e *expected) stands(d []byte, i int) bool {
	if i+8 > len(d) {
		return bytes.HasPrefix(d[i:], e.text)
	}
	if binary.LittleEndian.Uint64(d[i:])&e.mask != e.head {
		return false
	}
	end := i + len(e.text)
	if end <= i+8 {
		return true
	}
	return end <= len(d) && binary.LittleEndian.Uint64(d[end-8:]) == e.tail && (end <= i+16 || bytes.Equal(d[i:end], e.text))
}

func (b *builder) node(parent *node, f schema.Field, seen *schema.Shape, rep uint8, pins *schema.Pinned) *node {
	t := f.Type
	n := &node{
		kind: t.Kind, precision: int(t.Precision), scale: int(t.Scale), name: f.Name, parent: parent, shape: seen,
		fixed: f.ID <= b.table.LastID || pins.Fixed(), depth: parent.depth + 1, def: parent.def + 1, unit: pins.Unit(),
		reads: writtenOf(pins.Pin(), b.rules.Zone),
	}
	n.pinned = pins.Fixed()
	if pin := pins.Declares(); pin != nil && !pin.Place[len(pin.Place)-1].Element {
		b.pins = append(b.pins, pinnedNode{n, pin, pin.Place.String()})
	}
	n.sealed = parent.sealed || parent.kind == schema.Map
	if text := pins.Default(); text != "" {
		n.missing = []byte(text)
	}
	n.wide = n.fixed || seen == nil
	n.column = join(parent, f.Name)
	if parent.kind == schema.List || parent.kind == schema.Map {
		n.def++
	}
	if n.width = parent.width; parent.parent == nil {
		n.width = t.Width()
	}
	first := len(b.columns)
	switch t.Kind {
	case schema.Struct:
		b.fields(n, t.Fields, rep, pins)
		n.closed = !b.room(n, pins) || len(n.fields) >= maxKeys
	case schema.List:
		n.rep = rep + 1
		n.elem = b.node(n, t.Fields[0], elementOf(seen), rep+1, pins.Element())
	case schema.Map:
		n.rep = rep + 1
		n.mapKeys = keySet{}
		n.leaf = b.filler()
		n.elem = b.node(n, t.Fields[1], elementOf(seen), rep+1, pins.Element())
	default:
		if n.leaf = b.filler(); f.Undecided() && !n.fixed {
			n.kind, n.blank = schema.None, true
		}
		n.written = f.Written()
	}
	n.leaves = b.columns[first:len(b.columns):len(b.columns)]
	return n
}

// meet notes of which pins the tree met a key.
func (b *builder) meet() {
	for _, p := range b.pins {
		i := slices.Index(p.parent.fields, p.node)
		if p.met || i >= 0 && p.parent.seen[i] > 0 {
			if b.met == nil {
				b.met = map[string]bool{}
			}
			b.met[p.pin.Place.String()] = true
		}
	}
}

// unmet are the places of pins of which no record had the key.
func (b *builder) unmet() []string {
	b.meet()
	var out []string
	for _, p := range b.pins {
		if place := p.pin.Place.String(); !b.met[place] && !slices.Contains(out, place) {
			out = append(out, place)
		}
	}
	return out
}

// elementOf returns the shape of elements, if there is something to learn.
func elementOf(seen *schema.Shape) *schema.Shape {
	if seen == nil {
		return nil
	}
	return seen.Element()
}

// filler returns the filler of the next leaf.
func (b *builder) filler() *column.Filler {
	l := b.leaves[len(b.columns)]
	f := b.fillers[l.Field.ID]
	if f == nil {
		f = column.NewFiller(l)
		b.fillers[l.Field.ID] = f
	}
	b.columns = append(b.columns, f)
	return f
}

func join(parent *node, name string) string {
	switch {
	case parent.kind == schema.List || parent.kind == schema.Map:
		return parent.column + "[]"
	case parent.column == "":
		return name
	}
	return parent.column + "." + name
}
