package audit_test

import (
	"fmt"
	"testing"
	"time"

	"batcher/audit"
	"batcher/compact"
	"batcher/manifest"
	"batcher/source"
)

// repair is a fresh hand on the chain.
func (w *world) repair() *compact.Repair {
	return &compact.Repair{Log: w.invoke().Log, Now: w.clock.Now, Logger: quiet}
}

func (w *world) rewind(to manifest.Seq) {
	w.t.Helper()
	if _, err := w.repair().Rewind(w.t.Context(), to); err != nil {
		w.t.Fatal(err)
	}
}

// rewound is a good store that was rewound twice, the second time to a snapshot
// that the first one left: 1, 2 and 3 are batches, 4 goes to 1, 5 consumes again
// what 2 and 3 did, 6 goes to 3, and 7 is a batch.
func rewound(t *testing.T) *world {
	w := newWorld(t)
	for i := range 80 {
		w.drop(fmt.Sprintf("a/%02d", i), lines(i, 1))
	}
	w.run()
	w.drop("b", lines(100, 4))
	w.run()
	w.drop("c", lines(200, 5))
	w.run()
	w.rewind(1)
	w.run()
	w.rewind(3)
	w.run() // nothing to do
	w.drop("d", lines(300, 6))
	w.run()
	if w.head() != 7 || w.slot(4).Kind != manifest.Rewind || len(w.slot(5).Batch.Ranges.Items) != 2 || w.slot(1).Batch.Ranges.Ref == nil {
		t.Fatalf("the history is not what the tests need: head %d", w.head())
	}
	return w
}

func TestARewoundChainIsProved(t *testing.T) {
	good := rewound(t)
	for since := range manifest.Seq(8) {
		good.verify(audit.Options{Since: since, Checks: all})
	}
	if rep := good.verify(audit.Options{Checks: all}); rep.Source.Verified != 104 || rep.Rows != 104 || rep.Files != 5 {
		t.Errorf("%+v", rep)
	}
	for _, c := range []struct {
		name, want string
		tamper     func(w *world)
	}{
		{"I4 a rewind that restores another progress", "I4", func(w *world) {
			w.edit(6, func(m *manifest.Manifest) { m.Progress.Files.Sum[0] ^= 1 })
		}},
		{"I4 what the rewind kept is consumed again", "I14 I4", func(w *world) {
			w.forge([]source.Range{w.slot(2).Batch.Ranges.Items[0]})
		}},
		{"I16 a rewind that keeps a file live", "I11 I16", func(w *world) {
			w.edit(6, only(6, func(m *manifest.Manifest) {
				table(m, "events", func(t *manifest.Table) { t.Remove.Items, t.Remove.Count = nil, 0 })
			}))
		}},
		{"I10 a file that was brought back is missing", "I10 I14", func(w *world) { w.delete(w.file(2).Key) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := good.clone(t)
			c.tamper(w)
			w.verify(audit.Options{Checks: audit.CheckRows}, bytesFields(c.want)...)
		})
	}
}

// TestWhatGCMayDeleteIsNotMissed expires the snapshots from before the rewinds
// and collects what only they needed.
func TestWhatGCMayDeleteIsNotMissed(t *testing.T) {
	w := rewound(t)
	collect := func() compact.GCReport {
		w.clock.now = w.clock.now.Add(time.Hour)
		gc := &compact.GC{Log: w.invoke().Log, Store: w.store, Now: w.clock.Now, Logger: quiet}
		rep, err := gc.Run(t.Context(), compact.GCOptions{Mode: compact.Confirm})
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	if rep := collect(); rep.Deleted != 0 {
		t.Fatalf("nothing is expired yet: %+v", rep)
	}
	if head, err := w.repair().Expire(t.Context(), 0); err != nil || head.Manifest.RetainFrom != 7 {
		t.Fatalf("retained from %d, %v", head.Manifest.RetainFrom, err)
	}
	ranges, replayed := w.slot(1).Batch.Ranges.Ref.Key, w.file(5).Key
	rep := collect()
	if held := w.bytes.Objects(); rep.Deleted != 2 || held[ranges] != nil || held[replayed] != nil {
		t.Fatalf("%+v", rep)
	}
	for since := range w.head() + 1 {
		w.verify(audit.Options{Since: since, Checks: all})
	}
	for _, seq := range []manifest.Seq{1, 2, 7} { // live at the first retained snapshot
		c := w.clone(t)
		c.delete(c.file(seq).Key)
		rep, err := c.try(audit.Options{})
		if err != nil || len(rep.Violations) == 0 || rep.Violations[0].Invariant != "I10" {
			t.Errorf("the file of manifest %d is missing: %v, %v", seq, rep.Violations, err)
		}
	}
}
