package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// decoder gives the values of one page in order. A value is valid until the
// next call. What a page claims to hold is never allocated: values are decoded
// as they are asked for.
type decoder interface {
	next() (value, error)
}

// errEnds says that a page holds fewer values than its levels ask for.
var errEnds = fmt.Errorf("%w: a page ends before its values", errCorrupt)

// width returns the bytes of a PLAIN value, 0 if they vary.
func (n *node) width() int {
	switch n.physical {
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	case format.FixedLenByteArray:
		return n.size
	}
	return 0
}

// isNumber says whether values are held in value.bits.
func (n *node) isNumber() bool {
	return n.physical != format.ByteArray && n.physical != format.FixedLenByteArray && n.physical != format.Int96
}

func (n *node) isInteger() bool { return n.physical == format.Int32 || n.physical == format.Int64 }

// newDecoder returns the decoder for the values of a page.
func newDecoder(leaf *node, e format.Encoding, body []byte, dict *dictionary) (decoder, error) {
	t := leaf.physical
	switch {
	case e == format.Plain:
		return newPlain(leaf, body), nil
	case e == format.PlainDictionary || e == format.RLEDictionary: //nolint:staticcheck // files of old writers have it
		return newIndexes(body, dict)
	case e == format.RLE && t == format.Boolean:
		if len(body) == 0 {
			return &codes{}, nil
		}
		packed, _, err := prefixed(body)
		return &codes{hybrid{bits: bitReader{data: packed}, width: 1}}, err
	case e == format.DeltaBinaryPacked && leaf.isInteger():
		d, err := newDelta(body)
		return &deltaNumbers{d}, err
	case e == format.DeltaLengthByteArray && t == format.ByteArray:
		lengths, data, err := newLengths(body)
		return &deltaLengths{lengths, data}, err
	case e == format.DeltaByteArray && (t == format.ByteArray || t == format.FixedLenByteArray):
		return newDeltaStrings(leaf, body)
	case e == format.ByteStreamSplit && leaf.width() > 0 && t != format.Int96:
		return &split{leaf: leaf, data: body, n: len(body) / leaf.width(), value: make([]byte, max(8, leaf.width()))}, nil
	}
	return nil, fmt.Errorf("encoding %v of type %v is not supported", e, t)
}

// prefixed cuts what the 4 bytes in front say is there.
func prefixed(body []byte) (inside, rest []byte, err error) {
	if len(body) < 4 {
		return nil, nil, errEnds
	}
	n := binary.LittleEndian.Uint32(body)
	if uint64(n) > uint64(len(body)-4) {
		return nil, nil, fmt.Errorf("%d bytes wanted, %d are left", n, len(body)-4)
	}
	return body[4 : 4+n], body[4+n:], nil
}

// plainFixed are values of one width.
type plainFixed struct {
	leaf *node
	data []byte
}

// newPlain returns the decoder for PLAIN values.
func newPlain(leaf *node, body []byte) decoder {
	switch leaf.physical {
	case format.Boolean:
		return &plainBools{bitReader{data: body}}
	case format.ByteArray:
		return &plainStrings{body}
	}
	return &plainFixed{leaf, body}
}

func (p *plainFixed) next() (value, error) {
	n := p.leaf.width()
	if n > len(p.data) {
		return value{}, errEnds
	}
	v := p.leaf.fixed(p.data[:n])
	p.data = p.data[n:]
	return v, nil
}

// fixed returns the value that stands in b, which has its width.
func (n *node) fixed(b []byte) value {
	switch {
	case !n.isNumber():
		return value{data: b}
	case len(b) == 4:
		return value{bits: uint64(binary.LittleEndian.Uint32(b))}
	}
	return value{bits: binary.LittleEndian.Uint64(b)}
}

type plainBools struct{ bits bitReader }

func (p *plainBools) next() (value, error) {
	v, ok := p.bits.read(1)
	if !ok {
		return value{}, errEnds
	}
	return value{bits: v}, nil
}

type plainStrings struct{ data []byte }

func (p *plainStrings) next() (value, error) {
	inside, rest, err := prefixed(p.data)
	p.data = rest
	return value{data: inside}, err
}

// codes are booleans in the RLE hybrid.
type codes struct{ hybrid }

func (c *codes) next() (value, error) {
	v, err := c.hybrid.next()
	return value{bits: v}, err
}

// dictionary are the values of a dictionary page.
type dictionary struct {
	leaf    *node
	data    []byte
	offsets []uint32 // of strings: where the length stands
	n       int
}

func newDictionary(leaf *node, body []byte, n int) (*dictionary, error) {
	d := &dictionary{leaf: leaf, data: body, n: n}
	switch width := leaf.width(); {
	case leaf.physical == format.Boolean || n < 0:
		return nil, fmt.Errorf("a dictionary of %d values of type %v", n, leaf.physical)
	case leaf.physical != format.ByteArray:
		if n > math.MaxInt32 || width*n > len(body) {
			return nil, fmt.Errorf("a dictionary of %d values in %d bytes", n, len(body))
		}
		return d, nil
	case n > len(body)/4:
		return nil, fmt.Errorf("a dictionary of %d values in %d bytes", n, len(body))
	}
	d.offsets = make([]uint32, 0, n)
	for rest := body; len(d.offsets) < n; {
		d.offsets = append(d.offsets, uint32(len(body)-len(rest)))
		var err error
		if _, rest, err = prefixed(rest); err != nil {
			return nil, fmt.Errorf("dictionary: %w", err)
		}
	}
	return d, nil
}

func (d *dictionary) held() int64 { return int64(cap(d.data) + 4*cap(d.offsets)) }

func (d *dictionary) value(i uint64) (value, error) {
	if i >= uint64(d.n) {
		return value{}, fmt.Errorf("%w: value %d of a dictionary of %d", errCorrupt, i, d.n)
	}
	if d.offsets != nil {
		inside, _, err := prefixed(d.data[d.offsets[i]:])
		return value{data: inside}, err
	}
	width := d.leaf.width()
	return d.leaf.fixed(d.data[int(i)*width : (int(i)+1)*width]), nil
}

// indexes are places in a dictionary.
type indexes struct {
	hybrid
	dict *dictionary
}

func newIndexes(body []byte, dict *dictionary) (decoder, error) {
	switch {
	case dict == nil:
		return nil, fmt.Errorf("a page with indexes comes before the dictionary")
	case len(body) == 0:
		return &plainStrings{}, nil // nothing but nulls
	case body[0] > 32:
		return nil, fmt.Errorf("indexes of %d bits", body[0])
	}
	return &indexes{hybrid{bits: bitReader{data: body[1:]}, width: int(body[0])}, dict}, nil
}

func (x *indexes) next() (value, error) {
	i, err := x.hybrid.next()
	if err != nil {
		return value{}, err
	}
	return x.dict.value(i)
}

// split are values whose first bytes come first, then all second bytes, and so on.
type split struct {
	leaf  *node
	data  []byte
	n, at int
	value []byte
}

func (s *split) next() (value, error) {
	if s.at >= s.n {
		return value{}, errEnds
	}
	width := s.leaf.width()
	for i := range width {
		s.value[i] = s.data[i*s.n+s.at]
	}
	s.at++
	return s.leaf.fixed(s.value[:width]), nil
}

// deltaNumbers are integers.
type deltaNumbers struct{ *delta }

func (d *deltaNumbers) next() (value, error) {
	v, err := d.delta.next()
	return value{bits: uint64(v)}, err
}

// newLengths reads lengths from the front of a page, and where they end.
func newLengths(body []byte) (*delta, []byte, error) {
	d, err := newDelta(body)
	if err != nil {
		return nil, nil, err
	}
	rest, err := d.rest()
	return d, rest, err
}

// deltaLengths are strings whose lengths come first.
type deltaLengths struct {
	lengths *delta
	data    []byte
}

func (d *deltaLengths) next() (value, error) {
	n, err := d.lengths.next()
	if err != nil {
		return value{}, err
	}
	if n < 0 || n > int64(len(d.data)) {
		return value{}, fmt.Errorf("%w: a string of %d bytes, %d are left", errCorrupt, n, len(d.data))
	}
	v := value{data: d.data[:n]}
	d.data = d.data[n:]
	return v, nil
}

// deltaStrings are strings of which each takes its beginning from the one before.
type deltaStrings struct {
	leaf     *node
	prefixes *delta
	suffixes deltaLengths
	last     []byte
}

func newDeltaStrings(leaf *node, body []byte) (decoder, error) {
	prefixes, rest, err := newLengths(body)
	if err != nil {
		return nil, err
	}
	lengths, data, err := newLengths(rest)
	return &deltaStrings{leaf: leaf, prefixes: prefixes, suffixes: deltaLengths{lengths, data}}, err
}

func (d *deltaStrings) next() (value, error) {
	n, err := d.prefixes.next()
	if err != nil {
		return value{}, err
	}
	suffix, err := d.suffixes.next()
	if err != nil {
		return value{}, err
	}
	if n < 0 || n > int64(len(d.last)) {
		return value{}, fmt.Errorf("%w: %d bytes of a string of %d", errCorrupt, n, len(d.last))
	}
	d.last = append(slices.Grow(d.last[:n], len(suffix.data)), suffix.data...)
	if d.leaf.physical == format.FixedLenByteArray && len(d.last) != d.leaf.size {
		return value{}, fmt.Errorf("%w: a value of %d bytes, not %d", errCorrupt, len(d.last), d.leaf.size)
	}
	return value{data: d.last}, nil
}
