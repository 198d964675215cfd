package manifest

import (
	"fmt"
	"slices"
	"strings"

	"batcher/segment"
	"batcher/source"
)

// Snapshot is the state of a pipeline after one manifest. The manifest is
// cumulative, so it is the whole state, together with the hash of its bytes.
type Snapshot struct {
	Manifest *Manifest
	SHA256   SHA256
}

// ViolationError says which invariant of docs/GUARANTEES.md a manifest breaks.
type ViolationError struct {
	Seq       Seq
	Invariant string // "I1" … "I20"
	Detail    string
}

// Error names the manifest, the invariant and what was found.
func (v *ViolationError) Error() string {
	return fmt.Sprintf("manifest %d violates %s: %s", int64(v.Seq), v.Invariant, v.Detail)
}

// Begin is the snapshot of the first manifest of a chain. It refuses anything
// but a genesis.
func Begin(m *Manifest, sum SHA256) (Snapshot, error) {
	bad := func(inv, format string, args ...any) (Snapshot, error) {
		return Snapshot{}, &ViolationError{m.Seq, inv, fmt.Sprintf(format, args...)}
	}
	switch {
	case m.Seq != 0 || m.Kind != Genesis:
		return bad("I1", "a chain begins with kind genesis at 0, not %s at %d", m.Kind, m.Seq)
	case m.Parent != nil:
		return bad("I2", "genesis has a parent")
	case m.Base != 0 || m.GCFloor != 0 || m.RetainFrom != 0 || m.Generation != 0:
		return bad("I9", "genesis has a base, floor or generation")
	}
	return Snapshot{m, sum}, nil
}

// Apply returns the state after m, whose bytes have hash sum, or the invariant
// that m breaks on top of s. This refusal is what exactly-once rests on: the
// writer calls it before a PUT, the reader and verify after a GET. Lists that
// stand elsewhere are checked as far as their counts go unless the caller has
// loaded their items.
func (s Snapshot) Apply(m *Manifest, sum SHA256) (Snapshot, error) {
	for _, check := range []func(p *Snapshot, m *Manifest) (string, string){
		checkLink, checkFloors, checkGeneration, checkBatch, checkProgress, checkRepublish, checkTables, checkRefs,
	} {
		if inv, detail := check(&s, m); inv != "" {
			return Snapshot{}, &ViolationError{m.Seq, inv, detail}
		}
	}
	return Snapshot{m, sum}, nil
}

func broken(inv, format string, args ...any) (string, string) {
	return inv, fmt.Sprintf(format, args...)
}

func checkLink(p *Snapshot, m *Manifest) (string, string) {
	h := p.Manifest
	switch {
	case m.Seq != h.Seq+1:
		return broken("I1", "seq %d follows %d", m.Seq, h.Seq)
	case m.Kind == Genesis:
		return broken("I1", "a second genesis")
	case h.Kind == Drop:
		return broken("I1", "a manifest follows the end of the chain at %d", h.Seq)
	case m.Parent == nil || m.Parent.Seq != h.Seq || m.Parent.Attempt != h.Attempt || m.Parent.SHA256 != p.SHA256:
		return broken("I2", "parent is %+v, the manifest before has seq %d attempt %s sha256 %s", m.Parent, h.Seq, h.Attempt, p.SHA256)
	case m.Pipeline != h.Pipeline && m.Kind != Adopt:
		return broken("I3", "pipeline id %q, before %q", m.Pipeline, h.Pipeline)
	case m.CreatedAt.Before(h.CreatedAt):
		return broken("I9", "created_at falls from %s to %s", h.CreatedAt, m.CreatedAt)
	}
	return "", ""
}

func checkFloors(p *Snapshot, m *Manifest) (string, string) {
	h := p.Manifest
	switch {
	case m.Base < 0 || m.Base > m.Seq-1:
		return broken("I8", "base %d of seq %d", m.Base, m.Seq)
	case m.Base < h.GCFloor:
		return broken("I8", "base %d is below the floor %d", m.Base, h.GCFloor)
	case m.GCFloor < h.GCFloor || m.GCFloor > m.Seq:
		return broken("I9", "gc_floor goes from %d to %d at seq %d", h.GCFloor, m.GCFloor, m.Seq)
	case m.RetainFrom < h.RetainFrom || m.RetainFrom > m.GCFloor:
		return broken("I9", "retain_from goes from %d to %d under floor %d", h.RetainFrom, m.RetainFrom, m.GCFloor)
	case m.Kind != Floor && m.GCFloor != h.GCFloor:
		return broken("I9", "kind %s moves the floor", m.Kind)
	case m.Kind != Expire && m.RetainFrom != h.RetainFrom:
		return broken("I9", "kind %s moves retain_from", m.Kind)
	}
	return "", ""
}

func checkGeneration(p *Snapshot, m *Manifest) (string, string) {
	want := p.Manifest.Generation
	if m.Kind == Rewind || m.Kind == Adopt {
		want++
	}
	if (m.Kind == Rewind) != (m.RewindTo != nil) || m.RewindTo != nil && (*m.RewindTo < p.Manifest.RetainFrom || *m.RewindTo > p.Manifest.Seq) {
		return broken("I4", "kind %s rewinds to %v, retained are %d to %d", m.Kind, m.RewindTo, p.Manifest.RetainFrom, p.Manifest.Seq)
	}
	if m.Generation != want {
		return broken("I4", "generation %d of kind %s after %d", m.Generation, m.Kind, p.Manifest.Generation)
	}
	return "", ""
}

func checkBatch(p *Snapshot, m *Manifest) (string, string) {
	b := m.Batch
	if m.Kind != Data && m.Kind != Replace {
		if b != nil {
			return broken("I5", "kind %s carries a batch", m.Kind)
		}
		return "", ""
	}
	if b == nil {
		return broken("I5", "kind %s without a batch", m.Kind)
	}
	if r := b.Rows; r.Written+r.Dead+r.Duplicate+r.Late != r.Read {
		return broken("I14", "rows written %d + dead %d + duplicate %d + late %d are not the %d read", r.Written, r.Dead, r.Duplicate, r.Late, r.Read)
	}
	if (b.Replaced.Count > 0) != (m.Kind == Replace) {
		return broken("I14", "kind %s replaces %d objects", m.Kind, b.Replaced.Count)
	}
	if b.Ranges.Loaded() {
		if id := NewBatchID(m.Pipeline, m.Generation, b.Ranges.Items); id != b.ID {
			return broken("I5", "batch id %s, its ranges give %s", b.ID, id)
		}
	}
	return checkReplaced(b)
}

// checkReplaced holds the objects whose rows are swapped against the ranges: each
// was consumed before and is read from its beginning to its end. A range that
// follows other content and replaces nothing has a name of its own.
func checkReplaced(b *Batch) (string, string) {
	if !b.Replaced.Loaded() || !b.Ranges.Loaded() {
		return "", ""
	}
	whole, follows := map[string]bool{}, map[string]bool{}
	for i := range b.Ranges.Items {
		r := &b.Ranges.Items[i]
		if source.KeyOf(r.Source()) != r.Key {
			return broken("I14", "object %q is read under the name %q", r.Key, r.Source())
		}
		follows[r.Key] = !r.Was.IsZero() && r.Source() == r.Key
		whole[r.Key] = !r.Was.IsZero() && r.From == 0 && r.Last
	}
	rows := int64(0)
	for _, r := range b.Replaced.Items {
		if !whole[r.Key] {
			return broken("I14", "object %q is replaced and not read from its beginning to its end, once, after other content", r.Key)
		}
		delete(whole, r.Key)
		delete(follows, r.Key)
		rows += r.Rows
	}
	for key, open := range follows {
		if open {
			return broken("I14", "another content of object %q is read under its name and replaces nothing", key)
		}
	}
	if rows != b.Rows.Replaced {
		return broken("I14", "replaced objects had %d rows, the batch says %d", rows, b.Rows.Replaced)
	}
	return "", ""
}

// consumes says whether manifests of a kind may move the progress.
func (k Kind) consumes() bool {
	switch k {
	case Data, Replace, Gap, Rewind:
		return true
	}
	return false
}

// writes says whether manifests of a kind may change tables.
func (k Kind) writes() bool {
	switch k {
	case Data, Compact, Rewrite, Replay, Replace, Republish, Rewind:
		return true
	}
	return false
}

func checkProgress(p *Snapshot, m *Manifest) (string, string) {
	if m.Kind == Rewind {
		return "", ""
	}
	before, after := p.Manifest.Progress.Files, m.Progress.Files
	switch {
	case before == nil && after == nil:
		return "", ""
	case after == nil:
		return broken("I4", "progress is gone")
	case before == nil:
		before = &source.FilesProgress{}
	}
	if after.Count < before.Count {
		return broken("I4", "consumed objects fall from %d to %d", before.Count, after.Count)
	}
	if !m.Kind.consumes() && (after.Count != before.Count || after.Sum != before.Sum || !after.Newest.Equal(before.Newest) || !slices.Equal(after.Open, before.Open)) {
		return broken("I4", "kind %s moves the progress", m.Kind)
	}
	if m.Batch == nil || !m.Batch.Ranges.Loaded() {
		return "", ""
	}
	return checkRanges(before, after, m)
}

// place is where an object stands, and the content that it follows.
type place struct {
	next source.Position
	was  source.Hash
}

// completed is what the end of an object adds to the number of those consumed:
// nothing where the key was consumed before.
func (p place) completed() int64 {
	if p.was.IsZero() {
		return 1
	}
	return 0
}

// checkRanges holds the ranges of a batch against the progress before and after
// it.
func checkRanges(before, after *source.FilesProgress, m *Manifest) (string, string) {
	open := map[string]place{}
	for _, o := range before.Open {
		open[o.Key] = place{o.Next, o.Was}
	}
	done := before.Count
	for _, g := range m.Gaps {
		o, ok := open[g.Key]
		if !ok || int64(o.next) != g.From {
			return broken("I4", "a gap in object %q from %d, which does not stand open there", g.Key, g.From)
		}
		delete(open, g.Key)
		done += o.completed()
	}
	seen := map[string]bool{}
	for _, r := range m.Batch.Ranges.Items {
		if seen[r.Key] {
			return broken("I5", "object %q stands twice in the batch", r.Key)
		}
		seen[r.Key] = true
		o, begun := open[r.Key]
		if r.From != o.next || begun && r.Was != o.was {
			return broken("I4", "object %q is read from %d after %s, its next position is %d after %s", r.Key, r.From, r.Was, o.next, o.was)
		}
		delete(open, r.Key)
		if now := (place{r.To, r.Was}); r.Last {
			done += now.completed()
		} else {
			open[r.Key] = now
		}
	}
	if after.Count != done {
		return broken("I4", "%d objects consumed before and %d completed do not make %d", before.Count, done-before.Count, after.Count)
	}
	if len(after.Open) != len(open) {
		return broken("I4", "%d objects stand open, the ranges leave %d", len(after.Open), len(open))
	}
	for _, o := range after.Open {
		if left, ok := open[o.Key]; !ok || left != (place{o.Next, o.Was}) {
			return broken("I4", "object %q stands open at %d after %s, the ranges leave it at %d after %s", o.Key, o.Next, o.Was, left.next, left.was)
		}
	}
	return "", ""
}

// checkRefs is I19: what m refers to was referred to before, or is its own.
func checkRefs(p *Snapshot, m *Manifest) (string, string) {
	if m.Kind == Rewind {
		return "", ""
	}
	mine := "/state/" + own(m.Base, m.Attempt) + "/"
	known := map[segment.Ref]bool{}
	for _, r := range p.Manifest.Refs() {
		known[r] = true
	}
	for _, r := range m.Refs() {
		if !known[r] && !strings.Contains(r.Key, mine) {
			return broken("I19", "refers to %q, which is neither the parent's nor its own", r.Key)
		}
	}
	return "", ""
}

// Refs lists every run that the manifest names in place. Runs named inside of
// these runs (segments of long lists) are not among them.
func (m *Manifest) Refs() []segment.Ref {
	var refs []segment.Ref
	add := func(r *segment.Ref) {
		if r != nil {
			refs = append(refs, *r)
		}
	}
	if f := m.Progress.Files; f != nil {
		add(f.Segments.Ref)
		for i := range inPlace(f.Segments) {
			add(&f.Segments.Items[i].Ref)
		}
	}
	if m.Batch != nil {
		add(m.Batch.Ranges.Ref)
		add(m.Batch.Touched.Ref)
		add(m.Batch.Replaced.Ref)
	}
	if m.Republish != nil {
		add(m.Republish.Foreign.Ref)
	}
	for _, t := range m.Tables {
		add(t.Schema.Ref)
		add(t.Add.Ref)
		add(t.Remove.Ref)
		add(t.Live.Segments.Ref)
		for i := range inPlace(t.Live.Segments) {
			add(&t.Live.Segments.Items[i])
		}
	}
	return refs
}

// inPlace is the items of a list that stands in the manifest: of one by
// reference there are none, also when it was loaded.
func inPlace[T any](l segment.List[T]) []T {
	if l.Ref != nil {
		return nil
	}
	return l.Items
}
