package datafile

import (
	"bytes"
	"encoding/binary"
	"math"

	"batcher/schema"
)

// bounds are the least and the greatest value of a column, in the order that
// Parquet gives to its type: numbers by value, strings by bytes.
type bounds struct {
	kind       schema.Kind
	any        bool // a value was seen
	nan        bool // of a float column: nothing can be said
	minI, maxI int64
	minF, maxF float64
	minD, maxD [decimalBytes]byte // big-endian, sign bit flipped: ordered as bytes
	minS, maxS edge
}

// edgeBytes is how much of a string is kept to compare with. Statistics hold
// less than that of any string, so that a longer one is never written in full.
const edgeBytes = 256

// edge is a string, or the start of one that is too long to keep.
type edge struct {
	b    []byte
	head uint64 // first 8 bytes, to compare fast
	cut  bool
}

// reset forgets what was seen and keeps memory and kind.
func (b *bounds) reset() {
	*b = bounds{
		kind: b.kind,
		minS: edge{b: b.minS.b[:0]},
		maxS: edge{b: b.maxS.b[:0]},
	}
}

// addFixed takes in values of a kind that has bounds and a fixed width.
func (b *bounds) addFixed(plain []byte) {
	if len(plain) == 0 {
		return
	}
	switch b.kind {
	case schema.Int32, schema.Date:
		b.addInt32s(plain)
	case schema.Int64, schema.Timestamp:
		b.addInt64s(plain)
	case schema.Float64:
		b.addFloats(plain)
	case schema.Decimal:
		b.addDecimals(plain)
	}
}

func (b *bounds) addInt32s(plain []byte) {
	first := int64(int32(binary.LittleEndian.Uint32(plain)))
	lo, hi := first, first
	for ; len(plain) >= 4; plain = plain[4:] {
		v := int64(int32(binary.LittleEndian.Uint32(plain)))
		lo, hi = min(lo, v), max(hi, v)
	}
	b.mergeInts(lo, hi)
}

func (b *bounds) addInt64s(plain []byte) {
	first := int64(binary.LittleEndian.Uint64(plain))
	lo, hi := first, first
	for ; len(plain) >= 8; plain = plain[8:] {
		v := int64(binary.LittleEndian.Uint64(plain))
		lo, hi = min(lo, v), max(hi, v)
	}
	b.mergeInts(lo, hi)
}

func (b *bounds) mergeInts(lo, hi int64) {
	if !b.any {
		b.minI, b.maxI, b.any = lo, hi, true
		return
	}
	b.minI, b.maxI = min(b.minI, lo), max(b.maxI, hi)
}

func (b *bounds) addFloats(plain []byte) {
	for ; len(plain) >= 8; plain = plain[8:] {
		v := math.Float64frombits(binary.LittleEndian.Uint64(plain))
		switch {
		case v != v:
			b.nan = true
		case !b.any:
			b.minF, b.maxF, b.any = v, v, true
		case v < b.minF:
			b.minF = v
		case v > b.maxF:
			b.maxF = v
		}
	}
}

func (b *bounds) addDecimals(plain []byte) {
	for ; len(plain) >= decimalBytes; plain = plain[decimalBytes:] {
		v := [decimalBytes]byte(plain)
		v[0] ^= 0x80
		b.mergeDecimal(v)
	}
}

func (b *bounds) mergeDecimal(v [decimalBytes]byte) {
	if !b.any || bytes.Compare(v[:], b.minD[:]) < 0 {
		b.minD = v
	}
	if !b.any || bytes.Compare(v[:], b.maxD[:]) > 0 {
		b.maxD = v
	}
	b.any = true
}

// addString takes in one string.
func (b *bounds) addString(v []byte) {
	e := edge{b: v, head: head(v)}
	if len(v) > edgeBytes {
		e.b, e.cut = v[:edgeBytes], true
	}
	b.mergeEdge(&e)
}

func (b *bounds) mergeEdge(e *edge) {
	if !b.any {
		b.any = true
		b.minS.set(e)
		b.maxS.set(e)
		return
	}
	if e.head <= b.minS.head && e.compare(&b.minS) < 0 {
		b.minS.set(e)
	}
	if e.head >= b.maxS.head && e.compare(&b.maxS) > 0 {
		b.maxS.set(e)
	}
}

// set makes a copy of o.
func (e *edge) set(o *edge) {
	e.b, e.head, e.cut = append(e.b[:0], o.b...), o.head, o.cut
}

// compare orders two edges; two cut ones with the same start count as equal,
// as neither is ever written in full.
func (e *edge) compare(o *edge) int {
	if c := bytes.Compare(e.b, o.b); c != 0 {
		return c
	}
	switch {
	case e.cut == o.cut:
		return 0
	case e.cut:
		return 1
	}
	return -1
}

// head is the first 8 bytes of v as a number that orders like them.
func head(v []byte) uint64 {
	if len(v) >= 8 {
		return binary.BigEndian.Uint64(v)
	}
	var p uint64
	for i, x := range v {
		p |= uint64(x) << (56 - 8*i)
	}
	return p
}

// merge takes in the bounds of another part of the same column.
func (b *bounds) merge(o *bounds) {
	b.nan = b.nan || o.nan
	if !o.any {
		return
	}
	switch b.kind {
	case schema.Int32, schema.Date, schema.Int64, schema.Timestamp:
		b.mergeInts(o.minI, o.maxI)
	case schema.Float64:
		if !b.any {
			b.minF, b.maxF, b.any = o.minF, o.maxF, true
		}
		b.minF, b.maxF = min(b.minF, o.minF), max(b.maxF, o.maxF)
	case schema.Decimal:
		b.mergeDecimal(o.minD)
		b.mergeDecimal(o.maxD)
	case schema.String:
		b.mergeEdge(&o.minS)
		b.mergeEdge(&o.maxS)
	}
}

// floats are the bounds of a float column. A zero stands for both zeros, as
// Parquet asks: -0 below and +0 above.
func (b *bounds) floats() (lo, hi float64) {
	lo, hi = b.minF, b.maxF
	if lo == 0 {
		lo = math.Copysign(0, -1)
	}
	return lo, hi + 0 // -0 + 0 is +0
}

// decimals are the bounds of a decimal column.
func (b *bounds) decimals() (lo, hi [decimalBytes]byte) {
	lo, hi = b.minD, b.maxD
	lo[0], hi[0] = lo[0]^0x80, hi[0]^0x80
	return lo, hi
}

// shortString is the length up to which a string stands in the footer.
const shortString = 64

// parquet are the bounds as a footer has them, or nil: PLAIN, strings without
// their length, and only when both are short enough to stand there in full,
// because the flags that say "not exact" are unknown to old readers.
func (b *bounds) parquet(t *schema.Type) (lo, hi []byte) {
	if !b.any || b.nan {
		return nil, nil
	}
	switch b.kind {
	case schema.Int32, schema.Date:
		return binary.LittleEndian.AppendUint32(nil, uint32(b.minI)), binary.LittleEndian.AppendUint32(nil, uint32(b.maxI))
	case schema.Int64, schema.Timestamp:
		return binary.LittleEndian.AppendUint64(nil, uint64(b.minI)), binary.LittleEndian.AppendUint64(nil, uint64(b.maxI))
	case schema.Float64:
		x, y := b.floats()
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)), binary.LittleEndian.AppendUint64(nil, math.Float64bits(y))
	case schema.Decimal:
		x, y := b.decimals()
		return storedDecimal(t, x), storedDecimal(t, y)
	case schema.String:
		if len(b.minS.b) > 0 && len(b.minS.b) <= shortString && len(b.maxS.b) <= shortString {
			return bytes.Clone(b.minS.b), bytes.Clone(b.maxS.b)
		}
	}
	return nil, nil
}
