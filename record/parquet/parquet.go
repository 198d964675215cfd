// Package parquet reads Parquet files, written by anybody, as typed records.
//
// Duty: read the footer, and row after row from the pages of all columns side
// by side, reassembling nested values from their levels.
//
// Invariants: the n-th record of a file is always the same bytes; memory is
// bounded by the limits, whatever a file claims; a file whose pages, levels or
// counts contradict each other ends with a typed.Error, which says which record,
// and never with a panic or a loop. That verdict may come after any number of
// records: who reads a file must be able to drop what came before.
//
// It never decodes more than a page of each column at once, never reads
// statistics, indexes or bloom filters, and holds no keys: encrypted columns are
// refused.
//
// What becomes of Parquet's types, the older ConvertedType and the newer
// LogicalType alike:
//
//	BOOLEAN, INT*, FLOAT, DOUBLE    bool, int, float
//	INT(*, unsigned)                int; decimal of scale 0 beyond 63 bits
//	FLOAT16                         float
//	DECIMAL                         decimal; number if a decimal does not hold it
//	STRING, ENUM, JSON, UUID        string
//	BSON, geometry, no annotation   bytes
//	DATE                            date
//	TIMESTAMP(UTC), INT96           timestamp
//	TIMESTAMP(local)                string 2006-01-02T15:04:05.000, digits as the unit has them
//	TIME                            string 15:04:05.000
//	INTERVAL                        string P14M3DT12.345S
//	LIST, repeated fields           list, in all the layouts that the specification knows
//	MAP, MAP_KEY_VALUE              map; keys that are no text are rendered as JSON
//	VARIANT                         string, its JSON text; what is shredded is put back
package parquet

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"batcher/record/typed"
)

// Limits bound what a Reader keeps and believes. A zero member means its
// default.
type Limits struct {
	MaxFooterBytes int   // 64 MiB
	MaxPageBytes   int   // one page, stored and decompressed; 256 MiB
	MaxOpenBytes   int64 // the pages and dictionaries of all columns that are open at once; twice a page, and at least 512 MiB
	MaxRecordBytes int   // one record in its typed form; 64 MiB
	MaxDepth       int   // groups, lists and maps inside each other; 100
}

func (l Limits) withDefaults() Limits {
	l.MaxFooterBytes = cmp.Or(l.MaxFooterBytes, 64<<20)
	l.MaxPageBytes = cmp.Or(l.MaxPageBytes, 256<<20)
	l.MaxOpenBytes = cmp.Or(l.MaxOpenBytes, max(512<<20, 2*int64(l.MaxPageBytes)))
	l.MaxRecordBytes = cmp.Or(l.MaxRecordBytes, 64<<20)
	l.MaxDepth = cmp.Or(l.MaxDepth, 100)
	return l
}

// errCorrupt is what every finding about the bytes of a file wraps.
var errCorrupt = errors.New("corrupt Parquet file")

// Reader reads the rows of one file in order. It is not safe for concurrent
// use, and spent after an error.
type Reader struct {
	shared
	root    *node
	columns []*column
	groups  []rowGroup // not opened yet
	rows    int64      // of the file
	left    int64      // rows of the open row group
	next    int64      // ordinal of the next record
	key     []byte     // of a map, in the making
	variant []byte     // the columns of a VARIANT
	most    int        // bytes up to which the record at hand may grow
	err     error      // what ended reading
}

// shared is what the columns of a file have in common.
type shared struct {
	in     input
	limits Limits
	zstd   *zstd.Decoder // nil until a page needs it
	stored []byte        // a page as it is stored
	window int           // bytes that a column reads ahead
	open   int64         // bytes that the columns hold
}

// NewReader reads the footer of a file of size bytes. It fails with a
// typed.Error, or with what r failed with.
func NewReader(r io.ReaderAt, size int64, limits Limits) (_ *Reader, err error) {
	rd := &Reader{shared: shared{in: input{r: r}, limits: limits.withDefaults()}}
	defer func() { err = rd.judge(recover(), err) }()
	if err := rd.begin(size); err != nil {
		return nil, err
	}
	return rd, nil
}

// begin reads the footer.
func (r *Reader) begin(size int64) error {
	meta, end, err := r.footer(size)
	if err != nil {
		return err
	}
	return r.prepare(meta, end)
}

// prepare makes the columns and checks the row groups, all of whose pages must
// lie before end. How many rows there are is what the row groups say, which
// their pages bear out; some writers leave out the file's own count.
func (r *Reader) prepare(meta *fileMeta, end int64) error {
	var err error
	var leaves []*node
	if r.root, leaves, err = newTree(meta.Schema, r.limits.MaxDepth); err != nil {
		return err
	}
	r.window = min(max(aheadBytes/max(1, len(leaves)), minAhead), maxAhead)
	for _, leaf := range leaves {
		r.columns = append(r.columns, &column{shared: &r.shared, leaf: leaf, end: end})
	}
	for i := range meta.RowGroups {
		g := &meta.RowGroups[i]
		if err := checkGroup(g, leaves); err != nil {
			return fmt.Errorf("%w: row group %d: %w", errCorrupt, i, err)
		}
		r.rows += g.NumRows
	}
	if len(leaves) == 0 && r.rows > 0 {
		return fmt.Errorf("%w: %d rows without a column", errCorrupt, r.rows)
	}
	r.groups = meta.RowGroups
	return nil
}

// Rows returns how many records the file claims to have.
func (r *Reader) Rows() int64 { return r.rows }

// Next appends the next record to buf. It fails with io.EOF behind the last
// one, with a typed.Error, or with what the source failed with.
func (r *Reader) Next(buf []byte) (out []byte, err error) {
	if r.err != nil {
		return buf, r.err
	}
	defer func() {
		if r.err = r.judge(recover(), err); r.err != nil {
			out, err = buf, r.err
		}
	}()
	return r.row(buf)
}

// Skip passes over n records. Row groups that hold none of the records behind
// them are not read. It fails with io.EOF if the file has fewer records, or as
// Next does.
func (r *Reader) Skip(n int64) error {
	var scratch []byte
	for n > 0 {
		if r.err == nil && r.left == 0 && len(r.groups) > 0 && r.groups[0].NumRows <= n {
			n -= r.groups[0].NumRows
			r.next += r.groups[0].NumRows
			r.groups = r.groups[1:]
			continue
		}
		var err error
		if scratch, err = r.Next(scratch[:0]); err != nil {
			return err
		}
		n--
	}
	return nil
}

// openGroup makes sure that a row group with rows is open.
func (r *Reader) openGroup() error {
	for r.left == 0 {
		if len(r.groups) == 0 {
			return io.EOF
		}
		g := &r.groups[0]
		r.groups, r.left = r.groups[1:], g.NumRows
		for i, c := range r.columns {
			c.openChunk(&g.Columns[i].Meta)
		}
		if r.left == 0 {
			if err := r.closeGroup(); err != nil {
				return err
			}
		}
	}
	return nil
}

// closeGroup makes sure that no column holds more than the rows that were read.
func (r *Reader) closeGroup() error {
	for _, c := range r.columns {
		if err := c.closeChunk(); err != nil {
			return c.failed(err)
		}
	}
	return nil
}

// judge says where an error happened, but for what the source failed with and
// the end of the file, which pass unchanged. A panic of a library over damaged
// bytes is an error as well.
func (r *Reader) judge(panicked any, err error) error {
	if panicked != nil {
		err = fmt.Errorf("%w: %v", errCorrupt, panicked)
	}
	if err == nil || err == io.EOF {
		return err
	}
	if failed := new(sourceError); errors.As(err, &failed) {
		return fmt.Errorf("read Parquet file: %w", failed.err)
	}
	return &typed.Error{Ordinal: r.next, Offset: -1, Reason: err.Error(), Limit: errors.Is(err, typed.ErrLimit)}
}
