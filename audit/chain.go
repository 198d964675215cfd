package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/source/files"
)

// find lists the slots, holds the hint against them, and reads the last manifest
// there is. It says false when that cannot be read; why is reported then.
func (w *walk) find(ctx context.Context) (bool, error) {
	if err := w.listSlots(ctx); err != nil {
		return false, err
	}
	hinted, err := w.hint(ctx)
	if err != nil {
		return false, err
	}
	if len(w.slots) == 0 && len(w.report.Violations) > 0 {
		return false, nil // a hint, and nothing that it could name
	}
	if len(w.slots) == 0 {
		return false, commit.ErrNoChain
	}
	if last := w.slots[len(w.slots)-1]; hinted > last { // committed since the listing
		for seq := last + 1; seq <= hinted; seq++ {
			w.slots = append(w.slots, seq)
		}
	}
	if err := w.unlisted(ctx); err != nil {
		return false, err
	}
	next := manifest.Seq(0)
	for _, seq := range w.slots {
		if seq > next {
			w.violation("I1", next, "slots %d to %d are empty, slot %d is taken", next, seq-1, seq)
		}
		next = seq + 1
	}
	var ok bool
	w.head, ok, err = w.slot(ctx, w.slots[len(w.slots)-1])
	return ok, err
}

// maxUnlisted bounds the slots that are asked for because they were not listed below
// others that were: a listing may lag behind, a chain that lacks more is broken anyway.
const maxUnlisted = 1000

// unlisted adds the slots that a listing left out below its last one.
func (w *walk) unlisted(ctx context.Context) error {
	var found []manifest.Seq
	next, asked := manifest.Seq(0), 0
	for _, seq := range w.slots {
		for ; next < seq && asked < maxUnlisted; next++ {
			asked++
			r, _, err := w.Store.Get(ctx, w.Log.Layout().Manifest(next), object.GetOptions{Limit: 1})
			if errors.Is(err, object.ErrNotFound) {
				continue
			}
			if err != nil {
				return fmt.Errorf("look at manifest %d, which was not listed: %w", int64(next), err)
			}
			r.Close()
			found = append(found, next)
		}
		next = seq + 1
	}
	w.slots = slices.Sorted(slices.Values(append(w.slots, found...)))
	return nil
}

// listSlots notes the keys of the chain.
func (w *walk) listSlots(ctx context.Context) error {
	layout := w.Log.Layout()
	for info, err := range w.Store.List(ctx, layout.Manifests(), object.Deep) {
		if err != nil {
			return fmt.Errorf("list the chain: %w", err)
		}
		digits := strings.TrimSuffix(strings.TrimPrefix(info.Key, layout.Manifests()), ".json")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 || layout.Manifest(manifest.Seq(n)) != info.Key {
			w.violation("I1", 0, "%s is no slot of a chain", info.Key)
			continue
		}
		w.slots = append(w.slots, manifest.Seq(n))
	}
	slices.Sort(w.slots)
	w.slots = slices.Compact(w.slots)
	return nil
}

// maxHint bounds the bytes of the hint object.
const maxHint = 4 << 10

// hint proves the advisory hint and returns the slot that it names, or -1.
func (w *walk) hint(ctx context.Context) (manifest.Seq, error) {
	body, _, err := object.ReadAll(ctx, w.Store, w.Log.Layout().Hint(), object.GetOptions{}, maxHint)
	if errors.Is(err, object.ErrNotFound) {
		return -1, nil
	}
	if err != nil {
		return -1, fmt.Errorf("get hint: %w", err)
	}
	h, err := manifest.DecodeHint(body)
	if err != nil {
		w.violation("I12", 0, "the hint cannot be read: %v", err)
		return -1, nil
	}
	slot, _, err := object.ReadAll(ctx, w.Store, w.Log.Layout().Manifest(h.Seq), object.GetOptions{}, manifest.MaxBytes)
	switch {
	case errors.Is(err, object.ErrNotFound):
		w.violation("I12", h.Seq, "the hint names a manifest that is absent")
		return -1, nil
	case err != nil:
		return -1, fmt.Errorf("get manifest %d: %w", int64(h.Seq), err)
	case manifest.Sum(slot) != h.SHA256:
		w.violation("I12", h.Seq, "the slot has sha256 %s, the hint says %s: one of the two was overwritten", manifest.Sum(slot), h.SHA256)
	}
	return h.Seq, nil
}

// slot reads one manifest. It says false when there is none to go on with; why
// is reported.
func (w *walk) slot(ctx context.Context, seq manifest.Seq) (manifest.Snapshot, bool, error) {
	body, _, err := object.ReadAll(ctx, w.Store, w.Log.Layout().Manifest(seq), object.GetOptions{}, manifest.MaxBytes)
	if errors.Is(err, object.ErrNotFound) {
		if _, listed := slices.BinarySearch(w.slots, seq); listed { // a hole is reported by find
			w.violation("I1", seq, "the slot is empty below the head")
		}
		return manifest.Snapshot{}, false, nil
	}
	if err != nil {
		return manifest.Snapshot{}, false, fmt.Errorf("get manifest %d: %w", int64(seq), err)
	}
	m, err := manifest.DecodeManifest(body)
	if err != nil {
		w.violation("I13", seq, "the slot holds no manifest that this version can read: %v", err)
		return manifest.Snapshot{}, false, nil
	}
	if m.Seq != seq {
		w.violation("I1", seq, "the slot holds seq %d", m.Seq)
		return manifest.Snapshot{}, false, nil
	}
	return manifest.Snapshot{Manifest: m, SHA256: manifest.Sum(body)}, true, nil
}

// chain walks the manifests from Since to the head. It says false when it cannot
// come to the head: what stands above a hole does not follow from anything. A
// manifest that breaks an invariant does not end the walk.
func (w *walk) chain(ctx context.Context) (bool, error) {
	if w.opts.Since < 0 || w.opts.Since > w.head.Manifest.Seq {
		return false, fmt.Errorf("verify since manifest %d: %w", int64(w.opts.Since), object.ErrNotFound)
	}
	if err := w.retain(ctx); err != nil {
		return false, err
	}
	prev, ok, err := w.slot(ctx, w.opts.Since)
	if err != nil || !ok {
		return false, err
	}
	if err := w.begin(ctx, prev); err != nil {
		return false, err
	}
	for seq := w.opts.Since + 1; seq <= w.head.Manifest.Seq; seq++ {
		next, ok, err := w.slot(ctx, seq)
		if err != nil || !ok {
			return false, err
		}
		lists, err := w.load(ctx, next.Manifest)
		if err != nil {
			return false, err
		}
		if _, err := prev.Apply(next.Manifest, next.SHA256); err != nil {
			if err := w.damage(err, "I2", seq); err != nil {
				return false, err
			}
		}
		if err := w.one(ctx, next.Manifest); err != nil {
			return false, err
		}
		if err := w.follow(ctx, prev.Manifest, next.Manifest, lists); err != nil {
			return false, err
		}
		prev = next
		w.step("manifest", int64(seq-w.opts.Since), int64(w.head.Manifest.Seq-w.opts.Since))
	}
	if prev.SHA256 != w.head.SHA256 {
		w.violation("I13", w.head.Manifest.Seq, "the head's bytes changed while they were read")
	}
	return true, nil
}

// begin takes over the state that the walk starts from.
func (w *walk) begin(ctx context.Context, s manifest.Snapshot) error {
	m := s.Manifest
	if w.opts.Since == 0 {
		if _, err := manifest.Begin(m, s.SHA256); err != nil {
			if err := w.damage(err, "I1", 0); err != nil {
				return err
			}
		}
	}
	w.gen = m.Generation
	if err := w.one(ctx, m); err != nil || w.opts.Since == 0 {
		return err // what a genesis has is not in the chain, and is found to be so
	}
	return w.takeOver(ctx, m)
}

// lists says whether the lists of a manifest could be had.
type lists uint8

const (
	inPlace lists = iota
	lost
)

// load fills in the lists of a manifest that stand elsewhere, so that Apply can
// look into them.
func (w *walk) load(ctx context.Context, m *manifest.Manifest) (lists, error) {
	err := w.Log.LoadLists(ctx, m)
	switch {
	case err == nil:
		return inPlace, nil
	case w.expired(m.Seq, err):
		return lost, nil
	}
	return lost, w.damage(err, "I10", m.Seq)
}

// follow brings the state of the walk from one manifest to the next, and proves
// what that one wrote.
func (w *walk) follow(ctx context.Context, before, m *manifest.Manifest, have lists) (err error) {
	switch {
	case w.blind && m.Seq < w.head.Manifest.RetainFrom:
	case w.blind || have == lost:
		w.blind = false
		err = w.takeOver(ctx, m)
	default:
		err = w.fold(before, m)
	}
	w.note(m)
	switch {
	case err != nil:
		return err
	case have == lost:
		return w.unlist(ctx, before, m)
	}
	return w.content(ctx, before, m)
}

// one proves what can be told of one manifest whatever its lists hold.
func (w *walk) one(ctx context.Context, m *manifest.Manifest) error {
	if before, ok := w.attempts[m.Attempt]; ok {
		w.violation("I7", m.Seq, "attempt %s also holds manifest %d", m.Attempt, before)
	}
	w.attempts[m.Attempt] = m.Seq
	if m.Generation != w.gen {
		w.gen = m.Generation
		clear(w.batches)
	}
	if m.Kind == manifest.Rewind {
		if err := w.rewind(ctx, m); err != nil {
			return err
		}
	}
	if err := w.beginTables(ctx, m); err != nil {
		return err
	}
	if err := w.refs(ctx, m); err != nil {
		return err
	}
	return w.evolve(ctx, m)
}

// fold adds what a manifest did to the state of the walk.
func (w *walk) fold(before, m *manifest.Manifest) error {
	if err := w.added(m); err != nil {
		return err
	}
	if l := m.Letters; l != nil {
		w.discard(m.Seq, discarded, tally{rows: l.Discarded, ids: l.DiscardedID})
	}
	for _, g := range m.Gaps {
		now := w.objects[g.Key]
		now.next = doneObject
		w.move(m.Seq, g.Key, now)
		w.done += completed(now.was)
	}
	if m.Batch != nil {
		w.ranges(m)
	}
	w.identities(before, m)
	return nil
}

// content proves the files that a manifest wrote, and holds them against its
// ranges and against the files that it takes away.
func (w *walk) content(ctx context.Context, before, m *manifest.Manifest) error {
	w.report.Manifests++
	files, whole, err := w.present(ctx, m)
	if err != nil {
		return err
	}
	if w.opts.Checks&CheckHashes != 0 {
		if err := w.hashes(ctx, m, files); err != nil {
			return err
		}
	}
	if m.Batch != nil {
		w.counts(m)
	}
	if err := w.await(ctx, before, m); err != nil {
		return err
	}
	gone, all, err := w.replacedFiles(ctx, m)
	if err != nil {
		return err
	}
	switch {
	case m.Kind == manifest.Rewind || w.opts.Checks&(CheckRows|CheckSource) == 0:
		return nil
	case !whole || !all: // what became of the rows is proved at the head
		w.skipped = true
		return nil
	case m.Batch == nil:
		return w.kept(ctx, before, m, files, gone)
	}
	return w.rows(ctx, before, m, files, gone)
}

// counts proves that the records of a batch are those of its ranges.
func (w *walk) counts(m *manifest.Manifest) {
	w.report.Batches++
	w.report.Objects += int64(len(m.Batch.Ranges.Items))
	records := int64(0)
	for i := range m.Batch.Ranges.Items {
		records += m.Batch.Ranges.Items[i].Records
	}
	w.report.Records += records
	if records != m.Batch.Rows.Read {
		w.violation("I14", m.Seq, "ranges hold %d records, the batch says %d", records, m.Batch.Rows.Read)
	}
}

// sourceOf is the source as it was when a manifest was made: it may have moved since.
func (w *walk) sourceOf(m *manifest.Manifest) *files.Source {
	if at := m.Config.Source; at != "" && at != w.Source.Location() {
		return w.Source.At(at)
	}
	return w.Source
}

// identities proves that the consumed set holds just the objects that the ranges
// completed: the sum of their identity hashes has to follow from the parent's.
// What was found broken is not reported again above.
func (w *walk) identities(before, m *manifest.Manifest) {
	f := m.Progress.Files
	if f == nil || w.Source == nil {
		return
	}
	at := w.sourceOf(m)
	if was := before.Progress.Files; was != nil {
		for _, o := range was.Open {
			for _, g := range m.Gaps {
				if g.Key == o.Key {
					w.sum = w.sum.Sub(o.Was).Add(at.Identity(o.Key, o.ETag, o.Size))
				}
			}
		}
	}
	if m.Batch != nil {
		for i := range m.Batch.Ranges.Items {
			if x := &m.Batch.Ranges.Items[i]; x.Last {
				w.sum = w.sum.Sub(x.Was).Add(at.Identity(x.Key, x.ETag, x.Size))
			}
		}
		for i := range m.Batch.Touched.Items {
			x := &m.Batch.Touched.Items[i]
			w.sum = w.sum.Sub(x.Was).Add(at.Identity(x.Key, x.ETag, x.Size))
		}
	}
	if f.Sum != w.sum {
		w.violation("I4", m.Seq, "the consumed set has sum %s, the objects of the chain give %s", f.Sum, w.sum)
		w.sum = f.Sum
	}
}
