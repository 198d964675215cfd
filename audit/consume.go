package audit

import (
	"fmt"
	"slices"

	"batcher/manifest"
	"batcher/source"
)

// ranges proves that no record is consumed twice in a generation, but where its
// object is replaced.
func (w *walk) ranges(m *manifest.Manifest) {
	if before, ok := w.batches[m.Batch.ID]; ok && m.Kind == manifest.Data && len(m.Batch.Ranges.Items) > 0 {
		w.violation("I5", m.Seq, "batch %s is also committed by manifest %d", m.Batch.ID, before)
	}
	w.batches[m.Batch.ID] = m.Seq
	replaced := map[string]tally{}
	for _, r := range m.Batch.Replaced.Items {
		replaced[r.Key] = tally{rows: r.Rows, ids: r.IDSum}
	}
	for i := range m.Batch.Ranges.Items {
		x := &m.Batch.Ranges.Items[i]
		taken := stays
		if rows, ok := replaced[x.Key]; ok {
			taken = goes
			w.replaced(m.Seq, x.Key, rows)
		}
		w.named(m, x, taken)
		w.consume(m.Seq, x)
	}
}

// consume notes a range: at the key of its object how far that is read, at its name
// which rows are there.
func (w *walk) consume(seq manifest.Seq, x *source.Range) {
	now, known := w.objects[x.Key]
	if now.next == doneObject && x.From == 0 && !x.Was.IsZero() {
		now.next = 0 // another content, or the same one read again
	}
	if known && now.next != x.From {
		w.violation("I4", seq, "object %q is read from %d; %s", x.Key, x.From, position(now.next))
	}
	now.next, now.was = x.To, x.Was
	if x.Last {
		now.next = doneObject
		w.done += completed(x.Was)
	}
	rows := tally{rows: x.Records, ids: x.IDSum}
	if name := x.Source(); name != x.Key {
		named := w.objects[name]
		named.next, named.rows = doneObject, named.rows.plus(rows)
		w.move(seq, name, named)
		if !slices.Contains(w.marked[x.Key], name) {
			w.marked[x.Key] = append(w.marked[x.Key], name)
		}
		rows = tally{}
	}
	now.rows = now.rows.plus(rows)
	w.move(seq, x.Key, now)
}

// named proves that a range has the name which follows from what it says of its
// object and from what becomes of the rows that the key had.
func (w *walk) named(m *manifest.Manifest, x *source.Range, taken fate) {
	if w.Source == nil {
		return
	}
	want := w.sourceOf(m).Name(x.Key, x.ETag, x.Size, x.Modified)
	if taken == stays && !x.Was.IsZero() {
		want = w.sourceOf(m).AppendedName(x.Key, x.ETag, x.Size, x.Modified)
	}
	if x.Source() != want {
		w.violation("I14", m.Seq, "object %q is read under the name %q, want %q", x.Key, x.Source(), want)
	}
}

// fate is what becomes of the rows that a key had when another content is read.
type fate uint8

const (
	stays fate = iota
	goes
)

// completed is what the end of an object adds to the number of those consumed.
func completed(was source.Hash) int64 {
	if was.IsZero() {
		return 1
	}
	return 0
}

// replaced takes the rows of an object away, under all of its names, and proves
// that it had those which the batch says.
func (w *walk) replaced(seq manifest.Seq, key string, rows tally) {
	now, known := w.objects[key]
	var had tally
	for _, name := range w.namesOf(key) {
		s := w.objects[name]
		had.join(s.rows)
		s.rows = tally{}
		w.move(seq, name, s)
	}
	w.uncounts(seq, key)
	switch {
	case w.partly:
	case !known || now.next != doneObject:
		w.violation("I4", seq, "object %q is replaced and was not consumed", key)
	case !w.discardedOf(seq, had.minus(rows)):
		w.violation("I14", seq, "object %q is replaced and had %d rows, the batch says %d, or others", key, had.rows, rows.rows)
	}
}

// discardedOf says whether these rows, which an object had by its ranges and which
// were not there when it was replaced, may be letters that were discarded. Of such
// letters the walk does not know the objects where their files are gone: those that
// show are no longer among them.
func (w *walk) discardedOf(seq manifest.Seq, rows tally) bool {
	if rows == (tally{}) {
		return true
	}
	left := w.objects[discarded]
	left.rows = left.rows.plus(rows)
	if rows.rows <= 0 || left.rows.rows > 0 || left.rows.rows == 0 && !left.rows.ids.IsZero() {
		return false
	}
	w.move(seq, discarded, left)
	return true
}

// namesOf are the names under which contents of a key were consumed.
func (w *walk) namesOf(key string) []string {
	return append([]string{key}, w.marked[key]...)
}

func position(p source.Position) string {
	if p == doneObject {
		return "it was consumed before"
	}
	return fmt.Sprintf("its next position is %d", p)
}
