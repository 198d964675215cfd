package delta_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"batcher/localdev"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/schema"
)

// record makes an object of one record.
func record(i int) (key, body string) {
	return fmt.Sprintf("o%d", i), fmt.Sprintf(`{"n":%d,"s":"x%d","at":"2026-01-01T00:00:%02d.123456Z"}`+"\n", i, i, i)
}

// story makes a chain with every kind of change: 15 versions of the main table, one of
// the dead letters.
func story(t testing.TB) *lake {
	l := newLake(t, memstore.New())
	for i := range 6 {
		l.run(record(i))
	}
	l.merge()                                       // version 6
	l.run("o6", "{\"n\":6,\"more\":1}\nbroken\n")   // a new column and a dead letter
	l.widen("n", schema.Type{Kind: schema.Float64}) // version 8
	l.run(record(7))                                // version 9
	l.rewind(8)                                     // version 10
	for i := range 4 {
		l.run(record(8 + i))
	}
	return l
}

// deltaLog are the objects of all Delta logs, and the files of the table of batches,
// which are nothing but a part of its log.
func deltaLog(s *memstore.Store) map[string]string {
	out := map[string]string{}
	for key, body := range s.Objects() {
		if strings.Contains(key, "/_delta_log/") || strings.HasPrefix(key, "events_batches/data/") {
			out[key] = string(body)
		}
	}
	return out
}

func clone(l *lake) (*lake, *memstore.Store) {
	c, store := *l, l.store.(*memstore.Store).Clone()
	c.store = store
	return &c, store
}

// everyCall says that every so many calls of an invocation are broken, all of
// them where the tests prove.
func everyCall() int {
	if localdev.Proving() {
		return 1
	}
	return 7
}

// TestCrashAnywhere ends a projector before and after each of its calls, lets
// another one go on, and wants the versions that nobody disturbed at once, and the
// checkpoint and its hint with the next version.
func TestCrashAnywhere(t *testing.T) {
	l := story(t)
	head := l.head()
	earlier, err := l.log(l.store).Slot(t.Context(), head.Manifest.Seq-1)
	if err != nil {
		t.Fatal(err)
	}
	whole, store := clone(l)
	counted := faultstore.New(whole.store, nil)
	if _, err := whole.projector(counted).Publish(t.Context(), earlier); err != nil {
		t.Fatal(err)
	}
	versions := deltaLog(store)
	maps.DeleteFunc(versions, func(key, _ string) bool { return !strings.HasSuffix(key, ".json") })
	whole.publish()
	want := deltaLog(store)
	// Versions, checkpoint and hint; dead letters; those of the table of batches, with its files.
	if n := len(want); n != 15+2+1+16+2+16+1 {
		t.Fatalf("%d objects: %v", n, slices.Sorted(maps.Keys(want)))
	}
	calls, broken := len(counted.Calls()), 0
	for _, fault := range []faultstore.Fault{faultstore.CrashBefore, faultstore.CrashAfter, faultstore.LoseAnswer, faultstore.Unavailable, faultstore.Conflict} {
		for call := 1; call <= calls; call += everyCall() {
			broken++
			l, store := clone(l)
			faults := faultstore.New(l.store, faultstore.Script{{Call: call, Fault: fault}})
			_, _ = l.projector(faults).Publish(t.Context(), earlier)
			if _, err := l.projector(l.store).Publish(t.Context(), earlier); err != nil {
				t.Fatalf("%s at call %d: %v", fault, call, err)
			}
			got := deltaLog(store)
			for key, body := range versions {
				if got[key] != body {
					t.Fatalf("%s at call %d: %s differs", fault, call, key)
				}
			}
			l.publish()
			if got := deltaLog(store); !maps.Equal(got, want) {
				t.Fatalf("%s at call %d: the log differs", fault, call)
			}
		}
	}
	localdev.Figure("breaks of a Delta projection, each in one of 5 ways", fmt.Sprintf("%d (%d calls)", broken, calls))
}
