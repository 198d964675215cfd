package record

import (
	"bytes"
	"unicode/utf8"
)

// replacement stands where text was invalid.
var replacement = []byte("\uFFFD")

// readable returns a record as it is to be read: with invalid UTF-8 as the policy
// wants it, or nil if it is not to be read.
func (d *Decoder) readable(rec *record) *record {
	if rec.valid {
		return rec
	}
	switch d.opt.Format.Invalid {
	case Replace:
		mended := *rec
		mended.raw, mended.valid = bytes.ToValidUTF8(rec.raw, replacement), true
		return &mended
	case Keep:
		if !rec.turned {
			return rec
		}
	}
	return nil
}

// repair makes a row of a record with invalid UTF-8 if the policy lets it, or a
// dead letter that holds it as it was received.
func (d *Decoder) repair(rec *record) error {
	mended := d.readable(rec)
	if mended == nil {
		return d.dead(rec, fault{code: invalidUTF8, at: invalidAt(rec.raw)})
	}
	if d.opt.Format.Invalid == Keep {
		d.invalid = invalidBytes(rec.raw)
		defer func() { d.invalid = 0 }()
	} else {
		d.notes.replaced++
	}
	d.received = rec.raw
	defer func() { d.received = nil }()
	return d.scan(mended)
}

// invalidBytes counts the bytes that are no part of a letter.
func invalidBytes(b []byte) int {
	n := 0
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			n++
		}
		i += size
	}
	return n
}
