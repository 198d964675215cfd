package parquet

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"batcher/record/typed"
	"batcher/thrift"
)

const (
	// headerBytes is where a page's header is looked for at first.
	headerBytes = 4 << 10
	// maxHeader bounds a page's header, in which whole values may stand.
	maxHeader = 4 << 20
	// aheadBytes is what all columns together may read ahead, so that a source for
	// which each read is a request is asked for more than a page at once.
	aheadBytes = 32 << 20
	minAhead   = 8 << 10 // of one column
	maxAhead   = 1 << 20
)

// column reads the entries of one column: of each its levels and, if they say
// so, its value. One is used for chunk after chunk.
type column struct {
	*shared
	leaf    *node
	codec   format.CompressionCodec
	at      int64  // of the next page, or what is in ahead of it
	end     int64  // of the pages of the file
	claimed int64  // where the chunk ends, as the footer says
	ahead   []byte // bytes read ahead
	used    int    // of which so many are behind at
	entries int64  // of the chunk that were not loaded yet
	left    int    // of the page that were not loaded yet
	page    []byte // decompressed
	dict    *dictionary
	reps    levels
	defs    levels
	values  decoder
	held    int64 // bytes counted in shared.open

	loaded   bool // an entry is at hand:
	rep, def uint8
}

// openChunk turns to the chunk of the next row group.
func (c *column) openChunk(m *chunkMeta) {
	c.codec, c.entries = m.Codec, m.NumValues
	c.at = m.start()
	c.claimed = c.at + m.TotalCompressedSize
	c.ahead, c.used = c.ahead[:0], 0
	c.left, c.dict, c.values, c.loaded = 0, nil, nil, false
}

// closeChunk makes sure that nothing is left of the chunk.
func (c *column) closeChunk() error {
	if c.loaded || c.entries > 0 || c.left > 0 {
		return fmt.Errorf("%w: it has more values than the row group has rows", errCorrupt)
	}
	if c.at >= min(c.claimed, c.end) {
		return nil
	}
	// Some writers count the size too large: what is there must be a page to be wrong.
	h, err := c.header()
	if err == nil && (h.DataPageHeader.V.NumValues > 0 || h.DataPageHeaderV2.V.NumValues > 0) {
		return fmt.Errorf("%w: it has more pages than the footer says", errCorrupt)
	}
	var failed *sourceError
	if errors.As(err, &failed) {
		return err
	}
	return nil
}

// failed says in which column err happened.
func (c *column) failed(err error) error {
	return fmt.Errorf("column %s: %w", c.leaf.path, err)
}

// load makes sure that an entry is at hand.
func (c *column) load() error {
	if c.loaded {
		return nil
	}
	if c.entries == 0 {
		return fmt.Errorf("%w: it ends before the row group does", errCorrupt)
	}
	for c.left == 0 {
		if err := c.nextPage(); err != nil {
			return err
		}
	}
	var err error
	if c.rep, err = c.reps.next(); err != nil {
		return fmt.Errorf("repetition levels: %w", err)
	}
	if c.def, err = c.defs.next(); err != nil {
		return fmt.Errorf("definition levels: %w", err)
	}
	c.left--
	c.entries--
	c.loaded = true
	return nil
}

// follows says whether the next entry goes on with the list whose elements have
// the repetition level rep.
func (c *column) follows(rep uint8) (bool, error) {
	if !c.loaded && c.entries == 0 {
		return false, nil
	}
	err := c.load()
	return c.rep == rep, err
}

// pass takes an entry without a value, which must have these levels.
func (c *column) pass(rep, def uint8) error {
	if err := c.load(); err != nil {
		return err
	}
	if c.rep != rep || c.def != def {
		return fmt.Errorf("%w: levels %d and %d where %d and %d are due", errCorrupt, c.rep, c.def, rep, def)
	}
	c.loaded = false
	return nil
}

// take takes an entry with a value, which must have these levels.
func (c *column) take(rep, def uint8) (value, error) {
	if err := c.pass(rep, def); err != nil {
		return value{}, err
	}
	return c.values.next()
}

// peek returns at least n bytes from at on, or fewer at the end of the pages.
func (c *column) peek(n int) ([]byte, error) {
	room := max(0, c.end-c.at)
	if n = int(min(int64(n), room)); len(c.ahead)-c.used < n {
		c.ahead = c.ahead[:copy(c.ahead, c.ahead[c.used:])]
		c.used = 0
		have := len(c.ahead)
		n = max(n, int(min(int64(c.window), room, max(0, c.claimed-c.at))))
		c.ahead = slices.Grow(c.ahead, n-have)[:n]
		if err := c.in.full(c.ahead[have:], c.at+int64(have)); err != nil {
			c.ahead = c.ahead[:have]
			return nil, err
		}
	}
	return c.ahead[c.used:], nil
}

// advance goes on to what stands n bytes further on.
func (c *column) advance(n int) {
	c.at += int64(n)
	c.used = min(c.used+n, len(c.ahead))
}

// read returns the next n bytes, which are valid until the next page is read.
func (c *column) read(n int) ([]byte, error) {
	if int64(n) > c.end-c.at {
		return nil, fmt.Errorf("%w: a page ends behind the last one", errCorrupt)
	}
	if ahead := c.ahead[c.used:]; len(ahead) >= n {
		c.advance(n)
		return ahead[:n], nil
	}
	c.stored = slices.Grow(c.stored[:0], n)[:n]
	have := copy(c.stored, c.ahead[c.used:])
	if err := c.in.full(c.stored[have:], c.at+int64(have)); err != nil {
		return nil, err
	}
	c.advance(n)
	return c.stored, nil
}

// header reads the header of the next page. Only its numbers may be used:
// statistics share what was read ahead.
func (c *column) header() (*format.PageHeader, error) {
	for size := headerBytes; ; size *= 8 {
		ahead, err := c.peek(size)
		if err != nil {
			return nil, err
		}
		h := new(format.PageHeader)
		n, err := thrift.Decode(ahead, h)
		if errors.Is(err, io.ErrUnexpectedEOF) && len(ahead) >= size && size < maxHeader {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: page header at byte %d: %w", errCorrupt, c.at, err)
		}
		c.advance(n)
		return h, nil
	}
}

// nextPage reads the next page, a dictionary or data.
func (c *column) nextPage() error {
	h, err := c.header()
	if err != nil {
		return err
	}
	limit := int32(min(c.limits.MaxPageBytes, 1<<31-1))
	if h.CompressedPageSize < 0 || h.CompressedPageSize > limit || h.UncompressedPageSize < 0 || h.UncompressedPageSize > limit {
		if h.CompressedPageSize < 0 || h.UncompressedPageSize < 0 {
			return fmt.Errorf("%w: a page of %d bytes that hold %d", errCorrupt, h.CompressedPageSize, h.UncompressedPageSize)
		}
		return fmt.Errorf("%w: a page of %d bytes that hold %d; source.files.limits.page_bytes is %d", typed.ErrLimit, h.CompressedPageSize, h.UncompressedPageSize, limit)
	}
	stored, err := c.read(int(h.CompressedPageSize))
	if err != nil {
		return err
	}
	if h.CRC != 0 && crc32.ChecksumIEEE(stored) != uint32(h.CRC) {
		return fmt.Errorf("%w: wrong checksum of a page before byte %d", errCorrupt, c.at)
	}
	switch {
	case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
		err = c.dictionaryPage(h, stored)
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		err = c.dataPage(h, stored)
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		err = c.dataPageV2(h, stored)
	case h.Type == format.IndexPage:
		return nil
	default:
		err = fmt.Errorf("a page of type %v", h.Type)
	}
	if err != nil {
		return fmt.Errorf("%w: page before byte %d: %w", errCorrupt, c.at, err)
	}
	return c.hold()
}

// hold counts what the column keeps.
func (c *column) hold() error {
	now := int64(cap(c.page) + cap(c.ahead))
	if c.dict != nil {
		now += c.dict.held()
	}
	c.open += now - c.held
	c.held = now
	if c.open > c.limits.MaxOpenBytes {
		return fmt.Errorf("%w: the pages of all columns take more than %d bytes at once: twice source.files.limits.page_bytes, and at least 512 MiB", typed.ErrLimit, c.limits.MaxOpenBytes)
	}
	return nil
}

func (c *column) dictionaryPage(h *format.PageHeader, stored []byte) error {
	d := h.DictionaryPageHeader.V
	if c.dict != nil || (d.Encoding != format.Plain && d.Encoding != format.PlainDictionary) { //nolint:staticcheck // files of old writers have it
		return fmt.Errorf("a second dictionary, or one with encoding %v", d.Encoding)
	}
	body, err := c.decompress(nil, stored, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	c.dict, err = newDictionary(c.leaf, body, int(d.NumValues))
	return err
}

// dataPage opens a page of version 1: levels and values are compressed together.
func (c *column) dataPage(h *format.PageHeader, stored []byte) error {
	d := h.DataPageHeader.V
	body, err := c.decompress(c.page[:0], stored, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	c.page = body
	if body, err = c.reps.open(body, c.leaf.rep, d.RepetitionLevelEncoding, int(d.NumValues)); err != nil {
		return fmt.Errorf("repetition levels: %w", err)
	}
	if body, err = c.defs.open(body, c.leaf.def, d.DefinitionLevelEncoding, int(d.NumValues)); err != nil {
		return fmt.Errorf("definition levels: %w", err)
	}
	return c.openValues(d.Encoding, body, d.NumValues)
}

// dataPageV2 opens a page of version 2: levels are never compressed.
func (c *column) dataPageV2(h *format.PageHeader, stored []byte) error {
	d := h.DataPageHeaderV2.V
	reps, defs := int(d.RepetitionLevelsByteLength), int(d.DefinitionLevelsByteLength)
	if reps < 0 || defs < 0 || reps > len(stored) || defs > len(stored)-reps || reps+defs > int(h.UncompressedPageSize) {
		return fmt.Errorf("levels of %d and %d bytes in a page of %d", reps, defs, len(stored))
	}
	c.page = append(c.page[:0], stored[:reps+defs]...)
	size := int(h.UncompressedPageSize) - reps - defs
	var err error
	if d.IsCompressed.Valid && !d.IsCompressed.V {
		c.page, err = uncompressed(c.page, stored[reps+defs:], size)
	} else {
		c.page, err = c.decompress(c.page, stored[reps+defs:], size)
	}
	if err != nil {
		return err
	}
	c.reps.openBare(c.page[:reps], c.leaf.rep)
	c.defs.openBare(c.page[reps:reps+defs], c.leaf.def)
	return c.openValues(d.Encoding, c.page[reps+defs:], d.NumValues)
}

func (c *column) openValues(e format.Encoding, body []byte, entries int32) (err error) {
	if entries < 0 || int64(entries) > c.entries {
		return fmt.Errorf("%d values, %d are left of the column", entries, c.entries)
	}
	c.left = int(entries)
	c.values, err = newDecoder(c.leaf, e, body, c.dict)
	return err
}

// levels reads the levels of one page.
type levels struct {
	max   uint8
	codes hybrid
}

// open takes the levels from the front of a page of n entries.
func (l *levels) open(body []byte, highest uint8, e format.Encoding, n int) (rest []byte, err error) {
	l.max = highest
	if highest == 0 {
		return body, nil
	}
	width := bits.Len8(highest)
	switch e {
	case format.RLE:
		var packed []byte
		if packed, rest, err = prefixed(body); err != nil {
			return nil, err
		}
		l.codes = hybrid{bits: bitReader{data: packed}, width: width}
		return rest, nil
	case format.BitPacked: // deprecated: the highest bit first, without a length
		size := (n*width + 7) / 8
		if n < 0 || size > len(body) {
			return nil, fmt.Errorf("%d bytes wanted, %d are left", size, len(body))
		}
		l.codes = hybrid{bits: bitReader{data: body[:size]}, width: width, reversed: true}
		return body[size:], nil
	}
	return nil, fmt.Errorf("encoding %v", e)
}

// openBare takes levels without a length in front.
func (l *levels) openBare(body []byte, highest uint8) {
	l.max = highest
	l.codes = hybrid{bits: bitReader{data: body}, width: bits.Len8(highest)}
}

func (l *levels) next() (uint8, error) {
	if l.max == 0 {
		return 0, nil
	}
	v, err := l.codes.next()
	if err == nil && v > uint64(l.max) {
		err = fmt.Errorf("%w: level %d above %d", errCorrupt, v, l.max)
	}
	return uint8(v), err
}
