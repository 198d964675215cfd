package datafile

import (
	"bytes"
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// dictionary gives byte strings numbers in the order in which they first come.
// Its bytes are those of a Parquet dictionary page: PLAIN values.
type dictionary struct {
	plain   []byte
	offsets []uint32 // of each entry's length in plain
	slots   []slot   // open addressing, a power of two, at most half full
	last    int32    // number of the value added last; -1 at first
	seen    int      // values added, distinct or not
}

// slot holds an entry's number + 1 and some bits of its hash.
type slot struct{ entry, tag uint32 }

// reset empties the dictionary for the next row group and keeps its memory.
func (d *dictionary) reset() {
	d.plain, d.offsets, d.last, d.seen = d.plain[:0], d.offsets[:0], -1, 0
	clear(d.slots)
}

// entry returns the bytes of an entry with their length in front.
func (d *dictionary) entry(i int32) []byte {
	at := d.offsets[i]
	return d.plain[at : at+4+binary.LittleEndian.Uint32(d.plain[at:])]
}

// add returns the number of v, which has its length in front. New values are
// appended; fresh says that v was one.
func (d *dictionary) add(v []byte) (number int32, fresh bool) {
	d.seen++
	if d.last >= 0 && bytes.Equal(d.entry(d.last), v) {
		return d.last, false
	}
	if len(d.offsets)*2 >= len(d.slots) {
		d.grow()
	}
	h := xxh3.Hash(v)
	tag, mask := uint32(h>>32), uint64(len(d.slots)-1)
	i := h & mask
	for ; d.slots[i].entry != 0; i = (i + 1) & mask {
		if n := int32(d.slots[i].entry - 1); d.slots[i].tag == tag && bytes.Equal(d.entry(n), v) {
			d.last = n
			return n, false
		}
	}
	d.last = int32(len(d.offsets))
	d.slots[i] = slot{entry: uint32(d.last) + 1, tag: tag}
	d.offsets = append(d.offsets, uint32(len(d.plain)))
	d.plain = append(d.plain, v...)
	return d.last, true
}

// grow doubles the slots.
func (d *dictionary) grow() {
	d.slots = make([]slot, max(16, 2*len(d.slots)))
	mask := uint64(len(d.slots) - 1)
	for n := range d.offsets {
		h := xxh3.Hash(d.entry(int32(n)))
		i := h & mask
		for d.slots[i].entry != 0 {
			i = (i + 1) & mask
		}
		d.slots[i] = slot{entry: uint32(n) + 1, tag: uint32(h >> 32)}
	}
}

// memory is how many bytes the dictionary takes: of short values what finds them
// takes most.
func (d *dictionary) memory() int {
	const offset, slot = 4, 8
	return len(d.plain) + offset*len(d.offsets) + slot*len(d.slots)
}

// pays says whether the dictionary is still worth having: it is not once more
// than half of the values are distinct or it has grown too large.
func (d *dictionary) pays() bool {
	const early = 1024 // too few values to judge by
	n := len(d.offsets)
	return len(d.plain) <= dictionaryMax && (n < early || 2*n <= d.seen)
}
