package column

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"batcher/schema"
)

// Cursor assembles the rows of a Block, one after another. It serves where
// people look at rows or where rows are compared, not the hot path.
type Cursor struct {
	block *Block
	top   []node
	row   int // index of the current row; -1 before the first
	start []place
	at    []place // per leaf, while a row is walked
	buf   []byte
}

// place is where a leaf's next entry stands.
type place struct{ entry, off int }

// node is a field with what the walk must know: the level at which it is
// present, its leaves, and for a list or map its repetition level.
type node struct {
	field    *schema.Field
	def, rep uint8
	first    int // its first leaf
	leaves   int
	children []node
}

// NewCursor starts before the first row. The block must have passed Check and
// must not change while the cursor is in use.
func NewCursor(b *Block) *Cursor {
	c := &Cursor{
		block: b, row: -1,
		start: make([]place, len(b.Columns)), at: make([]place, len(b.Columns)),
	}
	leaf := 0
	for i := range b.Schema.Fields {
		n := newNode(&b.Schema.Fields[i], 1, 0, leaf)
		leaf += n.leaves
		c.top = append(c.top, n)
	}
	return c
}

// newNode builds the node of a field that is present at level def and whose
// first leaf has the index first.
func newNode(f *schema.Field, def, rep uint8, first int) node {
	n := node{field: f, def: def, rep: rep, first: first, leaves: 1}
	below := def
	switch f.Type.Kind {
	case schema.Struct:
	case schema.List, schema.Map:
		n.rep, below = rep+1, def+1
	default:
		return n
	}
	n.leaves = 0
	for i := range f.Type.Fields {
		d := below + 1
		if f.Type.Kind == schema.Map && i == 0 {
			d = below // the key is required
		}
		child := newNode(&f.Type.Fields[i], d, n.rep, first+n.leaves)
		n.leaves += child.leaves
		n.children = append(n.children, child)
	}
	return n
}

// Next moves to the next row and says whether there is one.
func (c *Cursor) Next() bool {
	if c.row+1 >= c.block.Rows {
		return false
	}
	if c.row >= 0 {
		for i := range c.start {
			c.skipRow(i)
		}
	}
	c.row++
	return true
}

// skipRow moves the start of a leaf over the current row.
func (c *Cursor) skipRow(leaf int) {
	v, p := c.block.Columns[leaf], &c.start[leaf]
	for first := true; p.entry < len(v.Def) && (first || v.MaxRep > 0 && v.Rep[p.entry] > 0); first = false {
		if v.Def[p.entry] == v.MaxDef {
			p.off += valueSize(v, p.off)
		}
		p.entry++
	}
}

// valueSize is the number of bytes of the value at off in Plain.
func valueSize(v *Vector, off int) int {
	if w := Width(v.Kind); w > 0 {
		return w
	}
	return 4 + int(binary.LittleEndian.Uint32(v.Plain[off:]))
}

// level is the definition level of a leaf's next entry.
func (c *Cursor) level(leaf int) uint8 {
	return c.block.Columns[leaf].Def[c.at[leaf].entry]
}

// repeats says whether a leaf's next entry goes on with the list at level rep.
func (c *Cursor) repeats(leaf int, rep uint8) bool {
	v, e := c.block.Columns[leaf], c.at[leaf].entry
	return e < len(v.Rep) && v.Rep[e] == rep
}

// skip passes the one entry that each leaf of a null or empty node has.
func (c *Cursor) skip(n *node) {
	for i := n.first; i < n.first+n.leaves; i++ {
		c.at[i].entry++
	}
}

// value returns the bytes of a leaf's next value and passes it.
func (c *Cursor) value(leaf int) []byte {
	v, p := c.block.Columns[leaf], &c.at[leaf]
	size, head := Width(v.Kind), 0
	if size == 0 {
		head = 4
		size = 4 + int(binary.LittleEndian.Uint32(v.Plain[p.off:]))
	}
	b := v.Plain[p.off+head : p.off+size]
	p.entry++
	p.off += size
	return b
}

// AppendJSON appends the current row, the one that Next has moved to, as one JSON
// object: every column in the
// order of the schema under its name, null ones too. Timestamps are ISO 8601
// with microseconds and Z, dates YYYY-MM-DD, decimals numbers, bytes base64,
// JSON columns what they hold; NaN and the infinities, which JSON lacks, are
// the strings "NaN", "Infinity" and "-Infinity".
func (c *Cursor) AppendJSON(dst []byte) []byte {
	copy(c.at, c.start)
	return c.appendObject(dst, c.top)
}

// appendObject appends the named members of a row or a struct.
func (c *Cursor) appendObject(dst []byte, members []node) []byte {
	dst = append(dst, '{')
	for i := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, []byte(members[i].field.Name))
		dst = append(dst, ':')
		dst = c.appendNode(dst, &members[i])
	}
	return append(dst, '}')
}

// appendNode appends the next value of a node.
func (c *Cursor) appendNode(dst []byte, n *node) []byte {
	if c.level(n.first) < n.def {
		c.skip(n)
		return append(dst, "null"...)
	}
	switch n.field.Type.Kind {
	case schema.Struct:
		return c.appendObject(dst, n.children)
	case schema.List:
		return c.appendRepeated(dst, n, '[', ']')
	case schema.Map:
		return c.appendRepeated(dst, n, '{', '}')
	}
	return appendValue(dst, &n.field.Type, c.value(n.first))
}

// appendRepeated appends the elements of a list or the entries of a map.
func (c *Cursor) appendRepeated(dst []byte, n *node, open, end byte) []byte {
	dst = append(dst, open)
	if c.level(n.first) == n.def {
		c.skip(n)
		return append(dst, end)
	}
	for first := true; first || c.repeats(n.first, n.rep); first = false {
		if !first {
			dst = append(dst, ',')
		}
		for i := range n.children {
			if i > 0 {
				dst = append(dst, ':')
			}
			dst = c.appendNode(dst, &n.children[i])
		}
	}
	return append(dst, end)
}

// Hash returns the XXH3-128 hash of the current row's content. It depends on
// field ids, kinds and values in the order of the schema: not on names, not on
// where blocks end, and a column or struct field that is null counts as one
// that the schema does not have. JSON counts as String, as it does in a file.
func (c *Cursor) Hash() [16]byte {
	copy(c.at, c.start)
	c.buf = c.appendCanonical(c.buf[:0], c.top)
	return xxh3.Hash128(c.buf).Bytes()
}

// Marks of the canonical form that Hash covers. Each is followed by what makes
// the form unambiguous: an id, a count or a length.
const (
	markField = 'F' // field id
	markEnd   = 'E' // of a struct or a list
	markList  = 'L'
	markNull  = 'N' // null element of a list or null value of a map
	markValue = 'V' // kind, then the fixed bytes or length and bytes
)

// appendCanonical appends the members of a row or struct that are not null.
func (c *Cursor) appendCanonical(dst []byte, members []node) []byte {
	for i := range members {
		n := &members[i]
		if c.level(n.first) < n.def {
			c.skip(n)
			continue
		}
		dst = append(dst, markField)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n.field.ID))
		dst = c.appendContent(dst, n)
	}
	return append(dst, markEnd)
}

// appendContent appends what stands in a node: null only in a list or map.
func (c *Cursor) appendContent(dst []byte, n *node) []byte {
	if c.level(n.first) < n.def {
		c.skip(n)
		return append(dst, markNull)
	}
	switch n.field.Type.Kind {
	case schema.Struct:
		return c.appendCanonical(dst, n.children)
	case schema.List, schema.Map:
		dst = append(dst, markList)
		if c.level(n.first) == n.def {
			c.skip(n)
			return append(dst, markEnd)
		}
		for first := true; first || c.repeats(n.first, n.rep); first = false {
			for i := range n.children {
				dst = c.appendContent(dst, &n.children[i])
			}
		}
		return append(dst, markEnd)
	}
	v, kind := c.value(n.first), n.field.Type.Kind
	if kind == schema.JSON {
		kind = schema.String
	}
	dst = append(dst, markValue, byte(kind))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v)))
	return append(dst, v...)
}

// appendValue appends one present value as JSON.
func appendValue(dst []byte, t *schema.Type, v []byte) []byte {
	switch t.Kind {
	case schema.Bool:
		return strconv.AppendBool(dst, v[0] != 0)
	case schema.Int32:
		return strconv.AppendInt(dst, int64(int32(binary.LittleEndian.Uint32(v))), 10)
	case schema.Int64:
		return strconv.AppendInt(dst, int64(binary.LittleEndian.Uint64(v)), 10)
	case schema.Float64:
		return appendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(v)))
	case schema.Decimal:
		return AppendDecimal(dst, v, int(t.Scale))
	case schema.Date:
		day := time.Unix(int64(int32(binary.LittleEndian.Uint32(v)))*86400, 0).UTC()
		return day.AppendFormat(dst, `"2006-01-02"`)
	case schema.Timestamp:
		instant := time.UnixMicro(int64(binary.LittleEndian.Uint64(v))).UTC()
		return instant.AppendFormat(dst, `"2006-01-02T15:04:05.000000Z"`)
	case schema.Bytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v)
		return append(dst, '"')
	case schema.JSON:
		if json.Valid(v) {
			return append(dst, v...)
		}
	}
	return appendString(dst, v)
}

// appendFloat appends the shortest decimal that reads back as f.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64)
}

// AppendDecimal appends the number that a 16-byte big-endian two's complement
// integer means with scale digits after the point, as a JSON number.
func AppendDecimal(dst, v []byte, scale int) []byte {
	n := new(big.Int).SetBytes(v)
	if len(v) > 0 && v[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
	}
	if n.Sign() < 0 {
		dst = append(dst, '-')
		n.Neg(n)
	}
	digits := n.String()
	for len(digits) <= scale {
		digits = "0" + digits
	}
	whole := len(digits) - scale
	dst = append(dst, digits[:whole]...)
	if scale > 0 {
		dst = append(dst, '.')
		dst = append(dst, digits[whole:]...)
	}
	return dst
}

// appendString appends s as a JSON string; bytes that are not UTF-8 become
// U+FFFD, as JSON cannot hold them.
func appendString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		switch b := s[i]; {
		case b == '"' || b == '\\':
			dst = append(dst, '\\', b)
			i++
		case b < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
			i++
		case b < utf8.RuneSelf:
			dst = append(dst, b)
			i++
		default:
			r, size := utf8.DecodeRune(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
		}
	}
	return append(dst, '"')
}
