package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"batcher/object"
	"batcher/source"
)

// maxSuspects is how many objects with another identity one plan looks at more
// closely; beyond it they count as changed.
const maxSuspects = 10_000

// patience is how many objects that cannot be read a plan waits for as long as a store
// may need to recover.
const patience = 3

// suspect is a consumed key that is listed with another identity.
type suspect struct {
	candidate
	old Entry
}

// suspects keeps each key once, in its latest form.
type suspects struct {
	limit   int
	entries map[source.Hash]suspect
	beyond  int64
}

// add notes one more.
func (s *suspects) add(c candidate, old Entry) {
	held, again := s.entries[c.key]
	switch {
	case again && !c.info.Modified.After(held.info.Modified):
	case !again && len(s.entries) == s.limit:
		s.beyond++
	default:
		s.entries[c.key] = suspect{candidate: c, old: old}
	}
}

// settleChanged tells the touched objects from the changed ones and does with
// the latter what the policy says.
func (p *planner) settleChanged(ctx context.Context) error {
	ordered := slices.SortedFunc(maps.Values(p.changed.entries), func(a, b suspect) int { return strings.Compare(a.info.Key, b.info.Key) })
	budget := &rehash{left: p.source.cfg.Rehash}
	for i := range ordered {
		c := &ordered[i]
		if p.set.passed[c.identity] {
			continue
		}
		if was := p.source.cfg.formerly; was != "" && c.old.Identity == p.source.At(was).Identity(c.info.Key, c.info.ETag, c.info.Size) {
			p.touched(c, c.old.Content)
			continue
		}
		content, err := p.content(ctx, c, budget)
		unread, isUnread := errors.AsType[*UnreadableError](err)
		switch {
		case isUnread:
			p.plan.Unreadable = append(p.plan.Unreadable, unread)
			p.set.passed[c.identity] = true
			if len(p.plan.Unreadable) == patience {
				ctx = object.Hurried(ctx)
			}
		case errors.Is(err, ErrStale):
			p.plan.Counts.Young++ // it changes at this moment: the next plan sees what becomes of it
		case errors.Is(err, errBudget) && p.source.cfg.OnChange.consumes():
			p.plan.Lag.add(c.lag()) // perhaps: the next plan tells
		case err != nil && !errors.Is(err, errBudget):
			return err
		case !content.IsZero() && content == c.old.Content:
			p.touched(c, content)
		default:
			if err := p.report(c); err != nil {
				return err
			}
		}
	}
	p.plan.Counts.Changed += p.changed.beyond
	if p.source.cfg.OnChange.consumes() {
		p.plan.Lag.Objects += p.changed.beyond
	}
	return nil
}

// touched notes that a consumed object has another identity around the same content.
func (p *planner) touched(c *suspect, content source.Hash) {
	p.plan.Touched = append(p.plan.Touched, Touched{
		Key: c.info.Key, ETag: c.info.ETag, Size: c.info.Size, Modified: c.info.Modified, Content: content, Was: c.old.Identity,
	})
}

// report counts a changed object, and plans it if it is to be consumed.
func (p *planner) report(c *suspect) error {
	changed := Changed{Info: c.info, Old: c.old.Identity, New: c.identity}
	if p.source.cfg.OnChange == FailChanged {
		return &ChangedError{Changed: changed}
	}
	p.plan.Counts.Changed++
	if len(p.plan.Changed) < maxExamples {
		p.plan.Changed = append(p.plan.Changed, changed)
	}
	if p.source.cfg.OnChange.consumes() && p.set.passed[c.identity] {
		p.pass(c.lag())
		return nil
	}
	if p.source.cfg.OnChange.consumes() {
		p.plan.Lag.add(c.lag())
		p.follows = append(p.follows, p.source.follow(c.info, c.day, c.old.Identity))
	}
	return nil
}

// follow makes a changed object one to be consumed, as the policy says.
func (s *Source) follow(info object.Info, day int32, was source.Hash) Object {
	o := Object{Info: info, Day: day, Was: was, Replaces: s.cfg.OnChange == ReplaceChanged}
	if o.Replaces {
		o.Name = s.Name(info.Key, info.ETag, info.Size, info.Modified)
	} else {
		o.Name = s.AppendedName(info.Key, info.ETag, info.Size, info.Modified)
	}
	return o
}

// rehash is what a plan may still read to tell touched objects from changed ones.
type rehash struct {
	left int64
	used bool // something was read
}

// errBudget says that an object is larger than what is left of the budget.
var errBudget = errors.New("not within the budget")

// take takes an object's size off the budget. A policy that consumes changed
// objects has to tell them sooner or later, so that the first one always fits.
func (b *rehash) take(size int64, policy OnChange) error {
	if size > b.left && (b.used || !policy.consumes()) {
		return errBudget
	}
	b.left, b.used = b.left-size, true
	return nil
}

// content returns the hash of what stands under the key now; zero when the old
// one is not known, so that nothing can be told by it. What was read once is
// remembered as long as the process lives.
func (p *planner) content(ctx context.Context, c *suspect, budget *rehash) (source.Hash, error) {
	if known, ok := p.set.contents[c.identity]; ok {
		return known, nil
	}
	if c.old.Content.IsZero() {
		return source.Hash{}, nil
	}
	if err := budget.take(c.info.Size, p.source.cfg.OnChange); err != nil {
		return source.Hash{}, err
	}
	content, err := p.source.hash(ctx, Object{Info: c.info})
	if err != nil {
		return source.Hash{}, err
	}
	if len(p.set.contents) < maxSuspects {
		p.set.contents[c.identity] = content
	}
	return content, nil
}

// settleOpen plans the objects that were consumed in part, by key.
func (p *planner) settleOpen(ctx context.Context) error {
	for _, key := range slices.Sorted(maps.Keys(p.open)) {
		o := p.open[key]
		if !p.source.cfg.Shard.Owns(KeyHash(key)) {
			p.others = true
			continue
		}
		reason, err := p.openState(ctx, o)
		if err != nil {
			return err
		}
		if reason == "" {
			p.planOpen(o)
			continue
		}
		if p.source.cfg.OnGap == FailGap {
			return &GapError{Key: key, Position: o.Next, Reason: reason}
		}
		p.plan.Gaps = append(p.plan.Gaps, Gap{OpenObject: o.OpenObject, Reason: reason})
	}
	return nil
}

func (p *planner) planOpen(o *opened) {
	info := object.Info{Key: o.Key, Size: o.Size, ETag: o.ETag, Modified: o.Modified}
	left := Lag{Objects: 1, Bytes: max(o.Size-int64(o.Next), 0), Oldest: o.Modified}
	if p.set.passed[p.source.Identity(o.Key, o.ETag, o.Size)] {
		p.pass(left)
		return
	}
	planned := Object{Info: info, From: o.Next, Header: o.Header, Day: p.source.Day(o.Key, o.Modified), Was: o.Was}
	if o.Was.IsZero() {
		planned.Name = p.source.Name(o.Key, o.ETag, o.Size, o.Modified)
	} else { // only what is appended is consumed in ranges
		planned.Name = p.source.AppendedName(o.Key, o.ETag, o.Size, o.Modified)
	}
	p.plan.Objects = append(p.plan.Objects, planned)
	p.plan.Lag.add(left)
}

// openState says why the rest of an open object cannot be read; "" if it can. An
// object that the listing did not show is asked for: its folder may not have
// been listed, and some stores leave out keys that are a prefix of others.
func (p *planner) openState(ctx context.Context, o *opened) (string, error) {
	if o.listed && o.same {
		return "", nil
	}
	if o.listed {
		return "changed", nil
	}
	r, info, err := p.source.store.Get(ctx, o.Key, object.GetOptions{Limit: 1, ETag: o.ETag})
	switch {
	case errors.Is(err, object.ErrNotFound):
		return "gone", nil
	case errors.Is(err, object.ErrChanged):
		return "changed", nil
	case isUnreadable(unreadable(o.Key, err)):
		return "", nil // whoever reads it will say so
	case err != nil:
		return "", fmt.Errorf("look at open object %s: %w", o.Key, err)
	}
	r.Close()
	if info.Size != o.Size {
		return "changed", nil
	}
	return "", nil
}
