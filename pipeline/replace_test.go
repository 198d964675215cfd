package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"batcher/batch"
	"batcher/commit"
	"batcher/localdev"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/source"
	"batcher/source/files"
)

// names counts the live rows and dead letters of a snapshot by what _source says.
func (w *world) names(seq manifest.Seq) map[string]int {
	w.t.Helper()
	log := w.invoke(source.Shard{}).Log
	head, err := log.Slot(w.t.Context(), seq)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]int{}
	for table, t := range head.Manifest.Tables {
		live, err := log.LoadLive(w.t.Context(), t.Live)
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range live {
			body, _, err := object.ReadAll(w.t.Context(), w.store, live[i].Key, object.GetOptions{}, 1<<30)
			if err != nil {
				w.t.Fatal(err)
			}
			for _, id := range recordIDs(w.t, body) {
				name := source.KeyOf(id.key)
				if name != id.key {
					name += "#"
				}
				if table == "events_dead" {
					name += " dead"
				}
				out[name]++
			}
		}
	}
	return out
}

// head is the newest manifest.
func (w *world) head() *manifest.Manifest {
	w.t.Helper()
	head, err := w.invoke(source.Shard{}).Log.Head(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return head.Manifest
}

func (w *world) wantNames(want map[string]int) {
	w.t.Helper()
	if got := w.names(w.head().Seq); !maps.Equal(got, want) {
		w.t.Errorf("rows of %v, want %v", got, want)
	}
}

// changedWorld has consumed a, b and c in one file, of which b has changed since.
func changedWorld(t *testing.T, policy files.OnChange) *world {
	t.Helper()
	w := newWorld(t)
	w.change, w.budget.Ratio, w.budget.MinRecords = policy, 1, 0
	w.drop("a", lines(0, 3))
	w.drop("b", lines(10, 4)+"{broken\n")
	w.drop("c", lines(20, 5)+"{broken\n")
	w.run()
	w.drop("b", lines(30, 7))
	return w
}

func TestAnAppendedContentStandsBesideTheFirst(t *testing.T) {
	w := changedWorld(t, files.AppendChanged)
	w.drop("d", lines(40, 2))
	rep := w.run()
	if rep.Batches != 1 || rep.Rows.Written != 9 || rep.Objects.Appended != 1 || rep.Objects.Replaced != 0 || rep.Objects.Changed != 1 || rep.Consumed != 4 {
		t.Fatalf("%+v", rep)
	}
	w.wantNames(map[string]int{"a": 3, "b": 4, "b dead": 1, "c": 5, "c dead": 1, "d": 2, "b#": 7})
	if again := w.run(); again.Outcome != pipeline.Empty {
		t.Fatalf("again %+v", again)
	}
	if v := w.verify(); v.Source.Verified != 3+6+7+2 || v.Source.Unverifiable != 5 || v.Rows != 23 {
		t.Fatalf("verify %+v", v)
	}
}

func TestAReplacedContentTakesTheRowsOfAllBeforeIt(t *testing.T) {
	w := changedWorld(t, files.AppendChanged)
	w.run()
	w.change = files.ReplaceChanged
	w.drop("b", lines(50, 2)+"{broken\n")
	w.drop("d", lines(40, 2))
	rep := w.run()
	if rep.Batches != 2 || rep.Rows.Written != 4 || rep.Rows.Dead != 1 || rep.Rows.Replaced != 12 || rep.Objects.Replaced != 1 || rep.Objects.Appended != 0 || rep.Consumed != 4 {
		t.Fatalf("%+v", rep)
	}
	if m := w.head(); m.Kind != manifest.Replace || len(m.Batch.Replaced.Items) != 1 || m.Batch.Replaced.Items[0].Rows != 12 {
		t.Fatalf("%s %+v", m.Kind, m.Batch)
	}
	w.wantNames(map[string]int{"a": 3, "b": 2, "b dead": 1, "c": 5, "c dead": 1, "d": 2})
	if again := w.run(); again.Outcome != pipeline.Empty {
		t.Fatalf("again %+v", again)
	}
	if v := w.verify(); v.Source.Verified != 14 || v.Source.Unverifiable != 0 {
		t.Fatalf("verify %+v", v)
	}
}

func TestAFileOfReplacedRowsAloneIsTakenAway(t *testing.T) {
	w := newWorld(t)
	w.change = files.ReplaceChanged
	w.drop("a", lines(0, 3))
	w.run()
	w.drop("a", "")
	if rep := w.run(); rep.Rows.Replaced != 3 || rep.Rows.Read != 0 || len(rep.Files) != 0 {
		t.Fatalf("%+v", rep)
	}
	if live := w.head().Tables["events"].Live; live.Files != 0 || live.Rows != 0 {
		t.Fatalf("live %+v", live)
	}
	w.drop("a", lines(0, 3))
	if rep := w.run(); rep.Rows.Replaced != 0 || rep.Rows.Written != 3 || w.head().Kind != manifest.Replace {
		t.Fatalf("%+v", rep)
	}
	w.verify()
}

// TestAReplacedObjectIsReadWholeAndManyShareAManifest has an object larger than a
// batch among others that replace theirs.
func TestAReplacedObjectIsReadWholeAndManyShareAManifest(t *testing.T) {
	w := newWorld(t)
	w.change, w.limits = files.ReplaceChanged, batch.Limits{Records: 10}
	want := map[string]int{}
	for i := range 5 {
		w.drop(fmt.Sprint("o", i), lines(i*10, 4))
	}
	w.run()
	for i := range 5 {
		n := 3 + 30*(i%2)
		want[fmt.Sprint("o", i)] = n
		w.drop(fmt.Sprint("o", i), lines(100+i*50, n))
	}
	before := w.head().Seq
	rep := w.run()
	if rep.Objects.Replaced != 5 || rep.Rows.Replaced != 20 || rep.Batches != 3 || w.head().Seq != before+3 {
		t.Fatalf("%+v", rep)
	}
	w.wantNames(want)
	w.verify()
}

func TestARepairedContainerTakesItsDeadLetterAway(t *testing.T) {
	w := newWorld(t)
	w.change, w.budget.Ratio, w.budget.MinRecords = files.ReplaceChanged, 1, 0
	whole := packed(t, lines(0, 9))
	w.drop("a.gz", whole[:40])
	w.drop("b", lines(10, 2))
	if rep := w.run(); rep.Objects.Quarantined != 1 {
		t.Fatalf("%+v", rep)
	}
	w.wantNames(map[string]int{"a.gz dead": 1, "b": 2})
	w.drop("a.gz", whole)
	if rep := w.run(); rep.Rows.Replaced != 1 || rep.Rows.Written != 9 || rep.Objects.Quarantined != 0 {
		t.Fatalf("%+v", rep)
	}
	w.wantNames(map[string]int{"a.gz": 9, "b": 2})
	w.drop("a.gz", whole[:50])
	if rep := w.run(); rep.Rows.Replaced != 9 || rep.Rows.Dead != 1 {
		t.Fatalf("%+v", rep)
	}
	w.wantNames(map[string]int{"a.gz dead": 1, "b": 2})
	w.verify()
}

func TestATouchedObjectStaysANoOpWhateverThePolicy(t *testing.T) {
	for _, policy := range []files.OnChange{files.AppendChanged, files.ReplaceChanged} {
		w := newWorld(t)
		w.change = policy
		w.drop("a", lines(0, 3))
		run := func() pipeline.Report {
			p := w.invoke(source.Shard{})
			w.readFrom(p, datedTags{w.input})
			rep, err := p.Run(t.Context(), pipeline.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return rep
		}
		run()
		w.drop("a", lines(0, 3))
		if rep := run(); rep.Rows.Read != 0 || rep.Objects.Changed != 0 || len(w.head().Batch.Touched.Items) != 1 {
			t.Fatalf("%s: %+v", policy, rep)
		}
		if rep := run(); rep.Outcome != pipeline.Empty {
			t.Fatalf("%s: %+v", policy, rep)
		}
		w.wantNames(map[string]int{"a": 3})
	}
}

func TestARewindOverAReplacementBringsRowsAndEntryBack(t *testing.T) {
	w := changedWorld(t, files.ReplaceChanged)
	before := w.head()
	old := w.names(before.Seq)
	w.run()
	now := w.names(w.head().Seq)
	if maps.Equal(old, now) || now["b"] != 7 || now["b dead"] != 0 {
		t.Fatalf("before %v, now %v", old, now)
	}
	if _, err := w.repairOn(w.store).Rewind(t.Context(), before.Seq); err != nil {
		t.Fatal(err)
	}
	w.wantNames(old)
	if sum := w.head().Progress.Files.Sum; sum != before.Progress.Files.Sum {
		t.Fatal("the entry did not come back")
	}
	if v := w.verify(); v.Source.Unverifiable != 5 {
		t.Fatalf("verify %+v", v)
	}
	if rep := w.run(); rep.Objects.Replaced != 1 || rep.Rows.Replaced != 5 {
		t.Fatalf("after the rewind %+v", rep)
	}
	w.wantNames(now)
	w.verify()
}

// TestOfTwoRunsThatMeetAChangeOneConsumesIt lets a run stop just before its slot
// while another one comes by.
func TestOfTwoRunsThatMeetAChangeOneConsumesIt(t *testing.T) {
	for _, policy := range []files.OnChange{files.AppendChanged, files.ReplaceChanged} {
		for name, meanwhile := range map[string]func(w *world){
			"the same":           func(w *world) { w.run() },
			"another change":     func(w *world) { w.drop("b", lines(90, 8)); w.run() },
			"another object":     func(w *world) { w.drop("c", lines(90, 8)); w.run() },
			"two changes":        func(w *world) { w.run(); w.drop("b", lines(90, 8)); w.run() },
			"there and back":     func(w *world) { w.run(); w.drop("b", lines(90, 8)); w.run(); w.drop("b", lines(30, 7)); w.run() },
			"a fence":            func(w *world) { _, _ = w.repairOn(w.store).Fence(w.t.Context()) },
			"a rewind":           func(w *world) { _, _ = w.repairOn(w.store).Rewind(w.t.Context(), w.head().Seq) },
			"the other policy's": func(w *world) { w.change = policies[3-slices.Index(policies, w.change)]; w.run() },
		} {
			t.Run(string(policy)+" and "+name, func(t *testing.T) {
				w := changedWorld(t, policy)
				var receipts []acked
				_, err := w.pause(&receipts, nil, func(rival *world) { meanwhile(rival) })
				var superseded *commit.SupersededError
				if err != nil && !errors.As(err, &superseded) {
					t.Fatal(err)
				}
				w.recover(&receipts)
				if t.Failed() {
					return
				}
				w.onlyTheNewest(policy, name)
				w.verify()
			})
		}
	}
}

// onlyTheNewest holds the rows against the objects as they are.
func (w *world) onlyTheNewest(policy files.OnChange, story string) {
	w.t.Helper()
	got := w.names(w.head().Seq)
	for key, body := range w.input.Objects() {
		n := strings.Count(string(body), `{"n":`)
		if policy == files.AppendChanged || strings.HasPrefix(story, "the other") {
			if got[key] < n && got[key+"#"] < n {
				w.t.Errorf("%s: the newest content of %d rows is not in: %v", key, n, got)
			}
			continue
		}
		if got[key] != n || got[key+"#"] != 0 || got[key+" dead"] != strings.Count(string(body), "{broken") {
			w.t.Errorf("%s: it has %d rows; in are %v", key, n, got)
		}
	}
}

// TestTheSameChangeIsNeverConsumedTwice asks for ranges that were committed.
func TestTheSameChangeIsNeverConsumedTwice(t *testing.T) {
	for _, policy := range []files.OnChange{files.AppendChanged, files.ReplaceChanged} {
		w := changedWorld(t, policy)
		w.run()
		ranges := w.head().Batch.Ranges.Items
		ask := func() (pipeline.Report, error) {
			return w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{Ranges: ranges})
		}
		want := w.names(w.head().Seq)
		if rep, err := ask(); err != nil || rep.Outcome != pipeline.Already {
			t.Fatalf("%s: %+v, %v", policy, rep, err)
		}
		if _, err := w.repairOn(w.store).Rewind(t.Context(), w.head().Seq-1); err != nil {
			t.Fatal(err)
		}
		if rep, err := ask(); err != nil || rep.Outcome != pipeline.Committed {
			t.Fatalf("%s, after a rewind: %+v, %v", policy, rep, err)
		}
		w.wantNames(want)
		w.drop("b", lines(60, 1))
		w.run()
		var changed *files.ChangedError
		if _, err := ask(); !errors.As(err, &changed) {
			t.Fatalf("%s, overtaken: %v", policy, err)
		}
		w.verify()
	}
}

// TestAContentThatCameBackIsNotTakenForTheOneBefore asks for the ranges of a change
// after the key went back and forth: the content is the same and it is another
// change.
func TestAContentThatCameBackIsNotTakenForTheOneBefore(t *testing.T) {
	w := newWorld(t)
	w.change = files.AppendChanged
	w.input = memstore.New(memstore.WithClock(w.clock.Now))
	put := func(body string) {
		w.drop("a", body)
		w.clock.now = w.clock.now.Add(60e9)
	}
	one, two := lines(0, 3), lines(10, 4)
	put(one)
	w.run()
	put(two)
	w.run()
	ranges := w.head().Batch.Ranges.Items
	put(one)
	w.run()
	put(two)
	var gap *files.GapError
	if _, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{Ranges: ranges}); !errors.As(err, &gap) {
		t.Fatalf("got %v", err)
	}
	w.run()
	w.wantNames(map[string]int{"a": 3, "a#": 4 + 3 + 4})
	w.verify()
}

func TestNewAndReplacedObjectsAreNotAskedForInOneBatch(t *testing.T) {
	w := changedWorld(t, files.ReplaceChanged)
	w.run()
	ranges := w.head().Batch.Ranges.Items
	if _, err := w.repairOn(w.store).Rewind(t.Context(), w.head().Seq-1); err != nil {
		t.Fatal(err)
	}
	w.drop("d", lines(0, 1))
	var partly *pipeline.PartlyCoveredError
	_, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{Ranges: append(slices.Clone(ranges), source.Range{Key: "d", Last: true})})
	if !errors.As(err, &partly) {
		t.Fatalf("got %v", err)
	}
}

// replaceWorld is a crash world whose source has changed in every way: objects are
// shorter, longer than a batch, repaired, broken and empty now.
func replaceWorld(t *testing.T, policy files.OnChange) (*world, []acked) {
	t.Helper()
	w := crashWorld(t, memstore.New())
	w.change = policy
	var receipts []acked
	if _, err := w.invokeCrash(&receipts).Run(t.Context(), pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	w.drop("a0", lines(0, 2)+"{broken\n")
	w.drop("b", lines(300, 8))
	w.drop("c.gz", packed(t, lines(200, 3)))
	w.drop("d", "")
	return w, receipts
}

// replacedRecords is how many records the source of a replace world has then, and
// appendedRecords how many are in when nothing is taken away.
const (
	replacedRecords = 3 + 2*5 + 8 + 3
	appendedRecords = crashRecords + 3 + 8 + 3
)

func TestEveryCallOfAChangeMayFailInEveryWay(t *testing.T) {
	for policy, records := range map[files.OnChange]int64{files.ReplaceChanged: replacedRecords, files.AppendChanged: appendedRecords} {
		t.Run(string(policy), func(t *testing.T) {
			first, before := replaceWorld(t, policy)
			receipts := slices.Clone(before)
			plain := faultstore.New(first.store.(*memstore.Store).Clone(), nil)
			seen := *first
			seen.store = plain
			if rep, err := seen.invokeCrash(&receipts).Run(t.Context(), pipeline.Options{}); err != nil || rep.Objects.Changed != 4 {
				t.Fatalf("%+v, %v", rep, err)
			}
			calls, points := plain.Calls(), localdev.OneIn(7)
			for i, call := range calls {
				for _, c := range append(casesAt(i+1, call.Op), outagesAt(i+1, call.Op)...) {
					if points.Take() {
						c.tryChange(t, first, slices.Clone(before), records)
					}
				}
			}
			t.Logf("%d calls, %v crash points", len(calls), points)
			localdev.Figure("crash points of on_change: "+string(policy), fmt.Sprintf("%v (%d calls)", points, len(calls)))
		})
	}
}

// tryChange lets a run that meets changed objects have the fault on a copy of a
// world.
func (c crashCase) tryChange(t *testing.T, first *world, receipts []acked, records int64) {
	t.Helper()
	w := *first
	w.t, w.store = t, first.store.(*memstore.Store).Clone()
	faults, runErr := w.strike(c.where, faultstore.Script{c.rule}, &receipts)
	if c.release == beforeRecovery {
		faults.Release(context.Background())
	}
	w.recover(&receipts)
	if c.release == afterCollection {
		faults.Release(context.Background())
		w.recover(&receipts)
	}
	live := int64(0)
	for _, table := range w.head().Tables {
		live += table.Live.Rows
	}
	if v := w.verify(); live != records || v.Lost+v.Doubled != 0 {
		t.Errorf("%d records, %d live rows, verify says %+v", records, live, v)
	}
	w.honest(receipts)
	if t.Failed() {
		t.Fatalf("%v; the run said: %v", c, runErr)
	}
}

// whileReading does something once while the source is read.
type whileReading struct {
	*memstore.Store
	key string
	do  func()
}

func (r *whileReading) Get(ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	body, info, err := r.Store.Get(ctx, key, opts)
	if do := r.do; key == r.key && do != nil {
		r.do = nil
		do()
	}
	return body, info, err
}

// TestAFileThatIsGoneIsAFenceOrDamage takes a live file away while a run is about to
// take rows out of it: as garbage, once a rival has replaced it, or by hand.
func TestAFileThatIsGoneIsAFenceOrDamage(t *testing.T) {
	garbage := func(w *world) {
		w.run()
		if _, err := w.repairOn(w.store).Fence(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := w.repairOn(w.store).Expire(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := w.collect(w.store); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		gone func(w *world)
		want func(err error) bool
	}{
		"as garbage": {garbage, func(err error) bool {
			var superseded *commit.SupersededError
			return errors.As(err, &superseded)
		}},
		"by hand": {func(w *world) {
			for key := range list(t, w.store) {
				if strings.Contains(key, "/data/") {
					if err := w.store.Delete(t.Context(), key); err != nil {
						t.Fatal(err)
					}
				}
			}
		}, func(err error) bool { return errors.Is(err, commit.ErrDamaged) }},
	} {
		w := changedWorld(t, files.ReplaceChanged)
		file := w.head().Tables["events"].Live.Recent[0].Key
		p := w.invoke(source.Shard{})
		w.readFrom(p, &whileReading{Store: w.input, key: "b", do: func() { c.gone(w) }})
		before := w.head().Seq
		_, err := p.Run(t.Context(), pipeline.Options{})
		if !c.want(err) {
			t.Errorf("%s: %v", name, err)
		}
		if _, there := list(t, w.store)[file]; there {
			t.Errorf("%s: the file is still there, and this shows nothing", name)
		}
		if name == "by hand" && w.head().Seq != before {
			t.Errorf("%s: something was committed", name)
		}
	}
}
