package files

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"batcher/segment"
	"batcher/source"
)

// Touched is a consumed object whose identity changed while its content did
// not, as when a file was touched or uploaded again. Its fields are those that
// manifests record.
type Touched struct {
	Key      string
	ETag     string
	Size     int64
	Modified time.Time
	Content  source.Hash
	Was      source.Hash // identity that it was consumed under
}

// Gap is the rest of an object that was consumed in part and cannot be read any
// more: all from Next on is given up.
type Gap struct {
	source.OpenObject
	Reason string // "gone" or "changed"
}

// Delta is what one manifest adds to the progress, told without reference to
// any parent, so that it can be applied to another one after a lost race.
type Delta struct {
	Ranges   []source.Range // read by the batch; of one object in order. The one with Last completes it
	Touched  []Touched      // entries to replace
	Gaps     []Gap          // objects given up
	Start    time.Time      // Config.Start; holds when the parent has no progress yet
	Relisted time.Time      // Plan.Relisted, with the last batch of a plan; else zero
}

// Advance returns the progress after a manifest that adds the delta to parent,
// which may be nil before the first. All that is cumulative is taken from the
// parent alone. New segments go into the pack, which must be a new one for each
// proposal; if nothing was added to it there is nothing to write.
//
// It is used at the first proposal and again, with the new parent, at a rebase.
// It loads nothing: segments that are not in memory are kept by reference, and a
// touched object whose entry in the parent cannot be proved to be the one that
// was compared is left out; the next plan finds it again.
//
// It fails with ErrInadmissible when an object of the delta is known to be
// consumed in the parent, when a range does not begin at its object's next position
// there, or when the entry that a range follows (Range.Was) is not the parent's, and
// with ErrNotLoaded (see Prepare). What it does not have in memory it cannot
// refuse: before a rebase Covered must have said none. That a range follows an
// entry it proves, or fails.
func (s *Set) Advance(parent *source.FilesProgress, d Delta, pack *segment.Pack) (*source.FilesProgress, error) {
	if parent == nil {
		parent = &source.FilesProgress{Start: d.Start}
	}
	refs, err := s.refs(parent)
	if err != nil {
		return nil, fmt.Errorf("advance progress: %w", err)
	}
	recent, err := DecodeRecent(parent.Recent)
	if err != nil {
		return nil, fmt.Errorf("advance progress: %w", err)
	}
	known, err := s.view(recent, refs)
	if err != nil {
		return nil, fmt.Errorf("advance progress: %w", err)
	}
	out := *parent
	a := advance{set: s, parent: parent, refs: refs, known: known, out: &out, open: make(map[string]source.OpenObject), own: make(map[source.Hash]Entry)}
	if err := a.apply(d); err != nil {
		return nil, fmt.Errorf("advance progress: %w", err)
	}
	if err := a.store(recent, pack); err != nil {
		return nil, fmt.Errorf("advance progress: %w", err)
	}
	return a.out, nil
}

// advance is one step from a parent's progress to the next.
type advance struct {
	set    *Set
	parent *source.FilesProgress
	refs   []source.ConsumedRef
	known  *view
	out    *source.FilesProgress
	open   map[string]source.OpenObject
	own    map[source.Hash]Entry // entries that this step adds or replaces
}

func (a *advance) apply(d Delta) error {
	for _, o := range a.out.Open {
		a.open[o.Key] = o
	}
	for i := range d.Ranges {
		if err := a.read(&d.Ranges[i]); err != nil {
			return err
		}
	}
	for _, g := range d.Gaps {
		if err := a.giveUp(g); err != nil {
			return err
		}
	}
	for i := range d.Touched {
		a.touch(&d.Touched[i])
	}
	a.out.Open = slices.SortedFunc(maps.Values(a.open), func(x, y source.OpenObject) int { return strings.Compare(x.Key, y.Key) })
	if d.Relisted.After(a.out.Relisted) {
		a.out.Relisted = d.Relisted.UTC()
	}
	return nil
}

// read notes that a range is consumed.
func (a *advance) read(r *source.Range) error {
	open, begun := a.open[r.Key]
	if begun && (open.ETag != r.ETag || open.Size != r.Size) {
		return fmt.Errorf("%s: a range of another version than the part consumed: %w", r.Key, ErrInadmissible)
	}
	if begun && open.Was != r.Was {
		return fmt.Errorf("%s: a range that follows other content than the part consumed: %w", r.Key, ErrInadmissible)
	}
	if r.From != open.Next || r.To < r.From {
		return fmt.Errorf("%s: the range [%d, %d) does not begin at position %d: %w", r.Key, r.From, r.To, open.Next, ErrInadmissible)
	}
	if err := a.mustFollow(r.Key, r.Modified, r.Was); err != nil {
		return err
	}
	if r.Modified.After(a.out.Newest) {
		a.out.Newest = r.Modified.UTC()
	}
	if r.Last {
		delete(a.open, r.Key)
		a.add(r.Key, r.ETag, r.Size, r.Modified, r.Content, r.Was)
		return nil
	}
	a.open[r.Key] = source.OpenObject{Key: r.Key, ETag: r.ETag, Size: r.Size, Modified: r.Modified.UTC(), Was: r.Was, Next: r.To, Header: r.Header}
	return nil
}

// giveUp notes that the rest of an open object will never be read. Its entry
// keeps the identity that was begun, so that the object is not begun again.
func (a *advance) giveUp(g Gap) error {
	open, begun := a.open[g.Key]
	if !begun || open.Next != g.Next || open.ETag != g.ETag || open.Size != g.Size || open.Was != g.Was {
		return fmt.Errorf("%s: the part to be given up is not the rest of the object: %w", g.Key, ErrInadmissible)
	}
	if err := a.mustFollow(g.Key, g.Modified, g.Was); err != nil {
		return err
	}
	delete(a.open, g.Key)
	a.add(g.Key, g.ETag, g.Size, g.Modified, source.Hash{}, g.Was)
	return nil
}

// mustFollow refuses a key whose entry is not the one that was planned on: none
// where was is zero, and else just that one, proved to be the parent's newest.
func (a *advance) mustFollow(key string, modified time.Time, was source.Hash) error {
	hash := KeyHash(key)
	_, mine := a.own[hash]
	e, consumed := a.known.find(hash)
	switch {
	case mine || consumed && e.Identity != was:
		return fmt.Errorf("%s: already consumed: %w", key, ErrInadmissible)
	case was.IsZero():
		return nil
	case !a.set.proves(a.parent, a.refs, a.known, hash, a.set.source.Day(key, modified)):
		return fmt.Errorf("%s: entry: %w", key, ErrNotLoaded)
	case !consumed:
		return fmt.Errorf("%s: the content that it follows is not consumed: %w", key, ErrInadmissible)
	}
	return nil
}

// add puts an object into the set, in the place of the entry that it follows.
func (a *advance) add(key, etag string, size int64, modified time.Time, content, was source.Hash) {
	e := Entry{Day: a.set.source.Day(key, modified), Key: KeyHash(key), Identity: a.set.source.Identity(key, etag, size), Content: content}
	a.own[e.Key] = e
	if was.IsZero() {
		a.out.Count++
	}
	a.out.Sum = a.out.Sum.Sub(was).Add(e.Identity)
}

// touch replaces the entry of an object, if it stands.
func (a *advance) touch(t *Touched) {
	e := a.set.source.entry(t)
	was, stands := a.set.stands(a.parent, a.refs, a.known, t)
	if _, mine := a.own[e.Key]; mine || !stands {
		return
	}
	a.own[e.Key] = e
	a.out.Sum = a.out.Sum.Sub(was.Identity).Add(e.Identity)
}

func (s *Source) entry(t *Touched) Entry {
	return Entry{Day: s.Day(t.Key, t.Modified), Key: KeyHash(t.Key), Identity: s.Identity(t.Key, t.ETag, t.Size), Content: t.Content}
}

// stands returns the entry that the touched object replaces, if it is proved to
// be the one that the object was compared with.
func (s *Set) stands(parent *source.FilesProgress, refs []source.ConsumedRef, known *view, t *Touched) (Entry, bool) {
	e := s.source.entry(t)
	if !s.proves(parent, refs, known, e.Key, e.Day) {
		return Entry{}, false
	}
	was, found := known.find(e.Key)
	return was, found && was.Identity == t.Was && e.Identity != t.Was
}

// proves says whether what is in memory tells of a key, which belongs to a day
// where keys give the days, what its newest entry is or that it has none.
func (s *Set) proves(parent *source.FilesProgress, refs []source.ConsumedRef, known *view, key source.Hash, day int32) bool {
	_, recent := known.recent[key]
	return recent || s.has(s.source.holding(parent, refs, day, day+1))
}

// Standing returns those of the touched objects that Advance on this parent
// replaces the entries of; the others it leaves out. It loads nothing.
func (s *Set) Standing(parent *source.FilesProgress, touched []Touched) ([]Touched, error) {
	if parent == nil || len(touched) == 0 {
		return nil, nil
	}
	refs, err := s.refs(parent)
	if err != nil {
		return nil, fmt.Errorf("touched objects: %w", err)
	}
	recent, err := DecodeRecent(parent.Recent)
	if err != nil {
		return nil, fmt.Errorf("touched objects: %w", err)
	}
	known, err := s.view(recent, refs)
	if err != nil {
		return nil, fmt.Errorf("touched objects: %w", err)
	}
	var standing []Touched
	for i := range touched {
		if _, ok := s.stands(parent, refs, known, &touched[i]); ok {
			standing = append(standing, touched[i])
		}
	}
	return standing, nil
}

// store writes the entries down: beside the parent's recent ones or, when these
// become too many, all of them in a new segment.
func (a *advance) store(recent []Entry, pack *segment.Pack) error {
	if len(a.own) == 0 {
		return nil
	}
	if mine := a.set.source.cfg.TimePath; a.parent.Count == 0 {
		a.out.TimePath = mine
	} else if mine != a.parent.TimePath {
		a.out.TimePath = "" // entries of both kinds stand side by side from now on
	}
	entries := slices.Collect(maps.Values(a.own))
	for _, e := range recent {
		if _, replaced := a.own[e.Key]; !replaced {
			entries = append(entries, e)
		}
	}
	var err error
	if len(entries)*RecentSize <= RecentLimit {
		a.out.Recent, err = EncodeRecent(entries)
		return err
	}
	slices.SortFunc(entries, compareEntries)
	refs, err := a.set.merge(a.refs, pack)
	if err != nil {
		return err
	}
	spilled, err := a.set.addRuns(entries, pack)
	if err != nil {
		return err
	}
	refs = append(slices.Clip(refs), spilled...)
	a.out.Recent = nil
	a.out.Segments, err = segment.Externalize(segment.Of(refs), pack)
	if ref := a.out.Segments.Ref; ref != nil {
		a.set.lists[ref.SHA256] = refs
	}
	return err
}

// holding returns the segments, of all those of the progress, that can hold
// entries of keys of the days [from, to): those that overlap with the days when
// the source's time path gave all entries their days, else all.
func (s *Source) holding(progress *source.FilesProgress, refs []source.ConsumedRef, from, to int32) []source.ConsumedRef {
	if s.path == nil || progress.TimePath != s.cfg.TimePath {
		return refs
	}
	var some []source.ConsumedRef
	for _, r := range refs {
		if r.FromDay < to && from < r.ToDay {
			some = append(some, r)
		}
	}
	return some
}
