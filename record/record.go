// Package record turns the bytes of objects into typed columns under a schema:
// JSON by lines, as documents or inside of envelopes, CSV, lines of text, in
// UTF-8 or another encoding, compressed or not. docs/FORMATS.md has the rules.
//
// Duty: tell the format of an object, cut it into records, give each its
// position and id, scan it straight into column vectors, learn the types of new
// columns on the way, and set aside what cannot become a row.
//
// Invariants: every record becomes exactly one row or one dead letter; a record
// is known by its source and the position of its first byte, before anything in
// it is parsed, so that its id depends on neither batches nor schema; a
// published column never changes its type; no value is altered silently: what a
// column does not take exactly stands in _rescued as received; the same bytes,
// published schema and options give the same blocks.
//
// It never opens anything itself, never retries, and keeps no more of an object
// than a bounded part.
//
// What a column takes of JSON, null apart, which any column takes and which is
// the same as a missing key:
//
//	bool           true and false, in any case as text; t, f, 0 and 1 too where it was declared
//	int64, int32   numbers that are whole and in range, however written: 7, 7.0, 8e0
//	float64        numbers that a double can hold (rounded as strconv does), but
//	               whole ones only within ±2^53, where each is exact; where the
//	               double, printed with as many digits, is another number, the
//	               original is rescued
//	decimal(p,s)   numbers that fit, however written
//	string         strings, and numbers and bools as their text
//	bytes          strings, as their UTF-8 bytes
//	date           strings YYYY-MM-DD; where it was declared also Y-M-D and midnights of UTC
//	timestamp      strings with date, time and zone; a fraction
//	               beyond microseconds is cut off and the original rescued;
//	               where a unit is declared, plain numbers instead, and strings
//	               of one
//	json           anything, as its text
//	struct, map    objects
//	list           lists
//
// A cell of CSV, and a string of JSON or of a container under a column that is
// published or declared, stands for the value that it spells, with blanks around
// it or without. Text that says nothing ("" and, in cells, words like NULL and NA)
// is null in any column but one of text. A plus sign and a zero before other digits
// make an identifier of a number, which only declared columns take. While the
// type of a column is still to be learned it takes only what cannot change the
// type that all values of the batch have together. Nested and json columns read
// a cell as JSON.
//
// What does not fit is null in its column and stands in _rescued, a JSON object
// from place to value as received. A place is spelled with the names of columns:
// price, order.items[2].price; keys that have no column, and keys of maps, stand
// quoted: ["weird key"], labels["a.b"].
package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"

	"batcher/column"
	"batcher/schema"
	"batcher/source"
)

// ErrRestart says that the type of an unpublished column had to widen after
// rows of it were emitted. Blocks and dead letters so far are void: decode the
// batch again from its first object with Options.Learned set to what Schema
// returns now. Tries are few: each goes on learning until it has read twice as
// far as to its first conflict, so that the next one comes further behind.
var ErrRestart = errors.New("types widened: decode the batch again with what was learned")

// ErrShort says that an object ends before the position from which it is to be
// read: it is not the object that was read in part before.
var ErrShort = errors.New("object ends before the position to read from")

// TooLargeReason begins the reason of an object that is beyond a bound.
const TooLargeReason = "too large"

// BrokenError says that an object's container cannot be read: nothing of the
// object may be kept.
type BrokenError struct {
	Reason   string
	Offset   int64 // decoded bytes read before
	Unread   bool  // there is nothing to be said of the container: the store does not hand it out
	TooLarge bool  // nor is it wrong: it is beyond a bound that the pipeline file can raise
	Taken    int64 // records of the object taken before; if none, the decoder may go on with the next object
	Err      error // what the decompressor said, if anything
}

// Error says what is wrong and where.
func (e *BrokenError) Error() string {
	msg := fmt.Sprintf("broken object after %d decoded bytes: %s", e.Offset, e.Reason)
	if e.Unread || e.TooLarge {
		msg = "object " + e.Reason
	}
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

// Unwrap returns what the decompressor said.
func (e *BrokenError) Unwrap() error { return e.Err }

// Limits bound what a Decoder keeps and believes. A zero member means its
// default.
type Limits struct {
	MaxRecordBytes int   // longer records become dead letters; 8 MiB
	MaxDepth       int   // objects and lists inside each other; 512
	PrimeBytes     int   // decoded bytes of the batch from which types are inferred first; 4 MiB
	BlockBytes     int   // decoded bytes, and values, of a block; 1 MiB
	BlockRows      int   // rows of a block; 65536
	MaxColumns     int   // leaves of the table; what more keys hold is rescued; 2048
	MaxPageBytes   int   // a page of Parquet, a block of Avro or of a compression; 256 MiB
	MaxWindow      int64 // that zstd looks back; 32 MiB
	MaxRatio       int64 // decoded bytes per stored byte; 1000
	RatioFrom      int64 // decoded bytes of one object from which on the ratio counts; 1 GiB
	MaxDecoded     int64 // decoded bytes of one object; 1 TiB
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.MaxRecordBytes, 8<<20)
	set(&l.MaxDepth, 512)
	set(&l.PrimeBytes, 4<<20)
	set(&l.BlockBytes, 1<<20)
	set(&l.BlockRows, 64<<10)
	set(&l.MaxColumns, 2048)
	set(&l.MaxPageBytes, 256<<20)
	for v, d := range map[*int64]int64{&l.MaxRatio: 1000, &l.RatioFrom: 1 << 30, &l.MaxDecoded: 1 << 40, &l.MaxWindow: 32 << 20} {
		if *v <= 0 {
			*v = d
		}
	}
	return l
}

// Options say under which schema a batch is decoded, and where it goes.
type Options struct {
	Table   *schema.Schema // published schema of the main table, with the reserved columns; never nil
	Learned *schema.Schema // nil at first; after ErrRestart what Schema returned
	Rules   schema.Rules   // names, and bounds of nested columns; MaxColumns is taken from Limits
	Limits  Limits         // what is kept and believed
	Format  Format         // how objects are read
	// Ahead wraps the text of an object that is larger than what is read at once,
	// to read it before it is asked for. It may be nil.
	Ahead func(io.Reader) io.ReadCloser
	// Block takes each block, in row order, and owns it from then on. It may give
	// back one that it took and is done with, whose memory is used again.
	Block func(*column.Block) (*column.Block, error)
	Dead  func(DeadLetter) error // takes each bad record, in order; it is valid until the call returns
}

// Stopper is asked before each read whether to go on: Err is nil as long as that
// is so. A context.Context is one; this room needs nothing else of it.
type Stopper interface{ Err() error }

// KeptBytes is how much of a bad record a dead letter keeps.
const KeptBytes = 64 << 10

// DeadLetter is a record that cannot become a row.
//
//	stage     code            the record
//	length    too_long        is longer than Limits.MaxRecordBytes
//	utf8      invalid_utf8    is not UTF-8, or what was no letter of its encoding
//	utf8      lone_surrogate  has half of a surrogate pair in an escape
//	syntax    syntax          is not JSON
//	syntax    trailing        has something after its object
//	syntax    too_deep        is nested deeper than Limits.MaxDepth
//	syntax    ragged          has more or fewer cells than the header
//	syntax    bad_quote       has something between a closing quote and the next delimiter
//	syntax    nul_bytes       is a run of bytes 0 at the head of an object
//	syntax    open_quote      has a quoted cell that does not end, or not within Limits.MaxRecordBytes; only its first line is the record
//	envelope  no_records      is an envelope without an array of records where Format.Unnest says, or is no envelope
//	schema    not_object      is JSON, but not an object
//	schema    duplicate_key   has a key twice in one object that becomes columns
//	schema    contract_…      breaks the contract: contract_new_column, contract_type
type DeadLetter struct {
	Source  string
	Offset  int64  // position of its first byte
	Raw     []byte // as received, but as UTF-8, without the newline, cut to KeptBytes
	Length  int64  // true length of Raw in bytes
	Stage   string // which step refused it
	Code    string // why, for machines
	Message string // why, for people
}

// Object names the part of an object to decode.
type Object struct {
	Source     string               // what _source says
	From       source.Position      // 0 or where an earlier Decode of the object stopped
	To         source.Position      // stop before the first record at or behind it; 0: never
	MaxBytes   int64                // stop at the first record boundary at or after so many decoded bytes; 0: never
	MaxRecords int64                // stop behind so many records; 0: never
	Wanted     func(pos int64) bool // takes the records at these positions alone; nil: all
	Header     string               // what Result.Header said when it was read first; "": it is read first
}

// Result is what one Decode consumed.
type Result struct {
	To        source.Position // first position not consumed
	Last      bool            // nothing follows To
	Records   int64           // records, good and bad
	Bytes     int64           // decoded bytes, To - From
	IDSum     source.Hash     // sum of the records' IDHash modulo 2^128
	Content   source.Hash     // head of the SHA-256 of the stored bytes; only if Last
	Container string          // plain, gzip, zstd, bzip2 or snappy
	Header    string          // CSV: where the keys of its cells came from; else ""
}

// IDHash returns the hash of a record's id: XXH3-128 of the source's name and
// the offset as 8 bytes big-endian.
func IDHash(name string, offset int64) source.Hash {
	buf := make([]byte, 0, 256)
	return idHash(append(buf, name...), offset)
}

// idHash hashes name and offset; it uses the room after name.
func idHash(name []byte, offset int64) source.Hash {
	return xxh3.Hash128(binary.BigEndian.AppendUint64(name, uint64(offset))).Bytes()
}
