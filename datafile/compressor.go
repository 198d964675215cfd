package datafile

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// compressor is the codec of a file. All encoders of the file share it.
type compressor struct {
	codec           format.CompressionCodec
	light, thorough *zstd.Encoder // both make zstd frames that any reader takes
}

// effort is how hard zstd looks for repetitions in the pages of one column. It
// is decided once, by the first large page of the column in the file. Text is
// worth the thorough way; for most numbers and random identifiers, where it finds
// little more, the light one takes half the time. Not to look at all takes a
// tenth.
type effort uint8

// The efforts.
const (
	untried  effort = iota
	coded           // nothing is repeated
	striped         // strings of one length repeat only what all of them share
	light           // look where the last bytes were seen last
	thorough        // look twice: for long repetitions and for short ones
)

const (
	trialBytes = 16 << 10  // smaller pages decide nothing and are compressed thoroughly
	trialMax   = 128 << 10 // of a larger page only so much is tried
	trialGain  = 10        // percent of the size that the thorough way must save
)

// codec is how a file names the compression.
func (c Compression) codec() format.CompressionCodec {
	switch c {
	case Snappy:
		return format.Snappy
	case Uncompressed:
		return format.Uncompressed
	}
	return format.Zstd
}

// newCompressor returns the codec.
func newCompressor(c Compression) (*compressor, error) {
	z := &compressor{codec: c.codec()}
	if z.codec != format.Zstd {
		return z, nil
	}
	var err error
	if z.light, err = newZstd(zstd.SpeedFastest); err == nil {
		z.thorough, err = newZstd(zstd.SpeedDefault)
	}
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return z, nil
}

// newZstd makes an encoder, which allocates nothing before it is used.
func newZstd(level zstd.EncoderLevel) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil,
		zstd.WithEncoderLevel(level),
		zstd.WithEncoderConcurrency(crewSize()),
		zstd.WithWindowSize(pageBytes),
		zstd.WithAllLitEntropyCompression(true), // bytes that never repeat may be uneven
		zstd.WithLowerEncoderMem(true),          // a page fits its window, so it costs no time
		zstd.WithEncoderCRC(false),              // the page header has one
		zstd.WithZeroFrames(true),               // an empty body is a frame too
	)
}

// pack compresses a body of a page as zstd, with an effort that it decides when
// it is not yet.
func (e *encoder) pack(body content, how *effort) []byte {
	if *how == untried && len(body.bytes) >= trialBytes {
		*how = e.try(body)
	}
	switch *how {
	case coded:
		e.packed = e.framer.codedFrame(e.packed[:0], body.bytes)
		if len(e.packed) > len(body.bytes)/4*3 {
			return e.packed
		}
		return e.search(e.light, body) // so uneven that it is another kind of page
	case striped:
		if s := stripesOf(body.bytes, body.texts); s.count > 0 {
			e.packed = e.framer.stripedFrame(e.packed[:0], body.bytes, s)
			return e.packed
		}
		return e.search(e.light, body)
	case light:
		return e.search(e.light, body)
	}
	return e.search(e.thorough, body)
}

// search compresses a body by an encoder that looks for repetitions.
func (e *encoder) search(z *zstd.Encoder, body content) []byte {
	e.packed = z.EncodeAll(body.bytes, e.packed[:0])
	return e.packed
}

// try compresses the head of a page in all ways but one: the thorough way is not
// tried where the light one does not halve the page, since it takes ten times as
// long there, or where searching does not pay at all.
func (e *encoder) try(body content) effort {
	body.bytes = body.bytes[:min(len(body.bytes), trialMax)]
	best, size := light, len(e.search(e.light, body))
	for how := coded; how < light; how++ {
		h := how
		if n := len(e.pack(body, &h)); n < size {
			best, size = how, n
		}
	}
	if best != light || size > len(body.bytes)/2 {
		return best
	}
	if len(e.search(e.thorough, body))*100 <= size*(100-trialGain) {
		return thorough
	}
	return light
}
