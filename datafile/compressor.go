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
// worth the thorough way; for numbers and random identifiers, where it finds
// little more, the light one takes half the time.
type effort uint8

// The efforts.
const (
	untried effort = iota
	light
	thorough
)

const (
	trialBytes = 16 << 10  // smaller pages decide nothing and are compressed thoroughly
	trialMax   = 256 << 10 // of a larger page only so much is tried
	trialGain  = 6         // percent of the light size that the thorough way must save
)

// newCompressor returns the codec.
func newCompressor(c Compression) (*compressor, error) {
	switch c {
	case Snappy:
		return &compressor{codec: format.Snappy}, nil
	case Uncompressed:
		return &compressor{codec: format.Uncompressed}, nil
	}
	z := &compressor{codec: format.Zstd}
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

// try compresses the head of a page both ways.
func (e *encoder) try(body []byte) effort {
	body = body[:min(len(body), trialMax)]
	e.packed = e.light.EncodeAll(body, e.packed[:0])
	quick := len(e.packed)
	e.packed = e.thorough.EncodeAll(body, e.packed[:0])
	if len(e.packed)*100 > quick*(100-trialGain) {
		return light
	}
	return thorough
}
