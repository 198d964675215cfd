package typed

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Value is one value. What it points to belongs to the record.
type Value struct {
	Tag   Tag
	Scale uint8  // Decimal
	Nanos uint16 // Timestamp: nanoseconds behind Int
	Int   int64  // Int; Date: days; Timestamp: microseconds; Float: the bits
	Data  []byte // String, Bytes, Number, Far: the content; Decimal: 16 bytes; List, Struct, Map: the body
	at    int    // index of Data in the record
}

// Float returns the value of a Float.
func (v Value) Float() float64 { return math.Float64frombits(uint64(v.Int)) }

// Unscaled returns the 16 bytes of a Decimal.
func (v Value) Unscaled() [16]byte { return [16]byte(v.Data) }

// Cursor reads the values of a record, or of a body within it, in order.
type Cursor struct {
	record []byte
	at     int
}

// NewCursor returns a cursor before the only value of a record.
func NewCursor(record []byte) Cursor { return Cursor{record: record} }

// Inside returns a cursor before the first value in the body of v, a list,
// struct or map that c read.
func (c Cursor) Inside(v Value) Cursor {
	return Cursor{c.record[:v.at+len(v.Data)], v.at}
}

// Done says whether nothing follows.
func (c *Cursor) Done() bool { return c.at >= len(c.record) }

// Offset returns the index in the record of what comes next.
func (c *Cursor) Offset() int { return c.at }

// Next reads a value. It fails with ErrMalformed.
func (c *Cursor) Next() (Value, error) {
	if c.Done() {
		return Value{}, malformed(c.at, "value missing")
	}
	v := Value{Tag: Tag(c.record[c.at])}
	c.at++
	switch v.Tag {
	case Null, False, True:
		return v, nil
	case Int, Date:
		return v, c.varint(&v.Int)
	case Timestamp:
		return v, c.timestamp(&v)
	case Float:
		if err := c.take(&v, 8); err != nil {
			return v, err
		}
		v.Int = int64(binary.LittleEndian.Uint64(v.Data))
		return v, nil
	case Decimal:
		scale, err := c.uvarint(MaxScale)
		v.Scale = uint8(scale)
		if err == nil {
			err = c.take(&v, decimalBytes)
		}
		return v, err
	case String, Bytes, List, Struct, Map, Number, Far:
		return v, c.data(&v)
	}
	return v, malformed(c.at-1, fmt.Sprintf("tag %d", v.Tag))
}

// Key reads the key in front of the next value of a struct or map.
func (c *Cursor) Key() ([]byte, error) {
	var v Value
	err := c.data(&v)
	return v.Data, err
}

func (c *Cursor) timestamp(v *Value) error {
	if err := c.varint(&v.Int); err != nil {
		return err
	}
	nanos, err := c.uvarint(999)
	v.Nanos = uint16(nanos)
	return err
}

func (c *Cursor) varint(out *int64) error {
	v, n := binary.Varint(c.record[c.at:])
	if n <= 0 {
		return malformed(c.at, "bad varint")
	}
	*out = v
	c.at += n
	return nil
}

func (c *Cursor) uvarint(limit uint64) (uint64, error) {
	v, n := binary.Uvarint(c.record[c.at:])
	if n <= 0 || v > limit {
		return 0, malformed(c.at, "bad or too large varint")
	}
	c.at += n
	return v, nil
}

// data reads a length and so many bytes.
func (c *Cursor) data(v *Value) error {
	n, err := c.uvarint(math.MaxInt32)
	if err != nil {
		return err
	}
	return c.take(v, int(n))
}

func (c *Cursor) take(v *Value, n int) error {
	if n > len(c.record)-c.at {
		return malformed(c.at, fmt.Sprintf("%d bytes wanted, %d left", n, len(c.record)-c.at))
	}
	v.at = c.at
	c.at += n
	v.Data = c.record[v.at:c.at:c.at]
	return nil
}

// Check says whether a record is exactly one value, with at most maxDepth
// lists, structs and maps inside each other. It fails with ErrMalformed.
func Check(record []byte, maxDepth int) error {
	c := NewCursor(record)
	if err := c.check(maxDepth); err != nil {
		return err
	}
	if !c.Done() {
		return malformed(c.at, "something follows the value")
	}
	return nil
}

func (c *Cursor) check(depth int) error {
	start := c.at
	v, err := c.Next()
	if err != nil || !v.Tag.IsNested() {
		return err
	}
	if depth <= 0 {
		return malformed(start, "nested too deep")
	}
	for in := c.Inside(v); !in.Done(); {
		if v.Tag != List {
			if _, err := in.Key(); err != nil {
				return err
			}
		}
		if err := in.check(depth - 1); err != nil {
			return err
		}
	}
	return nil
}
