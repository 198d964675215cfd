package datafile

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"batcher/column"
	"batcher/schema"
)

// chunk is one column of the open row group: pages that are finished and
// compressed, and the values of the page that is still open.
type chunk struct {
	leaf leaf
	kind schema.Kind // as the file remembers it

	def, rep levels  // of the open page
	values   int     // present values of the open page
	raw      int     // bytes its values take in PLAIN form
	plain    []byte  // its values, when there is no dictionary
	room     int     // bytes that plain may be given at once
	indexes  []int32 // its values, when there is one

	effort   effort      // of compressing the data pages
	dict     *dictionary // nil once dropped and for kinds that have none
	dictPage []byte      // the finished dictionary page
	pages    [][]byte    // finished data pages, headers included

	entries            int64
	nulls              int64
	uncompressed, size int64 // of the finished pages, headers included
	count              [int(format.RLEDictionary) + 1]int32
	bounds             bounds // of this row group

	fileNulls  int64
	fileBounds bounds
}

// newChunk starts a column.
func newChunk(l leaf) *chunk {
	c := &chunk{leaf: l, kind: fileKind(l.Field.Type.Kind)}
	c.bounds.kind = c.kind
	if l.Field.Type.Kind == schema.JSON {
		c.bounds.kind = schema.JSON // texts that nobody compares
	}
	c.fileBounds.kind = c.bounds.kind
	c.startGroup()
	return c
}

// startGroup forgets the last row group.
func (c *chunk) startGroup() {
	c.pages, c.dictPage = nil, nil
	c.entries, c.nulls, c.uncompressed, c.size = 0, 0, 0, 0
	clear(c.count[:])
	c.bounds.reset()
	if column.Width(c.kind) > 0 {
		return
	}
	if c.dict == nil {
		c.dict = &dictionary{}
	}
	c.dict.reset()
}

// pending is the memory that the open page takes.
func (c *chunk) pending() int {
	return len(c.plain) + 4*len(c.indexes) + len(c.def.each) + len(c.rep.each)
}

// appendRows adds rows and finishes pages as they fill up.
func (c *chunk) appendRows(v column.Vector, rows int, e *encoder) error {
	if len(v.Plain) > pageBytes && rows > 1 || len(v.Def) > pageEntries && rows > 1 {
		r := column.NewReader(&v, rows)
		first := r.Take(rows / 2)
		if err := c.appendRows(first, rows/2, e); err != nil {
			return err
		}
		return c.appendRows(r.Take(rows), rows-rows/2, e)
	}
	if c.def.n > 0 && (c.raw+len(v.Plain) > pageBytes || c.def.n+len(v.Def) > pageEntries) {
		if err := c.finishPage(e); err != nil {
			return err
		}
	}
	if len(v.Plain) > maxPageBytes-len(v.Def)-len(v.Rep) || len(v.Def) > maxPageEntries {
		return fmt.Errorf("a row has %d entries of %d bytes: more than a page can hold", len(v.Def), len(v.Plain))
	}
	c.def.append(v.Def)
	c.rep.append(v.Rep)
	c.values += v.Values
	c.raw += len(v.Plain)
	c.reserve(v, rows)
	return c.appendValues(v.Plain, e)
}

// reserve gives plain the memory that its page will take, going by the rows at
// hand, so that it need not be copied as it grows.
func (c *chunk) reserve(v column.Vector, rows int) {
	if c.dict != nil || cap(c.plain)-len(c.plain) >= len(v.Plain) {
		return
	}
	page := min(len(v.Plain)*min(DefaultRowGroupRows/rows, pageEntries/len(v.Def)), c.room)
	if page > cap(c.plain) {
		c.plain = append(make([]byte, 0, max(page, len(c.plain)+len(v.Plain))), c.plain...)
	}
}

// appendNulls adds rows in which the column is null.
func (c *chunk) appendNulls(rows int, e *encoder) error {
	for rows > 0 {
		n := min(rows, pageEntries)
		c.def.appendRun(0, n)
		if c.leaf.MaxRep > 0 {
			c.rep.appendRun(0, n)
		}
		if err := c.finishPage(e); err != nil {
			return err
		}
		rows -= n
	}
	return nil
}

// appendValues adds values to the open page.
func (c *chunk) appendValues(plain []byte, e *encoder) error {
	if column.Width(c.kind) > 0 {
		c.bounds.addFixed(plain)
		c.plain = append(c.plain, plain...)
		return nil
	}
	for len(plain) > 0 && c.dict != nil {
		size := 4 + binary.LittleEndian.Uint32(plain)
		number, fresh := c.dict.add(plain[:size])
		c.indexes = append(c.indexes, number)
		if fresh {
			c.observe(plain[:size])
			if !c.dict.pays() {
				if err := c.leaveDictionary(e); err != nil {
					return err
				}
			}
		}
		plain = plain[size:]
	}
	c.plain = append(c.plain, plain...)
	c.observe(plain)
	return nil
}

// observe takes strings into the bounds.
func (c *chunk) observe(plain []byte) {
	if c.bounds.kind != schema.String {
		return
	}
	for len(plain) > 0 {
		size := 4 + binary.LittleEndian.Uint32(plain)
		c.bounds.addString(plain[4:size])
		plain = plain[size:]
	}
}

// leaveDictionary makes the open page and all that follow PLAIN. Finished pages
// keep their dictionary, whose page is finished now.
func (c *chunk) leaveDictionary(e *encoder) error {
	for _, i := range c.indexes {
		c.plain = append(c.plain, c.dict.entry(i)...)
	}
	c.indexes = c.indexes[:0]
	err := c.finishDictionary(e)
	c.dict = nil
	return err
}

// finishDictionary makes the dictionary page, when a finished page needs one.
func (c *chunk) finishDictionary(e *encoder) error {
	if c.dict == nil || c.count[format.RLEDictionary] == 0 {
		return nil
	}
	h := format.PageHeader{
		Type: format.DictionaryPage,
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
			NumValues: int32(len(c.dict.offsets)),
			Encoding:  format.Plain,
		}),
	}
	how := thorough
	page, err := e.page(&h, content{bytes: c.dict.plain}, &how)
	if err != nil {
		return err
	}
	c.dictPage = page
	c.account(&h, page)
	return nil
}

// account counts a finished page.
func (c *chunk) account(h *format.PageHeader, page []byte) {
	c.size += int64(len(page))
	c.uncompressed += int64(len(page)) - int64(h.CompressedPageSize) + int64(h.UncompressedPageSize)
}

// finishPage encodes and compresses the open page, when it has entries.
func (c *chunk) finishPage(e *encoder) error {
	if c.def.n == 0 {
		return nil
	}
	body, encoding, err := e.body(c)
	if err != nil {
		return err
	}
	nulls := int64(c.def.n - c.values)
	h := format.PageHeader{
		Type: format.DataPage,
		DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues:               int32(c.def.n),
			Encoding:                encoding,
			DefinitionLevelEncoding: format.RLE,
			RepetitionLevelEncoding: format.RLE,
			// The library writes this field in any case, so it must be true.
			Statistics: format.Statistics{NullCount: nulls},
		}),
	}
	page, err := e.page(&h, body, &c.effort)
	if err != nil {
		return err
	}
	c.pages = append(c.pages, page)
	c.account(&h, page)
	c.count[encoding]++
	c.entries += int64(c.def.n)
	c.nulls += nulls
	c.def.reset()
	c.rep.reset()
	c.values, c.raw, c.plain, c.indexes = 0, 0, c.plain[:0], c.indexes[:0]
	return nil
}

// finishGroup finishes all pages and takes the row group into the file's
// statistics.
func (c *chunk) finishGroup(e *encoder) error {
	if err := c.finishPage(e); err != nil {
		return err
	}
	if err := c.finishDictionary(e); err != nil {
		return err
	}
	c.fileNulls += c.nulls
	c.fileBounds.merge(&c.bounds)
	return nil
}

// metadata describes the finished chunk, which will stand at offset at.
func (c *chunk) metadata(at int64, codec format.CompressionCodec) format.ColumnChunk {
	m := format.ColumnMetaData{
		Type:                  physicalType(&c.leaf.Field.Type),
		PathInSchema:          c.leaf.chunkPath,
		Codec:                 codec,
		NumValues:             c.entries,
		TotalUncompressedSize: c.uncompressed,
		TotalCompressedSize:   c.size,
		DataPageOffset:        at + int64(len(c.dictPage)),
		Statistics:            format.Statistics{NullCount: c.nulls},
	}
	m.Statistics.MinValue, m.Statistics.MaxValue = c.bounds.parquet(&c.leaf.Field.Type)
	m.Encoding = append(m.Encoding, format.RLE) // of the levels
	if c.dictPage != nil {
		m.DictionaryPageOffset = at
		m.EncodingStats = append(m.EncodingStats, format.PageEncodingStats{PageType: format.DictionaryPage, Encoding: format.Plain, Count: 1})
	}
	for encoding, n := range c.count {
		if n > 0 {
			m.EncodingStats = append(m.EncodingStats, format.PageEncodingStats{PageType: format.DataPage, Encoding: format.Encoding(encoding), Count: n})
		}
		if n > 0 || c.dictPage != nil && format.Encoding(encoding) == format.Plain {
			m.Encoding = append(m.Encoding, format.Encoding(encoding))
		}
	}
	return format.ColumnChunk{FileOffset: at, MetaData: m}
}
