package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"

	"batcher/column"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
)

// tally sums rows in a form that does not depend on their order: two multisets
// of rows are equal if and, but for collisions of a 128-bit hash, only if their
// tallies are.
type tally struct {
	rows    int64
	ids     source.Hash // sum of record.IDHash
	content source.Hash // sum of the rows' hashes
}

// add counts one row.
func (t *tally) add(id, content source.Hash) {
	t.rows++
	t.ids = t.ids.Add(id)
	t.content = t.content.Add(content)
}

// join adds another tally.
func (t *tally) join(o tally) {
	t.rows += o.rows
	t.ids = t.ids.Add(o.ids)
	t.content = t.content.Add(o.content)
}

// rows proves that the files of a batch hold exactly the records of its ranges.
func (w *walk) rows(ctx context.Context, m *manifest.Manifest, added map[string][]manifest.File) error {
	if w.opts.Checks&(CheckRows|CheckSource) == 0 {
		return nil
	}
	main, err := w.tables(ctx, m, w.Table, added[w.Table])
	if err != nil {
		return err
	}
	dead, err := w.tables(ctx, m, w.Dead, added[w.Dead])
	if err != nil {
		return err
	}
	w.ids(m, main, dead)
	if w.opts.Checks&CheckSource == 0 {
		return nil
	}
	return w.source(ctx, m, main, dead)
}

// hashes reads every file whole.
func (w *walk) hashes(ctx context.Context, m *manifest.Manifest, added map[string][]manifest.File) error {
	for _, list := range added {
		for i := range list {
			f := &list[i]
			sum, err := w.hash(ctx, f.Key)
			if err != nil {
				if err := w.damage(err, "I10", m.Seq); err != nil {
					return err
				}
				continue
			}
			w.report.Hashed++
			if sum != f.SHA256 {
				w.violation("I10", m.Seq, "%s has other bytes than the manifest says", f.Key)
			}
		}
	}
	return nil
}

// hash reads an object whole.
func (w *walk) hash(ctx context.Context, key string) (manifest.SHA256, error) {
	body, _, err := w.Store.Get(ctx, key, object.GetOptions{})
	if err != nil {
		return manifest.SHA256{}, fmt.Errorf("read %s: %w", key, err)
	}
	defer body.Close()
	h := sha256.New()
	if _, err := io.Copy(h, body); err != nil {
		return manifest.SHA256{}, fmt.Errorf("read %s: %w", key, err)
	}
	return manifest.SHA256(h.Sum(nil)), nil
}

// tables reads the rows of one table's files, by source.
func (w *walk) tables(ctx context.Context, m *manifest.Manifest, table string, list []manifest.File) (map[string]*tally, error) {
	out := map[string]*tally{}
	if len(list) == 0 {
		return out, nil
	}
	want, err := w.Log.LoadSchema(ctx, m.Tables[table].Schema)
	if err != nil {
		return out, w.damage(err, "I10", m.Seq)
	}
	switch {
	case w.opts.Checks&CheckSource == 0:
		want = narrow(want, schema.SourceID, schema.OffsetID)
	case table == w.Dead:
		want = narrow(want, deadColumns...)
	}
	for i := range list {
		n, err := w.file(ctx, list[i], want, out)
		if err != nil && unproved(err) {
			return nil, err
		}
		if err != nil {
			w.violation("I10", m.Seq, "%s cannot be read: %v", list[i].Key, err)
		} else if n != list[i].Rows {
			w.violation("I10", m.Seq, "%s has %d rows, the manifest says %d", list[i].Key, n, list[i].Rows)
		}
		w.report.Rows += n
	}
	return out, nil
}

// narrow leaves of a schema the columns with these ids.
func narrow(s *schema.Schema, ids ...int32) *schema.Schema {
	out := &schema.Schema{LastID: s.LastID}
	for _, f := range s.Fields {
		if slices.Contains(ids, f.ID) {
			out.Fields = append(out.Fields, f)
		}
	}
	return out
}

// file adds the rows of one file to the tallies.
func (w *walk) file(ctx context.Context, f manifest.File, want *schema.Schema, out map[string]*tally) (int64, error) {
	r, err := datafile.Open(object.NewReaderAt(ctx, w.Store, f.Key), f.Size)
	if err != nil {
		return 0, err
	}
	rows := int64(0)
	for b, err := range r.Blocks(want) {
		if err != nil {
			return rows, err
		}
		rows += int64(b.Rows)
		if err := count(b, out); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// count adds the rows of a block, whose first two columns are the record id.
func count(b *column.Block, out map[string]*tally) error {
	if len(b.Columns) < 2 || b.Columns[0].Values != b.Rows || b.Columns[1].Values != b.Rows {
		return fmt.Errorf("rows without a record id")
	}
	sources, offsets := b.Columns[0].Plain, b.Columns[1].Plain
	rows := column.NewCursor(b)
	var t *tally
	name := ""
	for rows.Next() {
		n := binary.LittleEndian.Uint32(sources)
		this := sources[4 : 4+n]
		sources = sources[4+n:]
		offset := int64(binary.LittleEndian.Uint64(offsets))
		offsets = offsets[8:]
		if t == nil || string(this) != name {
			name = string(this)
			if t = out[name]; t == nil {
				t = &tally{}
				out[name] = t
			}
		}
		t.add(record.IDHash(name, offset), source.Hash(rows.Hash()))
	}
	return nil
}

// ids holds the rows of a batch against its ranges.
func (w *walk) ids(m *manifest.Manifest, main, dead map[string]*tally) {
	want := map[string]*tally{}
	for i := range m.Batch.Ranges.Items {
		x := &m.Batch.Ranges.Items[i]
		t := want[x.Key]
		if t == nil {
			t = &tally{}
			want[x.Key] = t
		}
		t.rows += x.Records
		t.ids = t.ids.Add(x.IDSum)
	}
	got := map[string]*tally{}
	for _, part := range []map[string]*tally{main, dead} {
		for name, t := range part {
			if got[name] == nil {
				got[name] = &tally{}
			}
			got[name].join(*t)
		}
	}
	for name, t := range want {
		g := got[name]
		if g == nil {
			g = &tally{}
		}
		delete(got, name)
		if g.rows == t.rows && g.ids == t.ids {
			continue
		}
		w.report.Lost += max(t.rows-g.rows, 0)
		w.report.Doubled += max(g.rows-t.rows, 0)
		if g.rows == t.rows {
			w.report.Lost++
			w.report.Doubled++
		}
		w.violation("I14", m.Seq, "object %q: %d records in the range, %d rows in files, ids differ", name, t.rows, g.rows)
	}
	for name, g := range got {
		w.report.Doubled += g.rows
		w.violation("I14", m.Seq, "%d rows of object %q, which is not in the batch", g.rows, name)
	}
}

// kept proves that a manifest which consumes nothing changes no row: the files it
// adds hold the records of the files it removes (I15). What a rewind adds and
// removes follows from the snapshot that it names.
func (w *walk) kept(ctx context.Context, m *manifest.Manifest, added map[string][]manifest.File) error {
	if m.Kind == manifest.Rewind || w.opts.Checks&(CheckRows|CheckSource) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tables)) {
		removed := m.Tables[name].Remove.Items
		if len(added[name])+len(removed) == 0 {
			continue
		}
		now, err := w.tables(ctx, m, name, added[name])
		if err != nil {
			return err
		}
		before, err := w.tables(ctx, m, name, removed)
		if err != nil {
			return err
		}
		if a, b := total(now), total(before); a.rows != b.rows || a.ids != b.ids {
			w.violation("I15", m.Seq, "table %q: kind %s adds %d rows for the %d it removes, or others", name, m.Kind, a.rows, b.rows)
		}
	}
	return nil
}

// total joins the tallies of all sources.
func total(parts map[string]*tally) (sum tally) {
	for _, t := range parts {
		sum.join(*t)
	}
	return sum
}
