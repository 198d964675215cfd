package audit

import (
	"context"
	"errors"
	"fmt"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/segment"
)

// list notes the size of every object below a folder.
func (w *walk) list(ctx context.Context, folder string) error {
	for info, err := range w.Store.List(ctx, folder, object.Deep) {
		if err != nil {
			return fmt.Errorf("list %s: %w", folder, err)
		}
		w.sizes[info.Key] = info.Size
	}
	return nil
}

// entry is the hash of a file as a list names it.
func entry(f *manifest.File) (manifest.SHA256, error) {
	b, err := segment.EncodeObject(f)
	return manifest.Sum(b), err
}

// beginTables lists the data of tables that the walk sees for the first time.
func (w *walk) beginTables(ctx context.Context, m *manifest.Manifest) error {
	for name := range m.Tables {
		if w.live[name] != nil {
			continue
		}
		w.live[name] = map[string]manifest.SHA256{}
		if err := w.list(ctx, manifest.TableData(name)); err != nil {
			return err
		}
	}
	return nil
}

// takeOver makes what a manifest says of its state the state of the walk: where
// it begins, and where a list cannot be read from which the state would follow.
func (w *walk) takeOver(ctx context.Context, m *manifest.Manifest) error {
	if f := m.Progress.Files; f != nil {
		w.done, w.sum = f.Count, f.Sum
	}
	w.open(m)
	w.partly = true
	for name, t := range m.Tables {
		clear(w.live[name])
		list, err := w.Log.LoadLive(ctx, t.Live)
		if w.expired(m.Seq, err) {
			continue
		}
		if err := w.damage(err, "I10", m.Seq); err != nil {
			return err
		}
		for i := range list {
			if _, err := w.sized(ctx, m.Seq, &list[i]); err != nil {
				return err
			}
			w.files[list[i].Key] = list[i].Seq
			if w.live[name][list[i].Key], err = entry(&list[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// added folds what a manifest does to the live files.
func (w *walk) added(m *manifest.Manifest) error {
	for name, t := range m.Tables {
		for i := range t.Remove.Items {
			f := &t.Remove.Items[i]
			if _, ok := w.live[name][f.Key]; !ok {
				w.violation("I11", m.Seq, "%s is removed but not live", f.Key)
			}
			delete(w.live[name], f.Key)
		}
		for i := range t.Add.Items {
			f := &t.Add.Items[i]
			before, again := w.files[f.Key]
			_, live := w.live[name][f.Key]
			if again && (live || m.Kind != manifest.Rewind) {
				w.violation("I11", m.Seq, "%s was already added by manifest %d", f.Key, before)
			}
			if !again {
				w.files[f.Key] = m.Seq
			}
			var err error
			if w.live[name][f.Key], err = entry(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// present proves that the files which a manifest made live are there, in their
// size. It returns those that are, by table, and whether none was deleted because
// no retained snapshot needs it.
func (w *walk) present(ctx context.Context, m *manifest.Manifest) (map[string][]manifest.File, bool, error) {
	out, whole := map[string][]manifest.File{}, true
	for name, t := range m.Tables {
		for _, f := range t.Add.Items {
			there, err := w.sized(ctx, m.Seq, &f)
			switch {
			case err != nil:
				return nil, false, err
			case there:
				out[name] = append(out[name], f)
			case m.Seq < w.head.Manifest.RetainFrom && !w.retained[f.Key]:
				whole = false
			}
		}
		if m.Kind != manifest.Rewind { // which brings back files that were counted
			w.report.Files += t.Add.Count
		}
	}
	return out, whole, nil
}

// sized proves that a file is there in its size.
func (w *walk) sized(ctx context.Context, seq manifest.Seq, f *manifest.File) (bool, error) {
	size, ok, err := w.size(ctx, seq, f.Key)
	switch {
	case err != nil:
		return false, err
	case ok && size == f.Size:
		return true, nil
	case ok:
		w.violation("I10", seq, "%s has %d bytes, the manifest says %d", f.Key, size, f.Size)
	case w.needs(seq, f.Key):
		w.violation("I10", seq, "%s is absent", f.Key)
	}
	return false, nil
}

// needs says whether a retained snapshot needs an object that a manifest names.
func (w *walk) needs(seq manifest.Seq, key string) bool {
	return seq >= w.head.Manifest.RetainFrom || w.retained[key]
}

// size is that of an object that a manifest names, and whether it is there. That
// something which is needed was not listed proves nothing: a listing may be late. It is
// asked for.
func (w *walk) size(ctx context.Context, seq manifest.Seq, key string) (int64, bool, error) {
	size, ok := w.sizes[key]
	if ok || !w.needs(seq, key) {
		return size, ok, nil
	}
	r, info, err := w.Store.Get(ctx, key, object.GetOptions{Limit: 1})
	switch {
	case errors.Is(err, object.ErrNotFound):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("look at %s, which was not listed: %w", key, err)
	}
	w.sizes[key] = info.Size
	return info.Size, true, r.Close()
}

// refs proves that every state run which a manifest needs is there, also those
// that its lists of segments name. A run that several manifests name is looked at once.
func (w *walk) refs(ctx context.Context, m *manifest.Manifest) error {
	lists := map[segment.Ref]bool{} // lists of segments that were not seen before
	for _, t := range m.Tables {
		if r := t.Live.Segments.Ref; r != nil && !w.runs[*r] {
			lists[*r] = true
		}
	}
	f := m.Progress.Files
	if f != nil && f.Segments.Ref != nil && !w.runs[*f.Segments.Ref] {
		lists[*f.Segments.Ref] = true
	}
	for _, r := range m.Refs() {
		if err := w.ref(ctx, m.Seq, r); err != nil {
			return err
		}
	}
	for _, t := range m.Tables {
		if t.Live.Segments.Ref == nil || !lists[*t.Live.Segments.Ref] {
			continue
		}
		runs, err := w.Log.LiveRefs(ctx, t.Live)
		if w.expired(m.Seq, err) {
			continue
		}
		if err := w.damage(err, "I10", m.Seq); err != nil {
			return err
		}
		for _, r := range runs {
			if err := w.ref(ctx, m.Seq, r); err != nil {
				return err
			}
		}
	}
	if f == nil || f.Segments.Ref == nil || !lists[*f.Segments.Ref] {
		return nil
	}
	runs, err := w.Log.LoadConsumed(ctx, f)
	if w.expired(m.Seq, err) {
		return nil
	}
	if err := w.damage(err, "I10", m.Seq); err != nil {
		return err
	}
	for _, r := range runs {
		if err := w.ref(ctx, m.Seq, r.Ref); err != nil {
			return err
		}
	}
	return nil
}

// ref proves one state run: by its object's size, and with CheckHashes by its
// bytes, which are read from the store whatever was loaded before.
func (w *walk) ref(ctx context.Context, seq manifest.Seq, r segment.Ref) error {
	if w.runs[r] {
		return nil
	}
	size, ok, err := w.size(ctx, seq, r.Key)
	if err != nil {
		return err
	}
	if !ok && seq < w.head.Manifest.RetainFrom {
		return nil // and not noted: a retained snapshot that names it needs it
	}
	w.runs[r] = true
	switch {
	case !ok:
		w.violation("I10", seq, "state %s is absent", r.Key)
		return nil
	case r.Offset < 0 || r.Size < 0 || r.Offset > size-r.Size:
		w.violation("I10", seq, "state %s has %d bytes, the manifest names %d from %d on", r.Key, size, r.Size, r.Offset)
		return nil
	case w.opts.Checks&CheckHashes == 0 || r.Size == 0:
		return nil
	}
	run, _, err := object.ReadAll(ctx, w.Store, r.Key, object.GetOptions{From: r.Offset, Limit: r.Size}, r.Size)
	if errors.Is(err, object.ErrNotFound) && seq < w.head.Manifest.RetainFrom {
		delete(w.runs, r) // as above: it was deleted since it was listed
		return nil
	}
	if err == nil {
		err = r.Check(run)
	}
	return w.damage(err, "I10", seq)
}

// state proves the cumulative lists of the head against the walk.
func (w *walk) state(ctx context.Context) error {
	seq := w.head.Manifest.Seq
	if f := w.head.Manifest.Progress.Files; f != nil {
		if f.Count != w.done {
			w.violation("I4", seq, "progress counts %d consumed objects, the chain %d", f.Count, w.done)
		}
		if err := w.Set.Verify(ctx, f); err != nil {
			invariant := "I4"
			if errors.Is(err, commit.ErrDamaged) {
				invariant = "I10" // a segment is absent or has other bytes
			}
			if err := w.damage(fmt.Errorf("consumed set: %w", err), invariant, seq); err != nil {
				return err
			}
		}
	}
	for name, t := range w.head.Manifest.Tables {
		live, err := w.Log.LoadLive(ctx, t.Live)
		if err != nil {
			if err := w.damage(err, "I10", seq); err != nil {
				return err
			}
			continue
		}
		if err := w.lives(name, t.Live, live); err != nil {
			return err
		}
	}
	return nil
}

// lives holds the live list of the head against the adds and removes of the
// chain.
func (w *walk) lives(table string, total manifest.Live, live []manifest.File) error {
	seq := w.head.Manifest.Seq
	seen := map[string]bool{}
	var rows, bytes int64
	for i := range live {
		f := &live[i]
		rows, bytes = rows+f.Rows, bytes+f.Size
		if seen[f.Key] {
			w.violation("I11", seq, "%s is live twice", f.Key)
		}
		seen[f.Key] = true
		said, err := entry(f)
		if err != nil {
			return err
		}
		if walked, ok := w.live[table][f.Key]; !ok {
			w.violation("I16", seq, "%s is in the live list of %s but not in the chain", f.Key, table)
		} else if walked != said {
			w.violation("I16", seq, "the live list of %s says other things of %s than the manifest that added it", table, f.Key)
		}
	}
	for key := range w.live[table] {
		if !seen[key] {
			w.violation("I16", seq, "%s is live by the chain but not in the live list of %s", key, table)
		}
	}
	if rows != total.Rows || bytes != total.Bytes {
		w.violation("I16", seq, "the live files of %s have %d rows and %d bytes, their totals say %d and %d", table, rows, bytes, total.Rows, total.Bytes)
	}
	return nil
}
