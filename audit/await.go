package audit

import (
	"context"
	"slices"

	"batcher/manifest"
	"batcher/schema"
	"batcher/source"
)

// later is what the end of a walk needs to hold ranges against the source whose own
// files no retained snapshot needs: their rows were merged or written again, and are
// looked for where they are now.
type later struct {
	ranges   []awaited
	replaced []replacement
	letters  []lettered
	rewinds  map[manifest.Seq]manifest.Seq // snapshot that each restored
	schemas  map[manifest.SHA256]*schema.Schema
	unlisted []unlisted
	placed   []placed
}

// awaited is one such range.
type awaited struct {
	source.Range
	seq    manifest.Seq   // of its batch
	config string         // hash; "": nobody knows
	table  *schema.Schema // that its rows were written under; nil: nobody knows
}

// placed is a range whose rows are proved in the files of its batch.
type placed struct {
	span
	seq       manifest.Seq
	key, name string
}

// span is where a range lies in its object; the last one has no end.
type span struct {
	from, to source.Position
	last     bool
}

func spanOf(x *source.Range) span { return span{x.From, x.To, x.Last} }

// has says whether a position lies in the range.
func (s span) has(offset int64) bool {
	return int64(s.from) <= offset && (s.last || offset < int64(s.to))
}

// replacement takes away what a key had; "" is any key, where it is no longer told which.
type replacement struct {
	seq manifest.Seq
	key string
}

// lettered is what a replay did to dead letters.
type lettered struct {
	seq       manifest.Seq
	discarded int64
}

// note takes in what a manifest does to ranges before it.
func (w *walk) note(m *manifest.Manifest) {
	if m.Kind == manifest.Rewind && m.RewindTo != nil && *m.RewindTo < m.Seq {
		if w.later.rewinds == nil {
			w.later.rewinds = map[manifest.Seq]manifest.Seq{}
		}
		w.later.rewinds[m.Seq] = *m.RewindTo
	}
	if m.Letters != nil {
		w.later.letters = append(w.later.letters, lettered{m.Seq, m.Letters.Discarded})
	}
	if m.Batch == nil {
		return
	}
	if !m.Batch.Replaced.Loaded() {
		w.later.replaced = append(w.later.replaced, replacement{m.Seq, ""})
	}
	for _, r := range m.Batch.Replaced.Items {
		w.later.replaced = append(w.later.replaced, replacement{m.Seq, r.Key})
	}
}

// superseded says whether no retained snapshot needs some file of a batch, one that it
// wrote or one that it took away: that the file has the right rows, if it is there at
// all, then says nothing of those that are live.
func (w *walk) superseded(m *manifest.Manifest) bool {
	first := w.head.Manifest.RetainFrom
	if m.Seq > first {
		return false
	}
	for _, t := range m.Tables {
		if t.Remove.Count > 0 {
			return true // by a batch at or below first: the snapshots that need it are below
		}
		if m.Seq < first && (!t.Add.Loaded() || slices.ContainsFunc(t.Add.Items, func(f manifest.File) bool { return !w.retained[f.Key] })) {
			return true
		}
	}
	return false
}

// await keeps the ranges of a batch for the end, if that is where they can be proved.
func (w *walk) await(ctx context.Context, before, m *manifest.Manifest) error {
	if w.opts.Checks&CheckSource == 0 || m.Batch == nil {
		return nil
	}
	if !w.superseded(m) {
		for i := range m.Batch.Ranges.Items {
			x := &m.Batch.Ranges.Items[i]
			w.later.placed = append(w.later.placed, placed{spanOf(x), m.Seq, x.Key, x.Source()})
		}
		return nil
	}
	under, err := w.interned(ctx, before, m)
	if err != nil {
		return w.damage(err, "I10", m.Seq)
	}
	for _, x := range m.Batch.Ranges.Items {
		w.later.ranges = append(w.later.ranges, awaited{x, m.Seq, m.Config.Hash, under})
	}
	return nil
}

// interned returns the schema under which a batch was written, each once; nil if it
// may be gone and is.
func (w *walk) interned(ctx context.Context, before, m *manifest.Manifest) (*schema.Schema, error) {
	ref, err := w.writtenUnder(ctx, before, m)
	if err != nil {
		return nil, err
	}
	if s, ok := w.later.schemas[ref.SHA256]; ok {
		return s, nil
	}
	s, err := w.Log.LoadSchema(ctx, ref)
	if err != nil && !w.collected(m.Seq, err) {
		return nil, err
	}
	if w.later.schemas == nil {
		w.later.schemas = map[manifest.SHA256]*schema.Schema{}
	}
	w.later.schemas[ref.SHA256] = s
	return s, nil
}

// inForce returns the manifests that the head stands on: back from it one by one, and
// from a rewind to the snapshot that it restored.
func (w *walk) inForce() map[manifest.Seq]bool {
	out := map[manifest.Seq]bool{}
	for seq := w.head.Manifest.Seq; seq > w.opts.Since; {
		if to, ok := w.later.rewinds[seq]; ok {
			seq = to
			continue
		}
		out[seq] = true
		seq--
	}
	return out
}

// stand is what has to be live at the head.
type stand struct {
	ranges    []*comparison
	lettered  manifest.Seq // last replay; 0: none
	discarded int64        // letters, in all
	unlisted  []unlisted
	known     map[string][]span // ranges that are known, by name
}

// stand finds the awaited ranges whose rows have to be live at the head. A range that
// was rewound or replaced has none.
func (w *walk) stand() stand {
	force, out := w.inForce(), stand{known: map[string][]span{}}
	replaced := map[string]manifest.Seq{}
	for _, r := range w.later.replaced {
		if force[r.seq] {
			replaced[r.key] = max(replaced[r.key], r.seq)
		}
	}
	for _, l := range w.later.letters {
		if force[l.seq] {
			out.lettered, out.discarded = max(out.lettered, l.seq), out.discarded+l.discarded
		}
	}
	for _, u := range w.later.unlisted {
		if force[u.seq] {
			out.unlisted = append(out.unlisted, u)
		}
	}
	for i := range w.later.ranges {
		a := &w.later.ranges[i]
		if force[a.seq] && a.seq >= replaced[a.Key] {
			out.ranges = append(out.ranges, &comparison{awaited: a, unsure: a.table == nil || a.seq < replaced[""], lettered: a.seq < out.lettered})
			out.known[a.Source()] = append(out.known[a.Source()], spanOf(&a.Range))
		}
	}
	for _, p := range w.later.placed {
		if force[p.seq] && p.seq >= replaced[p.key] {
			out.known[p.name] = append(out.known[p.name], p.span)
		}
	}
	return out
}
