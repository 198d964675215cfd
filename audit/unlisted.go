package audit

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
	"batcher/source"
)

// unlisted is a batch whose list of ranges stood beside its manifest and was collected
// with the snapshot: which records it consumed only the names of its rows tell.
type unlisted struct {
	seq    manifest.Seq
	read   int64 // records
	config string
	table  *schema.Schema // that its rows were written under; nil: that is no longer there
}

// unlist counts a batch some list of which was collected. Its ranges may be there
// still.
func (w *walk) unlist(ctx context.Context, before, m *manifest.Manifest) error {
	if m.Batch == nil || m.Seq >= w.head.Manifest.RetainFrom {
		return nil
	}
	err := w.Log.LoadLists(ctx, &manifest.Manifest{Batch: m.Batch})
	switch {
	case err == nil:
		w.counts(m)
		return w.await(ctx, before, m)
	case !w.collected(m.Seq, err):
		return w.damage(err, "I10", m.Seq)
	}
	w.report.Batches++
	w.report.Objects += m.Batch.Objects
	w.report.Records += m.Batch.Rows.Read
	if w.opts.Checks&CheckSource == 0 {
		return nil
	}
	under, err := w.interned(ctx, before, m)
	if err != nil {
		return w.damage(err, "I10", m.Seq)
	}
	w.later.unlisted = append(w.later.unlisted, unlisted{m.Seq, m.Batch.Rows.Read, m.Config.Hash, under})
	return nil
}

// byName adds to what is to be compared the objects of batches that are not listed:
// those of which rows are live and no range is known. Such an object is compared as a
// whole, if what stands under its key is what was consumed last; it is unverifiable
// otherwise. So are all of them where the walk did not begin with the first manifest,
// because then it does not know which objects were consumed before.
func (w *walk) byName(ctx context.Context, st *stand, main, dead liveTable) error {
	if len(st.unlisted) == 0 {
		return nil
	}
	if w.opts.Since > 0 {
		for _, u := range st.unlisted {
			w.report.Source.Unverifiable += u.read
		}
		return nil
	}
	rows, err := w.unclaimed(ctx, main, dead)
	if err != nil {
		return err
	}
	template, marked := common(st.unlisted), w.markedKeys(rows)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		x, ok, err := w.consumedAs(ctx, name)
		if err != nil {
			return err
		}
		if x.Records = rows[name].rows; !ok || marked[name] {
			w.compared(x.Key, SourceReport{Unverifiable: x.Records})
			continue
		}
		a := template
		a.Range = x
		st.ranges = append(st.ranges, &comparison{
			awaited: &a, lettered: st.lettered > 0,
			// Where letters were discarded another content of the key may have left no row.
			unsure: a.table == nil || st.discarded > 0,
		})
	}
	return nil
}

// common is what the batches have in common.
func common(of []unlisted) awaited {
	a := awaited{config: of[0].config, table: of[0].table}
	for _, u := range of {
		if u.config != a.config {
			a.config = ""
		}
		if u.table != a.table {
			a.table = nil
		}
	}
	return a
}

// unclaimed counts the live rows of objects no range of which is known.
func (w *walk) unclaimed(ctx context.Context, tables ...liveTable) (map[string]*tally, error) {
	out := map[string]*tally{}
	for _, t := range tables {
		if err := w.read(ctx, w.head.Manifest.Seq, t.files, narrow(t.schema, schema.SourceID, schema.OffsetID), out); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(out, func(name string, _ *tally) bool { return w.later.named[name] })
	return out, nil
}

// markedKeys are keys of which a content was consumed under a name with a mark: the
// rows that have the key for a name are not of the last one then.
func (w *walk) markedKeys(rows map[string]*tally) map[string]bool {
	out := map[string]bool{}
	for name := range rows {
		out[source.KeyOf(name)] = out[source.KeyOf(name)] || source.Marked(name)
	}
	for name := range w.later.named {
		out[source.KeyOf(name)] = out[source.KeyOf(name)] || source.Marked(name)
	}
	return out
}

// consumedAs returns the range that is all of an object, if what stands under its key
// now is the content that was consumed last, and if that one has this name.
func (w *walk) consumedAs(ctx context.Context, name string) (source.Range, bool, error) {
	x := source.Range{Key: source.KeyOf(name), Last: true, To: math.MaxInt64, Broken: "if it is"}
	if name != x.Key {
		x.Name = name
	}
	entry, ok, err := w.Set.Find(ctx, w.head.Manifest.Progress.Files, x.Key)
	if err != nil || !ok {
		return x, false, w.damage(err, "I10", w.head.Manifest.Seq)
	}
	info, err := w.Source.Stat(ctx, x.Key)
	if errors.Is(err, object.ErrNotFound) {
		return x, false, nil
	}
	if err != nil {
		return x, false, err
	}
	x.ETag, x.Size, x.Modified = info.ETag, info.Size, info.Modified
	names := []string{w.Source.Name(x.Key, x.ETag, x.Size, x.Modified), w.Source.AppendedName(x.Key, x.ETag, x.Size, x.Modified)}
	return x, entry.Identity == w.Source.Identity(x.Key, x.ETag, x.Size) && slices.Contains(names, name), nil
}
