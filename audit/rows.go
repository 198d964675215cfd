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

// plus joins two tallies.
func (t tally) plus(o tally) tally {
	t.join(o)
	return t
}

// minus takes rows off a tally that has them.
func (t tally) minus(o tally) tally {
	return tally{t.rows - o.rows, t.ids.Sub(o.ids), t.content.Sub(o.content)}
}

// rows proves that the files of a batch hold exactly the records of its ranges and,
// where it replaces objects, that of the files that it takes away exactly the rows
// of these are gone.
func (w *walk) rows(ctx context.Context, before, m *manifest.Manifest, added, gone map[string][]manifest.File) error {
	main, err := w.tables(ctx, m, w.Table, added[w.Table])
	if err != nil {
		return err
	}
	dead, err := w.tables(ctx, m, w.Dead, added[w.Dead])
	if err != nil {
		return err
	}
	got := map[string]*tally{}
	for _, part := range []map[string]*tally{main, dead} {
		for name, t := range part {
			at(got, name).join(*t)
			w.report.Rows += t.rows
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		away, err := w.tables(ctx, before, name, gone[name])
		if err != nil {
			return err
		}
		for source, t := range away {
			*at(got, source) = at(got, source).minus(*t)
		}
	}
	w.ids(m, got)
	if w.opts.Checks&CheckSource == 0 {
		return nil
	}
	if m.Kind == manifest.Replace {
		if err := w.kept(ctx, before, m, added, gone); err != nil {
			return err
		}
	}
	if w.superseded(m) {
		return nil // its rows are held against the source where they are now: see await
	}
	return w.source(ctx, before, m, main, dead)
}

// hashes reads every file whole.
func (w *walk) hashes(ctx context.Context, m *manifest.Manifest, added map[string][]manifest.File) error {
	for _, list := range added {
		for i := range list {
			f := &list[i]
			sum, err := w.hash(ctx, f.Key)
			if w.lapsed(f, err) {
				continue
			}
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

// tables reads the rows of one table's files, by source, under the schema that it
// has after m.
func (w *walk) tables(ctx context.Context, m *manifest.Manifest, table string, list []manifest.File) (map[string]*tally, error) {
	out := map[string]*tally{}
	if len(list) == 0 {
		return out, nil
	}
	want, err := w.Log.LoadSchema(ctx, m.Tables[table].Schema)
	if err != nil {
		return out, w.damage(err, "I10", m.Seq)
	}
	if w.opts.Checks&CheckSource == 0 {
		want = narrow(want, append(w.splitting(table, want), schema.SourceID, schema.OffsetID)...)
		return out, w.read(ctx, m.Seq, list, want, out)
	}
	same := want
	if table == w.Dead {
		same = narrow(want, deadColumns...)
	}
	if err := w.read(ctx, m.Seq, list, same, out); err != nil {
		return out, err
	}
	return out, w.statistics(ctx, m.Seq, list, without(want, same))
}

// read adds the rows of files to the tallies, and proves what their manifest says of
// the columns that it reads.
func (w *walk) read(ctx context.Context, seq manifest.Seq, list []manifest.File, want *schema.Schema, out map[string]*tally) error {
	return w.scan(ctx, seq, list, want, func(b *column.Block) error { return count(b, out) })
}

// scan passes the rows of files on, and proves what their manifest says of the columns
// that it reads. A file that cannot be read is a finding.
func (w *walk) scan(ctx context.Context, seq manifest.Seq, list []manifest.File, want *schema.Schema, take func(*column.Block) error) error {
	for i := range list {
		f := &list[i]
		partition, held := w.partition(seq, *f), hold(f, want)
		n, err := w.blocks(ctx, *f, want, func(b *column.Block) error {
			partition(b)
			held.add(b)
			return take(b)
		})
		switch {
		case err != nil && unproved(err):
			return err
		case w.lapsed(f, err):
		case err != nil:
			w.violation("I10", seq, "%s cannot be read: %v", f.Key, err)
		case n != f.Rows:
			w.violation("I10", seq, "%s has %d rows, the manifest says %d", f.Key, n, f.Rows)
		default:
			w.held(seq, f, held)
		}
	}
	return nil
}

// at returns the tally of a source, a new one if there is none.
func at(parts map[string]*tally, name string) *tally {
	t := parts[name]
	if t == nil {
		t = &tally{}
		parts[name] = t
	}
	return t
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

// blocks passes the rows of a file on, and counts them.
func (w *walk) blocks(ctx context.Context, f manifest.File, want *schema.Schema, take func(*column.Block) error) (rows int64, err error) {
	r, err := datafile.Open(object.NewReaderAt(ctx, w.Store, f.Key), f.Size)
	if err != nil {
		return 0, err
	}
	for b, err := range r.Blocks(want) {
		if err != nil {
			return rows, err
		}
		rows += int64(b.Rows)
		if err := take(b); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// count adds the rows of a block, whose first two columns are the record id.
func count(b *column.Block, out map[string]*tally) error {
	rows := column.NewCursor(b)
	var t *tally
	last := ""
	return recordIDs(b, func(name string, offset int64) {
		rows.Next()
		if t == nil || name != last {
			t, last = at(out, name), name
		}
		t.add(record.IDHash(name, offset), source.Hash(rows.Hash()))
	})
}

// recordIDs passes on the record id of each row of a block, whose first two columns it
// is.
func recordIDs(b *column.Block, take func(name string, offset int64)) error {
	if len(b.Columns) < 2 || b.Columns[0].Values != b.Rows || b.Columns[1].Values != b.Rows {
		return fmt.Errorf("rows without a record id")
	}
	sources, offsets := b.Columns[0].Plain, b.Columns[1].Plain
	name := ""
	for range b.Rows {
		n := binary.LittleEndian.Uint32(sources)
		this := sources[4 : 4+n]
		sources = sources[4+n:]
		offset := int64(binary.LittleEndian.Uint64(offsets))
		offsets = offsets[8:]
		if string(this) != name {
			name = string(this)
		}
		take(name, offset)
	}
	return nil
}

// ids holds the rows that came, less those that went, against the ranges and the
// rows that replaced objects had. These are taken together under their keys.
func (w *walk) ids(m *manifest.Manifest, got map[string]*tally) {
	replaced, want := map[string]bool{}, map[string]*tally{}
	for _, r := range m.Batch.Replaced.Items {
		replaced[r.Key] = true
		*at(want, r.Key) = tally{}.minus(tally{rows: r.Rows, ids: r.IDSum})
	}
	under := func(name string) string {
		if key := source.KeyOf(name); replaced[key] {
			return key
		}
		return name
	}
	for i := range m.Batch.Ranges.Items {
		x := &m.Batch.Ranges.Items[i]
		at(want, under(x.Source())).join(tally{rows: x.Records, ids: x.IDSum})
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if key := under(name); key != name {
			at(got, key).join(*got[name])
			delete(got, name)
		}
	}
	for name, t := range want {
		g := at(got, name)
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
		if g.rows == 0 && g.ids == (source.Hash{}) {
			continue // in files that were written again without the rows of others
		}
		w.report.Lost += max(-g.rows, 0)
		w.report.Doubled += max(g.rows, 0)
		w.violation("I14", m.Seq, "%d rows of object %q, which is not in the batch", g.rows, name)
	}
}
