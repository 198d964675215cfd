package audit

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"batcher/column"
	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
	"batcher/source"
	"batcher/source/files"
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
// those of which rows are live that lie in no range that is known. Such an object is
// compared as a whole, if no range of it is known and what stands under its key is what
// was consumed last; it is unverifiable otherwise. So are all of them where the walk did
// not begin with the first manifest, because then it does not know which objects were
// consumed before.
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
	rows, err := w.unclaimed(ctx, st.known, main, dead)
	if err != nil {
		return err
	}
	template, marked := common(st.unlisted), markedKeys(rows, st.known)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		x, now, err := w.consumedAs(ctx, name)
		if err != nil {
			return err
		}
		x.Records = rows[name]
		if now == never {
			w.violation("I14", w.head.Manifest.Seq, "%d live rows of object %q, which was not consumed", x.Records, name)
		}
		if now != asItWas || marked[name] || len(st.known[name]) > 0 {
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

// unclaimed counts the live rows that lie in no range that is known, by name.
func (w *walk) unclaimed(ctx context.Context, known map[string][]span, tables ...liveTable) (map[string]int64, error) {
	out := map[string]int64{}
	for _, t := range tables {
		ids := narrow(t.schema, schema.SourceID, schema.OffsetID)
		err := w.scan(ctx, w.head.Manifest.Seq, t.files, ids, func(b *column.Block) error {
			return recordIDs(b, func(name string, offset int64) {
				if !slices.ContainsFunc(known[name], func(s span) bool { return s.has(offset) }) {
					out[name]++
				}
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// markedKeys are keys of which a content was consumed under a name with a mark: the
// rows that have the key for a name are not of the last one then.
func markedKeys(rows map[string]int64, known map[string][]span) map[string]bool {
	out := map[string]bool{}
	for name := range rows {
		out[source.KeyOf(name)] = out[source.KeyOf(name)] || source.Marked(name)
	}
	for name := range known {
		out[source.KeyOf(name)] = out[source.KeyOf(name)] || source.Marked(name)
	}
	return out
}

// state is how an object stands that rows have the name of.
type state uint8

const (
	never   state = iota // nothing of its key was consumed
	another              // what was consumed last is not what stands there, or has another name
	asItWas
)

// consumedAs returns the range that is all of an object, and how that stands. Whether the
// object was found broken nobody knows any more, so the range lets it be.
func (w *walk) consumedAs(ctx context.Context, name string) (source.Range, state, error) {
	x := source.Range{Key: source.KeyOf(name), Last: true, To: math.MaxInt64, Broken: "if it is"}
	if name != x.Key {
		x.Name = name
	}
	progress := w.head.Manifest.Progress.Files
	entry, ok, err := w.Set.Find(ctx, progress, x.Key)
	if err != nil {
		return x, another, w.damage(err, "I10", w.head.Manifest.Seq)
	}
	switch {
	case !ok && progress != nil && slices.ContainsFunc(progress.Open, func(o source.OpenObject) bool { return o.Key == x.Key }):
		return x, another, nil // in part
	case !ok:
		return x, never, nil
	}
	info, err := w.Source.Stat(ctx, x.Key)
	u, unread := errors.AsType[*files.UnreadableError](err)
	if errors.Is(err, object.ErrNotFound) || unread && u.Cause == files.Archived {
		return x, another, nil
	}
	if err != nil {
		return x, another, err
	}
	x.ETag, x.Size, x.Modified = info.ETag, info.Size, info.Modified
	names := []string{w.Source.Name(x.Key, x.ETag, x.Size, x.Modified), w.Source.AppendedName(x.Key, x.ETag, x.Size, x.Modified)}
	if entry.Identity != w.Source.Identity(x.Key, x.ETag, x.Size) || !slices.Contains(names, name) {
		return x, another, nil
	}
	return x, asItWas, nil
}
