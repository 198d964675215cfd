package delta_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batcher/commit"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/table/delta"
)

func batchesVersion(v int) string {
	return fmt.Sprintf("%s/_delta_log/%020d.json", batchesTable, v)
}

// batchesLog is everything in the folder of the table of batches.
func batchesLog(s *memstore.Store) map[string]string { return within(deltaLog(s), batchesTable+"/") }

// late makes a chain with manifests up to a number, of which only those from one on are
// retained, and of which nothing is published.
func late(t testing.TB, from, to manifest.Seq) *lake {
	t.Helper()
	l := newLake(t, nil)
	l.store = memstore.New(memstore.WithClock(l.clock.Now))
	l.run(record(0))
	l.chain(rand.New(rand.NewPCG(uint64(from), uint64(to))), from)
	l.retain(from)
	for l.head().Manifest.Seq < to {
		l.run(record(int(l.random.n)))
	}
	if head := l.head().Manifest; head.RetainFrom != from || head.Seq != to {
		t.Fatalf("manifests %d to %d are retained, want %d to %d", head.RetainFrom, head.Seq, from, to)
	}
	l.clock.step = 0 // nothing takes time from here on
	return l
}

// retain forgets the snapshots before one.
func (l *lake) retain(from manifest.Seq) {
	l.t.Helper()
	_, err := l.repairs().Fence(l.t.Context())
	if err == nil {
		_, err = l.log(l.store).Append(l.t.Context(), commit.Proposal{Kind: manifest.Expire, Attempt: manifest.Attempt{0xee, byte(from)}, Base: l.head(),
			Repair: commit.Repair{RetainFrom: from}, Config: l.head().Manifest.Config})
	}
	if head := l.head().Manifest; err != nil || head.RetainFrom != from {
		l.t.Fatalf("retained from %d, want %d: %v", head.RetainFrom, from, err)
	}
}

// TestBatches_BeginLate has a log begin with the first manifest that is retained,
// wherever that is among checkpoints. A projector that is broken at any of its calls
// leaves what another one finishes.
func TestBatches_BeginLate(t *testing.T) {
	broken := 0
	const hint = batchesTable + "/_delta_log/_last_checkpoint"
	for _, c := range []struct{ from, to manifest.Seq }{{3, 5}, {8, 12}, {10, 12}} {
		t.Run(fmt.Sprint(c.from), func(t *testing.T) {
			l := late(t, c.from, c.to)
			whole, store := clone(l)
			counted := faultstore.New(whole.store, nil)
			if _, err := whole.projector(counted).Publish(t.Context(), l.head()); err != nil {
				t.Fatal(err)
			}
			want := batchesLog(store)
			whole.beginsAt(c.from)
			for call := 0; call < len(counted.Calls()); call += everyCall() {
				for _, fault := range []faultstore.Fault{faultstore.CrashBefore, faultstore.CrashAfter, faultstore.LoseAnswer} {
					l, store := clone(l)
					faults := faultstore.New(l.store, faultstore.Script{{Call: call + 1, Fault: fault}})
					_, _ = l.projector(faults).Publish(t.Context(), l.head())
					l.publishBatches()
					got := batchesLog(store)
					owed := []string{hint, fmt.Sprintf("%s/_delta_log/%020d.checkpoint.parquet", batchesTable, 10)} // with the next version
					for key, body := range want {
						if got[key] != body && (!slices.Contains(owed, key) || c.from == 10) {
							t.Fatalf("%s at call %d: %s differs, there is %v", fault, call+1, key, slices.Sorted(maps.Keys(got)))
						}
					}
					broken++
				}
			}
			l, _ = clone(l)
			l.run(record(1000))
			l.publishBatches()
			l.delete(hint) // the beginning is found without it
			l.run(record(1001))
			l.run(record(1002))
			l.run(record(1003))
			l.publishBatches()
			l.beginsAt(c.from)
			l.retain(l.head().Manifest.Seq - 1) // nor is it mistaken for another one that would begin now
			l.delete(hint)
			for range 3 {
				l.run(record(int(l.random.n)))
			}
			l.publishBatches()
			l.beginsAt(c.from)
		})
	}
	t.Logf("%d projections were broken", broken)
}

// TestBatches_ARivalBeginsLateToo lets a rival publish right before each call of a
// projector that begins a log.
func TestBatches_ARivalBeginsLateToo(t *testing.T) {
	story := late(t, 7, 23)
	whole, store := clone(story)
	whole.publishBatches()
	want := batchesLog(store)
	for call := 1; ; call += everyCall() {
		l, store := clone(story)
		hooked := &hookedStore{Store: l.store, left: call, hook: func() { l.publishBatches() }}
		states, err := l.projector(hooked).Publish(t.Context(), l.head())
		if s := batchesState(t, states); err != nil || s.Err != nil {
			t.Fatalf("a rival before call %d: %v, %v", call, err, s.Err)
		}
		if hooked.left > 0 {
			t.Logf("a rival went before one in %d of %d calls", everyCall(), call-1)
			return
		}
		if got := batchesLog(store); !maps.Equal(got, want) {
			t.Fatalf("a rival before call %d: the log differs", call)
		}
	}
}

// TestBatches_BeginAnew where the folder was deleted, and where lists are gone that
// missing versions would need.
func TestBatches_BeginAnew(t *testing.T) {
	t.Run("the folder is deleted", func(t *testing.T) {
		l, store := clone(late(t, 7, 14))
		l.publishBatches()
		want := batchesLog(store)
		for key := range want {
			l.delete(key)
		}
		l.publishBatches()
		if !maps.Equal(batchesLog(store), want) {
			t.Error("the log differs")
		}
	})
	t.Run("lists are gone", func(t *testing.T) {
		l := newLake(t, memstore.New())
		l.config.Split = "kind"
		l.run("few", `{"kind":"k"}`+"\n")
		l.publishBatches()
		var many strings.Builder
		for i := range 300 {
			fmt.Fprintf(&many, `{"kind":"k%d"}`+"\n", i)
		}
		l.run("many", many.String())
		if _, err := l.repairs().Fence(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.rewind(1)
		store := l.store.(*memstore.Store)
		lists := store.Keys()
		for range 10 {
			if _, err := l.repairs().Fence(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.repairs().Expire(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		for _, key := range lists {
			if strings.Contains(key, "/state/") {
				l.delete(key)
			}
		}
		l.publishBatches()
		l.beginsAt(l.head().Manifest.RetainFrom)
		if store.Objects()[batchesVersion(1)] == nil {
			t.Error("what was there is gone")
		}
	})
}

// TestBatches_KeepNobodyBack: what is wrong with the table of batches is told, and
// nothing else fails.
func TestBatches_KeepNobodyBack(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(l *lake)
		wrong func(s delta.State) bool
		cure  func(l *lake)
	}{
		"a foreign commit": {
			func(l *lake) { l.put(batchesVersion(int(l.head().Manifest.Seq)+1), foreign) },
			func(s delta.State) bool { return s.Conflict != nil && s.Conflict.Engine == "other/1.0" },
			func(l *lake) {
				for key := range batchesLog(l.store.(*memstore.Store)) {
					l.delete(key)
				}
			},
		},
		"a file that is torn": {
			func(l *lake) {
				l.put(fmt.Sprintf("%s/data/%020d-%020d.parquet", batchesTable, l.head().Manifest.Seq+1, l.head().Manifest.Seq+2), "PAR1")
			},
			func(s delta.State) bool { return errors.Is(s.Err, datafile.ErrDamaged) },
			func(l *lake) {
				l.delete(fmt.Sprintf("%s/data/%020d-%020d.parquet", batchesTable, l.head().Manifest.Seq, l.head().Manifest.Seq+1))
			},
		},
		"a log made from another chain": {
			func(l *lake) {
				key := batchesVersion(int(l.head().Manifest.Seq))
				body := l.store.(*memstore.Store).Objects()[key]
				l.put(key, strings.Replace(string(body), `"sha256":"`, `"sha256":"0000`, 1)[:len(body)])
			},
			func(s delta.State) bool { return s.Conflict != nil },
			func(l *lake) {
				for key := range batchesLog(l.store.(*memstore.Store)) {
					l.delete(key)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLake(t, memstore.New())
			l.run(record(0))
			l.publish()
			c.spoil(l)
			l.run(record(1))
			for range 2 {
				states, err := l.projector(l.store).Publish(t.Context(), l.head())
				if err != nil || states[0].Projected != 1 || states[0].Err != nil {
					t.Fatalf("the main table: %+v, %v", states[0], err)
				}
				if s := batchesState(t, states); !c.wrong(s) {
					t.Errorf("%+v", s)
				}
			}
			if states, err := l.projector(l.store).Status(t.Context(), l.head()); err != nil || batchesState(t, states).Lag() == 0 {
				t.Errorf("%+v, %v", states, err)
			}
			c.cure(l)
			l.publishBatches()
			l.readFacts(0)
		})
	}
}

// TestBatches_OfAnotherPipeline: a table that another pipeline has under this name is
// left alone.
func TestBatches_OfAnotherPipeline(t *testing.T) {
	l := newLake(t, memstore.New())
	other := commit.New(commit.Options{Store: l.store, Pipeline: "other", Clock: l.clock, Logger: quiet})
	if err := other.Claim(t.Context(), batchesTable, "other-00"); err != nil {
		t.Fatal(err)
	}
	l.run(record(0))
	states, err := l.projector(l.store).Publish(t.Context(), l.head())
	if s := batchesState(t, states); err != nil || !errors.Is(s.Err, commit.ErrForeign) {
		t.Errorf("%+v, %v", s, err)
	}
	for key := range batchesLog(l.store.(*memstore.Store)) {
		t.Errorf("%s was written", key)
	}
}

// TestBatches_OccupiedByAnotherForm: a file that another version of batcher encoded
// otherwise is the same file.
func TestBatches_OccupiedByAnotherForm(t *testing.T) {
	l := newLake(t, memstore.New())
	for i := range 11 {
		l.run(record(i))
	}
	whole, store := clone(l)
	whole.publishBatches()
	for key := range batchesLog(store) {
		if !strings.HasSuffix(key, ".parquet") || strings.Contains(key, "_delta_log") {
			continue
		}
		body := store.Objects()[key]
		r, err := datafile.Open(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatal(err)
		}
		var other bytes.Buffer
		w := datafile.NewWriter(&other, datafile.Options{Compression: datafile.Uncompressed})
		if err := w.Copy(r, r.Schema()); err == nil {
			t.Fatal("nothing to be encoded anew")
		}
		w = datafile.NewWriter(&other, datafile.Options{Compression: datafile.Uncompressed})
		for b, err := range r.Blocks(r.Schema()) {
			if err == nil {
				err = w.Write(b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		l.put(key, other.String())
	}
	l.publishBatches()
	l.readFacts(0)
	if n := len(l.store.(*memstore.Store).History(fmt.Sprintf("%s/data/%020d-%020d.parquet", batchesTable, 0, 10))); n != 1 {
		t.Errorf("a file was written %d times", n)
	}
}

// TestBatches_FoldedOtherwise has another version of batcher make version 10, and fold
// nothing: what the projector remembers of its own fold would be wrong.
func TestBatches_FoldedOtherwise(t *testing.T) {
	l := newLake(t, memstore.New())
	l.run(record(0))
	for l.head().Manifest.Seq < 101 { // up to a fold of what version 10 should have folded
		if _, err := l.repairs().Fence(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	whole, store := clone(l)
	whole.publishBatches()
	var other strings.Builder
	for line := range strings.Lines(batchesLog(store)[batchesVersion(10)]) {
		if !strings.Contains(line, `"dataChange":false`) {
			other.WriteString(line)
		}
	}
	l.put(batchesVersion(10), other.String())
	l.publishBatches()
	l.readFacts(0)
	if n := len(replayed(t, l.store.(*memstore.Store), batchesTable)); n != 1+2 {
		t.Errorf("%d files are shown", n)
	}
	found, err := l.projector(l.store).Check(t.Context(), l.head(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found {
		if len(c.Findings) > 0 {
			t.Errorf("%s: %+v", c.Table, c.Findings)
		}
	}
}

// TestBatches_AStrangerBelow: nothing is folded that a version shows which is not ours.
func TestBatches_AStrangerBelow(t *testing.T) {
	l := newLake(t, memstore.New())
	for i := range 9 {
		l.run(record(i))
	}
	l.publishBatches()
	l.put(batchesVersion(7), foreign)
	l.run(record(9))
	states, err := l.projector(l.store).Publish(t.Context(), l.head())
	if s := batchesState(t, states); err != nil || s.Conflict == nil || s.Conflict.Version != 7 {
		t.Errorf("%+v, %v", s, err)
	}
	if batchesLog(l.store.(*memstore.Store))[batchesVersion(10)] != "" {
		t.Error("a version was built on it")
	}
}

// TestBatches_ALostHintIsNotGoneAfter in a log that begins late: what is retained says
// where there must be a version.
func TestBatches_ALostHintIsNotGoneAfter(t *testing.T) {
	l := late(t, 7, 60)
	l.publishBatches()
	l.delete(batchesTable + "/_delta_log/_last_checkpoint")
	for i := range 3 {
		l.run(record(1000 + i))
	}
	before := object.RequestsOf(l.store)
	l.publishBatches()
	if made := object.RequestsOf(l.store).Sub(before); made.Get > 45 {
		t.Errorf("%+v", made)
	} else {
		t.Logf("%+v", made)
	}
}

// TestBatches_ComeInSteps: a long history that is not published yet keeps no run back.
func TestBatches_ComeInSteps(t *testing.T) {
	l := newLake(t, memstore.New())
	l.run(record(0))
	for l.head().Manifest.Seq < 450 {
		if _, err := l.repairs().Fence(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.clock.step = 0
	for _, want := range []delta.Version{199, 399, 450, 450} {
		states, err := l.projector(l.store).Publish(t.Context(), l.head())
		if s := batchesState(t, states); err != nil || s.Err != nil || s.Projected != want {
			t.Errorf("%+v, %v; want version %d", s, err, want)
		}
		if states[0].Lag() != 0 {
			t.Errorf("the main table waits: %+v", states[0])
		}
	}
	l.readFacts(0)
}

// TestBatches_ComeInTime: nor does it where the store is slow. Each step ends with a
// checkpoint, so that the next one has nothing to read back.
func TestBatches_ComeInTime(t *testing.T) {
	l := newLake(t, memstore.New())
	l.run(record(0))
	for l.head().Manifest.Seq < 97 {
		if _, err := l.repairs().Fence(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []delta.Version{40, 90, 97} {
		p := l.projector(l.store) // its clock goes on by a second with every look, one at each checkpoint
		states, err := p.Publish(t.Context(), l.head())
		if s := batchesState(t, states); err != nil || s.Err != nil || s.Projected != want {
			t.Errorf("%+v, %v; want version %d", s, err, want)
		}
		key := fmt.Sprintf("%s/_delta_log/%020d.checkpoint.parquet", batchesTable, want-want%10)
		if _, _, err := object.ReadAll(t.Context(), l.store, key, object.GetOptions{}, 1<<20); err != nil {
			t.Errorf("version %d: %v", want, err)
		}
	}
	l.readFacts(0)
}

// TestBatches_LongLists have more rows than a block.
func TestBatches_LongLists(t *testing.T) {
	l := newLake(t, memstore.New())
	for i := range 9000 {
		if _, err := l.input.Put(t.Context(), fmt.Sprintf("o%05d", i), []byte(`{"n":1}`+"\n"), object.Always); err != nil {
			t.Fatal(err)
		}
	}
	if l.run("last", `{"n":2}`+"\n").Manifest.Batch.Ranges.Ref == nil {
		t.Fatal("the list stands in the manifest")
	}
	l.publishBatches()
	l.readFacts(0)
}

// TestBatches_Clean deletes files that no version from the first retained snapshot on
// shows, and no others: each of these versions is read.
func TestBatches_Clean(t *testing.T) {
	l := late(t, 7, 40)
	l.put(batchesTable+"/data/other.parquet", "foreign")
	l.put(batchesTable+"/data/00000000000000000000-1.parquet", "foreign")
	l.put(fmt.Sprintf("%s/data/%020d-%020d.parquet", batchesTable, 2, 5), "of a log that began earlier")
	l.publishBatches()
	clean := func(want int64) {
		t.Helper()
		stale, err := l.projector(l.store).Stale(t.Context(), batchesTable)
		if err != nil || stale.Files != want {
			t.Errorf("%d files are stale, want %d: %v, %v", stale.Files, want, stale.Keys, err)
		}
		if done, err := l.projector(l.store).Clean(t.Context(), batchesTable); err != nil || done.Files != want {
			t.Errorf("%+v, %v", done, err)
		}
	}
	clean(0)             // it is too early
	l.clock.add(8 * day) // and not so late that the log is cleaned
	clean(1)             // all versions from 7 on are retained
	l.retain(9)          // shown by version 9: 7, 8 and 9
	clean(0)
	l.retain(11) // what was folded at version 10
	clean(3)
	l.retain(23)
	clean(10)
	l.retain(l.head().Manifest.Seq)
	l.publishBatches()
	clean(20) // version 40 is the last one that was not put a moment ago
	dir := dump(t, l.store.(*memstore.Store))
	for v := int64(l.head().Manifest.RetainFrom); v <= int64(l.head().Manifest.Seq); v++ {
		both(t, filepath.Join(dir, batchesTable), &v, [][]map[string]any{{{"lowest": json.Number("7"), "highest": json.Number(fmt.Sprint(v))}}},
			"SELECT min(seq) AS lowest, max(seq) AS highest FROM t")
	}
	for _, key := range []string{"/data/other.parquet", "/data/00000000000000000000-1.parquet"} {
		if l.store.(*memstore.Store).Objects()[batchesTable+key] == nil {
			t.Errorf("%s was somebody else's", key)
		}
	}
	// When the log is old its first versions go, and the table goes on from what is left.
	l.clock.add(400 * day)
	done, err := l.projector(l.store).Clean(t.Context(), batchesTable)
	if err != nil || done.Versions == 0 {
		t.Errorf("%+v, %v", done, err)
	}
	l.run(record(1000))
	l.publishBatches()
	both(t, filepath.Join(dump(t, l.store.(*memstore.Store)), batchesTable), nil, [][]map[string]any{{{"lowest": json.Number("7"), "batches": json.Number(fmt.Sprint(l.head().Manifest.Seq - 6))}}},
		"SELECT min(seq) AS lowest, count(*) AS batches FROM t WHERE fact = 'batch'")
}
