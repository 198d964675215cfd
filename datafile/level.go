package datafile

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/rle"
)

// levels collects definition or repetition levels. While all are the same,
// which is the usual case, it only counts.
type levels struct {
	n    int
	same byte   // the level, while each is empty
	each []byte // every level, once two differ
}

// reset forgets the levels and keeps the memory.
func (l *levels) reset() { l.n, l.each = 0, l.each[:0] }

// append adds levels.
func (l *levels) append(v []byte) {
	if len(v) == 0 {
		return
	}
	if len(l.each) == 0 && (l.n == 0 || v[0] == l.same) && bytes.Equal(v[1:], v[:len(v)-1]) {
		l.same = v[0]
		l.n += len(v)
		return
	}
	l.spread()
	l.each = append(l.each, v...)
	l.n += len(v)
}

// appendRun adds one level n times.
func (l *levels) appendRun(level byte, n int) {
	if len(l.each) == 0 && (l.n == 0 || l.same == level) {
		l.same = level
		l.n += n
		return
	}
	l.spread()
	for range n {
		l.each = append(l.each, level)
	}
	l.n += n
}

// spread stores each level that was only counted.
func (l *levels) spread() {
	for len(l.each) < l.n {
		l.each = append(l.each, l.same)
	}
}

// encode appends the levels as a v1 data page has them: a 4-byte length and
// the RLE and bit-packing hybrid. A column whose maximum is 0 has none.
func (l *levels) encode(dst []byte, maximum uint8, scratch []byte) (page, kept []byte, err error) {
	if maximum == 0 {
		return dst, scratch, nil
	}
	head := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	if len(l.each) == 0 {
		dst = binary.AppendUvarint(dst, uint64(l.n)<<1)
		dst = append(dst, l.same)
	} else {
		e := rle.Encoding{BitWidth: bits.Len8(maximum)}
		if scratch, err = e.EncodeLevels(scratch[:0], l.each); err != nil {
			return dst, scratch, err
		}
		dst = append(dst, scratch...)
	}
	binary.LittleEndian.PutUint32(dst[head:], uint32(len(dst)-head-4))
	return dst, scratch, nil
}
