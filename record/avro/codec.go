package avro

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"batcher/record/typed"
)

// codec decompresses blocks. What decode returns is valid until the next call.
type codec interface {
	decode(stored []byte) ([]byte, error)
}

// newCodec returns the codec of that name, none of whose blocks may be larger
// than limit bytes.
func newCodec(name string, limit int) (codec, error) {
	switch name {
	case "", "null":
		return plain{}, nil
	case "deflate":
		return &streamed{open: func(r io.Reader) io.Reader { return flate.NewReader(r) }, limit: limit}, nil
	case "bzip2":
		return &streamed{open: bzip2.NewReader, limit: limit}, nil
	case "snappy":
		return &snappyBlocks{limit: limit}, nil
	case "zstandard":
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(uint64(limit)))
		return &zstdBlocks{decoder: d}, err
	}
	return nil, fmt.Errorf("codec %q is not supported; supported are null, deflate, snappy, bzip2 and zstandard", name)
}

type plain struct{}

func (plain) decode(stored []byte) ([]byte, error) { return stored, nil }

// streamed decompresses with a reader.
type streamed struct {
	open  func(io.Reader) io.Reader
	limit int
	out   bytes.Buffer
}

func (s *streamed) decode(stored []byte) ([]byte, error) {
	s.out.Reset()
	n, err := io.Copy(&s.out, io.LimitReader(s.open(bytes.NewReader(stored)), int64(s.limit)+1))
	if err == nil && n > int64(s.limit) {
		err = fmt.Errorf("%w: a block that holds more than %d bytes", typed.ErrLimit, s.limit)
	}
	return s.out.Bytes(), err
}

// snappyBlocks are snappy blocks with the CRC-32 of what they hold behind them.
type snappyBlocks struct {
	limit int
	out   []byte
}

func (s *snappyBlocks) decode(stored []byte) ([]byte, error) {
	if len(stored) < crc32.Size {
		return nil, io.ErrUnexpectedEOF
	}
	data, sum := stored[:len(stored)-crc32.Size], stored[len(stored)-crc32.Size:]
	size, err := snappy.DecodedLen(data)
	if err != nil {
		return nil, err
	}
	// No snappy element makes more than 64 bytes of 3.
	if size > 32*len(data) {
		return nil, fmt.Errorf("%d bytes claim to hold %d", len(data), size)
	}
	if size > s.limit {
		return nil, fmt.Errorf("%w: a block that holds %d bytes, %d at most", typed.ErrLimit, size, s.limit)
	}
	s.out = slices.Grow(s.out[:0], size)[:size]
	out, err := snappy.Decode(s.out, data)
	if err == nil && crc32.ChecksumIEEE(out) != binary.BigEndian.Uint32(sum) {
		err = fmt.Errorf("wrong checksum")
	}
	return out, err
}

type zstdBlocks struct {
	decoder *zstd.Decoder
	out     []byte
}

func (z *zstdBlocks) decode(stored []byte) ([]byte, error) {
	out, err := z.decoder.DecodeAll(stored, z.out[:0])
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = fmt.Errorf("%w: a block of zstandard: %w", typed.ErrLimit, err)
	}
	z.out = out
	return out, err
}
