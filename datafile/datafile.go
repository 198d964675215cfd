// Package datafile turns column blocks into one immutable Parquet object and
// its manifest.File, and such an object back into blocks.
//
// Duty: the bytes of data files: schema, pages, statistics, footer. Both ways
// are streams: a Writer holds one row group compressed, one page per column
// uncompressed; a Reader one page per column.
//
// Invariants: the bytes are a pure function of the blocks and the Options: no
// clock, no randomness, no map iteration. Every field has its field id. Every
// column is optional and 0, "" and false are values, never null. A statistic
// that is written is true; where that cannot be had it is left out. A damaged
// file is an error that names what is wrong, never a panic.
//
// It never names an object, never touches a store, and never changes a value.
package datafile

import (
	"errors"
	"fmt"
)

// Compression is the codec of a file's pages.
type Compression string

// The codecs.
const (
	Zstd         Compression = "zstd"
	Snappy       Compression = "snappy"
	Uncompressed Compression = "none"
)

// Options say how a file is laid out. The zero value is the default.
type Options struct {
	Compression   Compression // default Zstd
	RowGroupRows  int         // rows of a full row group; default DefaultRowGroupRows
	RowGroupBytes int         // compressed bytes after which a row group ends early; default DefaultRowGroupBytes
	OpenBytes     int         // values of all pages that are still open, and half of all dictionaries; default 8 MiB
	CreatedBy     string      // "name version x"; default DefaultCreatedBy
	Encoders      *Encoders   // shared with other files; default its own
}

// Defaults of Options.
const (
	DefaultRowGroupRows  = 122_880 // what DuckDB hands to one thread
	DefaultRowGroupBytes = 16 << 20
	DefaultCreatedBy     = "batcher version 1" // Parquet readers parse "name version x"
)

// Bounds of a page. They bind the writer and are what the reader trusts.
const (
	pageBytes      = 1 << 20   // values of a page, as if PLAIN, but for one row that alone has more
	pageEntries    = 1 << 16   // entries of a page, but for one row that alone has more
	pendingBytes   = 8 << 20   // all pages that are still open, by default
	dictionaryMax  = 1 << 20   // bytes of one dictionary
	maxPageBytes   = 256 << 20 // no page is larger
	maxPageEntries = 16 << 20  // no page has more entries
	maxFooterBytes = 256 << 20
)

// ErrDamaged is what every error about a file's content wraps: the file is not
// one that this package has written.
var ErrDamaged = errors.New("damaged data file")

// withDefaults fills in what is not set and refuses what makes no sense.
func (o Options) withDefaults() (Options, error) {
	if o.Compression == "" {
		o.Compression = Zstd
	}
	if o.RowGroupRows == 0 {
		o.RowGroupRows = DefaultRowGroupRows
	}
	if o.RowGroupBytes == 0 {
		o.RowGroupBytes = DefaultRowGroupBytes
	}
	if o.OpenBytes == 0 {
		o.OpenBytes = pendingBytes
	}
	if o.CreatedBy == "" {
		o.CreatedBy = DefaultCreatedBy
	}
	if o.RowGroupRows < 0 || o.RowGroupBytes < 0 || o.OpenBytes < 0 {
		return o, fmt.Errorf("row group of %d rows and %d bytes, open pages of %d bytes", o.RowGroupRows, o.RowGroupBytes, o.OpenBytes)
	}
	switch o.Compression {
	case Zstd, Snappy, Uncompressed:
		return o, nil
	}
	return o, fmt.Errorf("compression %q: want zstd, snappy or none", o.Compression)
}
