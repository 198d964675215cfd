package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"batcher/record/typed"
	"batcher/thrift"
)

const (
	magic          = "PAR1"
	magicEncrypted = "PARE"
	tailSize       = 8  // length of the footer, magic
	signatureSize  = 28 // of a footer that is signed and not encrypted
)

// fileMeta is what is needed of a footer, in the form of the library's structures.
// The library's own demand fields that some writers leave out, and hold the
// statistics of every chunk.
type fileMeta struct {
	Schema    []format.SchemaElement `thrift:"2"`
	RowGroups []rowGroup             `thrift:"4"`
}

type rowGroup struct {
	Columns []chunk `thrift:"1"`
	NumRows int64   `thrift:"3"`
}

type chunk struct {
	FilePath  string                      `thrift:"1"`
	Meta      chunkMeta                   `thrift:"3"`
	Crypto    format.ColumnCryptoMetaData `thrift:"8"`
	Encrypted []byte                      `thrift:"9"`
}

type chunkMeta struct {
	Type                 format.Type             `thrift:"1"`
	Codec                format.CompressionCodec `thrift:"4"`
	NumValues            int64                   `thrift:"5"`
	TotalCompressedSize  int64                   `thrift:"7"`
	DataPageOffset       int64                   `thrift:"9"`
	DictionaryPageOffset int64                   `thrift:"11"`
}

// start returns where the first page of a chunk is. Writers that know no
// dictionaries, and some that do, leave out where that is.
func (m *chunkMeta) start() int64 {
	if d := m.DictionaryPageOffset; d > 0 && d < m.DataPageOffset {
		return d
	}
	return m.DataPageOffset
}

// input is the source of a file.
type input struct{ r io.ReaderAt }

// sourceError is a failure of the source, which says nothing about the file.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }

// full reads len(p) bytes at an offset.
func (in input) full(p []byte, at int64) error {
	n, err := in.r.ReadAt(p, at)
	switch {
	case n == len(p):
		return nil
	case err == nil || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends too early", errCorrupt)
	}
	return &sourceError{err}
}

// footer reads what a file says about itself, and where its pages end.
func (s *shared) footer(size int64) (*fileMeta, int64, error) {
	if size < int64(len(magic)+tailSize) {
		return nil, 0, fmt.Errorf("%w: %d bytes are no Parquet file", errCorrupt, size)
	}
	var head [len(magic)]byte
	var tail [tailSize]byte
	if err := s.in.full(head[:], 0); err != nil {
		return nil, 0, err
	}
	if err := s.in.full(tail[:], size-tailSize); err != nil {
		return nil, 0, err
	}
	if string(tail[4:]) == magicEncrypted {
		return nil, 0, errors.New("the Parquet file is encrypted")
	}
	if string(head[:]) != magic || string(tail[4:]) != magic {
		return nil, 0, fmt.Errorf("%w: it begins with %q and ends with %q, not with %q", errCorrupt, head[:], tail[4:], magic)
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	end := size - tailSize - length
	if end < int64(len(magic)) {
		return nil, 0, fmt.Errorf("%w: a footer of %d bytes in a file of %d", errCorrupt, length, size)
	}
	if length > int64(s.limits.MaxFooterBytes) {
		return nil, 0, fmt.Errorf("%w: a footer of %d bytes, %d at most", typed.ErrLimit, length, s.limits.MaxFooterBytes)
	}
	text := make([]byte, length)
	if err := s.in.full(text, end); err != nil {
		return nil, 0, err
	}
	meta := new(fileMeta)
	n, err := thrift.Decode(text, meta)
	if rest := len(text) - n; err == nil && rest > 0 && rest != signatureSize {
		err = fmt.Errorf("%d bytes are left behind it", rest)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: footer: %w", errCorrupt, err)
	}
	return meta, end, nil
}

// checkGroup says what is wrong with what the footer says about a row group.
func checkGroup(g *rowGroup, leaves []*node) error {
	if g.NumRows < 0 || len(g.Columns) != len(leaves) {
		return fmt.Errorf("%d rows in %d columns, the schema has %d", g.NumRows, len(g.Columns), len(leaves))
	}
	for i := range g.Columns {
		if err := checkChunk(&g.Columns[i], leaves[i]); err != nil {
			return fmt.Errorf("column %s: %w", leaves[i].path, err)
		}
	}
	return nil
}

func checkChunk(c *chunk, leaf *node) error {
	m := &c.Meta
	switch {
	case c.Crypto.Value != nil || len(c.Encrypted) > 0:
		return errors.New("it is encrypted")
	case c.FilePath != "":
		return fmt.Errorf("it lies in another file, %q", c.FilePath)
	case m.Type != leaf.physical:
		return fmt.Errorf("it is of type %v, the schema says %v", m.Type, leaf.physical)
	case m.NumValues < 0 || m.NumValues > 0 && m.start() < int64(len(magic)):
		return fmt.Errorf("%d values at byte %d", m.NumValues, m.start())
	}
	return nil
}
