package datafile

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// The compact protocol's types, as headers of fields and lists carry them.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftInt16  = 4
	thriftInt64  = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftStruct = 12
)

// thriftDepth is how deep the structures of a footer may nest: it takes 8.
const thriftDepth = 24

// decodeThrift decodes one structure at the start of b into v and says how many
// bytes it takes. It checks the lengths first: the library allocates what a
// list claims to have before it looks whether that can be.
func decodeThrift(b []byte, v any) (int, error) {
	s := scanner{b: b}
	if err := s.structure(0); err != nil {
		return 0, err
	}
	size := len(b) - len(s.b)
	d := thrift.NewDecoder(compactProtocol.NewReaderFromBytes(b[:size]))
	if err := d.Decode(v); err != nil {
		return 0, err
	}
	return size, nil
}

// scanner walks a structure in the compact protocol without keeping anything.
type scanner struct{ b []byte }

// take passes n bytes.
func (s *scanner) take(n uint64) error {
	if n > uint64(len(s.b)) {
		return fmt.Errorf("%d bytes where %d are left", n, len(s.b))
	}
	s.b = s.b[n:]
	return nil
}

// varint passes a variable-length integer and returns it.
func (s *scanner) varint() (uint64, error) {
	v, n := binary.Uvarint(s.b)
	if n <= 0 {
		return 0, fmt.Errorf("not a variable-length integer")
	}
	s.b = s.b[n:]
	return v, nil
}

// structure passes fields up to the stop mark.
func (s *scanner) structure(depth int) error {
	for {
		if len(s.b) == 0 {
			return fmt.Errorf("ends inside a structure")
		}
		head := s.b[0]
		s.b = s.b[1:]
		if head == 0 {
			return nil
		}
		if head>>4 == 0 { // the field's number follows
			if _, err := s.varint(); err != nil {
				return err
			}
		}
		if t := head & 15; t == thriftTrue || t == thriftFalse {
			continue // the type is the value
		} else if err := s.value(t, depth); err != nil {
			return err
		}
	}
}

// value passes a value of a type.
func (s *scanner) value(t byte, depth int) error {
	if depth > thriftDepth {
		return fmt.Errorf("nested deeper than %d", thriftDepth)
	}
	switch {
	case t <= thriftByte:
		return s.take(1)
	case t >= thriftInt16 && t <= thriftInt64:
		_, err := s.varint()
		return err
	case t == thriftDouble:
		return s.take(8)
	case t == thriftBinary:
		n, err := s.varint()
		if err != nil {
			return err
		}
		return s.take(n)
	case t == thriftList || t == thriftSet:
		return s.list(depth + 1)
	case t == thriftStruct:
		return s.structure(depth + 1)
	}
	return fmt.Errorf("type %d", t)
}

// list passes the elements of a list.
func (s *scanner) list(depth int) error {
	if len(s.b) == 0 {
		return fmt.Errorf("ends before a list")
	}
	head := s.b[0]
	s.b = s.b[1:]
	n := uint64(head >> 4)
	if n == 15 {
		var err error
		if n, err = s.varint(); err != nil {
			return err
		}
	}
	least := uint64(1)
	if head&15 == thriftStruct {
		least = 3 // no structure in a list of the format is smaller
	}
	if n > uint64(len(s.b))/least {
		return fmt.Errorf("list of %d elements in %d bytes", n, len(s.b))
	}
	for range n {
		if err := s.value(head&15, depth); err != nil {
			return err
		}
	}
	return nil
}
