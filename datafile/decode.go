package datafile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"

	"batcher/column"
	"batcher/schema"
)

// decodeHybrid decodes exactly n numbers of the given width from the RLE and
// bit-packing hybrid, and never allocates more than n. Numbers behind the n-th
// are padding.
func decodeHybrid[T byte | int32](src []byte, width, n int) ([]T, error) {
	dst := make([]T, 0, n)
	for len(dst) < n {
		head, size := binary.Uvarint(src)
		if size <= 0 {
			return nil, fmt.Errorf("%d of %d numbers are missing", n-len(dst), n)
		}
		src = src[size:]
		room := uint64(n - len(dst))
		if head&1 == 0 {
			bytes := (width + 7) / 8
			if len(src) < bytes {
				return nil, fmt.Errorf("a run ends early")
			}
			v := uint64(0)
			for i, x := range src[:bytes] {
				v |= uint64(x) << (8 * i)
			}
			src = src[bytes:]
			for range min(head>>1, room) {
				dst = append(dst, T(v))
			}
			continue
		}
		packed := min(uint64(len(src)), (head>>1)*uint64(width))
		dst = unpack(dst, src[:packed], width, int(min(room, (head>>1)*8)))
		if uint64(len(dst)) < uint64(n) && packed < (head>>1)*uint64(width) {
			return nil, fmt.Errorf("packed numbers end early")
		}
		src = src[packed:]
	}
	return dst, nil
}

// unpack appends up to n numbers of the given width, the first in the lowest
// bits; fewer when src ends.
func unpack[T byte | int32](dst []T, src []byte, width, n int) []T {
	var acc uint64
	have, mask := 0, uint64(1)<<width-1
	for range n {
		for have < width {
			if len(src) == 0 {
				return dst
			}
			acc |= uint64(src[0]) << have
			src = src[1:]
			have += 8
		}
		dst = append(dst, T(acc&mask))
		acc >>= width
		have -= width
	}
	return dst
}

// decodeLevels takes n levels from the front of a data page.
func decodeLevels(body []byte, maximum uint8, n int) (levels, rest []byte, err error) {
	if maximum == 0 {
		return nil, body, nil
	}
	if len(body) < 4 {
		return nil, nil, fmt.Errorf("page ends before its levels")
	}
	size := binary.LittleEndian.Uint32(body)
	body = body[4:]
	if uint64(size) > uint64(len(body)) {
		return nil, nil, fmt.Errorf("%d bytes of levels where %d are left", size, len(body))
	}
	if allZero(body[:size], n) {
		return zeroLevels[:n], body[size:], nil
	}
	levels, err = decodeHybrid[byte](body[:size], bits.Len8(maximum), n)
	if err != nil {
		return nil, nil, fmt.Errorf("levels: %w", err)
	}
	for _, l := range levels {
		if l > maximum {
			return nil, nil, fmt.Errorf("level %d above the maximum %d", l, maximum)
		}
	}
	return levels, body[size:], nil
}

// zeroLevels are the levels of every page in which a column is null throughout,
// so that thousands of empty columns cost no memory. They are only read.
var zeroLevels [pageEntries]byte

// allZero says whether src is one run of n zeros.
func allZero(src []byte, n int) bool {
	head, size := binary.Uvarint(src)
	return n <= pageEntries && size > 0 && size+1 == len(src) && head == uint64(n)<<1 && src[size] == 0
}

// entries are the values of a dictionary page.
type entries struct {
	plain   []byte
	offsets []int // where each starts, and the end
}

// newEntries splits a dictionary page of n byte strings.
func newEntries(body []byte, n int) (*entries, error) {
	if n < 0 || n > len(body)/4 {
		return nil, fmt.Errorf("dictionary of %d values in %d bytes", n, len(body))
	}
	d := &entries{plain: body, offsets: make([]int, 1, n+1)}
	for at := 0; len(d.offsets) <= n; {
		size, err := sizeOf(body, at)
		if err != nil {
			return nil, fmt.Errorf("dictionary: %w", err)
		}
		at += size
		d.offsets = append(d.offsets, at)
	}
	return d, nil
}

// sizeOf is the number of bytes of the string at off, its length included.
func sizeOf(plain []byte, off int) (int, error) {
	if len(plain)-off < 4 {
		return 0, fmt.Errorf("ends inside a length")
	}
	n := int(binary.LittleEndian.Uint32(plain[off:]))
	if n > len(plain)-off-4 {
		return 0, fmt.Errorf("ends inside a value of %d bytes", n)
	}
	return 4 + n, nil
}

// decodeValues decodes n values of a data page into PLAIN form.
func decodeValues(t *schema.Type, e format.Encoding, body []byte, n int, dict *entries) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	switch physical := physicalType(t); {
	case e == format.RLEDictionary && physical == format.ByteArray && dict != nil:
		return decodeIndexes(body, n, dict)
	case e == format.DeltaBinaryPacked && physical == format.Int32:
		if err := checkDelta(body, n); err != nil {
			return nil, err
		}
		var d delta.BinaryPackedEncoding
		ints, err := d.DecodeInt32(nil, body)
		if err != nil {
			return nil, err
		}
		return plainInts(t, ints), nil
	case e == format.DeltaBinaryPacked && physical == format.Int64:
		if err := checkDelta(body, n); err != nil {
			return nil, err
		}
		var d delta.BinaryPackedEncoding
		ints, err := d.DecodeInt64(nil, body)
		if err != nil {
			return nil, err
		}
		return plainInts(t, ints), nil
	case e == format.Plain && (t.Kind != schema.Decimal || physical == format.FixedLenByteArray):
		return decodePlain(t.Kind, body, n)
	}
	return nil, fmt.Errorf("encoding %v for %v is not one that batcher writes", e, t)
}

// checkDelta says whether a DELTA_BINARY_PACKED body has n values. The library
// allocates what the body claims.
func checkDelta(body []byte, n int) error {
	var head [3]uint64 // block size, blocks, values
	for i := range head {
		v, size := binary.Uvarint(body)
		if size <= 0 {
			return fmt.Errorf("delta header ends early")
		}
		head[i], body = v, body[size:]
	}
	if head[2] != uint64(n) {
		return fmt.Errorf("%d values, levels say %d", head[2], n)
	}
	return nil
}

// decodeIndexes looks the values up in the dictionary.
func decodeIndexes(body []byte, n int, dict *entries) ([]byte, error) {
	if len(body) == 0 || body[0] > 31 {
		return nil, fmt.Errorf("dictionary indexes without a width")
	}
	indexes, err := decodeHybrid[int32](body[1:], int(body[0]), n)
	if err != nil {
		return nil, fmt.Errorf("dictionary indexes: %w", err)
	}
	size := 0
	for _, i := range indexes {
		if i < 0 || int(i) >= len(dict.offsets)-1 {
			return nil, fmt.Errorf("dictionary index %d of %d", i, len(dict.offsets)-1)
		}
		if size += dict.offsets[i+1] - dict.offsets[i]; size > maxPageBytes {
			return nil, fmt.Errorf("page with more than %d bytes of values", maxPageBytes)
		}
	}
	plain := make([]byte, 0, size)
	for _, i := range indexes {
		plain = append(plain, dict.plain[dict.offsets[i]:dict.offsets[i+1]]...)
	}
	return plain, nil
}

// decodePlain takes n PLAIN values, which must be all that is there.
func decodePlain(k schema.Kind, body []byte, n int) ([]byte, error) {
	want := n * column.Width(k)
	switch {
	case k == schema.Bool:
		if len(body) != (n+7)/8 {
			return nil, fmt.Errorf("%d bytes for %d bits", len(body), n)
		}
		plain := make([]byte, n)
		for i := range plain {
			plain[i] = body[i/8] >> (i % 8) & 1
		}
		return plain, nil
	case want == 0:
		for range n {
			size, err := sizeOf(body, want)
			if err != nil {
				return nil, err
			}
			want += size
		}
	}
	if len(body) != want {
		return nil, fmt.Errorf("%d bytes of values, want %d", len(body), want)
	}
	return body, nil
}

// decodePage decodes the body of a data page.
func decodePage(l *leaf, h *format.DataPageHeader, body []byte, dict *entries) (*column.Vector, error) {
	n := int(h.NumValues)
	if n < 0 || n > maxPageEntries {
		return nil, fmt.Errorf("page of %d entries", n)
	}
	if h.DefinitionLevelEncoding != format.RLE || l.MaxRep > 0 && h.RepetitionLevelEncoding != format.RLE {
		return nil, fmt.Errorf("levels are not in RLE")
	}
	v := &column.Vector{Kind: fileKind(l.Field.Type.Kind), MaxDef: l.MaxDef, MaxRep: l.MaxRep}
	var err error
	if v.Rep, body, err = decodeLevels(body, l.MaxRep, n); err != nil {
		return nil, fmt.Errorf("repetition %w", err)
	}
	if v.Def, body, err = decodeLevels(body, l.MaxDef, n); err != nil {
		return nil, fmt.Errorf("definition %w", err)
	}
	if len(v.Rep) > 0 && v.Rep[0] != 0 {
		return nil, fmt.Errorf("page starts inside a row")
	}
	v.Values = bytes.Count(v.Def, []byte{v.MaxDef})
	v.Plain, err = decodeValues(&l.Field.Type, h.Encoding, body, v.Values, dict)
	return v, err
}
