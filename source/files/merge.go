package files

import (
	"fmt"

	"batcher/segment"
	"batcher/source"
)

// How segments are merged. Segments have levels by their number of entries. When
// the newest segments, those up to some level, contain fanIn of just that level,
// or fanIn for each level up to it, the oldest of them are merged into one: as
// many as fit into maxSegment. So there are fewer than fanIn a level besides the
// full ones, and an entry is rewritten about once a level. Only neighbours are
// merged: the newer of two entries of a key stays the newer.
const (
	fanIn      = 8
	maxSegment = 256 << 10 // entries
)

// levels are the sizes from which on a segment belongs to the next level; those
// of the last level are never merged again.
var levels = [...]int64{2 << 10, 16 << 10, 128 << 10}

// mergeable returns the part [from, to) of refs that is to be merged now; an
// empty one if none is.
func mergeable(refs []source.ConsumedRef) (from, to int) {
	floor := int64(0)
	for level, limit := range levels {
		same := 0
		for from = len(refs); from > 0 && refs[from-1].Count < limit; from-- {
			if refs[from-1].Count >= floor {
				same++
			}
		}
		floor = limit
		if same < fanIn && len(refs)-from < fanIn*(level+1) {
			continue
		}
		total := int64(0)
		for to = from; to < len(refs) && total+refs[to].Count <= maxSegment; to++ {
			total += refs[to].Count
		}
		return from, to
	}
	return 0, 0
}

// merge puts one new segment of the pack in the place of those that are to be
// merged. Where one of them is not in memory it changes nothing.
func (s *Set) merge(refs []source.ConsumedRef, pack *segment.Pack) ([]source.ConsumedRef, error) {
	from, to := mergeable(refs)
	if to-from < 2 || !s.has(refs[from:to]) {
		return refs, nil
	}
	var x index
	var runs []*Run
	for _, ref := range refs[from:to] {
		runs = append(runs, s.runs[ref.SHA256])
	}
	if err := x.extend(runs); err != nil {
		return nil, fmt.Errorf("merge consumed segments: %w", err)
	}
	entries := make([]Entry, 0, x.count)
	for _, n := range x.slots {
		if n != emptySlot {
			entries = append(entries, x.at(int(n)))
		}
	}
	merged, err := s.addRuns(entries, pack)
	if err != nil {
		return nil, err
	}
	out := append([]source.ConsumedRef(nil), refs[:from]...)
	return append(append(out, merged...), refs[to:]...), nil
}

// addRuns writes the entries, of which no two have one key, to the pack: one
// segment for each maxSegment of them.
func (s *Set) addRuns(entries []Entry, pack *segment.Pack) ([]source.ConsumedRef, error) {
	var refs []source.ConsumedRef
	for len(entries) > 0 {
		n := min(len(entries), maxSegment)
		b, err := EncodeRun(entries[:n])
		if err != nil {
			return nil, err
		}
		run, err := DecodeRun(b)
		if err != nil {
			return nil, err
		}
		ref := source.ConsumedRef{Ref: pack.Add(b), Count: int64(n), FromDay: run.FromDay(), ToDay: run.ToDay()}
		s.runs[ref.SHA256] = run
		refs, entries = append(refs, ref), entries[n:]
	}
	return refs, nil
}
