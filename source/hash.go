package source

import (
	"encoding/binary"
	"math/bits"
)

// Add returns the sum modulo 2^128 of both hashes as big-endian numbers. The
// sum of a set of hashes does not depend on their order.
func (h Hash) Add(o Hash) Hash {
	lo, carry := bits.Add64(h.low(), o.low(), 0)
	hi, _ := bits.Add64(h.high(), o.high(), carry)
	return hashOf(hi, lo)
}

// Sub returns the difference modulo 2^128: h.Add(o).Sub(o) is h.
func (h Hash) Sub(o Hash) Hash {
	lo, borrow := bits.Sub64(h.low(), o.low(), 0)
	hi, _ := bits.Sub64(h.high(), o.high(), borrow)
	return hashOf(hi, lo)
}

func (h Hash) high() uint64 { return binary.BigEndian.Uint64(h[:8]) }

func (h Hash) low() uint64 { return binary.BigEndian.Uint64(h[8:]) }

func hashOf(hi, lo uint64) (h Hash) {
	binary.BigEndian.PutUint64(h[:8], hi)
	binary.BigEndian.PutUint64(h[8:], lo)
	return h
}
