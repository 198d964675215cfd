package files

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"batcher/object"
	"batcher/source"
)

// defaultBuffer is how many objects a listing keeps while the segments are not
// in memory, about 20 MB.
const defaultBuffer = 1 << 16

// maxAhead is how far ahead of now a modification time is believed. What claims
// to be younger than that has a wrong time and does not wait to settle, or it
// would wait for ever.
const maxAhead = 24 * time.Hour

// candidate is a listed object that may have to be read.
type candidate struct {
	info     object.Info
	key      source.Hash
	identity source.Hash
	day      int32
}

// planner makes one plan.
type planner struct {
	source   *Source
	set      *Set
	progress *source.FilesProgress
	now      time.Time

	refs     []source.ConsumedRef
	need     []source.ConsumedRef // of these, the ones that can hold listed keys
	recent   []Entry
	prefixes []string // to list
	known    *view

	plan        *Plan
	bufferLimit int
	all         tally // of the eligible objects
	old         tally // of those that are not newer than the newest consumed one
	open        map[string]*opened
	fresh       oldest
	changed     suspects
	follows     []Object // changed objects to be consumed, by key
	others      bool     // there are new objects of other shards
	passed      int64    // objects of the lag that are not planned
	names       leftOut  // keys that are no input
	skipped     leftOut  // names that the listing leaves out
}

// opened is an object that was consumed in part, and what the listing says of it.
type opened struct {
	source.OpenObject
	listed bool
	same   bool
}

func (s *Source) newPlanner(ctx context.Context, progress *source.FilesProgress, set *Set, now time.Time) (*planner, error) {
	p := &planner{source: s, set: set, progress: progress, now: now.UTC(), bufferLimit: defaultBuffer, open: make(map[string]*opened)}
	for _, o := range progress.Open {
		p.open[o.Key] = &opened{OpenObject: o}
	}
	var err error
	if p.refs, err = set.loadRefs(ctx, progress); err != nil {
		return nil, err
	}
	if p.recent, err = DecodeRecent(progress.Recent); err != nil {
		return nil, err
	}
	p.reset()
	return p, p.choose(ctx)
}

// reset begins the listing anew.
func (p *planner) reset() {
	full := p.plan != nil && p.plan.Full
	p.plan = &Plan{Full: full}
	p.all, p.old, p.others, p.passed = tally{}, tally{}, false, 0
	p.fresh = oldest{limit: p.source.cfg.MaxObjects}
	p.names, p.skipped = leftOut{}, leftOut{}
	p.changed = suspects{limit: maxSuspects, entries: make(map[source.Hash]suspect)}
	if p.source.cfg.formerly != "" {
		p.changed.limit = maxMoved
	}
}

// choose decides what to list and which segments that needs.
func (p *planner) choose(ctx context.Context) error {
	cfg := &p.source.cfg
	p.plan.Full, p.need, p.prefixes = true, p.refs, []string{""}
	age := p.now.Sub(p.progress.Relisted)
	if p.source.path == nil || age >= cfg.Relist || age < 0 {
		return nil
	}
	// Tomorrow's folder is listed too: it may be named by the time of a zone east of UTC.
	from, to := dayOf(p.now.Add(-cfg.Lookback)), dayOf(p.now)+2
	prefixes, ok, err := p.source.path.prefixes(ctx, p.source.store, from, to)
	if err != nil || !ok {
		return err
	}
	p.plan.Full, p.prefixes, p.need = false, prefixes, p.source.holding(p.progress, p.refs, from, to)
	return nil
}

// list calls visit for every listed object that is eligible and not open.
func (p *planner) list(ctx context.Context, visit func(candidate)) error {
	for info, err := range p.each(ctx) {
		if err != nil {
			return fmt.Errorf("list source: %w", err)
		}
		if info.IsFolder() {
			continue
		}
		if c, ok := p.eligible(info); ok {
			p.all.add(c.identity)
			if p.all.count&(p.all.count-1) == 0 {
				p.plan.Samples = append(p.plan.Samples, info.Key) // the 1st, 2nd, 4th, 8th …
			}
			if !p.isNew(&c) {
				p.old.add(c.identity)
			}
			visit(c)
		}
	}
	return nil
}

// isNew says whether an object was modified after all that are consumed.
func (p *planner) isNew(c *candidate) bool { return c.info.Modified.After(p.progress.Newest) }

// tally is the number of some objects and the sum of their identities. Two sets of
// objects are equal if and, but for collisions, only if their tallies are.
type tally struct {
	count int64
	sum   source.Hash
}

func (t *tally) add(identity source.Hash) {
	t.count++
	t.sum = t.sum.Add(identity)
}

// each is the listing, in any order.
func (p *planner) each(ctx context.Context) iter.Seq2[object.Info, error] {
	ctx = object.Skipping(ctx, p.skip)
	return func(yield func(object.Info, error) bool) {
		for _, prefix := range p.prefixes {
			for info, err := range p.source.store.List(ctx, prefix, object.Deep) {
				if !yield(info, err) {
					return
				}
			}
		}
	}
}

// eligible counts a listed object and says whether it belongs to the source.
func (p *planner) eligible(info object.Info) (candidate, bool) {
	counts := &p.plan.Counts
	counts.Listed++
	if o := p.open[info.Key]; o != nil {
		o.listed, o.same = true, o.same || o.ETag == info.ETag && o.Size == info.Size
		return candidate{}, false
	}
	switch {
	case p.leftOut(info.Key):
		counts.Ignored++
		return candidate{}, false
	case info.Modified.Before(p.progress.Start.Truncate(time.Second)):
		counts.BeforeStart++
		return candidate{}, false
	case p.young(info.Modified):
		counts.Young++
		return candidate{}, false
	}
	if p.source.path != nil {
		if _, dated := p.source.path.Day(info.Key); !dated {
			counts.Undated++
		}
	}
	return p.source.candidate(info), true
}

func (p *planner) young(modified time.Time) bool {
	return p.source.cfg.Settle > 0 &&
		modified.After(p.now.Add(-p.source.cfg.Settle)) && !modified.After(p.now.Add(maxAhead))
}

func (s *Source) candidate(info object.Info) candidate {
	return candidate{info: info, key: KeyHash(info.Key), identity: s.Identity(info.Key, info.ETag, info.Size), day: s.Day(info.Key, info.Modified)}
}

// oldest keeps the first candidates by modification time and key, at most limit
// of them, and adds up the rest. It is a heap with the last of them on top.
type oldest struct {
	limit int
	kept  []candidate
	rest  Lag
}

func compareAge(a, b *candidate) int {
	return cmp.Or(a.info.Modified.Compare(b.info.Modified), strings.Compare(a.info.Key, b.info.Key))
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (o *oldest) Len() int           { return len(o.kept) }
func (o *oldest) Less(i, j int) bool { return compareAge(&o.kept[i], &o.kept[j]) > 0 }
func (o *oldest) Swap(i, j int)      { o.kept[i], o.kept[j] = o.kept[j], o.kept[i] }
func (o *oldest) Push(c any)         { o.kept = append(o.kept, c.(candidate)) }
func (o *oldest) Pop() any {
	last := o.kept[len(o.kept)-1]
	o.kept = o.kept[:len(o.kept)-1]
	return last
}

// add takes one more candidate.
func (o *oldest) add(c candidate) {
	switch {
	case len(o.kept) < o.limit:
		if o.kept = append(o.kept, c); len(o.kept) == o.limit {
			heap.Init(o)
		}
	case compareAge(&c, &o.kept[0]) < 0:
		o.rest.add(o.kept[0].lag())
		o.kept[0] = c
		heap.Fix(o, 0)
	default:
		o.rest.add(c.lag())
	}
}

func (c *candidate) lag() Lag { return Lag{Objects: 1, Bytes: c.info.Size, Oldest: c.info.Modified} }

// sorted returns the candidates in order, each key once in its latest form, and
// the lag of all, the dropped ones too.
func (o *oldest) sorted() ([]candidate, Lag) {
	slices.SortFunc(o.kept, func(a, b candidate) int { return compareAge(&a, &b) })
	latest := make(map[source.Hash]int, len(o.kept))
	for i := range o.kept {
		latest[o.kept[i].key] = i
	}
	unique := o.kept[:0]
	lag := o.rest
	for i, c := range o.kept {
		if latest[c.key] == i {
			unique = append(unique, c)
			lag.add(c.lag())
		}
	}
	return unique, lag
}
