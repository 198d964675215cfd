package column

import (
	"encoding/binary"
	"strconv"
	"time"

	"batcher/schema"
)

// appendKey appends what a column says of a row, whose value begins at at: a 0 for
// null, or a 1 and the value as it stands in Plain. It returns where the next value
// begins.
func (v *Vector) appendKey(dst []byte, row, at int) ([]byte, int) {
	if v.Def[row] != v.MaxDef {
		return append(dst, 0), at
	}
	size := valueSize(v, at)
	return append(append(dst, 1), v.Plain[at:at+size]...), at + size
}

// Keys walks rows and gives for each the key that the values of some columns make
// together: equal values, equal keys. The columns hold values themselves, at most
// one a row. The key is valid until the next row.
type Keys struct {
	columns []*Vector
	at      []int
	row     int
	key     []byte
}

// NewKeys starts before the first row of the columns.
func NewKeys(columns []*Vector) *Keys {
	return &Keys{columns: columns, at: make([]int, len(columns))}
}

// Next returns the key of the next row.
func (k *Keys) Next() []byte {
	k.key = k.key[:0]
	for i, v := range k.columns {
		k.key, k.at[i] = v.appendKey(k.key, k.row, k.at[i])
	}
	k.row++
	return k.key
}

// Split takes a key apart: the bytes of each column's value, without a string's
// length, or nil for null.
func (k *Keys) Split(key []byte) [][]byte {
	values := make([][]byte, len(k.columns))
	for i, v := range k.columns {
		if key[0] == 0 {
			key = key[1:]
			continue
		}
		size, head := Width(v.Kind), 0
		if size == 0 {
			size, head = int(binary.LittleEndian.Uint32(key[1:]))+4, 4
		}
		values[i] = key[1+head : 1+size]
		key = key[1+size:]
	}
	return values
}

// maxPartitionBytes is how long a string may be that names a partition.
const maxPartitionBytes = 1 << 10

// PartitionText returns a value, as Split gives it, as the text that manifests and
// Delta have of the value of a partition. It says false if it names none: null, a
// string over 1 KiB, a value of a kind that splits no table.
func PartitionText(k schema.Kind, v []byte) (string, bool) {
	switch {
	case v == nil:
		return "", false
	case k == schema.Date:
		return time.Unix(int64(int32(binary.LittleEndian.Uint32(v)))*86400, 0).UTC().Format(time.DateOnly), true
	case k == schema.Int32:
		return strconv.FormatInt(int64(int32(binary.LittleEndian.Uint32(v))), 10), true
	case k == schema.Int64:
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64(v)), 10), true
	case k == schema.String && len(v) <= maxPartitionBytes:
		return string(v), true
	}
	return "", false
}
