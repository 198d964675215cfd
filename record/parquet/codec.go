package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// errSize says that a page is not as large as its header says.
var errSize = errors.New("it does not hold as many bytes as its header says")

// decompress appends the size bytes that a page holds. No codec is given more
// room than that.
func (c *column) decompress(dst, stored []byte, size int) ([]byte, error) {
	if size == 0 && c.codec != format.Uncompressed {
		return dst, nil
	}
	from := len(dst)
	var err error
	switch c.codec {
	case format.Uncompressed:
		return uncompressed(dst, stored, size)
	case format.Snappy:
		dst, err = unsnappy(dst, stored, size)
	case format.Gzip:
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(stored)); err == nil {
			dst, err = readExactly(dst, r, size)
		}
	case format.Brotli:
		dst, err = readExactly(dst, brotli.NewReader(bytes.NewReader(stored)), size)
	case format.Zstd:
		dst, err = c.unzstd(dst, stored)
	case format.Lz4Raw:
		dst, err = unlz4(dst, stored, size)
	case format.Lz4:
		dst, err = unlz4Legacy(dst, stored, size)
	default:
		return dst, fmt.Errorf("codec %v is not supported", c.codec)
	}
	if err == nil && len(dst)-from != size {
		err = errSize
	}
	if err != nil {
		return dst, fmt.Errorf("decompress %v: %w", c.codec, err)
	}
	return dst, nil
}

func uncompressed(dst, stored []byte, size int) ([]byte, error) {
	if len(stored) != size {
		return dst, errSize
	}
	return append(dst, stored...), nil
}

// readExactly appends what r gives, which must be size bytes.
func readExactly(dst []byte, r io.Reader, size int) ([]byte, error) {
	r = io.LimitReader(r, int64(size)+1)
	for end := len(dst) + size; ; {
		// What a header claims is given room only as it arrives.
		dst = slices.Grow(dst, min(max(end-len(dst), 0)+1, max(64<<10, len(dst))))
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

func (s *shared) unzstd(dst, stored []byte) ([]byte, error) {
	if s.zstd == nil {
		var err error
		s.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(uint64(s.limits.MaxPageBytes)))
		if err != nil {
			return dst, err
		}
	}
	return s.zstd.DecodeAll(stored, dst)
}

func unsnappy(dst, stored []byte, size int) ([]byte, error) {
	// No snappy element makes more than 64 bytes of 3.
	if n, err := snappy.DecodedLen(stored); err != nil || n != size || size/32 > len(stored) {
		return dst, errSize
	}
	from := len(dst)
	dst = slices.Grow(dst, size)[:from+size]
	_, err := snappy.Decode(dst[from:], stored)
	return dst, err
}

func unlz4(dst, stored []byte, size int) ([]byte, error) {
	if size/256 > len(stored) { // no byte of a block makes more than 255
		return dst, errSize
	}
	from := len(dst)
	dst = slices.Grow(dst, size)[:from+size]
	n, err := lz4.UncompressBlock(stored, dst[from:])
	if err != nil {
		n = 0
	}
	return dst[:from+n], err
}

// unlz4Legacy reads what was written before LZ4_RAW had a name of its own:
// Hadoop's blocks, each with the size of what it holds and its own in front, or
// a bare block.
func unlz4Legacy(dst, stored []byte, size int) ([]byte, error) {
	from := len(dst)
	out := dst
	for rest := stored; len(rest) > 8 && len(out)-from < size; {
		holds, takes := binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:])
		if int64(holds) > int64(size-len(out)+from) || int64(takes) > int64(len(rest)-8) {
			break
		}
		before := len(out)
		var err error
		if out, err = unlz4(out, rest[8:8+takes], int(holds)); err != nil || len(out)-before != int(holds) {
			break
		}
		if rest = rest[8+takes:]; len(rest) == 0 && len(out)-from == size {
			return out, nil
		}
	}
	return unlz4(dst, stored, size)
}
