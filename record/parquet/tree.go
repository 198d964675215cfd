package parquet

import (
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"batcher/record/typed"
)

// shape says how a node's values are put together.
type shape uint8

const (
	leafShape shape = iota
	structShape
	listShape
	mapShape
	variantShape // a struct whose fields make one value
)

// node is a place in the records.
type node struct {
	shape    shape
	optional bool
	def      uint8   // definition level at which the place holds a value; of a list or map, one that may be empty
	rep      uint8   // list, map: repetition level of the elements behind the first; leaf: the highest
	first    int     // index of the first leaf below
	end      int     // index behind the last one
	key      []byte  // in a struct: the name as typed.AppendKey writes it
	parts    []*node // struct: the fields; list: the element; map: the key and, if there is one, the value
	path     string  // for people

	physical format.Type // leaf
	size     int         // leaf: bytes of a FIXED_LEN_BYTE_ARRAY
	convert  converter   // leaf
}

// maxLevel bounds levels: they are bytes.
const maxLevel = 250

// treeBuilder reads the schema, which lists the elements depth first.
type treeBuilder struct {
	elements []format.SchemaElement
	path     []string
	depth    int
	leaves   []*node
}

// newTree returns the root, which is a struct, and the leaves in the order of
// the columns.
func newTree(elements []format.SchemaElement, maxDepth int) (root *node, leaves []*node, err error) {
	b := &treeBuilder{elements: elements, depth: maxDepth}
	if root, err = b.top(); err == nil && len(b.elements) > 0 {
		err = fmt.Errorf("%d elements belong to no group", len(b.elements))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: schema: %w", errCorrupt, err)
	}
	return root, b.leaves, nil
}

func (b *treeBuilder) top() (*node, error) {
	e, err := b.take()
	if err != nil {
		return nil, err
	}
	if e.Type.Valid {
		return nil, fmt.Errorf("the root is a column")
	}
	if e.NumChildren.V == 0 {
		return &node{shape: structShape}, nil
	}
	return b.fields(e, 0, 0)
}

// take returns the next element.
func (b *treeBuilder) take() (*format.SchemaElement, error) {
	if len(b.elements) == 0 {
		return nil, fmt.Errorf("a group lacks children")
	}
	e := &b.elements[0]
	b.elements = b.elements[1:]
	if n := e.NumChildren.V; n < 0 || int(n) > len(b.elements) {
		return nil, fmt.Errorf("element %q claims %d children", e.Name, n)
	}
	return e, nil
}

// field reads the next element and everything below it. def and rep are the
// levels at which what is around it holds a value.
func (b *treeBuilder) field(def, rep uint8) (*node, error) {
	e, err := b.take()
	if err != nil {
		return nil, err
	}
	if b.depth--; b.depth < 0 || def > maxLevel {
		return nil, fmt.Errorf("nested too deep")
	}
	b.path = append(b.path, e.Name)
	n, err := b.place(e, def, rep)
	b.path = b.path[:len(b.path)-1]
	b.depth++
	if n != nil {
		n.key = typed.AppendKey(nil, e.Name)
	}
	return n, err
}

func (b *treeBuilder) place(e *format.SchemaElement, def, rep uint8) (*node, error) {
	switch e.RepetitionType.V {
	case format.Required:
		return b.body(e, def, rep)
	case format.Optional:
		n, err := b.body(e, def+1, rep)
		if n != nil {
			n.optional = true
		}
		return n, err
	case format.Repeated: // a list without an annotation
		return b.list(def, rep, func() (*node, error) { return b.body(e, def+1, rep+1) })
	}
	return nil, fmt.Errorf("repetition %d", e.RepetitionType.V)
}

// body reads what an element is, apart from its repetition.
func (b *treeBuilder) body(e *format.SchemaElement, def, rep uint8) (*node, error) {
	if e.NumChildren.V == 0 {
		return b.leaf(e, def, rep)
	}
	if _, ok := e.LogicalType.Value.(*format.VariantType); ok {
		n, err := b.fields(e, def, rep)
		if n != nil {
			n.shape = variantShape
		}
		return n, err
	}
	if e.NumChildren.V == 1 && b.elements[0].RepetitionType.V == format.Repeated {
		switch annotation(e) {
		case listShape:
			return b.annotatedList(e, def, rep)
		case mapShape:
			if kv := &b.elements[0]; kv.NumChildren.V == 1 || kv.NumChildren.V == 2 {
				return b.annotatedMap(def, rep)
			}
		}
	}
	return b.fields(e, def, rep)
}

// annotation says as what a group is annotated: as a list, a map, or neither.
func annotation(e *format.SchemaElement) shape {
	switch e.LogicalType.Value.(type) {
	case *format.ListType:
		return listShape
	case *format.MapType:
		return mapShape
	}
	if e.ConvertedType.Valid {
		switch e.ConvertedType.V {
		case deprecated.List:
			return listShape
		case deprecated.Map, deprecated.MapKeyValue:
			return mapShape
		}
	}
	return structShape
}

func (b *treeBuilder) fields(e *format.SchemaElement, def, rep uint8) (*node, error) {
	n := &node{shape: structShape, def: def, first: len(b.leaves)}
	for range e.NumChildren.V {
		part, err := b.field(def, rep)
		if err != nil {
			return nil, err
		}
		n.parts = append(n.parts, part)
	}
	n.end = len(b.leaves)
	return n, nil
}

// list makes a list whose elements element reads, one level further in.
func (b *treeBuilder) list(def, rep uint8, element func() (*node, error)) (*node, error) {
	n := &node{shape: listShape, def: def, rep: rep + 1, first: len(b.leaves), path: b.where()}
	part, err := element()
	if err != nil {
		return nil, err
	}
	n.parts, n.end = []*node{part}, len(b.leaves)
	return n, nil
}

// annotatedList reads a list whose only child is a repeated one. What the
// element is follows the backward-compatibility rules of LogicalTypes.md.
func (b *treeBuilder) annotatedList(e *format.SchemaElement, def, rep uint8) (*node, error) {
	return b.list(def, rep, func() (*node, error) {
		repeated, err := b.take()
		if err != nil {
			return nil, err
		}
		bare := repeated.NumChildren.V != 1 || repeated.Name == "array" || repeated.Name == e.Name+"_tuple" ||
			b.elements[0].RepetitionType.V == format.Repeated
		if bare {
			return b.body(repeated, def+1, rep+1)
		}
		return b.field(def+1, rep+1)
	})
}

func (b *treeBuilder) annotatedMap(def, rep uint8) (*node, error) {
	pair, err := b.take()
	if err != nil {
		return nil, err
	}
	n, err := b.fields(pair, def+1, rep+1)
	if err != nil {
		return nil, err
	}
	n.shape, n.def, n.rep, n.path = mapShape, def, rep+1, b.where()
	return n, nil
}

func (b *treeBuilder) leaf(e *format.SchemaElement, def, rep uint8) (*node, error) {
	if !e.Type.Valid {
		return nil, fmt.Errorf("element %q has neither a type nor children", e.Name)
	}
	n := &node{
		shape: leafShape, def: def, rep: rep, first: len(b.leaves), end: len(b.leaves) + 1,
		path: b.where(), physical: e.Type.V, size: int(e.TypeLength.V),
	}
	if n.physical < format.Boolean || n.physical > format.FixedLenByteArray {
		return nil, fmt.Errorf("column %s is of type %d", n.path, n.physical)
	}
	if n.physical == format.FixedLenByteArray && n.size < 0 {
		return nil, fmt.Errorf("column %s has %d bytes", n.path, n.size)
	}
	n.convert = converterOf(e)
	b.leaves = append(b.leaves, n)
	return n, nil
}

func (b *treeBuilder) where() string { return strings.Join(b.path, ".") }
