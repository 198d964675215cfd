package audit

import (
	"bytes"
	"context"
	"errors"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/segment"
)

// change is one step of one object, with what was known of it before. A rewind
// undoes changes, and that is a change again: so that a later rewind can go to
// any snapshot, also to one that an earlier rewind left.
type change struct {
	seq   manifest.Seq
	key   string
	was   standing
	known bool
}

// move notes how an object stands now.
func (w *walk) move(seq manifest.Seq, key string, to standing) {
	was, known := w.objects[key]
	w.changes = append(w.changes, change{seq, key, was, known})
	w.set(key, to)
}

// set makes an object stand somewhere.
func (w *walk) set(key string, to standing) {
	w.total = w.total.minus(w.objects[key].rows).plus(to.rows)
	w.objects[key] = to
}

// rewind proves that a manifest restores the progress of the snapshot that it
// names, and brings the objects back to where they stood then.
func (w *walk) rewind(ctx context.Context, m *manifest.Manifest) error {
	if m.RewindTo == nil || *m.RewindTo >= m.Seq {
		return nil // Apply says so
	}
	then, ok, err := w.slot(ctx, *m.RewindTo)
	if err != nil || !ok {
		return err
	}
	want, err := segment.EncodeObject(then.Manifest.Progress)
	if err != nil {
		return err
	}
	got, err := segment.EncodeObject(m.Progress)
	if err != nil {
		return err
	}
	if !bytes.Equal(want, got) {
		w.violation("I4", m.Seq, "the progress is not that of manifest %d, which is restored", *m.RewindTo)
	}
	if f := m.Progress.Files; f != nil {
		w.done, w.sum = f.Count, f.Sum
	}
	w.recount(*m.RewindTo)
	if *m.RewindTo < w.opts.Since {
		clear(w.objects)
		w.changes = nil
		w.open(m)
		w.partly = true
		return nil
	}
	var undone []change
	for i := len(w.changes) - 1; i >= 0 && w.changes[i].seq > *m.RewindTo; i-- {
		c := w.changes[i]
		was, known := w.objects[c.key]
		undone = append(undone, change{m.Seq, c.key, was, known})
		w.set(c.key, c.was)
		if !c.known {
			delete(w.objects, c.key)
		}
	}
	w.changes = append(w.changes, undone...)
	return nil
}

// open takes over where a manifest says that objects stand which are consumed in
// part, and forgets where others did.
func (w *walk) open(m *manifest.Manifest) {
	for key, next := range w.objects {
		if next.next != doneObject {
			delete(w.objects, key)
		}
	}
	if f := m.Progress.Files; f != nil {
		for _, o := range f.Open {
			w.objects[o.Key] = standing{next: o.Next, was: o.Was}
		}
	}
}

// retain notes the files that the first retained snapshot needs.
func (w *walk) retain(ctx context.Context) error {
	seq := w.head.Manifest.RetainFrom
	if seq <= 0 || seq > w.head.Manifest.Seq {
		return nil
	}
	first, ok, err := w.slot(ctx, seq)
	if err != nil || !ok {
		return err
	}
	for _, t := range first.Manifest.Tables {
		list, err := w.Log.LoadLive(ctx, t.Live)
		if err := w.damage(err, "I10", seq); err != nil {
			return err
		}
		for i := range list {
			w.retained[list[i].Key] = true
		}
	}
	return nil
}

// expired says whether a run that cannot be had is one that garbage collection
// may have deleted: the walk is blind then up to the first retained snapshot.
func (w *walk) expired(seq manifest.Seq, err error) bool {
	gone := w.collected(seq, err)
	w.blind = w.blind || gone
	return gone
}

// collected says whether a run that cannot be had is one that garbage collection may
// have deleted.
func (w *walk) collected(seq manifest.Seq, err error) bool {
	var missing *commit.MissingError
	return seq < w.head.Manifest.RetainFrom && errors.As(err, &missing)
}

// lapsed says whether a file cannot be had because no retained snapshot needs it, so
// that garbage collection deleted it after it was listed. The walk does not count then.
func (w *walk) lapsed(f *manifest.File, err error) bool {
	gone := errors.Is(err, object.ErrNotFound) && f.Seq < w.head.Manifest.RetainFrom && !w.retained[f.Key]
	w.outrun = w.outrun || gone
	return gone
}
