// Package typed is the form in which a record of a container with types of its
// own (Avro, Parquet) travels to the columns: one record, its values one behind
// the other, each with a tag that says what it is.
//
// Duty: append values, read them back with every bound checked, and render them
// as JSON for dead letters and the _rescued column.
//
// Invariants: a value is exactly what the container said (no number is rounded,
// no text repaired); any bytes may be read, and malformed ones give an error
// that names the byte, never a panic or an allocation beyond their own size.
//
// It never knows a schema, never decides what a column takes, and opens nothing.
//
// A value is a tag and its payload:
//
//	 0 null
//	 1 false
//	 2 true
//	 3 int        zigzag varint
//	 4 float      8 bytes, IEEE 754 double, little-endian; narrower ones widened exactly
//	 5 decimal    uvarint scale 0..38, 16 bytes big-endian two's complement, at most 38 digits
//	 6 string     uvarint length, bytes as stored: they may be no UTF-8
//	 7 bytes      uvarint length, bytes
//	 8 date       zigzag varint, days since 1970-01-01
//	 9 timestamp  zigzag varint, microseconds since 1970-01-01T00:00:00Z; uvarint, 0..999 nanoseconds behind it
//	10 list       uvarint length of the body, values
//	11 struct     uvarint length of the body, pairs of key (uvarint length, bytes) and value
//	12 map        as struct; the keys are data
//	13 number     uvarint length, text of a JSON number that no other tag holds
//	14 far        uvarint length, JSON text of an instant that microseconds do not reach
//
// Times of day, date-times without zone, UUIDs, intervals and enums are strings.
package typed

import (
	"errors"
	"fmt"
)

// Tag is the first byte of a value.
type Tag uint8

// The tags.
const (
	Null Tag = iota
	False
	True
	Int
	Float
	Decimal
	String
	Bytes
	Date
	Timestamp
	List
	Struct
	Map
	Number
	Far
)

// IsNested says whether values with the tag have values inside of them.
func (t Tag) IsNested() bool { return t >= List && t <= Map }

// MaxScale is the largest scale of a decimal.
const MaxScale = 38

// decimalBytes is the size of a decimal's unscaled value.
const decimalBytes = 16

// ErrMalformed says that bytes are no value.
var ErrMalformed = errors.New("malformed typed value")

// malformed says what is wrong at which byte.
func malformed(at int, what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrMalformed, what, at)
}

// Error says that a container cannot be read any further: nothing of its object
// may be kept.
type Error struct {
	Ordinal int64  // of the record that could not be read; 0 if it was noticed before the first
	Offset  int64  // byte of the container at or behind which it was noticed; -1 if that is not known
	Reason  string // what is wrong, for people
	Err     error  // what a decompressor said, if anything
	Limit   bool   // nothing is wrong with the container, but ErrLimit
}

// ErrLimit is what everything beyond a bound wraps.
var ErrLimit = errors.New("too large")

// Error says what is wrong and where.
func (e *Error) Error() string {
	msg := fmt.Sprintf("record %d", e.Ordinal)
	if e.Offset >= 0 {
		msg += fmt.Sprintf(", byte %d", e.Offset)
	}
	msg += ": " + e.Reason
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

// Unwrap returns what a decompressor said.
func (e *Error) Unwrap() error { return e.Err }
