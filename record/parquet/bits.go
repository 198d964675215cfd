package parquet

import (
	"encoding/binary"
	"fmt"
)

// bitReader reads numbers of any width up to 64 bits, the lowest bit first.
type bitReader struct {
	data []byte
	acc  uint8 // bits of the last byte that were not read yet, at the low end
	have int   // how many
}

// read reads a number; it returns false if data ends before.
func (b *bitReader) read(width int) (uint64, bool) {
	v, got := uint64(b.acc), b.have
	for got < width {
		if len(b.data) == 0 {
			return 0, false
		}
		v |= uint64(b.data[0]) << got
		b.acc = b.data[0]
		b.data = b.data[1:]
		got += 8
	}
	if b.have >= width { // no byte was read
		b.acc >>= width
		b.have -= width
	} else {
		b.have = got - width
		b.acc = uint8(uint16(b.acc) >> (8 - b.have))
	}
	return v & (1<<width - 1), true
}

// readReversed reads a number of at most 8 bits, the highest bit first.
func (b *bitReader) readReversed(width int) (uint64, bool) {
	v := uint64(0)
	for range width {
		if b.have == 0 {
			if len(b.data) == 0 {
				return 0, false
			}
			b.acc, b.data, b.have = b.data[0], b.data[1:], 8
		}
		v = v<<1 | uint64(b.acc>>7)
		b.acc <<= 1
		b.have--
	}
	return v, true
}

// hybrid reads numbers in the RLE and bit-packing hybrid.
type hybrid struct {
	bits     bitReader
	width    int
	reversed bool   // no runs: bit-packed throughout, the highest bit first
	run      uint64 // numbers left of the run
	packed   bool   // the run is bit-packed
	repeated uint64 // else this number
}

func (h *hybrid) next() (uint64, error) {
	if h.reversed {
		return orEnds(h.bits.readReversed(h.width))
	}
	for h.run == 0 {
		if err := h.open(); err != nil {
			return 0, err
		}
	}
	h.run--
	if !h.packed {
		return h.repeated, nil
	}
	return orEnds(h.bits.read(h.width))
}

// orEnds makes an error of a value that is not there.
func orEnds(v uint64, there bool) (uint64, error) { //nolint:revive // takes the pair that a read returns
	if !there {
		return 0, errEnds
	}
	return v, nil
}

// open reads the head of the next run.
func (h *hybrid) open() error {
	if h.width == 0 && len(h.bits.data) == 0 { // some writers leave out runs of nothing
		h.run, h.packed, h.repeated = 1, false, 0
		return nil
	}
	head, n := binary.Uvarint(h.bits.data)
	if n <= 0 {
		return errEnds
	}
	h.bits = bitReader{data: h.bits.data[n:]}
	if h.packed = head&1 == 1; h.packed {
		if head>>1 > 1<<31 {
			return fmt.Errorf("%w: a run of %d groups", errCorrupt, head>>1)
		}
		h.run = head >> 1 * 8
		return nil
	}
	h.run = head >> 1
	var ok bool
	if h.repeated, ok = h.bits.read((h.width + 7) / 8 * 8); !ok {
		return errEnds
	}
	if h.repeated >= 1<<h.width {
		return fmt.Errorf("%w: a number of more than %d bits", errCorrupt, h.width)
	}
	return nil
}

// delta reads DELTA_BINARY_PACKED numbers.
type delta struct {
	bits   bitReader
	minis  int    // miniblocks of a block
	perOne int    // numbers of a miniblock
	total  uint64 // numbers left
	last   int64
	begun  bool  // the first number was given
	least  int64 // smallest difference in the block
	widths []byte
	mini   int // numbers left of the miniblock
	width  int
}

const maxDeltaBlock = 1 << 16

func newDelta(body []byte) (*delta, error) {
	var head [3]uint64 // numbers of a block, miniblocks of a block, numbers
	for i := range head {
		v, n := binary.Uvarint(body)
		if n <= 0 {
			return nil, errEnds
		}
		head[i], body = v, body[n:]
	}
	first, n := binary.Varint(body)
	if n <= 0 {
		return nil, errEnds
	}
	block, minis := head[0], head[1]
	if block > maxDeltaBlock || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 {
		return nil, fmt.Errorf("blocks of %d numbers in %d parts", block, minis)
	}
	return &delta{
		bits: bitReader{data: body[n:]}, minis: int(minis), perOne: int(block / minis),
		total: head[2], last: first,
	}, nil
}

func (d *delta) next() (int64, error) {
	if d.total == 0 {
		return 0, errEnds
	}
	d.total--
	if !d.begun {
		d.begun = true
		return d.last, nil
	}
	if d.mini == 0 {
		if err := d.openMini(); err != nil {
			return 0, err
		}
	}
	d.mini--
	v, ok := d.bits.read(d.width)
	if !ok {
		return 0, errEnds
	}
	d.last += d.least + int64(v)
	return d.last, nil
}

// openMini turns to the next miniblock, and block.
func (d *delta) openMini() error {
	if len(d.widths) == 0 {
		least, n := binary.Varint(d.bits.data)
		if n <= 0 || len(d.bits.data)-n < d.minis {
			return errEnds
		}
		d.least = least
		d.widths = d.bits.data[n : n+d.minis]
		d.bits = bitReader{data: d.bits.data[n+d.minis:]}
	}
	d.width, d.widths = int(d.widths[0]), d.widths[1:]
	if d.width > 64 {
		return fmt.Errorf("%w: numbers of %d bits", errCorrupt, d.width)
	}
	d.mini = d.perOne
	return nil
}

// rest returns what stands behind all numbers, of which none was read yet.
func (d *delta) rest() ([]byte, error) {
	s := *d
	for left := int64(s.total) - 1; left > 0; left -= int64(s.perOne) {
		if err := s.openMini(); err != nil {
			return nil, err
		}
		n := s.perOne / 8 * s.width
		if n > len(s.bits.data) {
			return nil, errEnds
		}
		s.bits = bitReader{data: s.bits.data[n:]}
	}
	return s.bits.data, nil
}
