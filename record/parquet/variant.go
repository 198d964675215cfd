package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"batcher/record/typed"
)

// maxVariantDepth is how many objects and arrays may lie inside each other.
const maxVariantDepth = 512

// errVariant says that a VARIANT is not built as VariantEncoding.md has it.
var errVariant = fmt.Errorf("%w: malformed VARIANT", errCorrupt)

// variant puts the values of one VARIANT together. Values may share bytes, so
// that a small one may stand for an endless one: most bounds what is written.
type variant struct {
	names names
	most  int
}

// appendVariant appends a VARIANT, of which group has the columns as a struct, as
// a string with its JSON text. What is shredded into columns of its own is put
// back, as VariantShredding.md has it.
func appendVariant(dst, group []byte, most int) ([]byte, error) {
	c := typed.NewCursor(group)
	parts, err := next(&c)
	if err != nil {
		return dst, err
	}
	v := variant{most: most}
	if v.names, err = newNames(parts.metadata); err != nil {
		return dst, err
	}
	value, there, err := v.shredded(nil, parts, maxVariantDepth)
	if err != nil {
		return dst, err
	}
	if !there {
		value = typed.AppendNull(value)
	}
	text, err := typed.AppendJSON(nil, value)
	if err != nil {
		return dst, err
	}
	return typed.AppendString(dst, text), nil
}

// shreds are the columns of a VARIANT, or of a part of one that is shredded.
type shreds struct {
	metadata, value []byte       // nil if null
	typed           *typed.Value // typed_value; nil if null
	inside          typed.Cursor // read it
}

// columnsOf finds the columns in the struct that they were read as.
func columnsOf(in typed.Cursor) (s shreds, err error) {
	for err == nil && !in.Done() {
		key, _ := in.Key()
		var part typed.Value
		if part, err = in.Next(); err != nil || part.Tag == typed.Null {
			continue
		}
		switch {
		case string(key) == "typed_value":
			s.typed, s.inside = &part, in
		case part.Tag != typed.Bytes:
			err = errVariant
		case string(key) == "metadata":
			s.metadata = part.Data
		case string(key) == "value":
			s.value = part.Data
		}
	}
	return s, err
}

// shredded appends a value of which parts may be shredded. There may be none.
func (v *variant) shredded(dst []byte, s shreds, depth int) (out []byte, there bool, err error) {
	if depth <= 0 {
		return dst, false, errVariant
	}
	if s.typed == nil {
		if s.value == nil {
			return dst, false, nil
		}
		dst, err = v.value(dst, s.value, depth)
		return dst, true, err
	}
	switch in := s.inside.Inside(*s.typed); s.typed.Tag {
	case typed.List:
		dst, err = v.elements(dst, in, depth-1)
	case typed.Struct:
		dst, err = v.fields(dst, s, in, depth-1)
	default:
		dst = s.typed.Append(dst)
	}
	return dst, true, err
}

// next returns the columns of the next part.
func next(in *typed.Cursor) (shreds, error) {
	part, err := in.Next()
	if err != nil || part.Tag != typed.Struct {
		return shreds{}, err
	}
	return columnsOf(in.Inside(part))
}

func (v *variant) elements(dst []byte, in typed.Cursor, depth int) ([]byte, error) {
	dst, mark := typed.Open(dst, typed.List)
	for !in.Done() {
		s, err := next(&in)
		if err != nil {
			return dst, err
		}
		var there bool
		if dst, there, err = v.shredded(dst, s, depth); err != nil {
			return dst, err
		}
		if !there {
			dst = typed.AppendNull(dst)
		}
	}
	return typed.Close(dst, mark), nil
}

// fields appends an object some of whose fields are shredded; the others are in
// its value.
func (v *variant) fields(dst []byte, s shreds, in typed.Cursor, depth int) ([]byte, error) {
	dst, mark := typed.Open(dst, typed.Struct)
	for !in.Done() {
		key, err := in.Key()
		if err != nil {
			return dst, err
		}
		field, err := next(&in)
		if err != nil {
			return dst, err
		}
		before := len(dst)
		var there bool
		if dst, there, err = v.shredded(typed.AppendKey(dst, key), field, depth); err != nil {
			return dst, err
		}
		if !there {
			dst = dst[:before]
		}
	}
	if s.value == nil {
		return typed.Close(dst, mark), nil
	}
	if len(s.value) == 0 || s.value[0]&3 != 2 {
		return dst, fmt.Errorf("%w: what is left of an object is none", errVariant)
	}
	dst, err := v.members(dst, s.value, depth)
	return typed.Close(dst, mark), err
}

// value appends the value at the front of b.
func (v *variant) value(dst, b []byte, depth int) ([]byte, error) {
	switch {
	case len(b) == 0 || depth <= 0:
		return dst, errVariant
	case len(dst) > v.most:
		return dst, fmt.Errorf("%w: a VARIANT takes more than %d bytes: twice source.files.limits.record_bytes, and at least 64 MiB", typed.ErrLimit, v.most)
	}
	var mark int
	var err error
	switch head := int(b[0] >> 2); b[0] & 3 {
	case 0:
		return primitive(dst, head, b[1:])
	case 1:
		if len(b) < 1+head {
			return dst, errVariant
		}
		return typed.AppendString(dst, b[1:1+head]), nil
	case 2:
		dst, mark = typed.Open(dst, typed.Struct)
		dst, err = v.members(dst, b, depth-1)
	default:
		dst, mark = typed.Open(dst, typed.List)
		dst, err = v.items(dst, b, depth-1)
	}
	return typed.Close(dst, mark), err
}

// members appends the members of an object.
func (v *variant) members(dst, b []byte, depth int) ([]byte, error) {
	head := b[0] >> 2
	offsetSize, idSize, countSize := int(head&3)+1, int(head>>2&3)+1, 1
	if head>>4&1 == 1 {
		countSize = 4
	}
	rest := table{b[1:], countSize}
	n, err := rest.at(0)
	if err != nil || n > len(b) {
		return dst, errVariant
	}
	ids := table{b[1+countSize:], idSize}
	offsets, values, err := ids.behind(n, offsetSize)
	if err != nil {
		return dst, err
	}
	for i := range n {
		id, err := ids.at(i)
		if err != nil {
			return dst, err
		}
		name, err := v.names.name(id)
		if err != nil {
			return dst, err
		}
		at, err := offsets.at(i)
		if err != nil || at > len(values) {
			return dst, errVariant
		}
		if dst, err = v.value(typed.AppendKey(dst, name), values[at:], depth); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// items appends the items of an array.
func (v *variant) items(dst, b []byte, depth int) ([]byte, error) {
	head := b[0] >> 2
	offsetSize, countSize := int(head&3)+1, 1
	if head>>2&1 == 1 {
		countSize = 4
	}
	rest := table{b[1:], countSize}
	n, err := rest.at(0)
	if err != nil || n > len(b) {
		return dst, errVariant
	}
	offsets := table{b[1+countSize:], offsetSize}
	values, err := offsets.skip(n + 1)
	if err != nil {
		return dst, err
	}
	for i := range n {
		at, err := offsets.at(i)
		if err != nil || at > len(values) {
			return dst, errVariant
		}
		if dst, err = v.value(dst, values[at:], depth); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// table is a run of little-endian numbers of the same size.
type table struct {
	b    []byte
	size int
}

func (t table) at(i int) (int, error) {
	if (i+1)*t.size > len(t.b) {
		return 0, errVariant
	}
	n := 0
	for k := t.size - 1; k >= 0; k-- {
		n = n<<8 | int(t.b[i*t.size+k])
	}
	return n, nil
}

// skip returns what stands behind n numbers.
func (t table) skip(n int) ([]byte, error) {
	if n*t.size > len(t.b) {
		return nil, errVariant
	}
	return t.b[n*t.size:], nil
}

// behind returns the table behind n numbers, and what stands behind n+1 numbers
// of that.
func (t table) behind(n, size int) (table, []byte, error) {
	rest, err := t.skip(n)
	if err != nil {
		return table{}, nil, err
	}
	next := table{rest, size}
	values, err := next.skip(n + 1)
	return next, values, err
}

// names are the names of all fields.
type names struct {
	n       int
	offsets table
	text    []byte
}

func newNames(metadata []byte) (names, error) {
	if len(metadata) == 0 || metadata[0]&15 != 1 {
		return names{}, fmt.Errorf("%w: metadata of another version than 1", errVariant)
	}
	t := table{metadata[1:], int(metadata[0]>>6) + 1}
	n, err := t.at(0)
	if err != nil || n > len(metadata) {
		return names{}, errVariant
	}
	offsets := table{metadata[1+t.size:], t.size}
	text, err := offsets.skip(n + 1)
	return names{n, offsets, text}, err
}

func (s names) name(i int) ([]byte, error) {
	if i >= s.n {
		return nil, errVariant
	}
	from, _ := s.offsets.at(i)
	to, err := s.offsets.at(i + 1)
	if err != nil || from > to || to > len(s.text) {
		return nil, errVariant
	}
	return s.text[from:to], nil
}

// primitiveSizes are the bytes of the primitive types; those of binary and
// string are the length in front.
var primitiveSizes = [...]int{0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17, 4, 8, 8, 4, 4, 4, 8, 8, 8, 16}

// primitive appends a value of a primitive type.
func primitive(dst []byte, kind int, b []byte) ([]byte, error) {
	if kind >= len(primitiveSizes) || len(b) < primitiveSizes[kind] {
		return dst, errVariant
	}
	rest := b[primitiveSizes[kind]:]
	b = b[:primitiveSizes[kind]]
	le := binary.LittleEndian
	switch kind {
	case 0:
		dst = typed.AppendNull(dst)
	case 1, 2: // true, false
		dst = typed.AppendBool(dst, uint8(2-kind))
	case 3, 4, 5, 6:
		dst = typed.AppendInt(dst, signed(b))
	case 7:
		dst = typed.AppendFloat(dst, math.Float64frombits(le.Uint64(b)))
	case 8, 9, 10:
		unscaled := slices.Clone(b[1:])
		slices.Reverse(unscaled)
		dst = typed.AppendUnscaled(dst, unscaled, int(b[0]))
	case 11:
		dst = typed.AppendDate(dst, signed(b))
	case 12:
		dst = typed.AppendInstant(dst, signed(b), typed.Micros)
	case 13:
		dst = typed.AppendLocal(dst, signed(b), typed.Micros)
	case 14:
		dst = typed.AppendFloat(dst, float64(math.Float32frombits(le.Uint32(b))))
	case 15, 16:
		n := le.Uint32(b)
		if uint64(n) > uint64(len(rest)) {
			return dst, errVariant
		}
		if kind == 15 {
			return typed.AppendBytes(dst, rest[:n]), nil
		}
		return typed.AppendString(dst, rest[:n]), nil
	case 17:
		dst = typed.AppendTimeOfDay(dst, signed(b), typed.Micros)
	case 18:
		dst = typed.AppendInstant(dst, signed(b), typed.Nanos)
	case 19:
		dst = typed.AppendLocal(dst, signed(b), typed.Nanos)
	default:
		dst = typed.AppendUUID(dst, [16]byte(b))
	}
	return dst, nil
}

// signed returns a little-endian number in two's complement.
func signed(b []byte) int64 {
	n := int64(int8(b[len(b)-1]))
	for k := len(b) - 2; k >= 0; k-- {
		n = n<<8 | int64(b[k])
	}
	return n
}
