package datafile

import (
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"batcher/column"
	"batcher/thrift"
)

// Sizes of what is read at once.
const (
	windowBytes    = 256 << 10 // of a chunk, but for a page that is larger
	headerBytes    = 16 << 10  // no page header of this package is larger
	decoderMemory  = maxPageBytes
	firstAllotment = 1 << 20 // what a page may claim before it has shown it
)

// pageReader reads the pages of one column chunk in order.
type pageReader struct {
	in     io.ReaderAt
	leaf   *leaf
	codec  format.CompressionCodec
	zstd   *zstd.Decoder
	window []byte // bytes read ahead
	at     int64  // of what follows the window
	end    int64  // of the chunk
	rows   int64  // of the row group that have not come yet
	values int64  // entries that have not come yet
	nulls  int64  // of these, entries without a value
	dict   *entries
	page   *column.Reader // the page in hand

	bounded bool // the bounds of the chunk are known without its pages
}

// newPageReader starts at the first page of a chunk.
func newPageReader(in io.ReaderAt, l *leaf, m *format.ColumnMetaData, rows int64, z *zstd.Decoder) *pageReader {
	start := chunkStart(m)
	return &pageReader{
		in: in, leaf: l, codec: m.Codec, zstd: z,
		rows: rows, values: m.NumValues, nulls: m.Statistics.NullCount,
		at: start, end: start + m.TotalCompressedSize,
		page: column.NewReader(&column.Vector{}, 0),
	}
}

// available is how many rows the page in hand has left; it reads the next page
// when there are none.
func (p *pageReader) available() (n int, err error) {
	defer recoverDamage(&err)
	for p.page.Rows() == 0 {
		if err := p.next(); err != nil {
			return 0, fmt.Errorf("column %q: %w", p.leaf.chunkPath, err)
		}
	}
	return p.page.Rows(), nil
}

// next reads one page.
func (p *pageReader) next() error {
	page, err := p.raw()
	if err != nil {
		return err
	}
	return p.take(page)
}

// rawPage is a page as it stands in a file.
type rawPage struct {
	header format.PageHeader
	bytes  []byte // header and body
	body   []byte // compressed
}

// raw reads a page and checks its body against the header's checksum. Its memory is
// its own.
func (p *pageReader) raw() (page rawPage, err error) {
	if err := p.fill(headerBytes); err != nil {
		return page, err
	}
	if len(p.window) == 0 {
		return page, fmt.Errorf("%w: %d rows are missing", ErrDamaged, p.rows)
	}
	size, err := thrift.Decode(p.window, &page.header)
	if err != nil {
		return page, fmt.Errorf("%w: page header: %w", ErrDamaged, err)
	}
	h := &page.header
	packed := int64(h.CompressedPageSize)
	if packed < 0 || packed > int64(len(p.window)-size)+p.end-p.at || h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPageBytes {
		return page, fmt.Errorf("%w: page of %d bytes, %d compressed", ErrDamaged, h.UncompressedPageSize, packed)
	}
	end := size + int(packed)
	if err := p.fill(end); err != nil {
		return page, err
	}
	page.bytes, page.body = p.window[:end:end], p.window[size:end:end]
	p.window = p.window[end:]
	if sum := int32(crc32.ChecksumIEEE(page.body)); h.CRC != 0 && h.CRC != sum {
		return page, fmt.Errorf("%w: page checksum %08x, want %08x", ErrDamaged, uint32(sum), uint32(h.CRC))
	}
	return page, nil
}

// take decodes a page and takes it in hand, or sets the dictionary.
func (p *pageReader) take(page rawPage) error {
	body, err := p.body(&page)
	if err != nil {
		return err
	}
	if err := p.accept(&page.header, body); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// accept takes a page in hand or sets the dictionary.
func (p *pageReader) accept(h *format.PageHeader, body []byte) (err error) {
	switch {
	case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid && p.dict == nil:
		p.dict, err = newEntries(body, int(h.DictionaryPageHeader.V.NumValues))
		return err
	case h.Type != format.DataPage || !h.DataPageHeader.Valid:
		return fmt.Errorf("page of type %v in this place", h.Type)
	}
	v, err := decodePage(p.leaf, &h.DataPageHeader.V, body, p.dict)
	if err != nil {
		return err
	}
	rows := rowsOf(v)
	if int64(rows) > p.rows {
		return fmt.Errorf("page of %d rows where %d are left", rows, p.rows)
	}
	p.rows -= int64(rows)
	p.values -= int64(len(v.Def))
	p.nulls -= int64(len(v.Def) - v.Values)
	if p.rows == 0 && (p.values != 0 || p.nulls != 0 || len(p.window) > 0 || p.at != p.end) {
		return fmt.Errorf("pages are not what the footer says: %d entries, %d nulls, %d bytes are left", p.values, p.nulls, int64(len(p.window))+p.end-p.at)
	}
	p.page = column.NewReader(v, rows)
	return nil
}

// rowsOf is the number of rows of a decoded page.
func rowsOf(v *column.Vector) int {
	if v.MaxRep == 0 {
		return len(v.Def)
	}
	n := 0
	for _, r := range v.Rep {
		if r == 0 {
			n++
		}
	}
	return n
}

// fill makes the window hold n bytes, or what is left of the chunk.
func (p *pageReader) fill(n int) error {
	if len(p.window) >= n || p.at == p.end {
		return nil
	}
	want := min(int64(max(n, windowBytes)-len(p.window)), p.end-p.at)
	grown := make([]byte, len(p.window)+int(want))
	copy(grown, p.window)
	if err := readAt(p.in, grown[len(p.window):], p.at); err != nil {
		return fmt.Errorf("read data file at %d: %w", p.at, err)
	}
	p.at += want
	p.window = grown
	return nil
}

// body decompresses a page. It returns memory that nothing else uses, but for a
// codec that leaves the bytes as they are.
func (p *pageReader) body(page *rawPage) ([]byte, error) {
	want := int(page.header.UncompressedPageSize)
	out, err := p.decompress(page.body, want)
	if err != nil {
		return nil, fmt.Errorf("%w: page: %w", ErrDamaged, err)
	}
	if len(out) != want {
		return nil, fmt.Errorf("%w: page has %d bytes, want %d", ErrDamaged, len(out), want)
	}
	return out, nil
}

// decompress undoes the codec.
func (p *pageReader) decompress(b []byte, size int) ([]byte, error) {
	switch p.codec {
	case format.Zstd:
		return p.zstd.DecodeAll(b, make([]byte, 0, min(size, firstAllotment)))
	case format.Snappy:
		if n, err := snappy.DecodedLen(b); err != nil || n != size {
			return nil, fmt.Errorf("snappy block of %d bytes, want %d: %w", n, size, err)
		}
		return snappy.Decode(nil, b)
	}
	return b, nil
}

// newDecoder makes the zstd decoder that the columns of one pass share, so many of
// them at once.
func newDecoder(columns int) (*zstd.Decoder, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(columns), zstd.WithDecoderMaxMemory(decoderMemory))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return z, nil
}
