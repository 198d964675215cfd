// Package avro reads Avro object container files, written by anybody, as typed
// records.
//
// Duty: read the header, the blocks and their codecs from a stream, and decode
// one record after the other under the schema that the file carries.
//
// Invariants: the n-th record of a file is always the same bytes; memory is
// bounded by the limits, whatever lengths and counts a file claims; input that
// is not as the specification has it ends the file with a typed.Error, which
// says which record and byte, and never with a panic or a loop; a block is
// decoded only once its sync marker was seen.
//
// It never resolves a file's schema against another one, never repairs a value,
// and never seeks.
//
// What becomes of Avro's types, beyond the obvious:
//
//	enum, uuid              string
//	fixed                   bytes
//	union                   the value of its branch
//	decimal, big-decimal    decimal; number if a decimal does not hold it
//	time-*                  string 15:04:05.000, digits as the unit has them
//	timestamp-*             timestamp
//	local-timestamp-*       string 2006-01-02T15:04:05.000; timestamp-* with adjust-to-utc false too
//	duration                string P14M3DT12.345S
//
// A logical type that is unknown or does not fit its type is ignored, as the
// specification wants it. A value that its logical type cannot express, such as
// a time of day of 25 hours, stays the number that it is.
package avro

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"batcher/record/typed"
)

// Limits bound what a Reader keeps and believes. A zero member means its
// default.
type Limits struct {
	MaxHeaderBytes int // schema and other metadata; 16 MiB
	MaxBlockBytes  int // one block, stored and decompressed; 256 MiB
	MaxRecordBytes int // one record in its typed form; 64 MiB
	MaxDepth       int // records, arrays, maps and unions inside each other; 512
}

func (l Limits) withDefaults() Limits {
	l.MaxHeaderBytes = cmp.Or(l.MaxHeaderBytes, 16<<20)
	l.MaxBlockBytes = cmp.Or(l.MaxBlockBytes, 256<<20)
	l.MaxRecordBytes = cmp.Or(l.MaxRecordBytes, 64<<20)
	l.MaxDepth = cmp.Or(l.MaxDepth, 512)
	return l
}

// maxEmpty is how many records without a single byte a block may claim.
const maxEmpty = 1 << 20

const (
	magic    = "Obj\x01"
	syncSize = 16
)

// Reader reads the records of one file in order. It is not safe for concurrent
// use, and spent after an error.
type Reader struct {
	in     input
	limits Limits
	schema *node
	codec  codec
	sync   [syncSize]byte
	stored []byte  // the block as it is stored
	block  decoder // the block at hand, decompressed
	start  int64   // where it begins in the file
	left   int64   // its records that were not read yet
	next   int64   // ordinal of the next record
	err    error   // what ended reading
}

// NewReader reads the header of a file. It fails with a typed.Error, or with
// what r failed with.
func NewReader(r io.Reader, limits Limits) (*Reader, error) {
	rd := &Reader{in: input{r: bufio.NewReader(r)}, limits: limits.withDefaults()}
	if err := rd.header(); err != nil {
		return nil, rd.broken(err)
	}
	return rd, nil
}

// Rows returns -1: an Avro file does not say how many records it has.
func (r *Reader) Rows() int64 { return -1 }

// Next appends the next record to buf. It fails with io.EOF behind the last
// one, with a typed.Error, or with what the source failed with.
func (r *Reader) Next(buf []byte) ([]byte, error) {
	if err := r.ready(); err != nil {
		return buf, err
	}
	r.block.limit = len(buf) + r.limits.MaxRecordBytes
	out, err := r.block.value(buf, r.schema, r.limits.MaxDepth)
	if err == nil {
		err = r.taken(1)
	}
	if err != nil {
		r.err = r.broken(err)
		return buf, r.err
	}
	r.next++
	return out, nil
}

// Skip passes over n records. Blocks that hold none of the records behind them
// are not decompressed. It fails with io.EOF if the file has fewer records, or
// as Next does.
func (r *Reader) Skip(n int64) error {
	var scratch []byte
	for n > 0 {
		if r.err == nil && r.left == 0 {
			r.err = r.broken(r.readBlock())
		}
		switch {
		case r.err != nil:
			return r.err
		case r.block.data == nil && n >= r.left:
			n -= r.left
			r.next += r.left
			r.left = 0
		default:
			var err error
			if scratch, err = r.Next(scratch[:0]); err != nil {
				return err
			}
			n--
		}
	}
	return nil
}

// ready makes sure that a decompressed block with a record is at hand.
func (r *Reader) ready() error {
	for r.err == nil && r.left == 0 {
		r.err = r.broken(r.readBlock())
	}
	if r.err == nil && r.block.data == nil {
		r.err = r.broken(r.openBlock())
	}
	return r.err
}

// taken counts records of the block, and holds the block's end against its size.
func (r *Reader) taken(n int64) error {
	if r.left -= n; r.left > 0 {
		return nil
	}
	if rest := len(r.block.data) - r.block.at; rest > 0 {
		return fmt.Errorf("%w: %d bytes of the block are left behind its last record", errCorrupt, rest)
	}
	r.block.data = nil
	return nil
}

// errCorrupt is what every finding about the bytes of a file wraps.
var errCorrupt = errors.New("corrupt Avro file")

// broken says where err happened. What the source failed with, and the end of
// the file, pass unchanged.
func (r *Reader) broken(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if failed := new(sourceError); errors.As(err, &failed) {
		return fmt.Errorf("read Avro file: %w", failed.err)
	}
	offset := r.in.at
	if r.block.data != nil {
		offset = r.start
	}
	return &typed.Error{Ordinal: r.next, Offset: offset, Reason: err.Error(), Limit: errors.Is(err, typed.ErrLimit)}
}

// header reads magic, metadata and sync marker.
func (r *Reader) header() error {
	var head [len(magic)]byte
	if err := r.in.full(head[:]); err != nil {
		return fmt.Errorf("no Avro object container file: %w", err)
	}
	if string(head[:]) != magic {
		return fmt.Errorf("%w: it begins with %q, not with %q; Avro records without a container carry no schema", errCorrupt, head[:], magic)
	}
	meta, err := r.metadata()
	if err != nil {
		return fmt.Errorf("read header: %w", err)
	}
	if err := r.in.full(r.sync[:]); err != nil {
		return fmt.Errorf("read sync marker: %w", err)
	}
	text, ok := meta["avro.schema"]
	if !ok {
		return fmt.Errorf("%w: the header has no avro.schema", errCorrupt)
	}
	if r.schema, err = parseSchema(text, r.limits.MaxDepth); err != nil {
		return err
	}
	r.codec, err = newCodec(string(meta["avro.codec"]), r.limits.MaxBlockBytes)
	return err
}

// metadata reads the map of the header.
func (r *Reader) metadata() (map[string][]byte, error) {
	meta := map[string][]byte{}
	left := r.limits.MaxHeaderBytes
	for {
		count, err := r.in.long()
		if err == nil && count < 0 {
			count = -count
			_, err = r.in.long()
		}
		if err != nil || count == 0 {
			return meta, err
		}
		for ; count != 0; count-- {
			var pair [2][]byte
			for i := range pair {
				if pair[i], err = r.in.bytes(left); err != nil {
					return nil, err
				}
				if left -= len(pair[i]) + 1; left < 0 {
					return nil, fmt.Errorf("%w: the header is longer than %d bytes", errCorrupt, r.limits.MaxHeaderBytes)
				}
			}
			meta[string(pair[0])] = pair[1]
		}
	}
}

// readBlock reads the next block as it is stored. It fails with io.EOF behind
// the last one.
func (r *Reader) readBlock() error {
	if _, err := r.in.r.Peek(1); err == io.EOF {
		return io.EOF
	}
	count, err := r.in.long()
	if err != nil {
		return fmt.Errorf("read count of block: %w", err)
	}
	if count < 0 {
		return fmt.Errorf("%w: a block claims %d records", errCorrupt, count)
	}
	r.start = r.in.at
	if r.stored, err = r.in.append(r.stored[:0], r.limits.MaxBlockBytes); err != nil {
		return fmt.Errorf("read block: %w", r.bounded(err))
	}
	var sync [syncSize]byte
	if err := r.in.full(sync[:]); err != nil {
		return fmt.Errorf("read sync marker of block: %w", err)
	}
	if !bytes.Equal(sync[:], r.sync[:]) {
		return fmt.Errorf("%w: no sync marker behind the block", errCorrupt)
	}
	r.left, r.block.data = count, nil
	return nil
}

// bounded names the setting that raises the bound of a block, if err is about that.
func (r *Reader) bounded(err error) error {
	if errors.Is(err, typed.ErrLimit) {
		return fmt.Errorf("%w; source.files.limits.page_bytes is %d", err, r.limits.MaxBlockBytes)
	}
	return err
}

// openBlock decompresses the block at hand.
func (r *Reader) openBlock() error {
	data, err := r.codec.decode(r.stored)
	if errors.Is(err, typed.ErrLimit) {
		return r.bounded(err)
	}
	if err != nil {
		return fmt.Errorf("%w: decompress block: %w", errCorrupt, err)
	}
	most := int64(len(data))
	if r.schema.isEmpty() {
		most = maxEmpty
	}
	if r.left > most {
		return fmt.Errorf("%w: a block of %d bytes claims %d records", errCorrupt, len(data), r.left)
	}
	if data == nil {
		data = []byte{}
	}
	r.block = decoder{data: data}
	return nil
}
