package datafile

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"batcher/column"
	"batcher/schema"
)

// Bounds of what is copied as it stands.
const (
	copyRows        = 100_000  // a row group with so many rows stays a row group
	copyBytes       = 8 << 20  // or with so many compressed bytes
	copyGroupMax    = 64 << 20 // compressed bytes of a row group: one is held in memory
	copyPageEntries = 8 << 10  // a page with so many entries stays a page
	copyPageBytes   = 64 << 10 // or with so many bytes that are not compressed
)

// errUnlike is what Copy answers where Copies says no.
var errUnlike = errors.New("file of another schema or compression cannot be copied")

// Copies says whether Copy takes the rows of r, under s, into a file of these
// options: the file has the same fields in the same order, with the same ids, names
// and types, and all of its pages have the codec that new ones get.
func (o Options) Copies(r *Reader, s *schema.Schema) bool {
	o, err := o.withDefaults()
	if err != nil || len(s.Fields) != len(r.fields) {
		return false
	}
	for i := range s.Fields {
		if !sameField(&s.Fields[i], &r.fields[i]) {
			return false
		}
	}
	for i := range r.meta.RowGroups {
		size := int64(0)
		for k := range r.meta.RowGroups[i].Columns {
			m := &r.meta.RowGroups[i].Columns[k].MetaData
			if m.Codec != o.Compression.codec() {
				return false
			}
			size += m.TotalCompressedSize
		}
		if size > copyGroupMax {
			return false
		}
	}
	return true
}

// Copy appends all rows of a file, in order, as if they were written as blocks
// under s, for which Copies must say yes. It saves decoding and encoding what can
// stay as it is:
//
//   - a row group of at least 100,000 rows or 8 MiB is copied byte for byte. It ends
//     the open row group;
//   - of a smaller one the rows join the open row group. Pages of numbers, and of
//     texts without a dictionary, that have at least 8,192 entries or 64 KiB are
//     copied byte for byte; other pages are decoded. A row group that was joined so
//     may have up to twice the rows and bytes of a full one.
//
// Every page is held against its checksum, and the pages of a column against the
// number of its entries and nulls. Bounds of columns are those that the file's
// footer has, which nothing protects but the hash of the whole file: the caller
// must have checked that. Where the footer has none the pages are decoded to find
// them, so that statistics are as if all rows had been written anew.
func (w *Writer) Copy(r *Reader, s *schema.Schema) error {
	if w.err == nil {
		w.err = w.copy(r, s)
	}
	return w.err
}

func (w *Writer) copy(r *Reader, s *schema.Schema) error {
	if !w.opts.Copies(r, s) {
		return errUnlike
	}
	if err := w.adopt(s); err != nil {
		return fmt.Errorf("copy rows: schema: %w", err)
	}
	for i := range r.meta.RowGroups {
		if err := w.copyGroup(r, &r.meta.RowGroups[i]); err != nil {
			return fmt.Errorf("copy row group %d: %w", i, err)
		}
	}
	return nil
}

// copyGroup appends the rows of one row group.
func (w *Writer) copyGroup(r *Reader, g *format.RowGroup) error {
	z, err := w.crew.decode()
	if err != nil {
		return err
	}
	size := int64(0)
	for i := range g.Columns {
		size += g.Columns[i].MetaData.TotalCompressedSize
	}
	large := g.NumRows >= copyRows || size >= copyBytes
	if large {
		if err := w.finishGroup(); err != nil {
			return err
		}
	}
	err = w.crew.each(w.chunks, func(i int, e *encoder) error {
		m := &g.Columns[i].MetaData
		p := newPageReader(r.in, &r.leaves[i], m, g.NumRows, z)
		if large {
			return w.chunks[i].takeWhole(p, m)
		}
		return w.chunks[i].takeRows(p, m, e)
	})
	if err != nil {
		return err
	}
	w.groupRows += int(g.NumRows)
	w.rows += g.NumRows
	if large || w.groupRows >= w.opts.RowGroupRows || w.buffered() >= int64(w.opts.RowGroupBytes) {
		return w.finishGroup()
	}
	return w.relieve()
}

// takeWhole takes all pages of a file's chunk as they stand. The row group must be
// empty, and must be finished before anything is added.
func (c *chunk) takeWhole(p *pageReader, m *format.ColumnMetaData) (err error) {
	defer recoverDamage(&err)
	p.bounded = c.bounds.believe(m, &c.leaf.Field.Type)
	for !p.ended() {
		page, err := p.raw()
		if err != nil {
			return err
		}
		h := &page.header
		if h.Type == format.DictionaryPage && p.dict == nil && c.dictPage == nil && column.Width(c.kind) == 0 {
			if err := p.take(page); err != nil {
				return err
			}
			c.dict, c.dictPage = nil, page.bytes
			c.account(h, page.bytes)
			continue
		}
		if err := c.pass(p, page); err != nil {
			return err
		}
	}
	return p.check()
}

// takeRows takes the rows of a file's chunk into the open row group.
func (c *chunk) takeRows(p *pageReader, m *format.ColumnMetaData, e *encoder) (err error) {
	defer recoverDamage(&err)
	p.bounded = c.bounds.believe(m, &c.leaf.Field.Type)
	for !p.ended() {
		page, err := p.raw()
		if err != nil {
			return err
		}
		if worthPassing(&page.header) {
			if err := c.finishPage(e); err != nil {
				return err
			}
			if err := c.pass(p, page); err != nil {
				return err
			}
			continue
		}
		if err := p.take(page); err != nil {
			return err
		}
		for n := p.page.Rows(); n > 0; n = p.page.Rows() {
			if err := c.appendRows(p.page.Take(n), n, e); err != nil {
				return err
			}
		}
	}
	return p.check()
}

// worthPassing says whether a page is one that may stand in any row group, and large
// enough that it need not be joined with others.
func worthPassing(h *format.PageHeader) bool {
	if h.Type != format.DataPage || !h.DataPageHeader.Valid {
		return false
	}
	d := &h.DataPageHeader.V
	if d.Encoding == format.RLEDictionary || int64(d.NumValues) <= d.Statistics.NullCount {
		return false
	}
	return d.NumValues >= copyPageEntries || h.UncompressedPageSize >= copyPageBytes
}

// pass adds a data page as it stands. Unless the bounds are known it is decoded to
// find them.
func (c *chunk) pass(p *pageReader, page rawPage) error {
	h := &page.header
	if err := c.admit(h); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if p.bounded {
		p.pass(&h.DataPageHeader.V)
	} else {
		if err := p.take(page); err != nil {
			return err
		}
		v := p.page.Take(p.page.Rows())
		c.bounds.addFixed(v.Plain)
		c.observe(v.Plain)
	}
	d := &h.DataPageHeader.V
	c.pages = append(c.pages, page.bytes)
	c.account(h, page.bytes)
	c.count[d.Encoding]++
	c.entries += int64(d.NumValues)
	c.nulls += d.Statistics.NullCount
	return nil
}

// admit refuses a page that the chunk's metadata could not describe.
func (c *chunk) admit(h *format.PageHeader) error {
	if h.Type != format.DataPage || !h.DataPageHeader.Valid {
		return fmt.Errorf("page of type %v in this place", h.Type)
	}
	d := &h.DataPageHeader.V
	if d.NumValues < 0 || d.NumValues > maxPageEntries || d.Statistics.NullCount < 0 || d.Statistics.NullCount > int64(d.NumValues) {
		return fmt.Errorf("page of %d entries, %d nulls", d.NumValues, d.Statistics.NullCount)
	}
	switch text := column.Width(c.kind) == 0; {
	case d.Encoding == format.Plain, d.Encoding == format.DeltaBinaryPacked && !text, d.Encoding == format.RLEDictionary && c.dictPage != nil:
		return nil
	}
	return fmt.Errorf("page of encoding %v in this place", d.Encoding)
}

// believe takes in what a footer says of a chunk, and says whether that is all there
// is to know.
func (b *bounds) believe(m *format.ColumnMetaData, t *schema.Type) bool {
	s := &m.Statistics
	if m.NumValues == s.NullCount {
		return true
	}
	switch b.kind {
	case schema.Bool, schema.Bytes, schema.JSON:
		return true
	case schema.String:
		if len(s.MinValue) == 0 || len(s.MaxValue) == 0 {
			return false
		}
		b.addString(s.MinValue)
		b.addString(s.MaxValue)
		return true
	}
	lo, hi := s.MinValue, s.MaxValue
	if b.kind == schema.Decimal {
		lo, hi = vectorDecimal(t, lo), vectorDecimal(t, hi)
	}
	if width := column.Width(b.kind); len(lo) != width || len(hi) != width {
		return false
	}
	b.addFixed(lo)
	b.addFixed(hi)
	return true
}

// ended says whether all pages of the chunk have come.
func (p *pageReader) ended() bool { return len(p.window) == 0 && p.at == p.end }

// pass counts a data page that is not decoded. Only where rows are entries does its
// header tell how many it has.
func (p *pageReader) pass(d *format.DataPageHeader) {
	p.values -= int64(d.NumValues)
	p.nulls -= d.Statistics.NullCount
	if p.leaf.MaxRep == 0 {
		p.rows -= int64(d.NumValues)
	}
}

// check says, when all pages have come, whether they are what the footer says.
func (p *pageReader) check() error {
	if p.values != 0 || p.nulls != 0 || p.leaf.MaxRep == 0 && p.rows != 0 {
		return fmt.Errorf("%w: pages are not what the footer says: %d entries, %d nulls, %d rows are left", ErrDamaged, p.values, p.nulls, p.rows)
	}
	return nil
}
