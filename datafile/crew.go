package datafile

import (
	"cmp"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// crewMax bounds how many columns of a file are encoded at the same time. The
// records of a file are scanned one after another, and encoding takes less than
// this many times as long, so that more would only take memory.
const crewMax = 4

// crew are the encoders of one file, at most one for each processor. They work
// only while each runs: a file that is given up leaves nothing running behind.
type crew struct {
	codec    format.CompressionCodec
	encoders []*encoder
	decoder  *zstd.Decoder // for pages that are copied; nil until it is needed
}

// crewSize is how many columns are encoded at the same time.
func crewSize() int { return min(runtime.GOMAXPROCS(0), crewMax) }

// newCrew makes the encoders for a codec.
func newCrew(c Compression) (*crew, error) {
	z, err := newCompressor(c)
	if err != nil {
		return nil, err
	}
	w := &crew{codec: z.codec}
	for range crewSize() {
		w.encoders = append(w.encoders, &encoder{compressor: z})
	}
	return w, nil
}

// Encoders are the memory in which the pages of files are encoded. Files that are
// open at the same time may share them as long as no two are used at once.
type Encoders struct {
	compression Compression
	crew        *crew
}

// NewEncoders returns encoders for files of one compression.
func NewEncoders(c Compression) (*Encoders, error) {
	c = cmp.Or(c, Zstd)
	w, err := newCrew(c)
	return &Encoders{c, w}, err
}

// of returns the crew for a file.
func (e *Encoders) of(c Compression) (*crew, error) {
	if e.compression != c {
		return nil, fmt.Errorf("encoders for %q in a file of %q", e.compression, c)
	}
	return e.crew, nil
}

// first is the encoder for what is done to one column alone, outside of each.
func (w *crew) first() *encoder { return w.encoders[0] }

// decode returns the decoder that all columns share.
func (w *crew) decode() (*zstd.Decoder, error) {
	if w.decoder != nil {
		return w.decoder, nil
	}
	var err error
	w.decoder, err = newDecoder(len(w.encoders))
	return w.decoder, err
}

// each calls work for every chunk's index, side by side, and returns when all
// calls have. What a chunk becomes depends on nothing but the chunk, so that no
// byte depends on who did what when; nor does the error, which is that of the
// first chunk that fails, in the order of the columns, and names it.
func (w *crew) each(chunks []*chunk, work func(i int, e *encoder) error) error {
	var next atomic.Int64
	var mu sync.Mutex
	first, failure := len(chunks), error(nil)
	do := func(e *encoder) {
		for i := int(next.Add(1)) - 1; i < len(chunks); i = int(next.Add(1)) - 1 {
			err := work(i, e)
			if err == nil {
				continue
			}
			next.Store(int64(len(chunks))) // those before i have all begun
			mu.Lock()
			if i < first {
				first, failure = i, chunks[i].failed(err)
			}
			mu.Unlock()
		}
	}
	var others sync.WaitGroup
	for _, e := range w.encoders[1:min(len(w.encoders), max(1, len(chunks)))] {
		others.Go(func() { do(e) })
	}
	do(w.encoders[0])
	others.Wait()
	return failure
}
