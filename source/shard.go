package source

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Shard is one of several invocations that work side by side on one source.
// It only filters what is planned: progress is never kept by shard, and the
// number of shards may change from run to run. The zero value owns everything.
type Shard struct {
	Index int // from 0
	Count int // 0 and 1 both mean that there is one shard
}

// Validate refuses an index outside [0, Count).
func (s Shard) Validate() error {
	if s.Count < 0 || s.Index < 0 || s.Index >= max(s.Count, 1) {
		return fmt.Errorf("shard %d of %d: the index counts from 0 and is below the number of shards", s.Index, s.Count)
	}
	return nil
}

// Owns says whether the partition whose key has this hash belongs to the shard:
// whether the hash, as a big-endian number, modulo Count is Index.
func (s Shard) Owns(key Hash) bool {
	if s.Count <= 1 {
		return true
	}
	hi, lo := binary.BigEndian.Uint64(key[:8]), binary.BigEndian.Uint64(key[8:])
	return bits.Rem64(hi, lo, uint64(s.Count)) == uint64(s.Index)
}
