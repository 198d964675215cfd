// Package thrift decodes one structure of Thrift's compact protocol, as the
// footers and page headers of Parquet files are written, from bytes that may be
// anything.
//
// Duty: hold every length against what there is before the library sees it,
// because the library allocates what a list claims to have.
//
// Invariants: what is allocated is bounded by MaxStructures and the bytes given.
//
// It never encodes, and never reads from anything but memory.
package thrift

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// The compact protocol's types, as headers of fields and lists carry them.
const (
	typeTrue   = 1
	typeFalse  = 2
	typeByte   = 3
	typeInt16  = 4
	typeInt64  = 6
	typeDouble = 7
	typeBinary = 8
	typeList   = 9
	typeSet    = 10
	typeStruct = 12
)

const (
	// maxDepth is how deep structures may nest: Parquet's take 8.
	maxDepth = 24
	// MaxStructures is how many structures the lists of one structure may hold
	// together. The largest of the format, a column chunk, takes 560 bytes of
	// memory.
	MaxStructures = 1 << 19
)

// errShort says that the bytes end inside a structure, so that more of them may
// help.
var errShort = io.ErrUnexpectedEOF

// Decode decodes the structure at the start of b into v, a pointer to one of the
// library's structures, and says how many bytes it takes. It wraps
// io.ErrUnexpectedEOF if b ends too early. What v points to may share b.
func Decode(b []byte, v any) (int, error) {
	s := scanner{b: b}
	if err := s.structure(0); err != nil {
		return 0, err
	}
	size := len(b) - len(s.b)
	var protocol thrift.CompactProtocol
	if err := thrift.NewDecoder(protocol.NewReaderFromBytes(b[:size])).Decode(v); err != nil {
		return 0, err
	}
	return size, nil
}

// scanner walks a structure without keeping anything.
type scanner struct {
	b          []byte
	structures int // seen in lists
}

// take passes n bytes.
func (s *scanner) take(n uint64) error {
	if n > uint64(len(s.b)) {
		return fmt.Errorf("%d bytes where %d are left: %w", n, len(s.b), errShort)
	}
	s.b = s.b[n:]
	return nil
}

// head passes a byte and returns it.
func (s *scanner) head() (byte, error) {
	if len(s.b) == 0 {
		return 0, fmt.Errorf("ends inside a structure: %w", errShort)
	}
	b := s.b[0]
	s.b = s.b[1:]
	return b, nil
}

// varint passes a variable-length integer and returns it.
func (s *scanner) varint() (uint64, error) {
	v, n := binary.Uvarint(s.b)
	if n == 0 {
		return 0, fmt.Errorf("ends inside a number: %w", errShort)
	}
	if n < 0 {
		return 0, fmt.Errorf("not a variable-length integer")
	}
	s.b = s.b[n:]
	return v, nil
}

// structure passes fields up to the stop mark.
func (s *scanner) structure(depth int) error {
	for {
		head, err := s.head()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // the field's number follows
			if _, err := s.varint(); err != nil {
				return err
			}
		}
		if t := head & 15; t == typeTrue || t == typeFalse {
			continue // the type is the value
		} else if err := s.value(t, depth); err != nil {
			return err
		}
	}
}

// value passes a value of a type.
func (s *scanner) value(t byte, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	switch {
	case t <= typeByte:
		return s.take(1)
	case t >= typeInt16 && t <= typeInt64:
		_, err := s.varint()
		return err
	case t == typeDouble:
		return s.take(8)
	case t == typeBinary:
		n, err := s.varint()
		if err != nil {
			return err
		}
		return s.take(n)
	case t == typeList || t == typeSet:
		return s.list(depth + 1)
	case t == typeStruct:
		return s.structure(depth + 1)
	}
	return fmt.Errorf("type %d", t)
}

// list passes the elements of a list.
func (s *scanner) list(depth int) error {
	head, err := s.head()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = s.varint(); err != nil {
			return err
		}
	}
	if n > uint64(len(s.b)) { // no element is shorter than a byte
		return fmt.Errorf("list of %d elements in %d bytes: %w", n, len(s.b), errShort)
	}
	if head&15 == typeStruct {
		if s.structures += int(n); s.structures > MaxStructures {
			return fmt.Errorf("more than %d structures in lists", MaxStructures)
		}
	}
	for range n {
		if err := s.value(head&15, depth); err != nil {
			return err
		}
	}
	return nil
}
