package commit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
	"batcher/segment"
	"batcher/source"
	"batcher/source/files"
)

// Proposal is a change that wants to become the next manifest. What is
// cumulative is not in it: it is computed anew from the parent on every try.
type Proposal struct {
	Kind    manifest.Kind
	Attempt manifest.Attempt
	Base    manifest.Snapshot    // head on which the attempt started
	Seen    manifest.Snapshot    // head that the files account for; zero: Base
	Batch   *manifest.Batch      // of kinds that consume; ranges in place
	Tables  map[string]Delta     // tables that change
	Config  manifest.Config      // configuration the files were written under
	Gaps    []manifest.GapRecord // parts of the source given up
	Letters *manifest.Letters    // replay only: what becomes of dead letters
	Repair  Repair               // what a kind without a batch wants
	Advance Advance              // progress after this batch; nil leaves it as it is
}

// Advance computes the progress that follows parent when the proposal's ranges
// are consumed, and which touched objects it could replace on this parent. Runs
// that no longer fit in place go into the pack.
type Advance func(ctx context.Context, parent *source.FilesProgress, pack *segment.Pack) (*source.FilesProgress, []manifest.Touched, error)

// Delta is what a proposal does to one table.
type Delta struct {
	// Schema is the one under which the files were written: the base's, perhaps
	// with more columns; of a rewrite, with other types.
	Schema *schema.Schema
	Add    []manifest.File
	// Remove are keys of files that are live in Seen and are not so afterwards:
	// their rows stand in Add, as the kind of the manifest demands. They are part
	// of what the proposal has read: when a rival takes one of them away, the
	// proposal ends with Reencode.
	Remove []string
}

// Outcome is how a proposal ended: Committed (with Receipt), Already, Replan,
// Reencode or Abort. Head is the newest manifest seen.
type Outcome struct {
	Decision
	Head    manifest.Snapshot
	Rivals  []*manifest.Manifest // between the base and Head, not ours, with ranges loaded
	Receipt Receipt
}

// Append brings a proposal into the chain, or says why it may not. All its data
// files must be acknowledged by the store. The steps, and why no two may swap:
//  1. decide on the head: the floor is checked before the slot is touched;
//  2. build the manifest on exactly this head: only own deltas survive a lost
//     race, all cumulative references come from the parent;
//  3. put the state object: a manifest must never name a run that is not there;
//  4. settle the slot: the commit;
//  5. look at the occupant: our attempt is a success even if we were told
//     otherwise; a parent other than ours is a fork; anything else is a rival,
//     which becomes the head of the next turn.
//
// A commit is followed by the hint and the hooks.
func (l *Log) Append(ctx context.Context, p Proposal) (Outcome, error) {
	head := p.seen()
	var rivals []*manifest.Manifest
	for range l.budget.Rebases {
		d := Decide(Facts{Kind: p.Kind, Base: p.Base.Manifest, Seen: p.seen().Manifest, Head: head.Manifest, Rivals: rivals,
			Ranges: p.ranges(), Config: p.Config.Hash, Writes: p.writes()})
		if d.Verdict != Propose {
			return Outcome{Decision: d, Head: head, Rivals: rivals}, nil
		}
		occ, mine, err := l.propose(ctx, p, head)
		if err != nil {
			return l.failed(ctx, p, head, err)
		}
		if err := l.LoadLists(ctx, occ.m); err != nil {
			return l.failed(ctx, p, head, err)
		}
		next, err := head.Apply(occ.m, occ.sum)
		if err != nil {
			return Outcome{Head: head}, fmt.Errorf("%w: fork at manifest %d: %w", ErrDamaged, int64(occ.m.Seq), err)
		}
		head = next
		if occ.m.Attempt == p.Attempt {
			if occ.sum != mine {
				return Outcome{Head: head}, fmt.Errorf("%w: manifest %d has our attempt but other bytes (I13)", ErrDamaged, int64(occ.m.Seq))
			}
			receipt := Receipt{occ.m.Seq, occ.m.Attempt, occ.sum}
			l.committed(ctx, receipt, head)
			return Outcome{Decision: Decision{Verdict: Committed}, Head: head, Rivals: rivals, Receipt: receipt}, nil
		}
		l.log.Debug("lost a slot", "seq", int64(occ.m.Seq), "attempt", p.Attempt.String(), "rival", occ.m.Attempt.String())
		rivals = append(rivals, occ.m)
		if head, rivals, err = l.catchUp(ctx, head, rivals); err != nil {
			return l.failed(ctx, p, head, err)
		}
	}
	return Outcome{Head: head}, fmt.Errorf("%w: lost %d races in a row", ErrUnresolved, l.budget.Rebases)
}

// committed is what follows every commit, whoever made it: the hint, and the hooks in
// order. What fails is logged, and never undoes or repeats a commit.
func (l *Log) committed(ctx context.Context, r Receipt, head manifest.Snapshot) {
	ctx = context.WithoutCancel(ctx)
	if err := l.PutHint(ctx, head); err != nil {
		l.log.Warn("hint not written: the next run searches a little longer", "error", err)
	}
	for _, hook := range l.hooks {
		if err := hook(ctx, r, head); err != nil {
			l.log.Warn("after-commit step failed and will be repeated by a later run", "error", err)
		}
	}
}

// catchUp reads the slots above head that are taken already, so that a proposal
// which has fallen behind meets them as rivals without fighting for each.
func (l *Log) catchUp(ctx context.Context, head manifest.Snapshot, rivals []*manifest.Manifest) (manifest.Snapshot, []*manifest.Manifest, error) {
	for {
		o, taken, err := l.probe(ctx, occupant{head.Manifest, head.SHA256}, head.Manifest.Seq+1)
		if err != nil || !taken {
			return head, rivals, err
		}
		if err := l.LoadLists(ctx, o.m); err != nil {
			return head, rivals, err
		}
		head, rivals = manifest.Snapshot{Manifest: o.m, SHA256: o.sum}, append(rivals, o.m)
	}
}

// failed ends a proposal that could not be made. Ranges that the head's own
// progress does not admit have to be planned again, and Absent says what it means
// that a run is not there.
func (l *Log) failed(ctx context.Context, p Proposal, head manifest.Snapshot, err error) (Outcome, error) {
	if errors.Is(err, files.ErrInadmissible) {
		return Outcome{Decision: Decision{Replan, err.Error()}, Head: head}, nil
	}
	head, err = l.absent(ctx, p.Base, head, err)
	var superseded *SupersededError
	if errors.As(err, &superseded) {
		return Outcome{Decision: Decision{Abort, superseded.Reason}, Head: head}, nil
	}
	return Outcome{Head: head}, err
}

// propose builds the manifest on head, stores its state object and settles its
// slot. It returns the slot's occupant and the hash of our own bytes.
func (l *Log) propose(ctx context.Context, p Proposal, head manifest.Snapshot) (occupant, manifest.SHA256, error) {
	turn := head.Manifest.Seq - p.Base.Manifest.Seq // an attempt proposes once on a head: the key is used once
	pack := segment.NewPack(l.layout.State(p.Base.Manifest.Seq, p.Attempt, int(turn)))
	m, err := l.build(ctx, p, head, pack)
	if err != nil {
		return occupant{}, manifest.SHA256{}, err
	}
	body, err := manifest.EncodeManifest(m)
	if err != nil {
		return occupant{}, manifest.SHA256{}, err
	}
	sum := manifest.Sum(body)
	if err := readBack(head, body, m, pack); err != nil {
		return occupant{}, sum, fmt.Errorf("own proposal, nothing was written: %w", err)
	}
	if len(pack.Bytes()) > 0 {
		if err := l.putState(ctx, pack); err != nil {
			return occupant{}, sum, err
		}
	}
	if err := l.syncChain(ctx); err != nil {
		return occupant{}, sum, err
	}
	occ, err := l.settle(ctx, m.Seq, body)
	if occ.sum == sum {
		occ.m = m // its lists are in place: a read that fails must not hide a commit
	}
	return occ, sum, err
}

// syncChain makes sure that the head which is built on survives a loss of power:
// in a directory a rival's manifest may be visible before it is durable.
func (l *Log) syncChain(ctx context.Context) error {
	s, ok := l.store.(object.Syncer)
	if !ok {
		return nil
	}
	if err := s.Sync(ctx, l.layout.Manifests()); err != nil {
		return fmt.Errorf("sync the chain before building on it: %w", err)
	}
	return nil
}

// readBack is what every reader will do with a proposal, done before it is put: a
// slot can never be repaired. m is what body was encoded from; its lists are in
// place, so that it is held to all rules.
func readBack(head manifest.Snapshot, body []byte, m *manifest.Manifest, pack *segment.Pack) error {
	read, err := manifest.DecodeManifest(body)
	if err != nil {
		return fmt.Errorf("it cannot be read back: %w", err)
	}
	for _, version := range []*manifest.Manifest{read, m} {
		if _, err := head.Apply(version, manifest.Sum(body)); err != nil {
			return err
		}
	}
	for name, t := range read.Tables {
		if r := t.Schema.Ref; r != nil && r.Key == pack.Key() {
			if _, err := manifest.DecodeSchema(pack.Bytes()[r.Offset : r.Offset+r.Size]); err != nil {
				return fmt.Errorf("schema of %q cannot be read back: %w", name, err)
			}
		}
	}
	return nil
}

// putState stores the runs of one proposal. Its key is used once.
func (l *Log) putState(ctx context.Context, pack *segment.Pack) error {
	if _, err := l.store.Put(ctx, pack.Key(), pack.Bytes(), object.Always); err != nil {
		return fmt.Errorf("put state %s: %w", pack.Key(), err)
	}
	return nil
}

// build makes the manifest that p would be on top of head.
func (l *Log) build(ctx context.Context, p Proposal, head manifest.Snapshot, pack *segment.Pack) (*manifest.Manifest, error) {
	h := head.Manifest
	m := &manifest.Manifest{
		Format: manifest.Format, Pipeline: h.Pipeline, Seq: h.Seq + 1, Kind: p.Kind, Attempt: p.Attempt,
		Base:    p.Base.Manifest.Seq,
		Parent:  &manifest.Parent{Seq: h.Seq, Attempt: h.Attempt, SHA256: head.SHA256},
		GCFloor: h.GCFloor, RetainFrom: h.RetainFrom, Generation: h.Generation,
		Progress: h.Progress, Tables: map[string]manifest.Table{}, Config: p.Config, Writer: l.writer,
		CreatedAt: later(l.clock.Now().UTC().Truncate(time.Millisecond), h.CreatedAt),
	}
	if !decodes(p.Kind) {
		m.Config = h.Config // what no record is decoded for keeps the settings of those that are
	}
	if err := l.buildTables(ctx, p, h, m, pack); err != nil {
		return nil, err
	}
	if err := l.buildRepair(ctx, p, h, m, pack); err != nil {
		return nil, err
	}
	var touched []manifest.Touched
	if p.Advance != nil {
		before := h.Progress.Files
		if before == nil {
			before = &source.FilesProgress{}
		}
		var err error
		if m.Progress.Files, touched, err = p.Advance(ctx, before, pack); err != nil {
			return nil, fmt.Errorf("progress after manifest %d: %w", int64(h.Seq), err)
		}
	}
	m.Gaps, m.Letters = p.Gaps, p.Letters
	if p.Batch != nil {
		b := *p.Batch
		b.Touched = segment.Of(touched)
		b.ID = manifest.NewBatchID(h.Pipeline, h.Generation, b.Ranges.Items)
		var err error
		if b.Ranges, err = segment.Externalize(b.Ranges, pack); err != nil {
			return nil, err
		}
		if b.Touched, err = segment.Externalize(b.Touched, pack); err != nil {
			return nil, err
		}
		if b.Replaced, err = segment.Externalize(b.Replaced, pack); err != nil {
			return nil, err
		}
		m.Batch = &b
	}
	return m, nil
}

// buildTables carries every table over from h and applies the deltas.
func (l *Log) buildTables(ctx context.Context, p Proposal, h, m *manifest.Manifest, pack *segment.Pack) error {
	for name, t := range h.Tables {
		t.Add, t.Remove = segment.List[manifest.File]{}, segment.List[manifest.File]{}
		m.Tables[name] = t
	}
	for _, name := range slices.Sorted(maps.Keys(p.Tables)) {
		t, ok := m.Tables[name]
		if !ok && !(manifest.Snapshot{Manifest: h}).Fresh() {
			return fmt.Errorf("table %q is not part of pipeline %s", name, h.Pipeline)
		}
		if !ok {
			t = manifest.Table{Version: -1}
		}
		if err := l.applyDelta(ctx, &t, p.Tables[name], m, pack); err != nil {
			return fmt.Errorf("table %q: %w", name, err)
		}
		m.Tables[name] = t
	}
	return nil
}

func (l *Log) applyDelta(ctx context.Context, t *manifest.Table, d Delta, m *manifest.Manifest, pack *segment.Pack) error {
	changed, err := newSchema(t, d.Schema, m.Kind, pack)
	if err != nil {
		return err
	}
	if len(d.Add)+len(d.Remove) == 0 && !changed {
		return nil
	}
	edit := manifest.Edit{Remove: d.Remove, Add: slices.Clone(d.Add)}
	for i := range edit.Add {
		edit.Add[i].Seq = m.Seq
	}
	if edit.Segments, err = loadList(ctx, l, t.Live.Segments); err != nil {
		return err
	}
	if edit.Fold, err = t.Live.Fold(edit.Segments, edit.Add); err != nil {
		return err
	}
	if edit.Loaded, err = l.reach(ctx, edit, t.Live.Recent); err != nil {
		return err
	}
	var gone []manifest.File
	if t.Live, gone, err = t.Live.Edit(edit, pack); err != nil {
		return err
	}
	if t.Add, err = segment.Externalize(segment.Of(edit.Add), pack); err != nil {
		return err
	}
	if t.Remove, err = segment.Externalize(segment.Of(gone), pack); err != nil {
		return err
	}
	t.Version++
	t.LastSeq = m.Seq
	if m.Kind == manifest.Rewrite {
		t.Rewritten = m.Seq
	}
	return nil
}

// newSchema gives a table the schema of a delta if that goes on from its own: it
// has more columns or, in a rewrite, other types.
func newSchema(t *manifest.Table, s *schema.Schema, kind manifest.Kind, pack *segment.Pack) (changed bool, err error) {
	if s == nil || s.LastID <= t.Schema.LastID && kind != manifest.Rewrite {
		return false, nil
	}
	sum, err := manifest.SchemaHash(s)
	if err != nil || sum == t.Schema.SHA256 {
		return false, err
	}
	t.Schema, err = manifest.NewSchemaRef(s, pack)
	return err == nil, err
}

// reach loads live files from the newest segment backwards until all that are to
// be taken away are found, and those that are folded: mostly these are young.
func (l *Log) reach(ctx context.Context, e manifest.Edit, recent []manifest.File) ([][]manifest.File, error) {
	left := make(map[string]bool, len(e.Remove))
	for _, key := range e.Remove {
		left[key] = true
	}
	found := func(files []manifest.File) {
		for i := range files {
			delete(left, files[i].Key)
		}
	}
	found(recent)
	var loaded [][]manifest.File
	for i := len(e.Segments) - 1; i >= 0 && (len(left) > 0 || len(loaded) < e.Fold); i-- {
		files, err := l.loadRun(ctx, e.Segments[i])
		if err != nil {
			return nil, err
		}
		found(files)
		loaded = append(loaded, files)
	}
	slices.Reverse(loaded)
	return loaded, nil
}

// seen is the head that the proposal's files account for.
func (p Proposal) seen() manifest.Snapshot {
	if p.Seen.Manifest == nil {
		return p.Base
	}
	return p.Seen
}

func (p Proposal) ranges() []source.Range {
	if p.Batch == nil {
		return nil
	}
	return p.Batch.Ranges.Items
}

// writes is the read set of the proposal's tables.
func (p Proposal) writes() []TableWrite {
	var w []TableWrite
	for _, name := range slices.Sorted(maps.Keys(p.Tables)) {
		d := p.Tables[name]
		growth := SameColumns
		if d.Schema != nil && d.Schema.LastID > p.Base.Manifest.Tables[name].Schema.LastID {
			growth = AddsColumns
		}
		w = append(w, TableWrite{name, growth, d.Remove})
	}
	return w
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
