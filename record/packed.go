package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/pierrec/lz4/v4"
)

// Compressions that have no magic number of their own, or another one beside it, are
// known by the name of the object and by what their first bytes allow.

// packedAs is the ending that says how an object is compressed, or "".
func packedAs(name string) string {
	ending := strings.ToLower(path.Ext(name))
	for _, p := range packings {
		if ending == p {
			return p
		}
	}
	return ""
}

var xerialMagic = []byte("\x82SNAPPY\x00")

// byName opens what the name of an object says to be compressed and no magic number
// does. It returns nil where the bytes are nothing of the kind.
func (c *container) byName(name string, head []byte) (io.Reader, error) {
	switch packedAs(name) {
	default: // its magic number would have told
		return nil, nil
	case ".sz", ".snappy":
		return c.snappyBlocks(head)
	case ".lz4":
		if isBlocks(head) {
			return &blocks{in: c.buf, most: c.limits.MaxPageBytes, unpack: lz4.UncompressBlock}, nil
		}
	case ".zz", ".zlib", ".deflate":
		if len(head) > 1 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
			return zlib.NewReader(c.buf)
		}
		if !looksLikeText(head) {
			return flate.NewReader(c.buf), nil
		}
	case ".br":
		if !looksLikeText(head) { // the reader that Parquet's pages use does not notice where a stream is cut off
			return nil, c.broken("brotli"+notRead, nil)
		}
	}
	if looksLikeText(head) || bytes.HasPrefix(head, parquetMagic) || bytes.HasPrefix(head, avroMagic) {
		return nil, nil
	}
	return nil, errBlock
}

// looksLikeText says whether the head is UTF-8 without control characters. Under a
// name that says that it is compressed text may lie plainly.
func looksLikeText(head []byte) bool {
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n == 1 && utf8.FullRune(head) || r < ' ' && r != '\t' && r != '\n' && r != '\r' {
			return false
		}
		head = head[n:]
	}
	return true
}

// snappyBlocks opens blocks of snappy without its framing format: those of Hadoop,
// or one that is the whole object.
func (c *container) snappyBlocks(head []byte) (io.Reader, error) {
	unpack := func(src, dst []byte) (int, error) {
		if n, err := snappy.DecodedLen(src); err != nil || n > len(dst) {
			return 0, errors.Join(err, errBlock)
		}
		out, err := snappy.Decode(dst, src)
		return len(out), err
	}
	if isBlocks(head) {
		return &blocks{in: c.buf, most: c.limits.MaxPageBytes, unpack: unpack}, nil
	}
	n, err := snappy.DecodedLen(head)
	raw := err == nil
	if !raw || looksLikeText(head) && n > 0 && len(head) < maxMagic {
		return nil, nil
	}
	text, err := io.ReadAll(io.LimitReader(c.buf, int64(c.limits.MaxPageBytes)+1))
	if err != nil {
		return nil, err
	}
	if n > c.limits.MaxPageBytes || len(text) > c.limits.MaxPageBytes {
		return nil, c.tooLarge(fmt.Sprintf("one block of snappy that holds %d bytes, %d at most", n, c.limits.MaxPageBytes), "page_bytes")
	}
	if n/32 <= len(text) { // no element makes more than 64 bytes of 3
		if out, err := snappy.Decode(nil, text); err == nil {
			return bytes.NewReader(out), nil
		}
	}
	if looksLikeText(text[:min(len(text), storedBuffer)]) {
		return bytes.NewReader(text), nil
	}
	return nil, errBlock
}

// isBlocks says whether an object begins with a block of Hadoop: how many bytes it
// holds and how many its first part takes. Before it there may be empty blocks, and
// nothing but these where nothing was written. Blocks have fewer than 16 MiB, so that
// they begin with a zero, as neither text does nor a bare block of snappy that holds
// something.
func isBlocks(head []byte) bool {
	all := len(head)
	for len(head) >= 4 && binary.BigEndian.Uint32(head) == 0 {
		head = head[4:]
	}
	if len(head) < 8 {
		return len(head) == 0 && all > 0
	}
	takes := binary.BigEndian.Uint32(head[4:])
	return head[0] == 0 && takes > 0 && takes < 1<<25
}

var errBlock = errors.New("no block of this compression")

// xerial opens what the snappy library of Java writes: a head, then blocks with
// their sizes before them.
func (c *container) xerial() (io.Reader, error) {
	if _, err := c.buf.Discard(len(xerialMagic) + 8); err != nil {
		return nil, unfinished(err)
	}
	return &blocks{in: c.buf, most: c.limits.MaxPageBytes, single: true, unpack: func(src, dst []byte) (int, error) {
		out, err := snappy.Decode(dst, src)
		return len(out), err
	}, size: snappy.DecodedLen}, nil
}

// blocks reads blocks one after another. Before each is how many bytes it holds and,
// before each of its parts, how many that takes; where single is set, only the
// latter.
type blocks struct {
	in     *bufio.Reader
	most   int // bytes of a block, stored and decoded
	single bool
	unpack func(src, dst []byte) (int, error)
	size   func(src []byte) (int, error) // of a part, where single is set
	left   int                           // bytes of the open block that its parts still hold
	src    []byte
	out    []byte
	rest   []byte // of out
}

func (b *blocks) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if err := b.part(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// number reads a size. At the end of the object, where a block may begin, there is
// none: io.EOF.
func (b *blocks) number() (int, error) {
	var head [4]byte
	if _, err := io.ReadFull(b.in, head[:]); err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if int64(n) > int64(b.most) {
		return 0, fmt.Errorf("a block of %d bytes, %d at most", n, b.most)
	}
	return int(n), nil
}

// part decodes the next part of a block.
func (b *blocks) part() error {
	if b.left == 0 && !b.single {
		var err error
		if b.left, err = b.number(); err != nil || b.left == 0 {
			return err // an empty block is followed by the next one
		}
	}
	takes, err := b.number()
	if err != nil {
		if !b.single {
			err = unfinished(err)
		}
		return err
	}
	if b.src, err = b.read(takes); err != nil {
		return err
	}
	holds := b.left
	if b.single {
		if holds, err = b.size(b.src); err != nil || holds > b.most {
			return errors.Join(err, errBlock)
		}
	}
	if cap(b.out) < holds {
		b.out = make([]byte, holds)
	}
	n, err := b.unpack(b.src, b.out[:holds])
	if err != nil {
		return err
	}
	if b.rest = b.out[:n]; !b.single {
		b.left -= n
	}
	return nil
}

// read reads n bytes, which get room only as they arrive.
func (b *blocks) read(n int) ([]byte, error) {
	var in bytes.Buffer
	if _, err := io.CopyN(&in, b.in, int64(n)); err != nil {
		return nil, unfinished(err)
	}
	return in.Bytes(), nil
}

// lz4Reader reads frames of lz4 one after another.
type lz4Reader struct {
	in    *bufio.Reader
	zr    *lz4.Reader
	ended bool // the stored bytes ended inside of a frame
}

// isLZ4 knows frames of lz4, also after some that are skippable; where these go on out
// of sight, the name tells.
func isLZ4(in *bufio.Reader, name string) bool {
	head, _ := in.Peek(4)
	if !isSkippable(head) {
		return bytes.HasPrefix(head, lz4Magic)
	}
	_, frame := firstFrame(in)
	return bytes.HasPrefix(frame, lz4Magic) || frame == nil && packedAs(name) == ".lz4"
}

func newLZ4(in *bufio.Reader) io.Reader {
	l := &lz4Reader{in: in}
	l.zr = lz4.NewReader(readerFunc(l.stored))
	return l
}

// stored reads for the frames. Their reader takes an end between two blocks for the
// end of a frame, which has a mark of its own.
func (l *lz4Reader) stored(p []byte) (int, error) {
	n, err := l.in.Read(p)
	l.ended = l.ended || err == io.EOF
	return n, err
}

func (l *lz4Reader) Read(p []byte) (int, error) {
	for {
		n, err := l.zr.Read(p)
		if err == io.EOF {
			if l.ended {
				return n, io.ErrUnexpectedEOF
			}
			if err = l.next(); err != nil {
				return n, err
			}
			l.zr.Reset(readerFunc(l.stored))
		}
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// next finds the frame after the one that has ended. io.EOF says that there is none.
func (l *lz4Reader) next() error {
	for {
		head, err := l.in.Peek(8)
		switch {
		case len(head) == 0:
			return err
		case bytes.HasPrefix(head, lz4Magic):
			return nil
		case !isSkippable(head):
			return errGarbage
		case len(head) < 8:
			return io.ErrUnexpectedEOF
		}
		if _, err := io.CopyN(io.Discard, l.in, 8+int64(binary.LittleEndian.Uint32(head[4:]))); err != nil {
			return unfinished(err)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
