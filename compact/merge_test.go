package compact_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"batcher/commit"
	"batcher/compact"
	"batcher/datafile"
	"batcher/localdev"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/pipeline"
	"batcher/schema"
)

// merge wires a compaction that merges from two files on.
func (l *lake) merge(store object.Store) *compact.Merge {
	return &compact.Merge{Log: l.invoke(store, "**").Log, Store: store, Random: l.random(), Now: time.Now, Logger: quiet,
		Rules: compact.Rules{FanIn: 2}}
}

// merged runs a compaction of both tables to its end.
func (l *lake) merged(m *compact.Merge) (total [2]compact.Merged, err error) {
	head, err := m.Log.Head(context.Background())
	for i, table := range []string{"events", "events_dead"} {
		if err == nil {
			head, total[i], err = m.Run(context.Background(), head, table, compact.Until{})
		}
	}
	return total, err
}

// live are the numbers of live files.
func (l *lake) live() [2]int64 {
	m := l.head().Manifest
	return [2]int64{m.Tables["events"].Live.Files, m.Tables["events_dead"].Live.Files}
}

// kinds counts the manifests of the chain.
func (l *lake) kinds() map[manifest.Kind]int {
	log, out := l.invoke(l.store, "**").Log, map[manifest.Kind]int{}
	for seq := range l.head().Manifest.Seq + 1 {
		s, err := log.Slot(context.Background(), seq)
		if err != nil {
			l.t.Fatal(err)
		}
		out[s.Manifest.Kind]++
	}
	return out
}

// smallFiles has five batches: of one schema, of a wider one, with dead letters,
// with a value that does not fit.
func smallFiles(t testing.TB) *lake {
	l := newLake(t)
	for i, body := range []string{"", `{"k":"x","n":1,"more":{"a":true}}` + "\n", "{broken\n", "{broken too\n", ""} {
		name := fmt.Sprintf("a/%d.ndjson", i)
		l.drop(name, fmt.Sprint(i), fmt.Sprint(10*i), "null")
		if body != "" {
			if _, err := l.input.Put(t.Context(), "extra/"+fmt.Sprint(i), []byte(body), object.Always); err != nil {
				t.Fatal(err)
			}
		}
		l.run("**")
	}
	l.want["x"] = "1"
	return l
}

func TestMergingKeepsEveryRow(t *testing.T) {
	l := smallFiles(t)
	before, rows := l.head(), l.rows(l.head())
	if l.live() != [2]int64{5, 2} {
		t.Fatalf("%v live files", l.live())
	}
	did, err := l.merged(l.merge(l.store))
	if err != nil || did[0].Files != 5 || did[0].Into != 1 || did[0].Rows != 16 || did[0].Manifests != 1 || did[0].Left != 0 || did[1].Rows != 2 {
		t.Errorf("%+v, %v", did, err)
	}
	if l.live() != [2]int64{1, 1} {
		t.Errorf("%v live files", l.live())
	}
	l.inColumn(schema.Int64)
	l.verify()
	if again := l.rows(before); len(again) != len(rows) {
		t.Errorf("the snapshot before has %d rows, it had %d", len(again), len(rows))
	}
	head := l.head()
	if head.Manifest.Kind != manifest.Compact || head.Manifest.Tables["events"].Schema.SHA256 != before.Manifest.Tables["events"].Schema.SHA256 {
		t.Errorf("kind %s", head.Manifest.Kind)
	}
	if did, err := l.merged(l.merge(l.store)); err != nil || did != [2]compact.Merged{} || l.head().SHA256 != head.SHA256 {
		t.Errorf("again: %+v, %v", did, err)
	}
	l.drop("b/1.ndjson", "7")
	l.run("**")
	l.inColumn(schema.Int64)
	l.verify()
}

// TestAMergeEndsInTime begins no group after the time is up.
func TestAMergeEndsInTime(t *testing.T) {
	l := smallFiles(t)
	head := l.head()
	m := l.merge(l.store)
	past, soon := time.Now().Add(-time.Second), time.Now().Add(time.Minute)
	for _, c := range []struct {
		until compact.Until
		pace  float64
	}{{compact.Until{Begin: past}, 0}, {compact.Until{Done: past}, 0}, {compact.Until{Done: soon}, 1}} {
		m.Pace = c.pace
		_, did, err := m.Run(t.Context(), head, "events", c.until)
		if err != nil || did.Manifests != 0 || did.Left != 1 || l.head().SHA256 != head.SHA256 {
			t.Errorf("%+v: %+v, %v", c, did, err)
		}
	}
	if plan, err := m.Plan(t.Context(), head, "events"); err != nil || plan.Files != 5 || plan.Into != 1 || plan.Left != 1 {
		t.Errorf("planned %+v, %v", plan, err)
	}
	if _, err := m.Plan(t.Context(), head, "others"); err == nil {
		t.Error("a table that is not there was planned")
	}
	if _, did, err := m.Run(t.Context(), head, "events", compact.Until{Begin: soon, Done: soon.Add(24 * time.Hour)}); err != nil || did.Manifests != 1 {
		t.Errorf("%+v, %v", did, err)
	}
}

func TestOnlyATableWithSmallYoungFilesIsDue(t *testing.T) {
	l := smallFiles(t)
	m := l.merge(l.store)
	if !m.Due(l.head().Manifest.Tables["events"]) {
		t.Error("five small files are not due")
	}
	m.Rules.FanIn = 6
	if m.Due(l.head().Manifest.Tables["events"]) {
		t.Error("five files are due where six are wanted")
	}
}

// TestMergingBesideWriters lets two writers, two compactions and a widening work at
// the same time.
func TestMergingBesideWriters(t *testing.T) {
	rounds, lost, merges := 12, 0, 0
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		l := newLake(t)
		l.drop("a/first.ndjson", "1", "2")
		l.run("**")
		var wg sync.WaitGroup
		var writing atomic.Int32
		for _, w := range []string{"a", "b"} {
			writing.Add(1)
			wg.Go(func() {
				defer writing.Add(-1)
				for i := range 10 {
					l.drop(fmt.Sprintf("%s/%02d.ndjson", w, i), fmt.Sprint(i), fmt.Sprintf("%d.5", i), "null")
					l.run(w + "/**")
				}
			})
		}
		var mu sync.Mutex
		for range 2 {
			wg.Go(func() {
				for range 1000 {
					if writing.Load() == 0 {
						return
					}
					_, err := l.merged(l.merge(l.store))
					var superseded *commit.SupersededError
					mu.Lock()
					if errors.As(err, &superseded) {
						lost++
					} else if err != nil {
						t.Error(err)
					}
					mu.Unlock()
				}
			})
		}
		if round%3 == 0 {
			wg.Go(func() {
				if _, err := l.widen(l.store).Run(context.Background(), "events", "n", double); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		l.run("**")
		if _, err := l.widen(l.store).Run(t.Context(), "events", "n", double); err != nil {
			t.Fatal(err)
		}
		l.inColumn(schema.Float64)
		if rep := l.verify(); rep.Source.Verified != int64(len(l.want)) {
			t.Errorf("%d records verified of %d", rep.Source.Verified, len(l.want))
		}
		merges += l.kinds()[manifest.Compact]
	}
	if merges == 0 {
		t.Error("nothing was ever merged: the test has lost its point")
	}
	localdev.Figure("merging beside two writers, another merging and a widening", fmt.Sprintf("%d rounds, %d merges, %d superseded", rounds, merges, lost))
}

// TestOfTwoMergesOfTheSameFilesOneCommits has both write, and one lose.
func TestOfTwoMergesOfTheSameFilesOneCommits(t *testing.T) {
	l := smallFiles(t)
	rival := &once{Store: l.store, prefix: layout.Manifests(), act: func() {
		if _, err := l.merged(l.merge(l.store)); err != nil {
			t.Error(err)
		}
	}}
	did, err := l.merged(l.merge(rival))
	if err != nil || did[0].Manifests != 0 || did[1].Manifests != 0 {
		t.Errorf("%+v, %v", did, err)
	}
	if n := l.kinds()[manifest.Compact]; n != 2 || l.live() != [2]int64{1, 1} {
		t.Errorf("%d merges, %v live files", n, l.live())
	}
	l.inColumn(schema.Int64)
	l.verify()
	l.onlyNamed()
}

// onlyNamed wants no data file in the store that no manifest names.
func (l *lake) onlyNamed() {
	l.t.Helper()
	named := map[string]bool{}
	log := l.invoke(l.store, "**").Log
	for seq := range l.head().Manifest.Seq + 1 {
		s, err := log.Slot(context.Background(), seq)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, table := range s.Manifest.Tables {
			for _, f := range table.Add.Items {
				named[f.Key] = true
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.store.Objects())) {
		if strings.Contains(key, "/data/") && !named[key] {
			l.t.Errorf("%s was left lying", key)
		}
	}
}

// once calls act before the first PUT below a prefix.
type once struct {
	object.Store
	prefix string
	act    func()
}

func (o *once) Put(ctx context.Context, key string, body []byte, c object.Condition) (object.Info, error) {
	if act := o.act; act != nil && strings.HasPrefix(key, o.prefix) {
		o.act = nil
		act()
	}
	return o.Store.Put(ctx, key, body, c)
}

// TestAMergeMayDieAtEveryCall strikes every store call of a compaction with every
// fault, and has it done again.
func TestAMergeMayDieAtEveryCall(t *testing.T) {
	first := smallFiles(t)
	plain := faultstore.New(first.store.Clone(), nil)
	if _, err := first.merged(first.merge(plain)); err != nil {
		t.Fatal(err)
	}
	points := 0
	for i, call := range plain.Calls() {
		for _, f := range []faultstore.Fault{faultstore.CrashBefore, faultstore.CrashAfter, faultstore.LoseAnswer, faultstore.LandLate, faultstore.Unavailable, faultstore.Conflict, faultstore.Deny, faultstore.Tear} {
			l := &lake{t: t, input: first.input, store: first.store.Clone(), want: maps.Clone(first.want), drawn: uint64(1000 + points)}
			faults := faultstore.New(l.store, faultstore.Script{{Call: i + 1, Fault: f}})
			_, said := l.merged(l.merge(faults))
			faults.Release(context.Background())
			points++
			if said == nil && l.live() != [2]int64{1, 1} {
				t.Errorf("it said it was done, and %v files are live", l.live())
			}
			if _, err := l.merged(l.merge(l.store)); err != nil || l.live() != [2]int64{1, 1} {
				t.Errorf("again: %v, %v files are live", err, l.live())
			}
			l.inColumn(schema.Int64)
			l.verify()
			if n := l.kinds()[manifest.Compact]; n != 2 {
				t.Errorf("%d merges stand in the chain", n)
			}
			if t.Failed() {
				t.Fatalf("%s at call %d (%s %s), which said %v", f, i+1, call.Op, call.Key, said)
			}
		}
	}
	localdev.Figure("crash points of compact", fmt.Sprintf("%d (%d calls)", points, len(plain.Calls())))
}

// TestARewindGoesOverAMerge restores what was merged since, and what was merged
// before.
func TestARewindGoesOverAMerge(t *testing.T) {
	l := smallFiles(t)
	before := l.head().Manifest.Seq
	if _, err := l.merged(l.merge(l.store)); err != nil {
		t.Fatal(err)
	}
	after := l.head().Manifest.Seq
	l.drop("b/1.ndjson", "7", "8")
	l.run("**")
	r := &compact.Repair{Log: l.invoke(l.store, "**").Log, Now: time.Now, Logger: quiet}
	for _, to := range []struct {
		seq  manifest.Seq
		live [2]int64
	}{{after, [2]int64{1, 1}}, {before, [2]int64{5, 2}}} {
		if _, err := r.Rewind(t.Context(), to.seq); err != nil {
			t.Fatal(err)
		}
		if l.live() != to.live {
			t.Errorf("after a rewind to %d %v files are live", to.seq, l.live())
		}
		l.verify()
	}
	l.run("**")
	if _, err := l.merged(l.merge(l.store)); err != nil || l.live() != [2]int64{1, 1} {
		t.Errorf("%v, %v files are live", err, l.live())
	}
	l.inColumn(schema.Int64)
	l.verify()
}

// TestWhatWasMergedIsCollected deletes small files when no snapshot needs them any
// more, and not before.
func TestWhatWasMergedIsCollected(t *testing.T) {
	l := smallFiles(t)
	if _, err := l.merged(l.merge(l.store)); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	data := func() (n int) {
		for key := range l.store.Objects() {
			if strings.Contains(key, "/data/") {
				n++
			}
		}
		return n
	}
	collect := func() {
		gc := compact.GC{Log: l.invoke(l.store, "**").Log, Store: l.store, Now: func() time.Time { return now }, Logger: quiet}
		if _, err := gc.Run(t.Context(), compact.GCOptions{Mode: compact.Confirm}); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Hour)
	collect()
	if data() != 9 {
		t.Errorf("%d data files, and every snapshot is retained", data())
	}
	r := &compact.Repair{Log: l.invoke(l.store, "**").Log, Now: func() time.Time { return now }, Logger: quiet}
	if _, err := r.Expire(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	collect()
	if data() != 2 {
		t.Errorf("%d data files, of which two are live", data())
	}
	l.inColumn(schema.Int64)
	l.verify()
}

// TestManyMergedFilesArePlausibleGarbage collects nearly everything that there is,
// because the chain tells where it came from.
func TestManyMergedFilesArePlausibleGarbage(t *testing.T) {
	l := newLake(t)
	for i := range 3 {
		for k := range 100 {
			l.drop(fmt.Sprintf("%d/%03d.ndjson", i, k), "1")
		}
		p := l.invoke(l.store, "**")
		p.FileBytes, p.File.RowGroupRows, p.Record.BlockRows, p.Record.PrimeBytes = 1, 1, 1, 1 // a file for each record
		if _, err := p.Run(t.Context(), pipeline.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.merged(l.merge(l.store)); err != nil || l.live()[0] != 1 {
		t.Fatalf("%v, %v live files", err, l.live())
	}
	now := time.Now().Add(time.Hour)
	log := l.invoke(l.store, "**").Log
	gc := compact.GC{Log: log, Store: l.store, Now: func() time.Time { return now }, Logger: quiet}
	if _, err := gc.Run(t.Context(), compact.GCOptions{Mode: compact.Confirm}); err != nil {
		t.Fatal(err)
	}
	r := &compact.Repair{Log: log, Now: gc.Now, Logger: quiet}
	if _, err := r.Expire(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	rep, err := gc.Run(t.Context(), compact.GCOptions{Mode: compact.Confirm})
	if err != nil || rep.Deleted < 300 {
		t.Errorf("%d deleted, %v", rep.Deleted, err)
	}
	l.inColumn(schema.Int64)
	l.verify()
}

// large has batches of which the files differ: one is large enough to be copied, one
// has a column more, some are small.
func large(t testing.TB) *lake {
	l := newLake(t)
	l.drop("a/0.ndjson", "1", "2", "null")
	l.run("**")
	values := make([]string, 9000)
	for i := range values {
		values[i] = fmt.Sprint(i * 7919 % 10_007)
	}
	for i := range 3 {
		l.drop(fmt.Sprintf("b/%d.ndjson", i), values...)
		l.run("**")
	}
	l.drop("c/0.ndjson", "3")
	if _, err := l.input.Put(t.Context(), "extra/0", []byte(`{"k":"x","n":1,"more":{"a":true}}`+"\n"), object.Always); err != nil {
		t.Fatal(err)
	}
	l.want["x"] = "1"
	l.run("**")
	l.drop("d/0.ndjson", "4", "5")
	l.run("**")
	return l
}

// TestMergedFilesAreTheSameHoweverTheyAreMade merges files of two schemas, and some
// of another codec, twice over: every row stands, the store's proof is clean, and the
// same files give the same bytes.
func TestMergedFilesAreTheSameHoweverTheyAreMade(t *testing.T) {
	first := large(t)
	for _, codec := range []datafile.Compression{datafile.Zstd, datafile.Snappy} {
		var hashes []manifest.SHA256
		for range 2 {
			l := &lake{t: t, input: first.input, store: first.store.Clone(), want: first.want, drawn: first.drawn}
			m := l.merge(l.store)
			m.File.Compression = codec
			m.Rules.Classes = compact.AllSizes
			if _, err := l.merged(m); err != nil || l.live()[0] != 1 {
				t.Fatalf("%v, %v live files", err, l.live())
			}
			l.inColumn(schema.Int64)
			l.verify()
			hashes = append(hashes, l.head().Manifest.Tables["events"].Live.Recent[0].SHA256)
		}
		if hashes[0] != hashes[1] {
			t.Errorf("%s: the same files gave other bytes", codec)
		}
	}
}

// TestNothingIsMergedFromADamagedFile flips a bit of a file, in a page, in the footer
// and in the file's last bytes: the merge names the file and commits nothing.
func TestNothingIsMergedFromADamagedFile(t *testing.T) {
	first := large(t)
	head := first.head()
	f := head.Manifest.Tables["events"].Live.Recent[2]
	body := first.store.Objects()[f.Key]
	for _, at := range []int{4, len(body) / 2, len(body) - 400, len(body) - 1} {
		l := &lake{t: t, input: first.input, store: first.store.Clone(), want: first.want, drawn: first.drawn}
		damaged := slices.Clone(body)
		damaged[at] ^= 4
		if _, err := l.store.Put(t.Context(), f.Key, damaged, object.Always); err != nil {
			t.Fatal(err)
		}
		before := len(l.store.Objects())
		m := l.merge(l.store)
		m.Rules.Classes = compact.AllSizes
		_, err := l.merged(m)
		if !errors.Is(err, datafile.ErrDamaged) || !strings.Contains(err.Error(), f.Key) {
			t.Errorf("byte %d: %v", at, err)
		}
		if l.head().SHA256 != head.SHA256 || len(l.store.Objects()) != before {
			t.Errorf("byte %d: something was committed, or left lying", at)
		}
	}
}
