package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"batcher/batch"
	"batcher/column"
	"batcher/object"
	"batcher/output"
	"batcher/record"
	"batcher/schema"
	"batcher/source/files"
)

// try is one way to read a batch: what earlier ones learned, and where it is.
type try struct {
	*run
	prepared  *prepared
	published *schema.Schema
	learned   *schema.Schema
	limits    batch.Limits
	broken    map[string]*record.BrokenError
	left      map[string]bool // objects that are left out: not as listed, or not to be read
	cutoff    time.Time
	gather    *batch.Gather
	replaces  bool   // the batch is one of objects that replace others
	current   string // object being read
	files     [2]int // numbers of the next files, main and dead
}

// read gathers objects into files until the batch is full, and seals it.
func (t *try) read(ctx context.Context, objects []files.Object) error {
	p := t.prepared
	p.used, p.away, t.replaces = 0, nil, false
	p.main = t.output(t.Table, &t.files[0], t.Config.PartitionBy())
	p.dead = t.output(t.Dead, &t.files[1], nil)
	behind := output.NewBacklog()
	defer behind.Stop()
	t.gather = batch.New(batch.Options{
		Schema: t.published, Learned: t.learned, Rules: t.Rules, Record: t.Record, Limits: t.limits, Format: t.Format, Ahead: readAhead,
		Main: func(b *column.Block) (*column.Block, error) { return behind.Write(ctx, p.main, b) },
		Dead: func(b *column.Block) (*column.Block, error) { return behind.Write(ctx, p.dead, b) },
	})
	fetch := newFetcher(t.Source, t.readable(objects[:t.room(objects)]))
	defer fetch.stop()
	for _, o := range objects {
		if t.gather.Full(o.Key, o.Size) || t.gather.Cut() || t.over() || !t.gather.Empty() && o.Replaces != t.replaces {
			break
		}
		t.replaces = o.Replaces
		if err := t.object(ctx, fetch, o); err != nil {
			return err
		}
		p.used++
	}
	var budget *batch.Budget
	switch {
	case t.opts.AcceptBad == AcceptBad:
	case t.head.Fresh():
		budget = batch.First(t.Budget)
	default:
		budget = &t.Budget
	}
	var err error
	if p.sealed, err = t.gather.Seal(budget); err != nil {
		return err
	}
	if err := behind.Settle(); err != nil {
		return err
	}
	if err := p.main.Close(ctx); err != nil {
		return err
	}
	if err := p.dead.Close(ctx); err != nil || !t.replaces || t.gather.Empty() {
		return err
	}
	if err := t.replace(ctx); err != nil {
		return t.Log.Absent(ctx, t.head, t.head, err)
	}
	return nil
}

// room is how many of the objects the batch has room for, as far as that is known before
// they are read. What is read ahead beyond them the next batch would read again.
func (t *try) room(objects []files.Object) int {
	most, bytes := t.limits, int64(0)
	for i, o := range objects {
		bytes += o.Size
		full := most.Objects > 0 && int64(i) >= most.Objects || most.Bytes > 0 && bytes > most.Bytes
		if i > 0 && (full || o.Replaces != objects[0].Replaces) {
			return i
		}
	}
	return len(objects)
}

// readable leaves out what an earlier try of the batch found not to be read: read
// ahead and never asked for, it would keep others from being read ahead.
func (t *try) readable(objects []files.Object) []files.Object {
	if len(t.broken)+len(t.left)+len(t.unread.waiting) == 0 && t.Rules.Key == nil {
		return objects
	}
	return slices.DeleteFunc(slices.Clone(objects), func(o files.Object) bool {
		return t.broken[o.Key] != nil || t.left[o.Key] || t.unread.waiting[o.Key] != nil || Misnamed(t.Rules, o.Key) != nil
	})
}

// over says whether the batch has to end for the deadline's sake.
func (t *try) over() bool {
	return !t.cutoff.IsZero() && !t.gather.Empty() && t.Clock.Now().After(t.cutoff)
}

// object reads one object into the batch.
func (t *try) object(ctx context.Context, fetch *fetcher, o files.Object) error {
	t.current = o.Key
	in := batch.Object{Info: o.Range(), Whole: o.Replaces}
	if o.Late {
		in.Late = batch.Late
	}
	if broken := t.broken[o.Key]; broken != nil {
		return t.gather.Quarantine(in, broken)
	}
	if _, waits := t.unread.waiting[o.Key]; waits || t.left[o.Key] {
		return nil
	}
	if o.Exact != nil && !o.Exact.Last {
		in.To = o.Exact.To
	}
	begun := t.Clock.Now()
	opened, err := t.take(ctx, fetch, o, in)
	gaveUp, err := t.giveUp(ctx, o, in, err)
	if gaveUp && err == nil {
		t.unread.lost += t.Clock.Now().Sub(begun)
		if opened {
			return errWithout
		}
		return nil
	}
	var broken *record.BrokenError
	if errors.As(err, &broken) && broken.Taken == 0 && !t.FailBroken {
		t.quarantined(o.Key, broken)
		return t.gather.Quarantine(in, broken)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o.Key, err)
	}
	t.unread.readOne()
	t.progress()
	return nil
}

// take opens an object and reads it into the batch.
func (t *try) take(ctx context.Context, fetch *fetcher, o files.Object, in batch.Object) (opened bool, err error) {
	if t.unread.lost >= patience {
		ctx = object.Hurried(ctx)
	}
	if err := Misnamed(t.Rules, o.Key); err != nil {
		return false, err
	}
	body, err := t.open(ctx, fetch, o)
	if err != nil {
		return false, err
	}
	err = t.gather.Read(ctx, in, body)
	_ = body.Close()
	return true, err
}

// errWithout says that a part of an object was taken that is now left out: the batch
// is read again without it.
var errWithout = errors.New("an object is left out")

// giveUp says whether an error means that the batch goes on without an object, because
// it is not as it was listed or cannot be read. It returns any other error, and what
// ends the run.
func (t *try) giveUp(ctx context.Context, o files.Object, in batch.Object, err error) (bool, error) {
	cannot := unreadable(err)
	switch {
	case errors.Is(err, files.ErrStale):
		t.miss(o, err)
	case cannot == nil:
		return false, err
	case t.Unreadable == QuarantineUnreadable:
		if err := t.bears(ctx, cannot); err != nil {
			return false, err
		}
		t.quarantined(o.Key, defective(cannot))
		return true, t.gather.Quarantine(in, t.broken[o.Key])
	default:
		if err := t.bears(ctx, cannot); err != nil {
			return false, err
		}
		t.wait(o, cannot)
	}
	t.left[o.Key] = true
	return true, nil
}

// open returns the stored bytes of an object. Once a container broke late in this
// run, each is read to its end first: that is dearer than to start over once, and
// cheaper than to start over for each of many.
func (t *try) open(ctx context.Context, fetch *fetcher, o files.Object) (io.ReadCloser, error) {
	body, err := fetch.next(ctx, o)
	if err != nil || !t.distrust {
		return body, err
	}
	err = record.CheckContainer(ctx, o.Key, body, t.Record)
	_ = body.Close()
	if err != nil {
		return nil, err
	}
	return t.Source.Open(ctx, o)
}

// quarantined notes that an object cannot be read.
func (t *try) quarantined(key string, broken *record.BrokenError) {
	t.broken[key] = broken
	t.Logger.Warn("object is quarantined", "object", key, "reason", broken.Reason, "offset", broken.Offset)
}

func (t *try) output(table string, next *int, partitionBy []string) *output.Files {
	return output.New(output.Options{Store: t.Store, Table: table, Base: t.head.Manifest.Seq, Attempt: t.prepared.attempt,
		File: t.File, Bytes: t.FileBytes, PartitionBy: partitionBy, Next: next})
}

func (t *try) progress() {
	if t.Step == nil {
		return
	}
	objects, records, bytes := t.gather.Counts()
	t.Step(Step{
		Objects: t.report.Objects.Read + objects, Planned: t.report.planObjects,
		Records: t.report.Rows.Read + records, Bytes: t.report.Bytes.Read + bytes, Batches: t.report.Batches,
	})
}
