package avro

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"batcher/record/typed"
)

// kind says how the bytes of a value are read and what they become.
type kind uint8

const (
	kindNull kind = iota
	kindBoolean
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindBytes
	kindString
	kindFixed
	kindEnum
	kindArray
	kindMap
	kindUnion
	kindRecord

	kindDate         // int
	kindTime         // int (milliseconds) or long
	kindInstant      // long
	kindLocal        // long
	kindDecimal      // bytes
	kindFixedDecimal // fixed
	kindBigDecimal   // bytes
	kindUUID         // fixed of 16
	kindDuration     // fixed of 12
)

var primitives = map[string]kind{
	"null": kindNull, "boolean": kindBoolean, "int": kindInt, "long": kindLong,
	"float": kindFloat, "double": kindDouble, "bytes": kindBytes, "string": kindString,
}

// node is a type of the schema. Named types that refer to themselves make it a
// graph.
type node struct {
	kind    kind
	unit    typed.Digits // kindTime, kindInstant, kindLocal
	scale   int          // decimals
	size    int          // fixed types
	symbols []string     // enum
	fields  []field      // record
	parts   []*node      // union: the branches; array, map: what they hold
	empty   emptiness
}

// field is a field of a record.
type field struct {
	key  []byte // as typed.AppendKey writes it
	node *node
}

// emptiness says whether values take no byte at all.
type emptiness uint8

const (
	unknown emptiness = iota
	asking
	isEmpty
	notEmpty
)

// isEmpty says whether a value of the type takes no byte in the file, so that
// its number is not bounded by the bytes that there are.
func (n *node) isEmpty() bool {
	if n.empty == unknown {
		n.empty = asking
		empty := n.kind == kindNull || n.kind == kindRecord || n.kind == kindFixed && n.size == 0 || n.kind == kindFixedDecimal && n.size == 0
		for _, f := range n.fields {
			empty = empty && f.node.isEmpty()
		}
		n.empty = notEmpty
		if empty {
			n.empty = isEmpty
		}
	}
	return n.empty != notEmpty
}

// schemaParser builds nodes from a schema's JSON.
type schemaParser struct {
	named map[string]*node
	depth int
}

// parseSchema reads the schema of a file. Names need not follow the rules of
// the specification, and defaults are not looked at: writers take liberties
// with both, and records do not depend on them.
func parseSchema(text []byte, maxDepth int) (*node, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%w: the schema is not UTF-8", errCorrupt)
	}
	var parsed any
	if err := json.Unmarshal(text, &parsed); err != nil {
		return nil, fmt.Errorf("%w: the schema is no JSON: %w", errCorrupt, err)
	}
	p := &schemaParser{named: map[string]*node{}, depth: maxDepth}
	n, err := p.parse(parsed, "")
	if err != nil {
		return nil, fmt.Errorf("%w: schema: %w", errCorrupt, err)
	}
	return n, nil
}

// parse returns the node for a type, which stands in the namespace space.
func (p *schemaParser) parse(s any, space string) (*node, error) {
	if p.depth--; p.depth < 0 {
		return nil, fmt.Errorf("nested too deep")
	}
	defer func() { p.depth++ }()
	switch s := s.(type) {
	case string:
		return p.lookup(s, space)
	case []any:
		return p.union(s, space)
	case map[string]any:
		return p.object(s, space)
	}
	return nil, fmt.Errorf("%T is no type", s)
}

// lookup returns a primitive type or one that was named before.
func (p *schemaParser) lookup(name, space string) (*node, error) {
	if k, ok := primitives[name]; ok {
		return &node{kind: k}, nil
	}
	for _, full := range []string{qualified(name, space), name} {
		if n := p.named[full]; n != nil {
			return n, nil
		}
	}
	return nil, fmt.Errorf("type %q is not known", name)
}

// qualified returns the full name of a name that stands in the namespace space.
func qualified(name, space string) string {
	if space == "" || strings.Contains(name, ".") {
		return name
	}
	return space + "." + name
}

func (p *schemaParser) union(branches []any, space string) (*node, error) {
	n := &node{kind: kindUnion}
	for _, b := range branches {
		part, err := p.parse(b, space)
		if err != nil {
			return nil, err
		}
		if part.kind == kindUnion {
			return nil, fmt.Errorf("a union directly inside a union")
		}
		n.parts = append(n.parts, part)
	}
	return n, nil
}

func (p *schemaParser) object(s map[string]any, space string) (*node, error) {
	name, ok := s["type"].(string)
	if !ok {
		return p.parse(s["type"], space) // {"type": {"type": …}} and {"type": […]}
	}
	switch name {
	case "record", "error":
		return p.record(s, space)
	case "enum":
		return p.enum(s, space)
	case "fixed":
		return p.fixed(s, space)
	case "array":
		return p.container(kindArray, s["items"], space)
	case "map":
		return p.container(kindMap, s["values"], space)
	}
	n, err := p.lookup(name, space)
	if err != nil {
		return nil, err
	}
	return n.logical(s), nil
}

func (p *schemaParser) container(k kind, inside any, space string) (*node, error) {
	part, err := p.parse(inside, space)
	return &node{kind: k, parts: []*node{part}}, err
}

// name enters a named type, and returns the namespace of what is inside it. One
// without a name, or with an empty one as Polars writes it, cannot be referred to
// and is none the worse for it.
func (p *schemaParser) name(n *node, s map[string]any, space string) (string, error) {
	name, _ := s["name"].(string)
	if own, ok := s["namespace"].(string); ok {
		space = own
	}
	if name == "" {
		return space, nil
	}
	full := qualified(name, space)
	if _, twice := p.named[full]; twice {
		return "", fmt.Errorf("type %q is defined twice", full)
	}
	p.named[full] = n
	return full[:max(0, strings.LastIndexByte(full, '.'))], nil
}

func (p *schemaParser) record(s map[string]any, space string) (*node, error) {
	n := &node{kind: kindRecord}
	space, err := p.name(n, s, space)
	if err != nil {
		return nil, err
	}
	fields, ok := s["fields"].([]any)
	if !ok {
		return nil, fmt.Errorf("record %q has no fields", s["name"])
	}
	seen := map[string]bool{}
	for _, f := range fields {
		f, _ := f.(map[string]any)
		name, ok := f["name"].(string)
		if !ok || seen[name] {
			return nil, fmt.Errorf("record %q has a field without a name, or %q twice", s["name"], name)
		}
		seen[name] = true
		part, err := p.parse(f["type"], space)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", name, err)
		}
		n.fields = append(n.fields, field{typed.AppendKey(nil, name), part})
	}
	return n, nil
}

func (p *schemaParser) enum(s map[string]any, space string) (*node, error) {
	n := &node{kind: kindEnum}
	symbols, ok := s["symbols"].([]any)
	for _, symbol := range symbols {
		text, isText := symbol.(string)
		ok = ok && isText
		n.symbols = append(n.symbols, text)
	}
	if !ok {
		return nil, fmt.Errorf("enum %q has no list of symbols", s["name"])
	}
	_, err := p.name(n, s, space)
	return n, err
}

func (p *schemaParser) fixed(s map[string]any, space string) (*node, error) {
	size, ok := whole(s["size"])
	if !ok {
		return nil, fmt.Errorf("fixed %q has no size", s["name"])
	}
	n := (&node{kind: kindFixed, size: size}).logical(s)
	_, err := p.name(n, s, space)
	return n, err
}

// whole reads a number of JSON that counts something.
func whole(v any) (int, bool) {
	f, ok := v.(float64)
	return int(f), ok && f >= 0 && f <= 1<<31 && f == float64(int(f))
}

// logicalKinds are the logical types that the type alone must fit.
var logicalKinds = []struct {
	name string
	from kind
	to   kind
	unit typed.Digits
}{
	{"date", kindInt, kindDate, 0},
	{"time-millis", kindInt, kindTime, typed.Millis},
	{"time-micros", kindLong, kindTime, typed.Micros},
	{"timestamp-millis", kindLong, kindInstant, typed.Millis},
	{"timestamp-micros", kindLong, kindInstant, typed.Micros},
	{"timestamp-nanos", kindLong, kindInstant, typed.Nanos},
	{"local-timestamp-millis", kindLong, kindLocal, typed.Millis},
	{"local-timestamp-micros", kindLong, kindLocal, typed.Micros},
	{"local-timestamp-nanos", kindLong, kindLocal, typed.Nanos},
	{"big-decimal", kindBytes, kindBigDecimal, 0},
}

// logical returns n with the logical type that s gives it, if that fits.
func (n *node) logical(s map[string]any) *node {
	name, _ := s["logicalType"].(string)
	switch {
	case name == "":
		return n
	case name == "decimal" && (n.kind == kindBytes || n.kind == kindFixed):
		return n.decimal(s)
	case name == "uuid" && n.kind == kindFixed && n.size == 16:
		return &node{kind: kindUUID, size: n.size}
	case name == "duration" && n.kind == kindFixed && n.size == 12:
		return &node{kind: kindDuration, size: n.size}
	}
	for _, l := range logicalKinds {
		if l.name == name && l.from == n.kind {
			out := &node{kind: l.to, unit: l.unit}
			if s["adjust-to-utc"] == false && out.kind == kindInstant {
				out.kind = kindLocal
			}
			return out
		}
	}
	return n
}

func (n *node) decimal(s map[string]any) *node {
	precision, ok := whole(s["precision"])
	scale, scaled := whole(s["scale"])
	if !ok || precision == 0 || (s["scale"] != nil && !scaled) || scale > precision {
		return n
	}
	if n.kind == kindFixed {
		return &node{kind: kindFixedDecimal, size: n.size, scale: scale}
	}
	return &node{kind: kindDecimal, scale: scale}
}

// fixedKinds are read as so many bytes.
var fixedKinds = []kind{kindFixed, kindFixedDecimal, kindUUID, kindDuration}

func (n *node) isFixed() bool { return slices.Contains(fixedKinds, n.kind) }

// duration reads the three parts of a duration.
func duration(b []byte) (months, days, millis uint32) {
	return binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
}
