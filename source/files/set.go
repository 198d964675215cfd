package files

import (
	"context"
	"fmt"
	"slices"

	"batcher/segment"
	"batcher/source"
)

// Loader reads segments. The set itself checks what it gets against the ref.
type Loader interface {
	Load(ctx context.Context, ref segment.Ref) ([]byte, error)
}

// Set is the memory of one process of the consumed objects: the segments that
// it has loaded so far, by hash, so that a later head costs only what is new in
// it. What is consumed according to a head is always asked of that head's
// progress; the set only knows bytes. It is not safe for concurrent use.
type Set struct {
	source   *Source
	loader   Loader
	runs     map[segment.SHA256]*Run
	lists    map[segment.SHA256][]source.ConsumedRef // lists of segments that stand by reference
	index    index
	contents map[source.Hash]source.Hash // identity → content hash of changed objects that were re-read
	passed   map[source.Hash]bool        // identities that plans leave out, see PassOver
}

// NewSet returns an empty set for the source's entries.
func (s *Source) NewSet(loader Loader) *Set {
	return &Set{
		source: s, loader: loader,
		runs:     make(map[segment.SHA256]*Run),
		lists:    make(map[segment.SHA256][]source.ConsumedRef),
		contents: make(map[source.Hash]source.Hash),
		passed:   make(map[source.Hash]bool),
	}
}

// PassOver makes later plans leave an object out as it stands now, but for its part in
// the lag: the run has found that it cannot be read. It is forgotten with PassNothingOver,
// and never becomes a part of any progress.
func (s *Set) PassOver(o *Object) {
	s.passed[s.source.Identity(o.Key, o.ETag, o.Size)] = true
}

// PassNothingOver makes plans have all objects again: a new run tries them anew.
func (s *Set) PassNothingOver() { clear(s.passed) }

// Prepare makes ready what Advance needs of a parent. For new objects that is
// nothing, but for two cases: where the parent has so many segments that their list
// stands by reference it loads that list, once; where the recent entries are about to
// become a segment, and others are to be merged, it loads these. For ranges that
// follow an entry it loads the segments, as far as they are not in memory, that can
// hold the entry.
func (s *Set) Prepare(ctx context.Context, progress *source.FilesProgress, d Delta) error {
	refs, err := s.loadRefs(ctx, progress)
	if err != nil {
		return err
	}
	var follow []source.Range
	for i := range d.Ranges {
		if !d.Ranges[i].Was.IsZero() {
			follow = append(follow, d.Ranges[i])
		}
	}
	for _, g := range d.Gaps {
		if !g.Was.IsZero() {
			follow = append(follow, source.Range{Key: g.Key, Modified: g.Modified})
		}
	}
	var need []source.ConsumedRef
	if len(follow) > 0 {
		need = s.source.holdingAny(progress, refs, follow)
	}
	if spills(progress, d) {
		from, to := mergeable(refs)
		need = append(slices.Clip(need), refs[from:to]...)
	}
	if len(need) == 0 {
		return nil
	}
	return s.loadRuns(ctx, refs, need)
}

// spills says whether the entries that a delta adds to the recent ones may be too many
// to stand beside them.
func spills(progress *source.FilesProgress, d Delta) bool {
	added := len(d.Touched) + len(d.Gaps)
	for i := range d.Ranges {
		if d.Ranges[i].Last {
			added++
		}
	}
	recent := 0
	if progress != nil {
		recent = len(progress.Recent) / RecentSize
	}
	return (recent+added)*RecentSize > RecentLimit
}

// loadRefs returns the progress's segments, oldest first.
func (s *Set) loadRefs(ctx context.Context, progress *source.FilesProgress) ([]source.ConsumedRef, error) {
	if progress == nil {
		return nil, nil
	}
	list := progress.Segments
	if list.Ref == nil || s.lists[list.Ref.SHA256] != nil {
		return s.refs(progress)
	}
	b, err := s.load(ctx, *list.Ref)
	if err != nil {
		return nil, fmt.Errorf("load list of consumed segments: %w", err)
	}
	refs, err := segment.Decode[source.ConsumedRef]("list", b)
	if err != nil {
		return nil, fmt.Errorf("list of consumed segments: %w: %w", ErrDamaged, err)
	}
	if int64(len(refs)) != list.Count {
		return nil, fmt.Errorf("list of consumed segments: %w: %d refs, want %d", ErrDamaged, len(refs), list.Count)
	}
	s.lists[list.Ref.SHA256] = refs
	return refs, nil
}

// refs is loadRefs without loading.
func (s *Set) refs(progress *source.FilesProgress) ([]source.ConsumedRef, error) {
	list := progress.Segments
	if list.Ref == nil {
		return list.Items, nil
	}
	refs := s.lists[list.Ref.SHA256]
	if refs == nil {
		return nil, ErrNotLoaded
	}
	return refs, nil
}

func (s *Set) load(ctx context.Context, ref segment.Ref) ([]byte, error) {
	b, err := s.loader.Load(ctx, ref)
	if err != nil {
		return nil, err
	}
	if err := ref.Check(b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return b, nil
}

// has says whether all these segments are in memory.
func (s *Set) has(refs []source.ConsumedRef) bool {
	return !slices.ContainsFunc(refs, func(r source.ConsumedRef) bool { return s.runs[r.SHA256] == nil })
}

// loadRuns brings the wanted segments into memory, and forgets those that the
// head, of whose segments they are a part, does not name any more.
func (s *Set) loadRuns(ctx context.Context, head, wanted []source.ConsumedRef) error {
	named := make(map[segment.SHA256]bool, len(head))
	for _, ref := range head {
		named[ref.SHA256] = true
	}
	for sum := range s.runs {
		if !named[sum] {
			delete(s.runs, sum)
		}
	}
	for _, ref := range wanted {
		if s.runs[ref.SHA256] != nil {
			continue
		}
		run, err := s.loadRun(ctx, ref)
		if err != nil {
			return fmt.Errorf("load consumed objects: %w", err)
		}
		s.runs[ref.SHA256] = run
	}
	return nil
}

func (s *Set) loadRun(ctx context.Context, ref source.ConsumedRef) (*Run, error) {
	b, err := s.load(ctx, ref.Ref)
	if err != nil {
		return nil, err
	}
	run, err := DecodeRun(b)
	if err != nil {
		return nil, fmt.Errorf("segment %s at %d: %w: %w", ref.Key, ref.Offset, ErrDamaged, err)
	}
	if int64(run.Len()) != ref.Count || run.FromDay() != ref.FromDay || run.ToDay() != ref.ToDay {
		return nil, fmt.Errorf("segment %s at %d: %w: %d entries of days [%d, %d), its ref says %d of [%d, %d)",
			ref.Key, ref.Offset, ErrDamaged, run.Len(), run.FromDay(), run.ToDay(), ref.Count, ref.FromDay, ref.ToDay)
	}
	return run, nil
}

// view is what is in memory of one head's consumed objects.
type view struct {
	recent map[source.Hash]Entry
	index  *index
}

// view returns the entries of the progress that are in memory: Recent and the
// loaded ones of refs. It holds until the next call.
func (s *Set) view(recent []Entry, refs []source.ConsumedRef) (*view, error) {
	v := &view{recent: make(map[source.Hash]Entry, len(recent)), index: &s.index}
	for _, e := range recent {
		v.recent[e.Key] = e
	}
	var runs []*Run
	for _, ref := range refs {
		if run := s.runs[ref.SHA256]; run != nil {
			runs = append(runs, run)
		}
	}
	have := len(s.index.runs)
	if have > len(runs) || !slices.Equal(s.index.runs, runs[:have]) {
		s.index, have = index{}, 0
	}
	if err := s.index.extend(runs[have:]); err != nil {
		s.index = index{}
		return nil, err
	}
	return v, nil
}

// find returns the newest entry of the key in memory.
func (v *view) find(key source.Hash) (Entry, bool) {
	if e, ok := v.recent[key]; ok {
		return e, true
	}
	if n, ok := v.index.find(&key); ok {
		return v.index.at(n), true
	}
	return Entry{}, false
}

// Verify loads the whole set of a progress and proves that Count and Sum are
// those of its entries.
func (s *Set) Verify(ctx context.Context, progress *source.FilesProgress) error {
	refs, err := s.loadRefs(ctx, progress)
	if err != nil {
		return err
	}
	recent, err := DecodeRecent(progress.Recent)
	if err != nil {
		return err
	}
	if err := s.loadRuns(ctx, refs, refs); err != nil {
		return err
	}
	v, err := s.view(recent, refs)
	if err != nil {
		return err
	}
	var count int64
	var sum source.Hash
	for _, e := range recent {
		count, sum = count+1, sum.Add(e.Identity)
	}
	for _, n := range v.index.slots {
		if n == emptySlot {
			continue
		}
		if e := v.index.at(int(n)); v.recent[e.Key].Key != e.Key {
			count, sum = count+1, sum.Add(e.Identity)
		}
	}
	if count != progress.Count || sum != progress.Sum {
		return fmt.Errorf("consumed set has %d objects with sum %s, progress says %d with sum %s", count, sum, progress.Count, progress.Sum)
	}
	return nil
}
