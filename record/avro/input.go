package avro

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"batcher/record/typed"
)

// chunk is how much is read before more is allocated, so that a length that
// lies costs no memory.
const chunk = 64 << 10

// input reads the file outside of blocks and counts its bytes.
type input struct {
	r  *bufio.Reader
	at int64
}

// sourceError is a failure of the source, which says nothing about the file.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }

// failed tells a file that ends too early from a source that fails.
func failed(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", errCorrupt)
	}
	return &sourceError{err}
}

func (in *input) full(p []byte) error {
	n, err := io.ReadFull(in.r, p)
	in.at += int64(n)
	if err != nil {
		return failed(err)
	}
	return nil
}

// long reads a zigzag varint.
func (in *input) long() (int64, error) {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		b, err := in.r.ReadByte()
		if err != nil {
			return 0, failed(err)
		}
		in.at++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int64(v>>1) ^ -int64(v&1), nil
		}
	}
	return 0, fmt.Errorf("%w: a number of more than 10 bytes", errCorrupt)
}

// bytes reads a length, of limit at most, and so many bytes.
func (in *input) bytes(limit int) ([]byte, error) { return in.append(nil, limit) }

// append does what bytes does and uses the room behind dst.
func (in *input) append(dst []byte, limit int) ([]byte, error) {
	size, err := in.long()
	if err != nil {
		return dst, err
	}
	if size < 0 || size > math.MaxInt32 {
		return dst, fmt.Errorf("%w: a length of %d bytes", errCorrupt, size)
	}
	if size > int64(limit) {
		return dst, fmt.Errorf("%w: a length of %d bytes, %d at most", typed.ErrLimit, size, limit)
	}
	for left := int(size); left > 0; {
		n := min(left, max(chunk, len(dst)))
		dst = slices.Grow(dst, n)
		if err := in.full(dst[len(dst) : len(dst)+n]); err != nil {
			return dst, err
		}
		dst = dst[:len(dst)+n]
		left -= n
	}
	return dst, nil
}
