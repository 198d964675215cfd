package audit_test

import (
	"testing"
	"time"

	"batcher/audit"
	"batcher/compact"
	"batcher/datafile"
	"batcher/dlq"
	"batcher/manifest"
	"batcher/record"
	"batcher/source"
	"batcher/source/files"
)

// queue is a fresh hand on the dead letters.
func (w *world) queue() *dlq.Queue {
	p := w.invoke()
	return &dlq.Queue{
		Log: p.Log, Store: w.store, Source: p.Source, Set: p.Set, Config: p.Config, Table: p.Table, Dead: p.Dead,
		Rules: w.rules, FileBytes: 128 << 20, Random: w.random, Logger: quiet,
	}
}

// discard gives up dead letters.
func (w *world) discard(which dlq.Filter) {
	w.t.Helper()
	if _, err := w.queue().Discard(w.t.Context(), which, dlq.Confirm); err != nil {
		w.t.Fatal(err)
	}
}

// expire lets go of every snapshot but the newest, and of all that only they need.
func (w *world) expire() {
	w.t.Helper()
	w.clock.now = w.clock.now.Add(time.Hour)
	gc := &compact.GC{Log: w.invoke().Log, Store: w.store, Now: w.clock.Now, Logger: quiet}
	for range 2 {
		if _, err := gc.Run(w.t.Context(), compact.GCOptions{Mode: compact.Confirm, MaxShare: 1}); err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.repair().Expire(w.t.Context(), 0); err != nil {
			w.t.Fatal(err)
		}
	}
}

// given is a store whose objects a to d came in one batch, each but a with a dead
// letter; the letters were discarded and then b was replaced.
func given(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.change = files.ReplaceChanged
	w.drop("a", lines(0, 3))
	w.drop("b", lines(10, 5)+"{b\n")
	w.drop("c", lines(20, 1)+"{c\n")
	w.drop("d", lines(30, 1)+"{d\n")
	w.run()
	w.discard(dlq.Filter{})
	w.drop("b", lines(50, 4))
	w.run()
	if m := w.slot(3); w.head() != 3 || w.slot(2).Letters.Discarded != 3 || m.Batch.Replaced.Items[0].Rows != 5 {
		t.Fatalf("the history is not what the test needs: head %d", w.head())
	}
	return w
}

// TestLettersDiscardedOfAReplacedObject has the files gone that tell whose letters
// were discarded: what the object had, and what was taken away, then differ by them.
func TestLettersDiscardedOfAReplacedObject(t *testing.T) {
	const kept = 1 // the file of the replacement that has the rows of the other objects
	id := func(offset int64) source.Hash { return record.IDHash("b", offset) }
	left := int64(len(lines(10, 1))) // a row of the object that was replaced
	for _, c := range []struct {
		name   string
		tamper func(w *world)
		want   []string
	}{
		{"sound", func(*world) {}, nil},
		{"as many rows are said to be taken away, and others", func(w *world) {
			w.edit(3, only(3, func(m *manifest.Manifest) {
				r := &m.Batch.Replaced.Items[0]
				r.IDSum = r.IDSum.Add(id(left))
			}))
		}, []string{"I14"}},
		{"a row was left, and passed off as a letter", func(w *world) {
			whole := given(w.t)
			w.refile(3, kept, whole, 1, 0, datafile.Filter(func(name []byte, offset int64) bool { return string(name) != "b" || offset == left }))
			w.edit(3, only(3, func(m *manifest.Manifest) {
				r := &m.Batch.Replaced.Items[0]
				r.Rows, r.IDSum = r.Rows-1, r.IDSum.Sub(id(left))
				m.Batch.Rows.Replaced--
				m.Batch.Rows.Written--
				m.Batch.Rows.Duplicate++
			}))
		}, []string{"I14"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := given(t)
			w.verify(audit.Options{Checks: all})
			w.expire()
			c.tamper(w)
			for _, checks := range []audit.Check{audit.CheckRows, all} {
				w.verify(audit.Options{Checks: checks}, c.want...)
			}
		})
	}
}

// TestWhatIsSaidOfAReplacedObject spoils what is said of the five rows of b that were
// taken away, of six that it had by its range, and of three letters discarded.
func TestWhatIsSaidOfAReplacedObject(t *testing.T) {
	good := given(t)
	good.verify(audit.Options{})
	for _, more := range []int64{-3, -2, 1, 2} { // a number that no letters make good, or no such letters
		w := good.clone(t)
		w.edit(3, only(3, func(m *manifest.Manifest) {
			m.Batch.Replaced.Items[0].Rows += more
			m.Batch.Rows.Replaced += more
			m.Batch.Rows.Written += more
			m.Batch.Rows.Duplicate -= more
		}))
		w.verify(audit.Options{}, "I14")
	}
	good.edit(3, only(3, func(m *manifest.Manifest) { m.Batch.Replaced.Items[0].IDSum[0] ^= 1 }))
	good.verify(audit.Options{Checks: audit.CheckRows}, "I14")
	good.verify(audit.Options{Checks: audit.CheckRows, Since: 2}, "I14") // by its files alone
}
