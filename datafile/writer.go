package datafile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"batcher/column"
	"batcher/manifest"
	"batcher/schema"
)

// magic stands at both ends of a Parquet file.
const magic = "PAR1"

// errClosed is what a Writer answers after Close.
var errClosed = errors.New("data file writer is closed")

// Writer writes one data file. It buffers one row group compressed and one
// open page per column; it is not safe for concurrent use. After an error it
// is of no more use and answers with that error.
type Writer struct {
	out    io.Writer
	hash   hash.Hash
	opts   Options
	err    error // of an earlier call
	offset int64 // bytes written

	crew      *crew
	schema    *schema.Schema // of the last block
	chunks    []*chunk
	groupRows int
	rows      int64
	groups    []format.RowGroup
}

// NewWriter starts a file on w. Nothing is written before the first row group
// is full. Options that make no sense are reported by the first Write.
func NewWriter(w io.Writer, opts Options) *Writer {
	f := &Writer{out: w, hash: sha256.New()}
	if f.opts, f.err = opts.withDefaults(); f.err != nil {
		return f
	}
	if opts.Encoders != nil {
		f.crew, f.err = opts.Encoders.of(f.opts.Compression)
		return f
	}
	f.crew, f.err = newCrew(f.opts.Compression)
	return f
}

// Write appends the rows of a block, whose memory it does not keep. Blocks of
// one file have the schema of the first, or that with more top-level columns
// behind: the rows before read as null there.
func (w *Writer) Write(b *column.Block) error {
	if w.err == nil {
		w.err = w.write(b)
	}
	return w.err
}

func (w *Writer) write(b *column.Block) error {
	if err := column.Check(b); err != nil {
		return fmt.Errorf("write block: %w", err)
	}
	if err := w.adopt(b.Schema); err != nil {
		return fmt.Errorf("write block: schema: %w", err)
	}
	readers := make([]*column.Reader, len(b.Columns))
	for i, v := range b.Columns {
		readers[i] = column.NewReader(v, b.Rows)
	}
	for left := b.Rows; left > 0; {
		n := min(left, w.opts.RowGroupRows-w.groupRows)
		if err := w.appendRows(readers, n); err != nil {
			return err
		}
		left -= n
		if w.groupRows < w.opts.RowGroupRows && w.buffered() < int64(w.opts.RowGroupBytes) {
			continue
		}
		if err := w.finishGroup(); err != nil {
			return err
		}
	}
	return nil
}

// appendRows takes n rows from each column into the open row group.
func (w *Writer) appendRows(readers []*column.Reader, n int) error {
	err := w.crew.each(w.chunks, func(i int, e *encoder) error {
		return w.chunks[i].appendRows(readers[i].Take(n), n, e)
	})
	if err != nil {
		return err
	}
	w.groupRows += n
	w.rows += int64(n)
	return w.relieve()
}

// failed names the column in an error.
func (c *chunk) failed(err error) error {
	return fmt.Errorf("column %q: %w", c.leaf.chunkPath, err)
}

// relieve keeps the memory of all columns together within its bounds: it
// finishes the larger half of the open pages and closes the larger half of the
// dictionaries when there is too much of them.
func (w *Writer) relieve() error {
	pages, dictionaries := 0, 0
	for _, c := range w.chunks {
		pages += c.pending()
		if c.dict != nil {
			dictionaries += c.dict.memory()
		}
	}
	pagesMax, dictionariesMax := w.opts.OpenBytes, 2*w.opts.OpenBytes
	if pages <= pagesMax && dictionaries <= dictionariesMax {
		return nil
	}
	share := 2 * len(w.chunks)
	return w.crew.each(w.chunks, func(i int, e *encoder) error {
		c := w.chunks[i]
		if pages > pagesMax && c.pending() > pagesMax/share {
			if err := c.finishPage(e); err != nil {
				return err
			}
		}
		if dictionaries > dictionariesMax && c.dict != nil && c.dict.memory() > dictionariesMax/share {
			return c.leaveDictionary(e)
		}
		return nil
	})
}

// adopt takes over the schema of a block. Columns that are new get a page of
// nulls for the rows that the open row group already has.
func (w *Writer) adopt(s *schema.Schema) error {
	if w.schema == s {
		return nil
	}
	known := 0
	if w.schema != nil {
		known = len(w.schema.Fields)
	}
	if len(s.Fields) < known {
		return fmt.Errorf("%d columns after %d", len(s.Fields), known)
	}
	for i := range known {
		was, is := &w.schema.Fields[i], &s.Fields[i]
		if !sameField(was, is) {
			return fmt.Errorf("column %q %v with id %d is not the column %q %v with id %d of the blocks before",
				is.Name, is.Type, is.ID, was.Name, was.Type, was.ID)
		}
	}
	if err := checkSchema(s); err != nil {
		return err
	}
	for _, l := range leavesOf(s.Fields[known:]) {
		c := newChunk(l)
		if err := c.appendNulls(w.groupRows, w.crew.first()); err != nil {
			return c.failed(err)
		}
		w.chunks = append(w.chunks, c)
	}
	for _, c := range w.chunks {
		c.room = min(pageBytes, 2*w.opts.OpenBytes/len(w.chunks))
	}
	w.schema = s
	return nil
}

// buffered is the compressed size of the open row group so far.
func (w *Writer) buffered() int64 {
	n := int64(0)
	for _, c := range w.chunks {
		n += c.size
	}
	return n
}

// Size is the number of bytes written and of those compressed so far: what
// decides when to start another file. Open pages do not count.
func (w *Writer) Size() int64 { return w.offset + w.buffered() }

// emit writes bytes of the file.
func (w *Writer) emit(b []byte) error {
	n, err := w.out.Write(b)
	w.hash.Write(b[:n])
	w.offset += int64(n)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("write data file: %w", err)
	}
	return nil
}

// begin writes the first bytes of the file, once.
func (w *Writer) begin() error {
	if w.offset > 0 {
		return nil
	}
	return w.emit([]byte(magic))
}

// finishGroup writes the open row group, column by column.
func (w *Writer) finishGroup() error {
	if w.groupRows == 0 {
		return nil
	}
	if len(w.groups) > math.MaxInt16 {
		return fmt.Errorf("more than %d row groups", len(w.groups))
	}
	if err := w.begin(); err != nil {
		return err
	}
	g := format.RowGroup{NumRows: int64(w.groupRows), FileOffset: w.offset, Ordinal: int16(len(w.groups))}
	err := w.crew.each(w.chunks, func(i int, e *encoder) error { return w.chunks[i].finishGroup(e) })
	if err != nil {
		return err
	}
	for _, c := range w.chunks {
		if err := w.emitChunk(&g, c); err != nil {
			return err
		}
		c.startGroup()
	}
	w.groups = append(w.groups, g)
	w.groupRows = 0
	return nil
}

// emitChunk writes a finished chunk as the next column of g.
func (w *Writer) emitChunk(g *format.RowGroup, c *chunk) error {
	m := c.metadata(w.offset, w.crew.codec)
	if c.dictPage != nil {
		if err := w.emit(c.dictPage); err != nil {
			return err
		}
	}
	for _, p := range c.pages {
		if err := w.emit(p); err != nil {
			return err
		}
	}
	g.Columns = append(g.Columns, m)
	g.TotalByteSize += m.MetaData.TotalUncompressedSize
	g.TotalCompressedSize += m.MetaData.TotalCompressedSize
	return nil
}

// completeGroups gives earlier row groups the columns that came after them:
// chunks of nulls.
func (w *Writer) completeGroups() error {
	for i := range w.groups {
		g := &w.groups[i]
		for _, last := range w.chunks[len(g.Columns):] {
			c := newChunk(last.leaf)
			if err := c.appendNulls(int(g.NumRows), w.crew.first()); err != nil {
				return c.failed(err)
			}
			last.fileNulls += c.nulls
			if err := w.emitChunk(g, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close writes what is left and the footer, and says what the file is. Key,
// Seq, Schema and Part are the caller's to fill in. A file without rows is
// written too, when at least one block gave it a schema.
func (w *Writer) Close() (manifest.File, error) {
	if w.err != nil {
		return manifest.File{}, w.err
	}
	if w.err = w.close(); w.err != nil {
		return manifest.File{}, w.err
	}
	w.err = errClosed
	f := manifest.File{Size: w.offset, Rows: w.rows, Columns: w.columns()}
	w.hash.Sum(f.SHA256[:0])
	return f, nil
}

func (w *Writer) close() error {
	if w.schema == nil {
		return errors.New("close data file: no block was written")
	}
	if err := w.finishGroup(); err != nil {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.completeGroups(); err != nil {
		return err
	}
	return w.emitFooter()
}

// emitFooter writes the footer, its length and the closing magic.
func (w *Writer) emitFooter() error {
	m := format.FileMetaData{
		Version:   1,
		Schema:    elements(w.schema.Fields),
		NumRows:   w.rows,
		RowGroups: w.groups,
		CreatedBy: w.opts.CreatedBy,
		KeyValueMetadata: []format.KeyValue{
			{Key: fieldsKey, Value: fieldsSum(w.schema.Fields)},
		},
	}
	if m.RowGroups == nil {
		m.RowGroups = []format.RowGroup{} // required by the format
	}
	for range w.chunks {
		m.ColumnOrders = append(m.ColumnOrders, format.ColumnOrder{Value: &format.TypeDefinedOrder{}})
	}
	var b bytes.Buffer
	if err := thrift.NewEncoder(compactProtocol.NewWriter(&b)).Encode(&m); err != nil {
		return fmt.Errorf("encode footer: %w", err)
	}
	if b.Len() > maxFooterBytes {
		return fmt.Errorf("footer of %d bytes", b.Len())
	}
	tail := binary.LittleEndian.AppendUint32(nil, uint32(b.Len()))
	b.Write(append(tail, magic...))
	return w.emit(b.Bytes())
}

// columns are the statistics for the manifest.
func (w *Writer) columns() []manifest.ColumnStats {
	var out []manifest.ColumnStats
	for _, c := range w.chunks {
		if c.leaf.MaxRep > 0 {
			continue
		}
		if len(out) == statColumns {
			break
		}
		out = append(out, columnStats(c.leaf.Field.ID, c.fileNulls, &c.fileBounds, &c.leaf.Field.Type))
	}
	return out
}
