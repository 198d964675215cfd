package datafile

import "encoding/binary"

// Bounds of what is taken for stripes.
const (
	stripesMin    = 64       // values
	stripeMax     = 1 << 10  // bytes of one value, its length included
	stripeHeadMax = 64 << 10 // bytes before the values: a block holds them
)

// stripes say how the strings of a page repeat when all have one length, as
// UUIDs, hashes and session ids do. From start on, each stripe is a stretch of
// fresh bytes, which may be anything, and then of bytes that are the same in
// every stripe: the next value's length and what all values have in common.
type stripes struct {
	start int // of the first stripe; before it stands all that a stripe repeats
	width int // of a stripe
	fresh int // bytes of a stripe that are its own; above 0, below width
	count int // 0: the page has no stripes
}

// stripesOf finds the stripes of a body in which PLAIN strings stand from an
// offset on.
func stripesOf(body []byte, texts int) stripes {
	if len(body)-texts < 4 || texts > stripeHeadMax {
		return stripes{}
	}
	values := body[texts:]
	length := binary.LittleEndian.Uint32(values)
	if length > stripeMax-4 {
		return stripes{}
	}
	width := int(length) + 4
	n := len(values) / width
	if n < stripesMin {
		return stripes{}
	}
	for at := 0; at < n*width; at += width {
		if binary.LittleEndian.Uint32(values[at:]) != length {
			return stripes{}
		}
	}
	end, same := steady(values[:n*width], width)
	if same == width {
		return stripes{}
	}
	s := stripes{start: texts + end, width: width, fresh: width - same}
	s.count = (texts + n*width - s.start) / width
	return s
}

// steady finds the longest run of places at which all values of one width have
// the same byte, going round from the end of a value to the start of the next.
// It returns how far from the start of the first value the run ends, which may
// be in the second, and its length.
func steady(values []byte, width int) (end, length int) {
	var changed [stripeMax]byte
	first := values[:width]
	for v := values[width:]; len(v) >= width; v = v[width:] {
		differ(changed[:width], first, v[:width])
	}
	run := 0
	for i := range 2 * width {
		if run++; changed[i%width] != 0 {
			run = 0
		}
		if run > length {
			end, length = i+1, run
		}
	}
	return end, min(length, width)
}

// differ adds to changed the bits in which a and b differ. All have one length.
func differ(changed, a, b []byte) {
	for len(changed) >= 8 && len(a) >= 8 && len(b) >= 8 {
		x := binary.LittleEndian.Uint64(a) ^ binary.LittleEndian.Uint64(b)
		x |= binary.LittleEndian.Uint64(changed)
		binary.LittleEndian.PutUint64(changed, x)
		changed, a, b = changed[8:], a[8:], b[8:]
	}
	for i := range changed {
		changed[i] |= a[i] ^ b[i]
	}
}
