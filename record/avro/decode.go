package avro

import (
	"encoding/binary"
	"fmt"
	"math"

	"batcher/record/typed"
)

// decoder reads the values of one block.
type decoder struct {
	data  []byte
	at    int
	limit int // of the output
}

// errRecord is about a record that is beyond its bound.
var errRecord = fmt.Errorf("%w: a record takes more than twice source.files.limits.record_bytes, and at least 64 MiB", typed.ErrLimit)

// corrupt says what is wrong at the byte at hand.
func (d *decoder) corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s, at byte %d of the block", errCorrupt, fmt.Sprintf(format, args...), d.at)
}

// value appends a value of type n; depth is how many may lie inside it.
func (d *decoder) value(dst []byte, n *node, depth int) ([]byte, error) {
	if len(dst) >= d.limit {
		return dst, errRecord
	}
	if n.kind >= kindArray && n.kind <= kindRecord {
		if depth <= 0 {
			return dst, d.corrupt("nested too deep")
		}
		return d.nested(dst, n, depth-1)
	}
	switch n.kind {
	case kindNull:
		return typed.AppendNull(dst), nil
	case kindBoolean:
		return d.boolean(dst)
	case kindInt, kindLong, kindDate, kindTime, kindInstant, kindLocal, kindEnum:
		return d.whole(dst, n)
	case kindFloat, kindDouble:
		return d.float(dst, n)
	}
	b, err := d.bytes(n)
	if err != nil {
		return dst, err
	}
	switch n.kind {
	case kindString:
		return typed.AppendString(dst, b), nil
	case kindDecimal, kindFixedDecimal:
		return typed.AppendUnscaled(dst, b, n.scale), nil
	case kindBigDecimal:
		return bigDecimal(dst, b), nil
	case kindUUID:
		return typed.AppendUUID(dst, [16]byte(b)), nil
	case kindDuration:
		months, days, millis := duration(b)
		return typed.AppendInterval(dst, months, days, millis), nil
	}
	return typed.AppendBytes(dst, b), nil
}

func (d *decoder) nested(dst []byte, n *node, depth int) ([]byte, error) {
	switch n.kind {
	case kindUnion:
		branch, err := d.long()
		if err != nil {
			return dst, err
		}
		if branch < 0 || branch >= int64(len(n.parts)) {
			return dst, d.corrupt("branch %d of a union of %d", branch, len(n.parts))
		}
		return d.value(dst, n.parts[branch], depth)
	case kindArray:
		return d.blocks(dst, n, typed.List, depth)
	case kindMap:
		return d.blocks(dst, n, typed.Map, depth)
	}
	dst, mark := typed.Open(dst, typed.Struct)
	for _, f := range n.fields {
		var err error
		if dst, err = d.value(append(dst, f.key...), f.node, depth); err != nil {
			return dst, err
		}
	}
	return typed.Close(dst, mark), nil
}

// blocks appends an array or a map, which come in blocks.
func (d *decoder) blocks(dst []byte, n *node, t typed.Tag, depth int) ([]byte, error) {
	dst, mark := typed.Open(dst, t)
	for {
		count, end, err := d.blockHead(n, t)
		if err != nil {
			return dst, err
		}
		if count == 0 {
			return typed.Close(dst, mark), nil
		}
		for ; count > 0; count-- {
			if t == typed.Map {
				key, err := d.bytes(mapKey)
				if err != nil {
					return dst, err
				}
				dst = typed.AppendKey(dst, key)
			}
			if dst, err = d.value(dst, n.parts[0], depth); err != nil {
				return dst, err
			}
		}
		if end >= 0 && d.at != end {
			return dst, d.corrupt("a block of an array or map is not as long as it says")
		}
	}
}

// mapKey is the type of the keys of maps.
var mapKey = &node{kind: kindString}

// blockHead reads how many items follow and, if that is told, where they end.
func (d *decoder) blockHead(n *node, t typed.Tag) (count int64, end int, err error) {
	if count, err = d.long(); err != nil {
		return 0, 0, err
	}
	end = -1
	left := int64(len(d.data) - d.at)
	if count < 0 {
		size, err := d.long()
		if err != nil {
			return 0, 0, err
		}
		if left = int64(len(d.data) - d.at); size < 0 || size > left {
			return 0, 0, d.corrupt("a block of %d bytes, %d are left", size, left)
		}
		count, end = -count, d.at+int(size)
	}
	if count < 0 || (count > left && (t == typed.Map || !n.parts[0].isEmpty())) {
		return 0, 0, d.corrupt("%d items, %d bytes are left", count, left)
	}
	return count, end, nil
}

func (d *decoder) boolean(dst []byte) ([]byte, error) {
	b, err := d.take(1)
	if err != nil {
		return dst, err
	}
	if b[0] > 1 {
		return dst, d.corrupt("a boolean of %d", b[0])
	}
	return typed.AppendBool(dst, b[0]), nil
}

// whole appends what is stored as a whole number.
func (d *decoder) whole(dst []byte, n *node) ([]byte, error) {
	v, err := d.long()
	if err != nil {
		return dst, err
	}
	narrow := n.kind == kindInt || n.kind == kindDate || n.kind == kindEnum || n.kind == kindTime && n.unit == typed.Millis
	if narrow && (v < math.MinInt32 || v > math.MaxInt32) {
		return dst, d.corrupt("an int of %d", v)
	}
	switch n.kind {
	case kindDate:
		return typed.AppendDate(dst, v), nil
	case kindTime:
		return typed.AppendTimeOfDay(dst, v, n.unit), nil
	case kindInstant:
		return typed.AppendInstant(dst, v, n.unit), nil
	case kindLocal:
		return typed.AppendLocal(dst, v, n.unit), nil
	case kindEnum:
		if v < 0 || v >= int64(len(n.symbols)) {
			return dst, d.corrupt("symbol %d of an enum of %d", v, len(n.symbols))
		}
		return typed.AppendString(dst, n.symbols[v]), nil
	}
	return typed.AppendInt(dst, v), nil
}

func (d *decoder) float(dst []byte, n *node) ([]byte, error) {
	if n.kind == kindFloat {
		b, err := d.take(4)
		if err != nil {
			return dst, err
		}
		return typed.AppendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))), nil
	}
	b, err := d.take(8)
	if err != nil {
		return dst, err
	}
	return typed.AppendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(b))), nil
}

// bytes reads a fixed type, or a length and so many bytes.
func (d *decoder) bytes(n *node) ([]byte, error) {
	size := int64(n.size)
	if !n.isFixed() {
		var err error
		if size, err = d.long(); err != nil {
			return nil, err
		}
	}
	if size < 0 || size > int64(len(d.data)-d.at) {
		return nil, d.corrupt("%d bytes wanted, %d are left", size, len(d.data)-d.at)
	}
	if size > int64(d.limit) {
		return nil, errRecord
	}
	return d.take(int(size))
}

func (d *decoder) take(n int) ([]byte, error) {
	if n > len(d.data)-d.at {
		return nil, d.corrupt("%d bytes wanted, %d are left", n, len(d.data)-d.at)
	}
	b := d.data[d.at : d.at+n]
	d.at += n
	return b, nil
}

// long reads a zigzag varint.
func (d *decoder) long() (int64, error) {
	v, n := binary.Varint(d.data[d.at:])
	if n <= 0 {
		return 0, d.corrupt("a number that does not end or is too large")
	}
	d.at += n
	return v, nil
}

// bigDecimal appends a big-decimal: the unscaled value as bytes, then its scale.
// What is not built so stays bytes.
func bigDecimal(dst, b []byte) []byte {
	d := decoder{data: b, limit: len(b)}
	unscaled, err := d.bytes(mapKey)
	if err != nil {
		return typed.AppendBytes(dst, b)
	}
	scale, err := d.long()
	if err != nil || d.at != len(b) || scale < math.MinInt32 || scale > math.MaxInt32 {
		return typed.AppendBytes(dst, b)
	}
	return typed.AppendUnscaled(dst, unscaled, int(scale))
}
