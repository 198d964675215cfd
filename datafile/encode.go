package datafile

import (
	"bytes"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"batcher/column"
)

// encoder turns open pages into finished ones, one at a time. It owns the memory
// that this needs meanwhile.
type encoder struct {
	*compressor
	framer  framer
	raw     []byte // body of the page in hand, not compressed
	packed  []byte // the same, compressed
	scratch []byte // what the library encodes into
	int32s  []int32
	int64s  []int64
	header  bytes.Buffer
}

// compactProtocol is how Parquet writes headers and footers. It has no state.
var compactProtocol thrift.CompactProtocol

// content is what a page holds, not compressed.
type content struct {
	bytes []byte
	texts int // where PLAIN strings begin, up to the end; the end when there are none
}

// page compresses a body with an effort and returns header and body in memory of
// their own.
func (e *encoder) page(h *format.PageHeader, body content, how *effort) ([]byte, error) {
	if len(body.bytes) > maxPageBytes {
		return nil, fmt.Errorf("page of %d bytes", len(body.bytes))
	}
	packed := e.compress(body, how)
	h.UncompressedPageSize = int32(len(body.bytes))
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
func (e *encoder) compress(body content, how *effort) []byte {
	switch e.codec {
	case format.Zstd:
		return e.pack(body, how)
	case format.Snappy:
		if n := snappy.MaxEncodedLen(len(body.bytes)); cap(e.packed) < n {
			e.packed = make([]byte, n)
		}
		e.packed = snappy.Encode(e.packed[:cap(e.packed)], body.bytes)
		return e.packed
	}
	return body.bytes
}

// body encodes the open page of c and says how its values stand there.
func (e *encoder) body(c *chunk) (body content, encoding format.Encoding, err error) {
	if e.raw, e.scratch, err = c.rep.encode(e.raw[:0], c.leaf.MaxRep, e.scratch); err != nil {
		return body, 0, fmt.Errorf("repetition levels: %w", err)
	}
	if e.raw, e.scratch, err = c.def.encode(e.raw, c.leaf.MaxDef, e.scratch); err != nil {
		return body, 0, fmt.Errorf("definition levels: %w", err)
	}
	levels := len(e.raw)
	if c.values > 0 { // else a reader might trip over an encoding of nothing
		if encoding, err = e.values(c); err != nil {
			return body, 0, fmt.Errorf("values: %w", err)
		}
	}
	body = content{bytes: e.raw, texts: len(e.raw)}
	if encoding == format.Plain && column.Width(c.kind) == 0 {
		body.texts = levels
	}
	return body, encoding, nil
}

// values appends the values of the open page of c to e.raw.
func (e *encoder) values(c *chunk) (encoding format.Encoding, err error) {
	t := &c.leaf.Field.Type
	switch physical := physicalType(t); {
	case c.dict != nil:
		var d rle.DictionaryEncoding
		encoding = format.RLEDictionary
		e.scratch, err = d.EncodeInt32(e.scratch[:0], c.indexes)
	case physical == format.Boolean:
		e.raw = appendBits(e.raw, c.plain)
		return format.Plain, nil
	case physical == format.Int32:
		if e.int32s, err = appendInts(e.int32s[:0], t, c.plain); err != nil {
			return 0, err
		}
		var d delta.BinaryPackedEncoding
		encoding = format.DeltaBinaryPacked
		e.scratch, err = d.EncodeInt32(e.scratch[:0], e.int32s)
	case physical == format.Int64:
		if e.int64s, err = appendInts(e.int64s[:0], t, c.plain); err != nil {
			return 0, err
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
