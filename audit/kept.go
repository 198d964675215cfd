package audit

import (
	"context"
	"maps"
	"slices"

	"batcher/manifest"
	"batcher/schema"
	"batcher/source"
)

// discarded stands for the letters that were discarded of objects that the walk
// could not tell: the rows that it has are negative.
const discarded = "\x00discarded"

// discard takes letters off the rows that an object has to have.
func (w *walk) discard(seq manifest.Seq, key string, letters tally) {
	if letters == (tally{}) {
		return
	}
	now := w.objects[key]
	now.rows = now.rows.minus(letters)
	w.move(seq, key, now)
}

// replacedFiles returns the files that a manifest takes away and that are there
// still, by table, and whether those are all. They are needed by the snapshots
// before it, as far as these are retained.
func (w *walk) replacedFiles(ctx context.Context, m *manifest.Manifest) (map[string][]manifest.File, bool, error) {
	out, all := map[string][]manifest.File{}, true
	if m.Kind == manifest.Rewind {
		return out, true, nil
	}
	for name, t := range m.Tables {
		for _, f := range t.Remove.Items {
			there, err := w.sized(ctx, m.Seq-1, &f)
			switch {
			case err != nil:
				return nil, false, err
			case there:
				out[name] = append(out[name], f)
			case m.Seq-1 < w.head.Manifest.RetainFrom && !w.retained[f.Key]:
				all = false
			}
		}
	}
	return out, all, nil
}

// kept proves that a manifest keeps the rows of the files that it takes away (I15),
// or makes of dead letters what it says. Of what it consumes the rows are held
// against the ranges elsewhere.
func (w *walk) kept(ctx context.Context, before, m *manifest.Manifest, added, gone map[string][]manifest.File) error {
	balance := map[string]map[string]*tally{} // table → source → rows more
	for _, name := range slices.Sorted(maps.Keys(m.Tables)) {
		if len(added[name])+len(gone[name]) == 0 {
			continue
		}
		same, others, err := w.comparable(ctx, before, m, name)
		if err != nil || same == nil {
			return err
		}
		come, went := map[string]*tally{}, map[string]*tally{}
		if err := w.read(ctx, m.Seq, added[name], same, come); err != nil {
			return err
		}
		if err := w.read(ctx, m.Seq, gone[name], same, went); err != nil {
			return err
		}
		if err := w.statistics(ctx, m.Seq, added[name], others); err != nil {
			return err
		}
		for source, t := range went {
			*at(come, source) = at(come, source).minus(*t)
		}
		balance[name] = come
	}
	if m.Letters != nil {
		w.letters(m, balance)
		return nil
	}
	if m.Batch != nil {
		others(m.Batch, balance)
	}
	for _, name := range slices.Sorted(maps.Keys(balance)) {
		for source, t := range balance[name] {
			if *t != (tally{}) {
				w.report.Lost += max(-t.rows, 0)
				w.report.Doubled += max(t.rows, 0)
				w.violation("I15", m.Seq, "table %q: kind %s changes rows of object %q: %d more, or others", name, m.Kind, source, t.rows)
			}
		}
	}
	return nil
}

// others leaves of a balance the objects that a batch does not consume.
func others(b *manifest.Batch, balance map[string]map[string]*tally) {
	own := map[string]bool{}
	for i := range b.Ranges.Items {
		own[b.Ranges.Items[i].Key] = true
	}
	for _, parts := range balance {
		maps.DeleteFunc(parts, func(name string, _ *tally) bool { return own[source.KeyOf(name)] })
	}
}

// comparable are the columns that the files which come and those which go have to
// have alike: all with CheckSource, but for those whose type a rewrite changes and
// the values that it puts back, which are then no longer rescued; otherwise the
// ids. What replays letters is compared by ids: they may have been edited. With
// CheckSource the others are returned too.
func (w *walk) comparable(ctx context.Context, before, m *manifest.Manifest, table string) (same, others *schema.Schema, err error) {
	was, err := w.Log.LoadSchema(ctx, before.Tables[table].Schema)
	if err != nil {
		return nil, nil, w.damage(err, "I10", m.Seq)
	}
	now, err := w.Log.LoadSchema(ctx, m.Tables[table].Schema)
	if err != nil {
		return nil, nil, w.damage(err, "I10", m.Seq)
	}
	same, others = w.alike(was, now, m.Kind), &schema.Schema{}
	if w.opts.Checks&CheckSource != 0 {
		others = without(now, same)
	}
	return same, others, nil
}

func (w *walk) alike(was, now *schema.Schema, kind manifest.Kind) *schema.Schema {
	ids := []int32{schema.SourceID, schema.OffsetID}
	if w.opts.Checks&CheckSource == 0 || kind == manifest.Replay {
		return narrow(now, ids...)
	}
	for _, f := range now.Fields {
		same := slices.ContainsFunc(was.Fields, func(o schema.Field) bool { return o.Equal(f) })
		if same && (kind != manifest.Rewrite || f.ID != schema.RescuedID) {
			ids = append(ids, f.ID)
		}
	}
	return narrow(now, ids...)
}

// letters proves what became of dead letters: each that is gone from its table is a
// row of the same record now, or was discarded.
func (w *walk) letters(m *manifest.Manifest, balance map[string]map[string]*tally) {
	var rows, all tally
	for name, parts := range balance {
		for source, t := range parts {
			all.join(*t)
			if name == w.Table {
				rows.join(*t)
			}
			if name == w.Dead {
				w.discard(m.Seq, discarded, tally{}.minus(lostOf(parts, balance[w.Table], source)))
				w.discard(m.Seq, source, lostOf(parts, balance[w.Table], source))
			}
		}
	}
	l := m.Letters
	if rows.rows != l.Replayed || all.rows != -l.Discarded || all.ids != (source.Hash{}).Sub(l.DiscardedID) {
		w.report.Lost += max(-l.Discarded-all.rows, 0)
		w.report.Doubled += max(all.rows+l.Discarded, 0)
		w.violation("I14", m.Seq, "%d letters replayed and %d discarded: there are %d rows more, and %d in all tables, or others",
			l.Replayed, l.Discarded, rows.rows, all.rows)
	}
}

// lostOf are the letters of an object that did not become rows.
func lostOf(dead, main map[string]*tally, source string) tally {
	lost := tally{}.minus(*dead[source])
	if t := main[source]; t != nil {
		lost = lost.minus(*t)
	}
	lost.content = tally{}.content
	return lost
}

// liveRows proves the rows of the head itself where the files of some manifest were
// gone, so that they do not follow from what was proved of each.
func (w *walk) liveRows(ctx context.Context) error {
	if !w.skipped || w.partly {
		return nil
	}
	seq := w.head.Manifest.Seq
	parts := map[string]*tally{}
	for _, name := range slices.Sorted(maps.Keys(w.head.Manifest.Tables)) {
		t := w.head.Manifest.Tables[name]
		live, err := w.Log.LoadLive(ctx, t.Live)
		if err != nil {
			return w.damage(err, "I10", seq)
		}
		want, err := w.Log.LoadSchema(ctx, t.Schema)
		if err != nil {
			return w.damage(err, "I10", seq)
		}
		same := narrow(want, schema.SourceID, schema.OffsetID)
		if err := w.read(ctx, seq, live, same, parts); err != nil {
			return err
		}
		if w.opts.Checks&CheckSource == 0 {
			continue
		}
		live = slices.DeleteFunc(live, func(f manifest.File) bool { return w.whole[f.Key] })
		if err := w.statistics(ctx, seq, live, without(want, same)); err != nil {
			return err
		}
	}
	w.atHead(seq, parts)
	return nil
}

// atHead holds live rows, by name, against what the chain says: together they are
// those of all objects less the letters that were discarded, and no object has more
// than its own.
func (w *walk) atHead(seq manifest.Seq, parts map[string]*tally) {
	extra := int64(0)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		t, own := parts[name], w.objects[name].rows
		if t.rows > own.rows || t.rows == own.rows && t.ids != own.ids {
			extra += t.rows - own.rows
			w.violation("I14", seq, "object %q has %d rows in live files, the chain gives it %d, or others", name, t.rows, own.rows)
		}
	}
	all := total(parts)
	w.report.Doubled += max(extra, all.rows-w.total.rows)
	w.report.Lost += max(w.total.rows-all.rows+extra, 0)
	if all.rows != w.total.rows || all.ids != w.total.ids {
		w.violation("I14", seq, "the live files have %d rows, the chain consumed %d records, or others", all.rows, w.total.rows)
	}
}

// total joins the tallies of all sources.
func total(parts map[string]*tally) (sum tally) {
	for _, t := range parts {
		sum.join(*t)
	}
	return sum
}
