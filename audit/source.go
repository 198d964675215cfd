package audit

import (
	"context"
	"encoding/binary"
	"errors"

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
	published, err := w.writtenUnder(ctx, before, m)
	if err != nil {
		return w.damage(err, "I10", m.Seq)
	}
	for i := range m.Batch.Ranges.Items {
		x := m.Batch.Ranges.Items[i]
		good, bad, err := w.reread(ctx, x, published)
		switch {
		case err != nil && unproved(err):
			return err
		case gone(err):
			w.compared(x.Key, SourceReport{Unverifiable: x.Records})
		case err == nil && same(good, main[x.Source()]) && same(bad, dead[x.Source()]):
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
func (w *walk) writtenUnder(ctx context.Context, before, m *manifest.Manifest) (*schema.Schema, error) {
	ref := m.Tables[w.Table].Schema
	if m.Base < before.Seq && ref.SHA256 == before.Tables[w.Table].Schema.SHA256 {
		base, err := w.Log.Slot(ctx, m.Base)
		if err != nil {
			return nil, err
		}
		ref = base.Manifest.Tables[w.Table].Schema
	}
	return w.Log.LoadSchema(ctx, ref)
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

// gone says whether an object is no longer as it was consumed.
func gone(err error) bool {
	var gap *files.GapError
	return errors.Is(err, files.ErrStale) || errors.As(err, &gap) || errors.Is(err, object.ErrNotFound) || errors.Is(err, object.ErrChanged)
}

// reread decodes one range of the source under the published schema.
func (w *walk) reread(ctx context.Context, x source.Range, published *schema.Schema) (good, bad tally, err error) {
	rows := map[string]*tally{}
	letters := newLetters()
	limits := w.Record
	limits.MaxColumns = len(published.Leaves()) // what the batch made no column of is no column here
	d := record.NewDecoder(record.Options{
		Table: published, Rules: w.Rules, Limits: limits, Format: w.Format,
		Block: func(b *column.Block) (*column.Block, error) { return b, count(b, rows) },
		Dead: func(l record.DeadLetter) error {
			letters.add(&bad, l.Source, l.Offset, l.Raw, l.Length)
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
	in := record.Object{Source: x.Source(), From: x.From}
	if !x.Last {
		in.To = x.To
	}
	_, err = d.Decode(ctx, in, body)
	var broken *record.BrokenError
	if x.Broken != "" && errors.As(err, &broken) {
		bad = tally{}
		letters.add(&bad, x.Source(), int64(x.From), nil, x.Size)
		return tally{}, bad, nil
	}
	if err == nil {
		err = d.Flush()
	}
	if t := rows[x.Source()]; t != nil {
		good = *t
	}
	return good, bad, err
}

// deadColumns are the columns of a dead letter that follow from the source:
// which record it is, and its bytes. Stage, code and message are left out: they
// are for people, and another version may put them in other words.
var deadColumns = []int32{schema.SourceID, schema.OffsetID, schema.LastReserved + 1, schema.LastReserved + 2}

// letters hashes dead letters as the rows that they become.
type letters struct {
	block *column.Block
}

func newLetters() *letters {
	s := narrow(schema.DeadLetters(), deadColumns...)
	b := &column.Block{Schema: s, Rows: 1}
	for _, leaf := range s.Leaves() {
		b.Columns = append(b.Columns, &column.Vector{Kind: leaf.Field.Type.Kind, MaxDef: leaf.MaxDef, MaxRep: leaf.MaxRep, Def: []uint8{leaf.MaxDef}, Values: 1})
	}
	return &letters{b}
}

// add counts one dead letter.
func (l *letters) add(t *tally, name string, offset int64, raw []byte, length int64) {
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
	t.add(record.IDHash(name, offset), source.Hash(row.Hash()))
}
