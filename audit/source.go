package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"batcher/column"
	"batcher/manifest"
	"batcher/object"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
	"batcher/source/files"
)

// source reads the ranges of a batch again and compares row by row.
func (w *walk) source(ctx context.Context, before, m *manifest.Manifest, main, dead map[string]*tally) error {
	ref, err := w.writtenUnder(ctx, before, m)
	if err != nil {
		return w.damage(err, "I10", m.Seq)
	}
	published, err := w.Log.LoadSchema(ctx, ref)
	if err != nil {
		return w.damage(err, "I10", m.Seq)
	}
	for i := range m.Batch.Ranges.Items {
		x := m.Batch.Ranges.Items[i]
		var got records
		err := w.reread(ctx, x, published, &got)
		if agrees := err == nil && same(got.good, main[x.Source()]) && same(got.bad, dead[x.Source()]); !agrees && !gone(err) && !unproved(err) {
			if others, err := w.othersBytes(ctx, x); err != nil {
				return err
			} else if others {
				w.compared(x.Key, SourceReport{Unverifiable: x.Records})
				continue
			}
		}
		switch {
		case err != nil && unproved(err):
			return err
		case gone(err):
			w.compared(x.Key, SourceReport{Unverifiable: x.Records})
		case err == nil && same(got.good, main[x.Source()]) && same(got.bad, dead[x.Source()]):
			w.compared(x.Key, SourceReport{Verified: x.Records})
		case w.Config != "" && w.Config != m.Config.Hash:
			w.compared(x.Key, SourceReport{Unverifiable: x.Records, Reconfigured: x.Records})
		case err != nil:
			w.report.Source.Mismatch += x.Records
			w.violation("I14", m.Seq, "object %q cannot be decoded as it was: %v", x.Key, err)
		default:
			w.report.Source.Mismatch += x.Records
			w.violation("I14", m.Seq, "object %q: rows in files differ from the source's records [%d, %d)", x.Key, x.From, x.To)
		}
	}
	return nil
}

// writtenUnder is the schema under which the rows of a batch were written: the one
// after m where m added columns, else the one on which its attempt began. In between
// a rival may have added columns that the batch knew nothing of: what they hold in
// other rows stands in _rescued in these.
func (w *walk) writtenUnder(ctx context.Context, before, m *manifest.Manifest) (manifest.SchemaRef, error) {
	ref := m.Tables[w.Table].Schema
	if m.Base < before.Seq && ref.SHA256 == before.Tables[w.Table].Schema.SHA256 {
		base, err := w.Log.Slot(ctx, m.Base)
		if err != nil {
			return ref, err
		}
		ref = base.Manifest.Tables[w.Table].Schema
	}
	return ref, nil
}

// compared counts records whose rows were compared with the source, or could not be.
func (w *walk) compared(key string, r SourceReport) {
	w.sources[key] = w.sources[key].plus(r)
	w.report.Source = w.report.Source.plus(r)
}

func (r SourceReport) plus(o SourceReport) SourceReport {
	return SourceReport{r.Verified + o.Verified, r.Unverifiable + o.Unverifiable, r.Mismatch + o.Mismatch, r.Reconfigured + o.Reconfigured}
}

func (r SourceReport) minus(o SourceReport) SourceReport {
	return SourceReport{r.Verified - o.Verified, r.Unverifiable - o.Unverifiable, r.Mismatch - o.Mismatch, r.Reconfigured - o.Reconfigured}
}

// uncount is what a manifest that replaces an object took out of the report: its
// rows are no more, until a rewind brings them back.
type uncount struct {
	seq    manifest.Seq
	key    string
	source SourceReport
}

// uncounts takes an object that is replaced out of the report.
func (w *walk) uncounts(seq manifest.Seq, key string) {
	if r, ok := w.sources[key]; ok {
		w.uncounted = append(w.uncounted, uncount{seq, key, r})
		w.report.Source = w.report.Source.minus(r)
		delete(w.sources, key)
	}
}

// recount puts back what manifests took out of the report that a rewind undoes.
func (w *walk) recount(to manifest.Seq) {
	for i := len(w.uncounted) - 1; i >= 0 && w.uncounted[i].seq > to; i-- {
		w.compared(w.uncounted[i].key, w.uncounted[i].source)
		w.uncounted = w.uncounted[:i]
	}
}

// same says whether the rows in files are those that were read again.
func same(want tally, got *tally) bool {
	if got == nil {
		got = &tally{}
	}
	return want == *got
}

// errUnseen says that an object is in an archive now, or was quarantined unread: there
// is nothing to compare its records with.
var errUnseen = errors.New("content is out of sight")

// othersBytes says whether an object that its identity gives out as the one which was
// consumed has other bytes: in a directory an edit may keep size and time. Where the
// hash of what was consumed is not known it is taken for the same. In a bucket other
// bytes under one ETag are no edit.
func (w *walk) othersBytes(ctx context.Context, x source.Range) (bool, error) {
	if !w.Source.Timed() {
		return false, nil
	}
	content := x.Content
	if content.IsZero() {
		e, found, err := w.Set.Find(ctx, w.head.Manifest.Progress.Files, x.Key)
		if err != nil || !found || e.Identity != w.Source.Identity(x.Key, x.ETag, x.Size) || e.Content.IsZero() {
			return false, w.damage(err, "I10", w.head.Manifest.Seq)
		}
		content = e.Content
	}
	body, err := w.Source.Open(ctx, files.Object{Info: object.Info{Key: x.Key, ETag: x.ETag, Size: x.Size, Modified: x.Modified}})
	if err == nil {
		defer body.Close()
		h := sha256.New()
		if _, err = io.Copy(h, body); err == nil {
			return source.Hash(h.Sum(nil)[:16]) != content, nil
		}
	}
	if gone(err) {
		return true, nil
	}
	return false, err
}

// gone says whether an object is no longer as it was consumed.
func gone(err error) bool {
	var gap *files.GapError
	return errors.Is(err, errUnseen) || errors.Is(err, files.ErrStale) || errors.As(err, &gap) || errors.Is(err, object.ErrNotFound) || errors.Is(err, object.ErrChanged)
}

// records is what a range of the source gives under the pipeline file at hand: rows
// and dead letters. Of either the content of each is kept by position if there is a
// map for it.
type records struct {
	drop      []int32 // fields at the top that are not compared
	good, bad tally
	rows      map[int64]source.Hash
	letters   map[int64]source.Hash
	hash      *letterHash
}

// block takes rows.
func (r *records) block(b *column.Block) error {
	rows := column.NewCursor(leave(b, r.drop))
	return recordIDs(b, func(name string, offset int64) {
		rows.Next()
		content := source.Hash(rows.Hash())
		r.good.add(record.IDHash(name, offset), content)
		if r.rows != nil {
			r.rows[offset] = content
		}
	})
}

// letter takes a dead letter.
func (r *records) letter(name string, offset int64, raw []byte, length int64) {
	if r.hash == nil {
		r.hash = newLetterHash()
	}
	content := r.hash.of(name, offset, raw, length)
	r.bad.add(record.IDHash(name, offset), content)
	if r.letters != nil {
		r.letters[offset] = content
	}
}

// broken takes the one dead letter of an object whose container is broken, in the
// place of all that was taken.
func (r *records) broken(x source.Range) {
	r.good, r.bad = tally{}, tally{}
	clear(r.rows)
	clear(r.letters)
	r.letter(x.Source(), int64(x.From), nil, x.Size)
}

// reread decodes one range of the source under the published schema.
func (w *walk) reread(ctx context.Context, x source.Range, published *schema.Schema, out *records) error {
	if x.Unread() {
		return errUnseen
	}
	limits := w.Record
	limits.MaxColumns = len(published.Leaves()) // what the batch made no column of is no column here
	d := record.NewDecoder(record.Options{
		Table: published, Rules: w.Rules, Limits: limits, Format: w.Format,
		Block: func(b *column.Block) (*column.Block, error) { return b, out.block(b) },
		Dead: func(l record.DeadLetter) error {
			out.letter(l.Source, l.Offset, l.Raw, l.Length)
			return nil
		},
	})
	body, err := w.Source.Open(ctx, files.Object{
		Info: object.Info{Key: x.Key, ETag: x.ETag, Size: x.Size, Modified: x.Modified}, From: x.From,
	})
	if u, ok := errors.AsType[*files.UnreadableError](err); ok && u.Cause == files.Archived {
		return fmt.Errorf("%w: %w", errUnseen, u)
	}
	if err != nil {
		return err
	}
	defer body.Close()
	in := record.Object{Source: x.Source(), From: x.From, Header: x.Headed()}
	if !x.Last {
		in.To = x.To
	}
	_, err = d.Decode(ctx, in, body)
	var broken *record.BrokenError
	if x.Broken != "" && errors.As(err, &broken) {
		out.broken(x)
		return nil
	}
	if err == nil {
		err = d.Flush()
	}
	return err
}

// deadColumns are the columns of a dead letter that follow from the source:
// which record it is, and its bytes. Stage, code and message are left out: they
// are for people, and another version may put them in other words.
var deadColumns = []int32{schema.SourceID, schema.OffsetID, schema.LastReserved + 1, schema.LastReserved + 2}

// letterHash hashes dead letters as the rows that they become.
type letterHash struct {
	block *column.Block
}

func newLetterHash() *letterHash {
	s := narrow(schema.DeadLetters(), deadColumns...)
	b := &column.Block{Schema: s, Rows: 1}
	for _, leaf := range s.Leaves() {
		b.Columns = append(b.Columns, &column.Vector{Kind: leaf.Field.Type.Kind, MaxDef: leaf.MaxDef, MaxRep: leaf.MaxRep, Def: []uint8{leaf.MaxDef}, Values: 1})
	}
	return &letterHash{b}
}

// of hashes one dead letter.
func (l *letterHash) of(name string, offset int64, raw []byte, length int64) source.Hash {
	text := func(v *column.Vector, s string) {
		v.Plain = append(binary.LittleEndian.AppendUint32(v.Plain[:0], uint32(len(s))), s...)
	}
	number := func(v *column.Vector, n int64) { v.Plain = binary.LittleEndian.AppendUint64(v.Plain[:0], uint64(n)) }
	c := l.block.Columns
	text(c[0], name)
	number(c[1], offset)
	text(c[2], string(raw))
	number(c[3], length)
	row := column.NewCursor(l.block)
	row.Next()
	return source.Hash(row.Hash())
}
