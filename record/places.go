package record

import (
	"bytes"
	"cmp"

	"batcher/column"
	"batcher/schema"
)

// A column that several places feed has a node for each of them. Those elsewhere have
// columns of their own, which no block has: once a row is complete one value is left
// in all of them, and before a block is passed on they are joined.

// choice is a column that several places feed.
type choice struct {
	home  *column.Filler
	typ   schema.Type
	nodes []*node // the one that goes first first; nil where the tree has none
}

// homesOf are the types that columns of pins with several places have in a schema. A
// table that is read again may have been published with another one than the pin's.
func homesOf(s *schema.Schema, pins *schema.Pinned) map[*schema.Pin]schema.Type {
	homes := map[*schema.Pin]schema.Type{}
	bound := pins.Bind(s.Fields)
	for _, f := range s.Fields {
		if pin := bound.Of(f.Key).Declares(); pin != nil && len(pin.Places) > 1 && f.Key != "" && !f.Type.Kind.IsNested() {
			homes[pin] = f.Type
		}
	}
	return homes
}

// others adds to a struct the keys below it that feed columns elsewhere, and the
// structs around such keys that are no columns.
func (b *builder) others(n *node, rep uint8, pins *schema.Pinned) {
	for _, key := range pins.Others() {
		if _, known := n.byKey[key]; known {
			continue
		}
		below := pins.Field(key)
		c := &node{name: key, column: join(n, key), parent: n, shape: n.shape.Field(key), fixed: true, pinned: true, wide: true, depth: n.depth + 1, def: n.def + 1}
		pin, place := below.Feeds()
		if pin != nil {
			if b.homes[pin].Kind == schema.None {
				continue // there is no column to feed
			}
			b.feed(c, pin, place)
		} else {
			c.kind = schema.Struct
			b.fields(c, nil, rep, below)
			c.closed = !b.room(c, below)
		}
		n.append(c, key)
	}
}

// feed makes of a node one that feeds the column of a pin.
func (b *builder) feed(n *node, pin *schema.Pin, at schema.Place) {
	t := b.homes[pin]
	n.kind, n.precision, n.scale = t.Kind, int(t.Precision), int(t.Scale)
	n.unit, n.reads, n.unlisted = pin.Unit, writtenOf(pin, b.rules.Zone), true
	n.column = cmp.Or(pin.Name, b.rules.Names.Plain(pin.Place[0].Key))
	place := at.String()
	if b.fed[place] == nil {
		if b.fed == nil {
			b.fed = map[string]*column.Filler{}
		}
		b.fed[place] = column.NewFiller(schema.Leaf{Field: schema.Field{Type: t}, MaxDef: n.def})
	}
	n.leaf = b.fed[place]
	n.leaves = []*column.Filler{n.leaf}
	b.pins = append(b.pins, pinnedNode{n, pin, place})
}

// choose finds the columns that several places feed.
func (b *builder) choose() []choice {
	var out []choice
	for i := range b.rules.Pins {
		pin := &b.rules.Pins[i]
		if len(pin.Places) < 2 {
			continue
		}
		c := choice{typ: b.homes[pin], nodes: make([]*node, len(pin.Places))}
		for at, place := range pin.Places {
			for _, p := range b.pins {
				if p.pin == pin && p.place == place.String() {
					c.nodes[at] = p.node
				}
			}
			if n := c.nodes[at]; n != nil && !n.unlisted {
				c.home = n.leaf
			}
		}
		if c.home != nil {
			out = append(out, c)
		}
	}
	return out
}

// settle leaves one value of each column in the current row: the one of the place that
// goes first. What other places have besides is rescued, unless it is the same.
func (s *scanner) settle() {
	for i := range s.choices {
		c := &s.choices[i]
		var first *column.Filler
		for _, n := range c.nodes {
			switch {
			case n == nil || !n.leaf.Has(s.row):
				continue
			case first == nil:
				first = n.leaf
				continue
			case !bytes.Equal(n.leaf.Latest(), first.Latest()):
				s.path = n.appendPath(s.path[:0])
				s.rescue(misfit{at: n, reason: secondPlace}, n.leaf.JSON(c.typ))
			}
			n.leaf.Drop(s.row)
		}
	}
}

// joinPlaces moves all values of the current block into the columns that it has.
func (d *Decoder) joinPlaces() {
	for _, c := range d.scanner.choices {
		c.home.Pad(d.rows)
		for _, n := range c.nodes {
			if n != nil && n.leaf != c.home {
				n.leaf.Pad(d.rows)
				c.home.Join(n.leaf)
			}
		}
	}
}
