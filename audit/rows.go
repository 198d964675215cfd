package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"batcher/column"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
	"batcher/source/files"
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
	if w.opts.Checks&CheckHashes != 0 {
		if err := w.hashes(ctx, m, added); err != nil {
			return err
		}
	}
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
			body, _, err := w.Store.Get(ctx, f.Key, object.GetOptions{})
			if err != nil {
				return fmt.Errorf("read %s: %w", f.Key, err)
			}
			h := sha256.New()
			_, err = io.Copy(h, body)
			body.Close()
			if err != nil {
				return fmt.Errorf("read %s: %w", f.Key, err)
			}
			w.report.Hashed++
			if manifest.SHA256(h.Sum(nil)) != f.SHA256 {
				w.violation("I10", m.Seq, "%s has other bytes than the manifest says", f.Key)
			}
		}
	}
	return nil
}

// tables reads the rows of one table's files, by source.
func (w *walk) tables(ctx context.Context, m *manifest.Manifest, table string, list []manifest.File) (map[string]*tally, error) {
	out := map[string]*tally{}
	if len(list) == 0 {
		return out, nil
	}
	want, err := w.Log.LoadSchema(ctx, m.Tables[table].Schema)
	if err != nil {
		return nil, err
	}
	if w.opts.Checks&CheckSource == 0 {
		want = idColumns(want)
	}
	for i := range list {
		n, err := w.file(ctx, list[i], want, out)
		if ctx.Err() != nil || errors.Is(err, object.ErrUnknown) || errors.Is(err, object.ErrDenied) {
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

// idColumns narrows a schema to the columns that make the record id.
func idColumns(s *schema.Schema) *schema.Schema {
	out := &schema.Schema{LastID: s.LastID}
	for _, f := range s.Fields {
		if f.ID == schema.SourceID || f.ID == schema.OffsetID {
			out.Fields = append(out.Fields, f)
		}
	}
	return out
}

// file adds the rows of one file to the tallies.
func (w *walk) file(ctx context.Context, f manifest.File, want *schema.Schema, out map[string]*tally) (int64, error) {
	r, err := datafile.Open(readerAt{ctx, w.Store, f.Key}, f.Size)
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

// source reads the ranges of a batch again and compares row by row.
func (w *walk) source(ctx context.Context, m *manifest.Manifest, main, dead map[string]*tally) error {
	published, err := w.Log.LoadSchema(ctx, m.Tables[w.Table].Schema)
	if err != nil {
		return err
	}
	for i := range m.Batch.Ranges.Items {
		x := m.Batch.Ranges.Items[i]
		good, bad, err := w.reread(ctx, x, published)
		switch {
		case ctx.Err() != nil || errors.Is(err, object.ErrUnknown) || errors.Is(err, object.ErrDenied):
			return err
		case gone(err):
			w.report.Source.Unverifiable += x.Records
			continue
		case err != nil:
			w.report.Source.Mismatch += x.Records
			w.violation("I14", m.Seq, "object %q cannot be decoded as it was: %v", x.Key, err)
			continue
		}
		if same(good, main[x.Key], compareContent) && same(bad, dead[x.Key], compareIDs) {
			w.report.Source.Verified += x.Records
			continue
		}
		w.report.Source.Mismatch += x.Records
		w.violation("I14", m.Seq, "object %q: rows in files differ from the source's records [%d, %d)", x.Key, x.From, x.To)
	}
	return nil
}

type comparison uint8

const (
	compareIDs comparison = iota
	compareContent
)

func same(want tally, got *tally, how comparison) bool {
	if got == nil {
		got = &tally{}
	}
	return want.rows == got.rows && want.ids == got.ids && (how == compareIDs || want.content == got.content)
}

// gone says whether an object is no longer as it was consumed.
func gone(err error) bool {
	var gap *files.GapError
	return errors.Is(err, files.ErrStale) || errors.As(err, &gap) || errors.Is(err, object.ErrNotFound) || errors.Is(err, object.ErrChanged)
}

// reread decodes one range of the source under the published schema.
func (w *walk) reread(ctx context.Context, x source.Range, published *schema.Schema) (good, bad tally, err error) {
	rows := map[string]*tally{}
	d := record.NewDecoder(record.Options{
		Table: published, Rules: w.Rules, Limits: w.Record,
		Block: func(b *column.Block) error { return count(b, rows) },
		Dead: func(l record.DeadLetter) error {
			bad.add(record.IDHash(l.Source, l.Offset), source.Hash{})
			return nil
		},
	})
	body, err := w.Source.Open(ctx, files.Object{
		Info: object.Info{Key: x.Key, ETag: x.ETag, Size: x.Size, Modified: x.Modified}, From: x.From,
	})
	if err != nil {
		return good, bad, err
	}
	defer body.Close()
	in := record.Object{Source: x.Key, From: x.From}
	if !x.Last {
		in.MaxBytes = int64(x.To - x.From)
	}
	_, err = d.Decode(ctx, in, body)
	var broken *record.BrokenError
	if x.Broken != "" && errors.As(err, &broken) {
		bad = tally{}
		bad.add(record.IDHash(x.Key, int64(x.From)), source.Hash{})
		return tally{}, bad, nil
	}
	if err == nil {
		err = d.Flush()
	}
	if t := rows[x.Key]; t != nil {
		good = *t
	}
	return good, bad, err
}
