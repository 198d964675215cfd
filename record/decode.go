package record

import (
	"errors"
	"fmt"
	"io"

	"batcher/source"
)

// Decode reads one object, whose stored bytes from the first on are r, from
// o.From to its end or limit. Records may reach Block and Dead during a later
// Decode or Flush. It fails with a BrokenError, with ErrRestart, with what r,
// Block or Dead failed with, or with stop's error.
func (d *Decoder) Decode(stop Stopper, o Object, r io.Reader) (Result, error) {
	if err := d.in.open(stop, source.KeyOf(o.Source), r); err != nil {
		return Result{}, err
	}
	in, err := d.openObject(o)
	if err != nil {
		return Result{}, err
	}
	if _, typed := in.(*typedReader); !typed && !d.text.eof && d.opt.Ahead != nil {
		r := d.opt.Ahead(d.text.r)
		defer r.Close()
		d.text.r = r
	}
	header := headerOf(in)
	reached, err := in.seek(int64(o.From))
	if err != nil {
		return Result{}, err
	}
	if !reached {
		return Result{}, fmt.Errorf("%w: it ends at %d, wanted %d", ErrShort, in.at(), o.From)
	}
	res, err := d.object(o, in)
	res.Header = header
	return res, err
}

// headerOf is where the keys of cells come from.
func headerOf(in reader) string {
	if z, ok := in.(*zerosReader); ok {
		in = z.reader
	}
	if c, ok := in.(*csvReader); ok {
		return string(c.dialect.Header)
	}
	return ""
}

// object reads the records of the object that is open.
func (d *Decoder) object(o Object, in reader) (Result, error) {
	t := tally{max: o, in: in, to: int64(o.From)}
	t.typed, _ = in.(*typedReader)
	d.id = append(make([]byte, 0, len(o.Source)+8), o.Source...)
	rec := &d.rec
	for !t.full() {
		err := in.next(rec)
		if err == io.EOF {
			t.ended = true
			break
		}
		if err == nil && t.past(rec) {
			t.to, t.stopped = rec.pos, true
			break
		}
		if err == nil && (o.Wanted == nil || o.Wanted(rec.pos)) {
			err = d.take(&t, rec)
		}
		if err != nil {
			return Result{}, t.taken(err)
		}
	}
	res, err := d.finish(&t)
	return res, t.taken(err)
}

// finish reads what must be read after the last record.
func (d *Decoder) finish(t *tally) (Result, error) {
	res := Result{Records: t.records, IDSum: t.sum, Container: d.in.kind}
	more := t.stopped
	if !t.stopped && !t.ended {
		var err error
		if more, err = t.in.more(); err != nil {
			return Result{}, err
		}
	}
	if res.Last = !more; res.Last {
		t.to = max(t.to, t.in.at())
	}
	res.To = source.Position(t.to)
	res.Bytes = t.bytes(t.to)
	if t.max.From == 0 && (d.in.kind != containerPlain || !isLined(t.in)) {
		if err := t.in.verify(); err != nil {
			return Result{}, err
		}
	}
	if res.Last {
		res.Content = d.in.content()
	}
	return res, nil
}

// isLined says whether text can be cut whatever follows.
func isLined(in reader) bool {
	switch in.(type) {
	case *lineReader, *csvReader:
		return true
	}
	return false
}

// tally counts what was consumed of one object.
type tally struct {
	max     Object
	in      reader
	typed   *typedReader // in, where positions count records; else nil
	to      int64        // position after the last record consumed
	ended   bool         // the object ends there
	stopped bool         // another record follows
	records int64
	sum     source.Hash
}

// taken notes in a BrokenError how many records were taken before it.
func (t *tally) taken(err error) error {
	var broken *BrokenError
	if errors.As(err, &broken) {
		broken.Taken = t.records
	}
	return err
}

// full says whether the object's limits are reached.
func (t *tally) full() bool {
	return (t.max.To > 0 && t.to >= int64(t.max.To)) ||
		(t.max.MaxBytes > 0 && t.bytes(t.to) >= t.max.MaxBytes) ||
		(t.max.MaxRecords > 0 && t.records >= t.max.MaxRecords)
}

// past says whether a record begins after a limit. The first one never does except
// for a limit that is a position.
func (t *tally) past(rec *record) bool {
	return t.max.To > 0 && rec.pos >= int64(t.max.To) || t.max.MaxBytes > 0 && t.records > 0 && t.bytes(rec.pos) >= t.max.MaxBytes
}

// bytes is how many decoded bytes are before a position that was reached.
func (t *tally) bytes(to int64) int64 {
	if t.typed != nil {
		return t.typed.size
	}
	return to - int64(t.max.From)
}

// take counts a record and passes it to the phase.
func (d *Decoder) take(t *tally, rec *record) error {
	rec.source, rec.turned = d.id, d.text.width != nil
	t.records++
	t.sum = t.sum.Add(idHash(d.id, rec.pos))
	d.batch += rec.length + 1
	t.to = rec.next
	if rec.bad == fine && rec.tooLong(d.limits.MaxRecordBytes) {
		rec.bad = tooLong
		rec.raw, rec.length = rec.by.show(rec)
	}
	switch d.phase {
	case priming:
		d.primed.add(rec, d.limits.PrimeBytes)
		if d.primed.full(d.limits.PrimeBytes) {
			return d.start()
		}
		return nil
	case emitting:
		return d.emit(rec)
	}
	return d.learn(rec)
}
