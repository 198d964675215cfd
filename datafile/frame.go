package datafile

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/klauspost/compress/huff0"
)

// What RFC 8878 calls the parts of a zstd frame.
const (
	frameMagic  = "\x28\xb5\x2f\xfd"
	frameSingle = 2<<6 | 1<<5 // descriptor: a single segment, its size in 4 bytes

	lastBlock             = 1 // bit of a block's header
	blockRaw, blockPacked = 0, 2
	literalsRaw           = 0
	literalsRun           = 1
	literalsCoded         = 2
	codesConstant         = 1<<6 | 1<<4 | 1<<2 // each of the three codes is one symbol

	blockMax = 120 << 10 // bytes of all stripes; with what follows them the format allows 128 KiB
	recent   = 3         // offsets up to here mean one used before
)

// framer writes zstd frames without searching for repetitions: where they are is
// known beforehand, from stripes, or nothing repeats. The other bytes are coded
// by their frequency, by the package huff0 that zstd uses itself.
type framer struct {
	huff     huff0.Scratch
	literals []byte
}

// stripedFrame appends body, which has stripes, as a frame. Each stripe becomes
// a sequence of fresh bytes and a match with the stripe before. All sequences of
// a block are made of the same three codes, which take no room therefore.
func (f *framer) stripedFrame(dst, body []byte, s stripes) []byte {
	dst = beginFrame(dst, len(body))
	dst, head := beginBlock(dst)
	dst = append(dst, body[:s.start]...)
	endBlock(dst, head, blockRaw)
	// The first stripe, in a block of its own, says where its match is. In the
	// blocks that follow it is as far away as the last time, which takes no bit.
	n, offset := 1, code{}
	offset.split(uint32(s.width+recent), 0)
	for at, left := s.start, s.count; left > 0; {
		end := at + n*s.width
		if left -= n; left == 0 {
			end = len(body)
		}
		dst, head = beginBlock(dst)
		dst = f.appendStripes(dst, body[at:end], s, n, offset)
		endBlock(dst, head, blockPacked)
		at, n, offset = end, min(left, blockMax/s.width), code{}
	}
	dst[head] |= lastBlock
	return dst
}

// codedFrame appends body, in which nothing repeats, as a frame.
func (f *framer) codedFrame(dst, body []byte) []byte {
	dst = beginFrame(dst, len(body))
	for {
		n := min(len(body), blockMax)
		grown, head := beginBlock(dst)
		grown = append(f.appendLiterals(grown, body[:n]), 0) // no sequences
		kind := uint32(blockPacked)
		if len(grown)-head-3 >= n {
			// A frame that is one segment may not have a block longer than its content.
			grown, kind = append(grown[:head+3], body[:n]...), blockRaw
		}
		endBlock(grown, head, kind)
		dst, body = grown, body[n:]
		if len(body) == 0 {
			dst[head] |= lastBlock
			return dst
		}
	}
}

// beginFrame appends the header of a frame for so many bytes.
func beginFrame(dst []byte, size int) []byte {
	dst = append(append(dst, frameMagic...), frameSingle)
	return binary.LittleEndian.AppendUint32(dst, uint32(size))
}

// beginBlock makes room for the header of a block and says where.
func beginBlock(dst []byte) (grown []byte, head int) {
	return append(dst, 0, 0, 0), len(dst)
}

// endBlock fills in the header of the block that ends dst.
func endBlock(dst []byte, head int, kind uint32) {
	header := uint32(len(dst)-head-3)<<3 | kind<<1
	dst[head], dst[head+1], dst[head+2] = byte(header), byte(header>>8), byte(header>>16)
}

// appendStripes appends the content of a block: n stripes and what of the body
// follows them.
func (f *framer) appendStripes(dst, body []byte, s stripes, n int, offset code) []byte {
	f.literals = f.literals[:0]
	for range n {
		f.literals = append(f.literals, body[:s.fresh]...)
		body = body[s.width:]
	}
	f.literals = append(f.literals, body...)
	dst = f.appendLiterals(dst, f.literals)
	if n < 128 { // it is below 32,512, where a third form would begin
		dst = append(dst, byte(n))
	} else {
		dst = append(dst, byte(128+n>>8), byte(n))
	}
	fresh, match := literalLength(s.fresh), matchLength(s.width-s.fresh)
	dst = append(dst, codesConstant, fresh.symbol, offset.symbol, match.symbol)
	return appendExtras(dst, n, fresh, match, offset)
}

// appendLiterals appends the literals of a block, coded where it makes them
// smaller.
func (f *framer) appendLiterals(dst, literals []byte) []byte {
	const sizes20, sizes18 = 3 << 2, 3 << 2 // of a header: one size of 20 bits, two of 18
	n := uint64(len(literals))
	f.huff.Reuse = huff0.ReusePolicyNone
	packed, _, err := huff0.Compress4X(literals, &f.huff)
	switch {
	case err == nil && len(packed)+5 < len(literals):
		header := literalsCoded | sizes18 | n<<4 | uint64(len(packed))<<22
		dst = append(dst, byte(header), byte(header>>8), byte(header>>16), byte(header>>24), byte(header>>32))
		return append(dst, packed...)
	case errors.Is(err, huff0.ErrUseRLE):
		header := literalsRun | sizes20 | n<<4
		return append(dst, byte(header), byte(header>>8), byte(header>>16), literals[0])
	}
	header := literalsRaw | sizes20 | n<<4
	dst = append(dst, byte(header), byte(header>>8), byte(header>>16))
	return append(dst, literals...)
}

// code is a symbol of a sequence and the extra bits that complete it.
type code struct {
	symbol byte
	bits   int
	extra  uint32
}

// split makes the code of a value whose symbol counts the bits behind its
// leading one.
func (c *code) split(v uint32, above byte) {
	c.bits = bits.Len32(v) - 1
	c.symbol = above + byte(c.bits)
	c.extra = v - 1<<c.bits
}

// Symbols of lengths: those below the first entry stand for themselves; then each
// entry is the least value of a symbol, up to the next; from the last on a symbol
// counts bits.
var (
	literalStarts = []uint32{16, 18, 20, 22, 24, 28, 32, 40, 48, 64}
	matchStarts   = []uint32{32, 34, 36, 38, 40, 44, 48, 56, 64, 80, 96, 128}
)

// literalLength is the code of a number of literals.
func literalLength(n int) code { return lengthCode(uint32(n), literalStarts) }

// matchLength is the code of the length of a match, which is 3 at least.
func matchLength(n int) code { return lengthCode(uint32(n-3), matchStarts) }

func lengthCode(v uint32, starts []uint32) code {
	if v < starts[0] {
		return code{symbol: byte(v)}
	}
	last := len(starts) - 1
	if v >= starts[last] {
		var c code
		c.split(v, byte(starts[0])+byte(last)-byte(bits.Len32(starts[last])-1))
		return c
	}
	i := 0
	for starts[i+1] <= v {
		i++
	}
	return code{symbol: byte(starts[0]) + byte(i), bits: bits.Len32(starts[i+1]-starts[i]) - 1, extra: v - starts[i]}
}

// appendExtras appends the extra bits of n equal sequences and the bit that marks
// their end, from which readers start.
func appendExtras(dst []byte, n int, codes ...code) []byte {
	var each, pending uint64
	width, have := 0, 0
	for _, c := range codes {
		each |= uint64(c.extra) << width
		width += c.bits
	}
	for range n {
		pending |= each << have
		for have += width; have >= 8; have -= 8 {
			dst = append(dst, byte(pending))
			pending >>= 8
		}
	}
	return append(dst, byte(pending|1<<have))
}
