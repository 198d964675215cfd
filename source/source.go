// Package source says what a source of records is: partitions, positions,
// half-open ranges, and Progress, the one place where it is written down what
// has been consumed.
//
// Duty: the words and interfaces that every kind of source shares: plan a
// bounded range from Progress, read exactly that range again and again.
//
// Invariants: a Range never changes after the seal; reading it again yields the
// same bytes or fails with a Gap; Progress never falls within a generation.
//
// It never reads a store itself and never decides what is committed.
package source

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Position is a place in a partition: for an object the number of bytes of its
// decompressed stream, for a topic partition the offset. It counts from 0.
type Position int64

// Hash is 16 bytes of SHA-256: the form in which keys, identities and contents
// are remembered. Its text form is 32 hex digits.
type Hash [16]byte

// String returns 32 hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns 32 hex digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText takes 32 hex digits.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) != 2*len(h) {
		return fmt.Errorf("hash %q: want %d hex digits", b, 2*len(h))
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// UnreadReason begins Range.Broken of an object that was quarantined because the source
// did not hand it out: nothing is known of its content.
const UnreadReason = "cannot be read: "

// Headed says where the keys of CSV's cells came from when the range was read: from
// the first row (named), or from their places or what was declared (numbered). It was
// found out with the table as published then, which had other columns than now. Earlier
// programs, which kept no answer, took every first row for a header.
func (r *Range) Headed() string { return cmp.Or(r.Header, "named") }

// Unread says whether the range is that of an object whose content nobody has seen.
func (r *Range) Unread() bool { return strings.HasPrefix(r.Broken, UnreadReason) }

// IsZero says whether the hash was never set.
func (h Hash) IsZero() bool { return h == Hash{} }

// Range is a part of one partition that one batch consumed: the records whose
// first byte stands at [From, To). For objects the partition is the object as
// it was when it was read.
type Range struct {
	Key      string    `json:"key"`              // object key below the source path
	Name     string    `json:"name,omitempty"`   // what _source says of its records, if not Key; see KeyOf
	Was      Hash      `json:"was,omitzero"`     // identity of the content that was consumed before and that this one follows
	ETag     string    `json:"etag,omitempty"`   // with Size the identity that reads are pinned to
	Size     int64     `json:"size"`             // bytes as stored
	Modified time.Time `json:"modified"`         // as listed
	From     Position  `json:"from"`             // first position
	To       Position  `json:"to"`               // first position after the range
	Last     bool      `json:"last"`             // nothing follows To in this object
	Records  int64     `json:"records"`          // records whose first byte is in the range
	IDSum    Hash      `json:"id_sum"`           // sum of the records' id hashes, modulo 2^128
	Content  Hash      `json:"content,omitzero"` // hash of the stored bytes; set with the last range
	Header   string    `json:"header,omitempty"` // CSV: named or numbered, see Headed
	Broken   string    `json:"broken,omitempty"` // the container's defect when the object was quarantined
}
