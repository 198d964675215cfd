package datafile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"batcher/schema"
)

// encoder turns open pages into finished ones, one at a time. It owns the memory
// that this needs meanwhile.
type encoder struct {
	*compressor
	raw     []byte // body of the page in hand, not compressed
	packed  []byte // the same, compressed
	scratch []byte // what the library encodes into
	int32s  []int32
	int64s  []int64
	header  bytes.Buffer
}

// compactProtocol is how Parquet writes headers and footers. It has no state.
var compactProtocol thrift.CompactProtocol

// page compresses a body with an effort and returns header and body in memory of
// their own.
func (e *encoder) page(h *format.PageHeader, body []byte, how *effort) ([]byte, error) {
	if len(body) > maxPageBytes {
		return nil, fmt.Errorf("page of %d bytes", len(body))
	}
	packed := e.compress(body, how)
	h.UncompressedPageSize = int32(len(body))
	h.CompressedPageSize = int32(len(packed))
	h.CRC = int32(crc32.ChecksumIEEE(packed))
	e.header.Reset()
	if err := thrift.NewEncoder(compactProtocol.NewWriter(&e.header)).Encode(h); err != nil {
		return nil, fmt.Errorf("page header: %w", err)
	}
	page := make([]byte, 0, e.header.Len()+len(packed))
	page = append(page, e.header.Bytes()...)
	return append(page, packed...), nil
}

// compress returns body compressed; the result is good until the next call.
func (e *encoder) compress(body []byte, how *effort) []byte {
	switch e.codec {
	case format.Zstd:
		if *how == untried && len(body) >= trialBytes {
			*how = e.try(body)
		}
		z := e.thorough
		if *how == light {
			z = e.light
		}
		e.packed = z.EncodeAll(body, e.packed[:0])
	case format.Snappy:
		if n := snappy.MaxEncodedLen(len(body)); cap(e.packed) < n {
			e.packed = make([]byte, n)
		}
		e.packed = snappy.Encode(e.packed[:cap(e.packed)], body)
	default:
		return body
	}
	return e.packed
}

// body encodes the open page of c into e.raw and says how its values stand
// there.
func (e *encoder) body(c *chunk) (format.Encoding, error) {
	var err error
	if e.raw, e.scratch, err = c.rep.encode(e.raw[:0], c.leaf.MaxRep, e.scratch); err != nil {
		return 0, fmt.Errorf("repetition levels: %w", err)
	}
	if e.raw, e.scratch, err = c.def.encode(e.raw, c.leaf.MaxDef, e.scratch); err != nil {
		return 0, fmt.Errorf("definition levels: %w", err)
	}
	if c.values == 0 {
		return format.Plain, nil // nothing to encode: no reader can trip over it
	}
	encoding, err := e.values(c)
	if err != nil {
		return 0, fmt.Errorf("values: %w", err)
	}
	return encoding, nil
}

// values appends the values of the open page of c to e.raw.
func (e *encoder) values(c *chunk) (encoding format.Encoding, err error) {
	switch {
	case c.dict != nil:
		var d rle.DictionaryEncoding
		encoding = format.RLEDictionary
		e.scratch, err = d.EncodeInt32(e.scratch[:0], c.indexes)
	case c.kind == schema.Bool:
		e.raw = appendBits(e.raw, c.plain)
		return format.Plain, nil
	case c.kind == schema.Int32, c.kind == schema.Date:
		e.int32s = slices.Grow(e.int32s[:0], len(c.plain)/4)
		for p := c.plain; len(p) >= 4; p = p[4:] {
			e.int32s = append(e.int32s, int32(binary.LittleEndian.Uint32(p)))
		}
		var d delta.BinaryPackedEncoding
		encoding = format.DeltaBinaryPacked
		e.scratch, err = d.EncodeInt32(e.scratch[:0], e.int32s)
	case c.kind == schema.Int64, c.kind == schema.Timestamp:
		e.int64s = slices.Grow(e.int64s[:0], len(c.plain)/8)
		for p := c.plain; len(p) >= 8; p = p[8:] {
			e.int64s = append(e.int64s, int64(binary.LittleEndian.Uint64(p)))
		}
		var d delta.BinaryPackedEncoding
		encoding = format.DeltaBinaryPacked
		e.scratch, err = d.EncodeInt64(e.scratch[:0], e.int64s)
	default:
		e.raw = append(e.raw, c.plain...)
		return format.Plain, nil
	}
	e.raw = append(e.raw, e.scratch...)
	return encoding, err
}

// appendBits packs bytes of 0 and 1, the first into the lowest bit.
func appendBits(dst, plain []byte) []byte {
	for len(plain) > 0 {
		n := min(8, len(plain))
		var x byte
		for k, bit := range plain[:n] {
			x |= bit << k
		}
		dst = append(dst, x)
		plain = plain[n:]
	}
	return dst
}
