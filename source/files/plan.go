package files

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"batcher/object"
	"batcher/source"
)

// maxExamples is how many changed objects a plan names.
const maxExamples = 10

// Object is one object to be read.
type Object struct {
	object.Info
	From     source.Position // first position that is not consumed; 0 for a new object
	Header   string          // as in Range, of the part that is consumed
	Day      int32           // of its entry, see Source.Day
	Late     bool            // new, but older than the lookback
	Name     string          // what _source says of its records
	Was      source.Hash     // identity of the consumed content that it follows; zero for the first of its key
	Replaces bool            // the rows of all earlier contents of the key go: it is consumed whole, in one batch
	Exact    *source.Range   // set by Resolve: read this range and nothing else
}

// Range is what is known of the range to be read before it is read: whose it is,
// where it begins, and what it follows.
func (o *Object) Range() source.Range {
	r := source.Range{Key: o.Key, Was: o.Was, ETag: o.ETag, Size: o.Size, Modified: o.Modified, From: o.From, Header: o.Header}
	if o.Name != o.Key {
		r.Name = o.Name
	}
	return r
}

// Counts says what became of the listed objects. A listing that names an
// object twice may count it twice.
type Counts struct {
	Listed      int64 // objects below the path, as far as it was listed
	Ignored     int64 // by their names or by the globs, see Plan.LeftOut
	BeforeStart int64 // modified before the source's start
	Young       int64 // younger than settle, or changed while they were looked at
	Undated     int64 // outside the folders of the time path; planned all the same
	Consumed    int64 // nothing to do
	Changed     int64 // consumed with other content; of this shard
	Late        int64 // of Plan.Objects
}

// Lag is what is left to read for this shard.
type Lag struct {
	Objects int64
	Bytes   int64     // as stored; for an object read in part less its next position
	Oldest  time.Time // modification time; zero if nothing is left
}

// Changed is a consumed key that has other content now.
type Changed struct {
	object.Info
	Old source.Hash // identity that was consumed
	New source.Hash // identity of what stands there now
}

// Plan is what a run has to read: the open objects, then new ones, oldest first,
// then changed ones if the policy is to consume them.
type Plan struct {
	Objects  []Object  // open ones by key, new ones by modification time and key, changed ones by key
	More     bool      // there are more than Config.MaxObjects, or than Config.Rehash can tell: plan again after these
	Counts   Counts    // of the listing
	Lag      Lag       // including Objects
	Touched  []Touched // to be recorded with the next batch, if there is one
	Changed  []Changed // some of Counts.Changed, by key
	Gaps     []Gap     // to be recorded; only with SkipGap
	Full     bool      // everything below the path was listed
	Relisted time.Time // for Delta.Relisted of the plan's last batch; zero unless that completes a relisting
	Samples  []string  // some listed keys, consumed or not, spread over the listing: to see whether anything can be read

	// LeftOut says why names below the path are no input: objects, which Counts.Ignored
	// adds up, and names that the listing leaves out.
	LeftOut []LeftOut

	// Unreadable are consumed objects that were listed with another identity and cannot
	// be read, so that nobody knows whether they have changed.
	Unreadable []*UnreadableError
}

// Plan lists the source and returns what progress, which may be nil before the
// first manifest, does not have. now is the time of the run.
//
// When a full listing agrees with the progress in number and sum of identities, but
// for objects that are newer than all consumed ones, no segment is loaded. Otherwise the segments that can hold
// the listed keys are brought into the set's memory first.
//
// It fails with a GapError or ChangedError as the policies say.
func (s *Source) Plan(ctx context.Context, progress *source.FilesProgress, set *Set, now time.Time) (*Plan, error) {
	if progress == nil {
		progress = &source.FilesProgress{Start: s.cfg.Start}
	}
	p, err := s.newPlanner(ctx, progress, set, now)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if err := p.compare(ctx); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if err := p.settleOpen(ctx); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if err := p.settleChanged(ctx); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return p.finish(), nil
}

// compare lists the source and sorts its objects into consumed, changed and
// new. Without the segments in memory it first only adds up, and keeps what it
// can in a buffer; if that overflows it lists again once they are loaded.
func (p *planner) compare(ctx context.Context) error {
	if p.set.has(p.need) {
		if err := p.load(ctx); err != nil {
			return err
		}
		return p.list(ctx, p.judge)
	}
	var buffer []candidate
	var come newcomers
	seen := 0
	err := p.list(ctx, func(c candidate) {
		if seen++; seen <= p.bufferLimit {
			buffer = append(buffer, c)
		} else {
			buffer = nil
		}
		come.see(p, &c)
	})
	if err != nil || seen == 0 {
		return err
	}
	if p.plan.Full && p.agrees(&come) {
		return nil
	}
	if err := p.load(ctx); err != nil {
		return err
	}
	if buffer == nil {
		p.reset()
		return p.list(ctx, p.judge)
	}
	for _, c := range buffer {
		p.judge(c)
	}
	return nil
}

// newcomers are the listed objects that are newer than all consumed ones, and the
// beginnings of the hashed keys of all others.
type newcomers struct {
	list []candidate
	old  []uint64
	many bool // too many of one kind: these are not all
}

// maxOld is how many keys are kept to tell that none of them is a newcomer's: 8 MiB.
const maxOld = 1 << 20

func (n *newcomers) see(p *planner, c *candidate) {
	switch isNew := p.isNew(c); {
	case isNew && len(n.list) < p.bufferLimit:
		n.list = append(n.list, *c)
	case !isNew && len(n.old) < maxOld:
		n.old = append(n.old, binary.BigEndian.Uint64(c.key[:]))
	default:
		n.many = true
	}
}

// agrees says whether a full listing has exactly the consumed objects, but for the
// open ones, which are not added up on either side, and besides only such as are newer
// than all of these. Then the newer ones are new, and it plans them.
//
// A key that was overwritten during the listing may stand in it twice, as it was and
// as it is: then it is not new, and does not agree.
func (p *planner) agrees(come *newcomers) bool {
	consumed := tally{p.progress.Count, p.progress.Sum}
	switch {
	case p.all == consumed:
		p.plan.Counts.Consumed = p.all.count
		return true
	case p.old != consumed || come.many:
		return false
	}
	keys := make(map[uint64]bool, len(come.list))
	for i := range come.list {
		keys[binary.BigEndian.Uint64(come.list[i].key[:])] = true
	}
	for _, key := range come.old {
		if keys[key] {
			return false
		}
	}
	p.plan.Counts.Consumed = p.old.count
	for _, c := range come.list {
		if p.source.cfg.Shard.Owns(c.key) {
			p.offer(c)
		} else {
			p.others = true
		}
	}
	return true
}

// load brings what is needed into memory, if it is not there, and opens the view
// on it.
func (p *planner) load(ctx context.Context) (err error) {
	if err := p.set.loadRuns(ctx, p.refs, p.need); err != nil {
		return err
	}
	p.known, err = p.set.view(p.recent, p.refs)
	return err
}

// judge says of one object whether it is consumed, changed or new.
func (p *planner) judge(c candidate) {
	entry, found := p.known.find(c.key)
	switch {
	case found && entry.Identity == c.identity:
		p.plan.Counts.Consumed++
	case !p.source.cfg.Shard.Owns(c.key):
		p.others = p.others || !found
	case found:
		p.changed.add(c, entry)
	default:
		p.offer(c)
	}
}

// offer takes a new object, unless the run has given it up.
func (p *planner) offer(c candidate) {
	if p.set.passed[c.identity] {
		p.pass(c.lag())
		return
	}
	p.fresh.add(c)
}

// pass leaves out what the run has given up.
func (p *planner) pass(lag Lag) {
	p.plan.Lag.add(lag)
	p.passed++
}

// finish puts the plan together.
func (p *planner) finish() *Plan {
	plan := p.plan
	fresh, lag := p.fresh.sorted()
	plan.Lag.add(lag)
	reference := p.late()
	room := max(p.source.cfg.MaxObjects-len(plan.Objects), 0)
	if len(fresh) > room {
		fresh = fresh[:room]
	}
	for _, c := range fresh {
		o := Object{Info: c.info, Day: c.day, Late: reference(c), Name: p.source.Name(c.info.Key, c.info.ETag, c.info.Size, c.info.Modified)}
		if o.Late {
			plan.Counts.Late++
		}
		plan.Objects = append(plan.Objects, o)
	}
	plan.Objects = append(plan.Objects, p.follows[:min(len(p.follows), room-len(fresh))]...)
	plan.LeftOut = append(p.names.list(), p.skipped.list()...)
	plan.More = plan.Lag.Objects-p.passed > int64(len(plan.Objects))
	if p.source.path != nil && plan.Full && !plan.More && !p.others && plan.Counts.Young == 0 {
		plan.Relisted = p.now
	}
	return plan
}

// late returns the test for new objects that are older than the lookback. It
// counts from the newest object consumed, or from now if that lies ahead.
func (p *planner) late() func(candidate) bool {
	newest := p.progress.Newest
	if newest.IsZero() {
		return func(candidate) bool { return false }
	}
	if newest.After(p.now) {
		newest = p.now
	}
	oldest := newest.Add(-p.source.cfg.Lookback)
	return func(c candidate) bool {
		return c.info.Modified.Before(oldest) || p.source.path != nil && c.day != UndatedDay && c.day < dayOf(oldest)
	}
}

// add counts more that is left.
func (l *Lag) add(o Lag) {
	l.Objects += o.Objects
	l.Bytes += o.Bytes
	if l.Oldest.IsZero() || !o.Oldest.IsZero() && o.Oldest.Before(l.Oldest) {
		l.Oldest = o.Oldest
	}
}
