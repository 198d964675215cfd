package datafile

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"batcher/schema"
	"batcher/thrift"
)

// Reader reads one data file. It may be used by several goroutines at once.
type Reader struct {
	in     *tailReader
	meta   format.FileMetaData
	fields []schema.Field
	leaves []leaf
}

// Open reads the footer of a file of size bytes and checks that it describes a
// file this package may have written. It takes one read, or two for a long
// footer; what it read is not read again. Later reads go to r in ranges of up
// to 256 KiB, column by column.
func Open(r io.ReaderAt, size int64) (f *Reader, err error) {
	defer recoverDamage(&err)
	if size < int64(len(magic)+8) {
		return nil, fmt.Errorf("%w: %d bytes are no Parquet file", ErrDamaged, size)
	}
	tail, err := readTail(r, size)
	if err != nil {
		return nil, err
	}
	f = &Reader{in: tail}
	footer, err := readFooter(tail, size)
	if err != nil {
		return nil, err
	}
	if _, err := thrift.Decode(footer, &f.meta); err != nil {
		return nil, fmt.Errorf("%w: footer: %w", ErrDamaged, err)
	}
	if f.fields, err = fieldsOf(f.meta.Schema); err != nil {
		return nil, err
	}
	if err := checkSchema(f.Schema()); err != nil {
		return nil, fmt.Errorf("%w: footer: %w", ErrDamaged, err)
	}
	if err := checkFieldsSum(f.fields, f.meta.KeyValueMetadata); err != nil {
		return nil, fmt.Errorf("%w: footer: %w", ErrDamaged, err)
	}
	f.leaves = leavesOf(f.fields)
	if err := f.checkGroups(size - int64(len(footer)) - 8); err != nil {
		return nil, fmt.Errorf("%w: footer: %w", ErrDamaged, err)
	}
	return f, nil
}

// recoverDamage turns a panic of the library over damaged bytes into an error.
func recoverDamage(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrDamaged, p)
	}
}

// tailBytes is what Open reads at once: most footers, and small files whole.
const tailBytes = 64 << 10

// tailReader answers reads behind a position from memory.
type tailReader struct {
	io.ReaderAt
	tail []byte
	from int64
}

// readTail reads the end of a file.
func readTail(r io.ReaderAt, size int64) (*tailReader, error) {
	t := &tailReader{ReaderAt: r, from: max(0, size-tailBytes)}
	t.tail = make([]byte, size-t.from)
	if err := readAt(r, t.tail, t.from); err != nil {
		return nil, fmt.Errorf("read the end of a data file: %w", err)
	}
	return t, nil
}

// ReadAt reads from memory where it can.
func (t *tailReader) ReadAt(p []byte, at int64) (int, error) {
	if at < t.from {
		return t.ReaderAt.ReadAt(p, at)
	}
	n := 0
	if at-t.from < int64(len(t.tail)) {
		n = copy(p, t.tail[at-t.from:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// readFooter returns the bytes of the footer.
func readFooter(r io.ReaderAt, size int64) ([]byte, error) {
	var end [8]byte
	if err := readAt(r, end[:], size-int64(len(end))); err != nil {
		return nil, fmt.Errorf("read the end of a data file: %w", err)
	}
	if string(end[4:]) != magic {
		return nil, fmt.Errorf("%w: does not end in %s", ErrDamaged, magic)
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if n > size-int64(len(magic)+len(end)) || n > maxFooterBytes {
		return nil, fmt.Errorf("%w: footer of %d bytes in a file of %d", ErrDamaged, n, size)
	}
	footer := make([]byte, n)
	if err := readAt(r, footer, size-int64(len(end))-n); err != nil {
		return nil, fmt.Errorf("read the footer of a data file: %w", err)
	}
	return footer, nil
}

// readAt fills p; the end of the file right behind it is no error. Only io.EOF
// itself is the end: a store wraps it where a connection broke.
func readAt(r io.ReaderAt, p []byte, at int64) error {
	n, err := r.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		return fmt.Errorf("%w: ends %d bytes too early", ErrDamaged, len(p)-n)
	}
	return err
}

// checkGroups compares the row groups with the schema, with the file's length
// up to end, and with the number of rows.
func (f *Reader) checkGroups(end int64) error {
	rows := int64(0)
	for i := range f.meta.RowGroups {
		g := &f.meta.RowGroups[i]
		if len(g.Columns) != len(f.leaves) {
			return fmt.Errorf("row group %d has %d columns, the schema %d", i, len(g.Columns), len(f.leaves))
		}
		if g.NumRows < 0 || g.NumRows > f.meta.NumRows {
			return fmt.Errorf("row group %d has %d rows of %d", i, g.NumRows, f.meta.NumRows)
		}
		rows += g.NumRows
		for k := range g.Columns {
			if err := checkChunk(&g.Columns[k].MetaData, &f.leaves[k], end); err != nil {
				return fmt.Errorf("row group %d, column %q: %w", i, f.leaves[k].chunkPath, err)
			}
		}
	}
	if rows != f.meta.NumRows {
		return fmt.Errorf("row groups have %d rows, the file %d", rows, f.meta.NumRows)
	}
	return nil
}

// checkChunk compares a column chunk with its leaf and with the file's length.
func checkChunk(m *format.ColumnMetaData, l *leaf, end int64) error {
	if m.Type != physicalType(&l.Field.Type) {
		return fmt.Errorf("has type %v", m.Type)
	}
	if !slices.Equal(m.PathInSchema, l.chunkPath) {
		return fmt.Errorf("has path %q", m.PathInSchema)
	}
	start := chunkStart(m)
	if start < int64(len(magic)) || m.TotalCompressedSize < 0 || start > end-m.TotalCompressedSize {
		return fmt.Errorf("stands at %d with %d bytes, outside of the file", start, m.TotalCompressedSize)
	}
	switch m.Codec {
	case format.Zstd, format.Snappy, format.Uncompressed:
		return nil
	}
	return fmt.Errorf("codec %v is not one that batcher writes", m.Codec)
}

// chunkStart is where the first page of a chunk stands.
func chunkStart(m *format.ColumnMetaData) int64 {
	if m.DictionaryPageOffset > 0 {
		return min(m.DictionaryPageOffset, m.DataPageOffset)
	}
	return m.DataPageOffset
}

// Rows is the number of rows in the file.
func (f *Reader) Rows() int64 { return f.meta.NumRows }

// Schema is what the footer tells: names, field ids and types. Keys are not in
// a file, and JSON columns read as String; LastID is the highest id here.
func (f *Reader) Schema() *schema.Schema {
	return &schema.Schema{Fields: f.fields, LastID: lastID(f.fields)}
}

// lastID is the highest id in fields.
func lastID(fields []schema.Field) int32 {
	m := int32(0)
	for i := range fields {
		m = max(m, fields[i].ID, lastID(fields[i].Type.Fields))
	}
	return m
}
