package files

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"batcher/object"
	"batcher/source"
)

// Coverage says how much of some ranges is consumed by others.
type Coverage uint8

const (
	// CoveredNone says that no record of the ranges is consumed: they are admissible.
	CoveredNone Coverage = iota
	// CoveredAll says that every range is consumed: there is nothing to do.
	CoveredAll
	// CoveredSome says that the ranges are consumed in part, or that a key of
	// them is consumed with another content: plan again, or refuse.
	CoveredSome
)

// String names the coverage.
func (c Coverage) String() string { return [...]string{"none", "all", "some"}[c] }

// join is the coverage of two disjoint lots.
func (c Coverage) join(o Coverage) Coverage {
	if c == o {
		return c
	}
	return CoveredSome
}

// Covered compares the ranges of a proposal with those that other manifests
// have committed since its base, by key and position. It is pure. No own ranges
// at all are covered by nothing.
func Covered(rivals, own []source.Range) Coverage {
	byKey := make(map[string][]source.Range)
	for _, r := range rivals {
		byKey[r.Key] = append(byKey[r.Key], r)
	}
	for _, ranges := range byKey {
		slices.SortFunc(ranges, func(a, b source.Range) int { return cmp.Compare(a.From, b.From) })
	}
	var total Coverage
	for i, r := range own {
		one := coveredOne(byKey[r.Key], r)
		if i == 0 {
			total = one
		}
		total = total.join(one)
	}
	return total
}

// coveredOne compares one range with those of its key, sorted by From. The end
// of an object counts as one position of its own, so that ranges of empty
// objects and empty last ranges are covered or not as well.
func coveredOne(rivals []source.Range, own source.Range) Coverage {
	from, to := span(own)
	missing, touched := from, false
	for _, r := range rivals {
		if r.ETag != own.ETag || r.Size != own.Size {
			return CoveredSome
		}
		rFrom, rTo := span(r)
		touched = touched || rFrom < to && from < rTo
		if rFrom <= missing {
			missing = max(missing, rTo)
		}
	}
	switch {
	case touched && missing >= to:
		return CoveredAll
	case touched:
		return CoveredSome
	}
	return CoveredNone
}

// span is a range with the object's end as a position of its own.
func span(r source.Range) (from, to source.Position) {
	if r.Last {
		return r.From, r.To + 1
	}
	return r.From, r.To
}

// Resolve says how much of an explicit list of ranges is consumed according to
// progress, and when none is returns the plan to read exactly these ranges, in
// their order. It reads segments and no source object: whether the objects are
// still as the ranges say shows when they are opened.
//
// It fails with a GapError when a range begins after the next position of its
// object, and with a ChangedError when its key is consumed with other content.
func (s *Source) Resolve(ctx context.Context, ranges []source.Range, progress *source.FilesProgress, set *Set) (Coverage, *Plan, error) {
	if progress == nil {
		progress = &source.FilesProgress{Start: s.cfg.Start}
	}
	known, err := s.lookUp(ctx, ranges, progress, set)
	if err != nil {
		return CoveredNone, nil, fmt.Errorf("resolve ranges: %w", err)
	}
	next := make(map[string]source.OpenObject)
	for _, o := range progress.Open {
		next[o.Key] = o
	}
	var total Coverage
	plan := &Plan{}
	for i := range ranges {
		r := ranges[i]
		r.Header = next[r.Key].Header
		one, err := s.resolveOne(r, known, next)
		if err != nil {
			return CoveredNone, nil, fmt.Errorf("resolve ranges: %w", err)
		}
		if i == 0 {
			total = one
		}
		total = total.join(one)
		plan.Objects = append(plan.Objects, s.exact(r))
		plan.Lag.add(Lag{Objects: 1, Bytes: int64(r.To - r.From), Oldest: r.Modified})
	}
	if total != CoveredNone {
		return total, nil, nil
	}
	return total, plan, nil
}

// lookUp loads the segments that can hold the ranges' keys.
func (s *Source) lookUp(ctx context.Context, ranges []source.Range, progress *source.FilesProgress, set *Set) (*view, error) {
	refs, err := set.loadRefs(ctx, progress)
	if err != nil {
		return nil, err
	}
	recent, err := DecodeRecent(progress.Recent)
	if err != nil {
		return nil, err
	}
	if err := set.loadRuns(ctx, refs, s.holdingAny(progress, refs, ranges)); err != nil {
		return nil, err
	}
	return set.view(recent, refs)
}

// holdingAny returns the segments that can hold entries of the ranges' keys.
func (s *Source) holdingAny(progress *source.FilesProgress, refs []source.ConsumedRef, ranges []source.Range) []source.ConsumedRef {
	return slices.DeleteFunc(slices.Clone(refs), func(ref source.ConsumedRef) bool {
		return !slices.ContainsFunc(ranges, func(r source.Range) bool {
			day := s.Day(r.Key, r.Modified)
			return len(s.holding(progress, []source.ConsumedRef{ref}, day, day+1)) > 0
		})
	})
}

// resolveOne compares one range with the set and the open objects. next is moved
// on, as ranges of one object follow each other.
func (s *Source) resolveOne(r source.Range, known *view, next map[string]source.OpenObject) (Coverage, error) {
	identity := s.Identity(r.Key, r.ETag, r.Size)
	if e, found := known.find(KeyHash(r.Key)); found {
		if e.Identity == identity {
			return CoveredAll, nil
		}
		if e.Identity != r.Was || !s.cfg.OnChange.consumes() {
			info := object.Info{Key: r.Key, Size: r.Size, ETag: r.ETag, Modified: r.Modified}
			return CoveredSome, &ChangedError{Changed{Info: info, Old: e.Identity, New: identity}}
		}
	} else if !r.Was.IsZero() {
		return CoveredSome, &GapError{Key: r.Key, Position: r.From, Reason: "the content that the range follows is not consumed"}
	}
	open, begun := next[r.Key]
	if begun && (open.ETag != r.ETag || open.Size != r.Size || open.Was != r.Was) {
		old := s.Identity(open.Key, open.ETag, open.Size)
		info := object.Info{Key: r.Key, Size: r.Size, ETag: r.ETag, Modified: r.Modified}
		return CoveredSome, &ChangedError{Changed{Info: info, Old: old, New: identity}}
	}
	_, to := span(r)
	switch {
	case !r.Was.IsZero() && s.cfg.OnChange == ReplaceChanged && (r.From != 0 || !r.Last):
		return CoveredSome, &GapError{Key: r.Key, Position: 0, Reason: "what replaces an object is the whole of another"}
	case r.From > open.Next || r.To < r.From:
		return CoveredSome, &GapError{Key: r.Key, Position: open.Next, Reason: fmt.Sprintf("the range [%d, %d) begins after it", r.From, r.To)}
	case begun && to <= open.Next:
		return CoveredAll, nil
	case r.From < open.Next:
		return CoveredSome, nil
	}
	next[r.Key] = source.OpenObject{Key: r.Key, ETag: r.ETag, Size: r.Size, Was: r.Was, Next: to, Header: open.Header}
	return CoveredNone, nil
}

// exact is the object of which one range is to be read exactly.
func (s *Source) exact(r source.Range) Object {
	info, day := object.Info{Key: r.Key, Size: r.Size, ETag: r.ETag, Modified: r.Modified}, s.Day(r.Key, r.Modified)
	o := Object{Info: info, Day: day, Name: s.Name(r.Key, r.ETag, r.Size, r.Modified)}
	if !r.Was.IsZero() {
		o = s.follow(info, day, r.Was)
	}
	o.From, o.Header, o.Exact = r.From, r.Header, &r
	return o
}
