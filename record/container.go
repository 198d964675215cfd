package record

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"batcher/source"
)

// Containers, as Result names them.
const (
	containerPlain  = "plain"
	containerGzip   = "gzip"
	containerZstd   = "zstd"
	containerBzip2  = "bzip2"
	containerSnappy = "snappy"
	containerLZ4    = "lz4"
)

const storedBuffer = 64 << 10

// container reads the decoded bytes of one object and guards them. One is
// reused for many objects.
type container struct {
	limits Limits
	stored storedReader
	buf    *bufio.Reader
	kind   string
	gz     gzipReader
	zs     *zstd.Decoder
	sn     *s2.Reader
	out    io.Reader // decoded bytes
	read   int64     // decoded bytes given
}

// storedReader hashes and counts what it reads, and remembers how reading ended:
// a failing store is not a broken object.
type storedReader struct {
	stop Stopper
	r    io.Reader
	sum  hash.Hash
	n    int64
	err  error
}

func (s *storedReader) Read(p []byte) (int, error) {
	if err := s.stop.Err(); err != nil {
		s.err = err
		return 0, err
	}
	n, err := s.r.Read(p)
	s.sum.Write(p[:n])
	s.n += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// open begins to read the object of a name whose stored bytes are r.
func (c *container) open(stop Stopper, name string, r io.Reader) error {
	if c.buf == nil {
		c.buf = bufio.NewReaderSize(nil, storedBuffer)
		c.stored.sum = sha256.New()
	}
	c.stored.sum.Reset()
	c.stored = storedReader{stop: stop, r: r, sum: c.stored.sum}
	c.buf.Reset(&c.stored)
	c.read = 0
	head, err := c.buf.Peek(maxMagic)
	if err != nil && err != io.EOF {
		return fmt.Errorf("read object: %w", err)
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		c.kind, c.out = containerGzip, &c.gz
		return c.wrap(c.gz.reset(c.buf))
	case isLZ4(c.buf, name):
		c.kind, c.out = containerLZ4, newLZ4(c.buf)
		return nil
	case isZstd(head):
		c.kind = containerZstd
		return c.openZstd()
	case isBzip2(head):
		c.kind, c.out = containerBzip2, bzip2.NewReader(c.buf)
		return nil
	case bytes.HasPrefix(head, snappyMagic):
		if c.sn == nil {
			c.sn = s2.NewReader(nil, s2.ReaderMaxBlockSize(1<<20))
		}
		c.sn.Reset(c.buf)
		c.kind, c.out = containerSnappy, c.sn
		return nil
	case bytes.HasPrefix(head, xerialMagic):
		c.kind = containerSnappy
		c.out, err = c.xerial()
		return c.wrap(err)
	}
	return c.openOther(name)
}

// openOther opens what has no magic number that is read here.
func (c *container) openOther(name string) error {
	head, err := c.buf.Peek(storedBuffer) // an object may be shorter
	if err != nil && err != io.EOF {
		return fmt.Errorf("read object: %w", err)
	}
	if reason := unreadable(name, head); reason != "" {
		return c.broken(reason, nil)
	}
	c.kind = strings.TrimPrefix(packedAs(name), ".")
	out, err := c.byName(name, head[:min(len(head), 512)])
	if err != nil {
		return c.wrap(err)
	}
	if c.out = out; out == nil {
		c.kind, c.out = containerPlain, c.buf
	}
	return nil
}

// maxMagic is how long the longest beginning is by which a container is known.
const maxMagic = 10

// snappyMagic begins the framing format of snappy.
var snappyMagic = []byte("\xff\x06\x00\x00sNaPpY")

// lz4Magic begins a frame of lz4.
var lz4Magic = []byte("\x04\x22\x4d\x18")

// isBzip2 knows a bzip2 file by its magic number and the first block's, or the
// end's if it holds nothing.
func isBzip2(head []byte) bool {
	return len(head) >= 10 && bytes.HasPrefix(head, []byte("BZh")) && head[3] >= '1' && head[3] <= '9' &&
		(string(head[4:10]) == "1AY&SY" || string(head[4:10]) == "\x17\x72\x45\x38\x50\x90")
}

// CheckContainer reads a compressed object to its end and says whether its
// container is whole. A plain one has no container and is not read. It fails as
// Decoder.Decode does.
func CheckContainer(stop Stopper, name string, r io.Reader, limits Limits) error {
	c := container{limits: limits.withDefaults()}
	if err := c.open(stop, name, r); err != nil {
		return err
	}
	if c.kind == containerPlain {
		return nil
	}
	return c.verify(make([]byte, storedBuffer))
}

// isZstd knows a zstd frame or a skippable one by its magic number.
func isZstd(head []byte) bool {
	return bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) || isSkippable(head)
}

// isSkippable knows a frame without data, which zstd and lz4 have in common.
func isSkippable(head []byte) bool {
	return len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18})
}

// openZstd begins to read frames of zstd. The window of one is held in memory while it
// is read. Every level of the zstd command up to 20 needs no more than the default, and
// most need 8 MiB at most; 21, 22 and --long do.
func (c *container) openZstd() error {
	if window := zstdWindow(c.buf); window > uint64(c.limits.MaxWindow) {
		return c.windowTooLarge(fmt.Sprintf("of %d bytes, ", window))
	}
	if c.zs == nil {
		zs, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(uint64(max(c.limits.MaxWindow, zstd.MinWindowSize))))
		if err != nil {
			return err
		}
		c.zs = zs
	}
	c.out = c.zs
	return c.wrap(c.zs.Reset(c.buf))
}

func (c *container) windowTooLarge(size string) error {
	return c.tooLarge(fmt.Sprintf("zstd with a window %smore than %d", size, c.limits.MaxWindow), "window_bytes")
}

// zstdWindow is the window that the first frame with data asks for, or 0 where that
// cannot be seen ahead: then the decoder finds out, and says less.
func zstdWindow(buf *bufio.Reader) uint64 {
	h, _ := firstFrame(buf)
	if h.SingleSegment { // its window is all of its content
		return h.FrameContentSize
	}
	return h.WindowSize
}

// firstFrame looks ahead for the first frame that is not skippable. It returns its
// head as zstd has it, if it is one of zstd, and the first bytes of it; nil where the
// skippable ones go on out of sight.
func firstFrame(buf *bufio.Reader) (h zstd.Header, magic []byte) {
	for at := 0; at+zstd.HeaderMaxSize <= storedBuffer; {
		head, _ := buf.Peek(at + zstd.HeaderMaxSize) // a shorter object gives what it has
		if len(head) <= at {
			return zstd.Header{}, []byte{}
		}
		if h = (zstd.Header{}); h.Decode(head[at:]) != nil {
			return zstd.Header{}, head[at:]
		}
		if !h.Skippable {
			return h, head[at:]
		}
		at += h.HeaderSize + int(h.SkippableSize)
	}
	return zstd.Header{}, nil
}

// Read gives decoded bytes. Its errors are io.EOF, what the store said, and
// BrokenError.
func (c *container) Read(p []byte) (int, error) {
	n, err := c.out.Read(p)
	c.read += int64(n)
	if c.read > c.limits.MaxDecoded {
		return n, c.tooLarge(fmt.Sprintf("more than %d decoded bytes", c.limits.MaxDecoded), "decoded_bytes")
	}
	if c.read > c.limits.RatioFrom && c.read/c.limits.MaxRatio > c.stored.n {
		return n, c.tooLarge(fmt.Sprintf("more than %d decoded bytes for each stored byte, counted from %d on", c.limits.MaxRatio, c.limits.RatioFrom), "ratio")
	}
	if err == io.EOF && c.kind != containerPlain {
		if rest, _ := c.buf.Peek(1); len(rest) > 0 {
			return n, c.broken("damaged "+c.kind, errGarbage)
		}
	}
	return n, c.wrap(err)
}

// tooLarge says that an object is beyond a bound, which a key of the pipeline file
// raises.
func (c *container) tooLarge(what, key string) error {
	return &BrokenError{Reason: fmt.Sprintf("%s: %s (source.files.limits.%s)", TooLargeReason, what, key), Offset: c.read, TooLarge: true}
}

// wrap tells a broken container from a failing store.
func (c *container) wrap(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if c.stored.err != nil {
		return fmt.Errorf("read object: %w", c.stored.err)
	}
	if said := new(BrokenError); errors.As(err, &said) {
		return said
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return c.windowTooLarge("of ")
	}
	reason := "damaged " + c.kind
	if errors.Is(err, io.ErrUnexpectedEOF) {
		reason = "truncated " + c.kind
	}
	return c.broken(reason, err)
}

func (c *container) broken(reason string, err error) error {
	return &BrokenError{Reason: reason, Offset: c.read, Err: err}
}

// verify reads what is left, so that checksums at the end are seen.
func (c *container) verify(scratch []byte) error {
	for {
		if _, err := c.Read(scratch); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// content returns the hash of the stored bytes, all of which were read.
func (c *container) content() (h source.Hash) {
	copy(h[:], c.stored.sum.Sum(nil))
	return h
}

// gzipReader reads all members of a gzip file one by one, because behind the
// last one there may be zeros (tapes and some uploaders pad), which the
// standard reader takes for a broken member.
type gzipReader struct {
	buf *bufio.Reader
	zr  *gzip.Reader
}

var errGarbage = errors.New("garbage behind the last member")

func (g *gzipReader) reset(buf *bufio.Reader) error {
	g.buf = buf
	return g.member()
}

// member begins the next member.
func (g *gzipReader) member() error {
	if g.zr == nil {
		zr, err := gzip.NewReader(g.buf)
		if err != nil {
			return unfinished(err)
		}
		g.zr = zr
	} else if err := g.zr.Reset(g.buf); err != nil {
		return unfinished(err)
	}
	g.zr.Multistream(false)
	return nil
}

// unfinished says that the end of the file inside a member is no good end.
func unfinished(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Read gives decoded bytes of one member after another.
func (g *gzipReader) Read(p []byte) (int, error) {
	for {
		n, err := g.zr.Read(p)
		if err == io.EOF {
			err = g.next()
		}
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// next looks behind a member: another one, zeros to the end, or the end.
func (g *gzipReader) next() error {
	head, err := g.buf.Peek(1)
	if err != nil {
		return err
	}
	if head[0] != 0 {
		if head[0] != 0x1f {
			return errGarbage
		}
		return g.member()
	}
	for {
		b, err := g.buf.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			return errGarbage
		}
	}
}
