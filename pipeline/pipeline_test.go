package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"batcher/audit"
	"batcher/batch"
	"batcher/commit"
	"batcher/datafile"
	"batcher/localdev"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/schema"
	"batcher/source"
	"batcher/source/files"
)

// clock goes on only by Sleep and by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Millisecond)
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
	return ctx.Err()
}

// random is a seeded source of attempts.
type random struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (r *random) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range b {
		b[i] = byte(r.r.Uint32())
	}
	return len(b), nil
}

// world is a source and a store that any number of invocations share.
type world struct {
	t      *testing.T
	input  *memstore.Store
	store  object.Store
	clock  *clock
	random *random
	limits batch.Limits
	budget batch.Budget
	change files.OnChange
	hash   string
}

func newWorld(t *testing.T) *world {
	return &world{
		t: t, input: memstore.New(), store: memstore.New(),
		clock:  &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		random: &random{r: rand.New(rand.NewPCG(1, 2))},
		budget: batch.Budget{Ratio: 0.1, MinRecords: 1000}, hash: "c1",
	}
}

// invoke wires one invocation.
func (w *world) invoke(shard source.Shard) *pipeline.Pipeline {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	l := commit.New(commit.Options{Store: w.store, Pipeline: "events", Clock: w.clock, Logger: log})
	src, err := files.New(w.input, files.Config{Location: "mem://in", Shard: shard, Lookback: 72 * time.Hour, OnChange: w.change})
	if err != nil {
		w.t.Fatal(err)
	}
	return &pipeline.Pipeline{
		Log: l, Store: w.store, Source: src, Input: w.input, Set: src.NewSet(l),
		Config: manifest.Config{Hash: w.hash, Source: "mem://in", Format: "ndjson", RecordID: "position", Table: "events", Dead: "events_dead"},
		Table:  "events", Dead: "events_dead", Rules: schema.Rules{MinRecords: 1}, Limits: w.limits, Budget: w.budget,
		File: datafile.Options{}, FileBytes: 128 << 20, Clock: w.clock, Random: w.random, Logger: log,
	}
}

// run makes one invocation to its end.
func (w *world) run() pipeline.Report {
	w.t.Helper()
	rep, err := w.invoke(source.Shard{}).Run(w.t.Context(), pipeline.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return rep
}

// drop puts an object into the source.
func (w *world) drop(key, body string) {
	w.t.Helper()
	if _, err := w.input.Put(w.t.Context(), key, []byte(body), object.Always); err != nil {
		w.t.Fatal(err)
	}
}

// verify proves everything, the source included, and returns the report.
func (w *world) verify() audit.Report {
	w.t.Helper()
	p := w.invoke(source.Shard{})
	v := audit.Verifier{Log: p.Log, Store: w.store, Source: p.Source, Set: p.Set, Rules: p.Rules, Table: "events", Dead: "events_dead", Logger: p.Logger}
	rep, err := v.Verify(w.t.Context(), audit.Options{Checks: audit.CheckRows | audit.CheckHashes | audit.CheckSource})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, x := range rep.Violations {
		w.t.Errorf("violation %s at manifest %d: %s", x.Invariant, x.Seq, x.Detail)
	}
	return rep
}

// lines makes n records from number from on.
func lines(from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, `{"n":%d,"user":"u%d","tags":["a","b%d"],"at":"2026-01-01T00:00:%02dZ"}`+"\n", i, i%7, i%3, i%60)
	}
	return b.String()
}

func TestARunCommitsAndASecondOneHasNothingToDo(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.drop(fmt.Sprintf("d/o%d.ndjson", i), lines(i*10, 10))
	}
	first := w.run()
	if first.Outcome != pipeline.Committed || first.Rows.Written != 50 || first.Objects.Read != 5 || len(first.Files) != 1 {
		t.Fatalf("first %+v", first)
	}
	second := w.run()
	if second.Outcome != pipeline.Empty || second.Requests.Put != 0 || second.Requests.Get > 3 {
		t.Fatalf("second %+v", second)
	}
	if rep := w.verify(); rep.Source.Verified != 50 || rep.Lost+rep.Doubled != 0 {
		t.Fatalf("verify %+v", rep)
	}
}

func TestP23_ObjectsThatComeLateWithSmallKeysOrOldTimesAreConsumedOnce(t *testing.T) {
	w := newWorld(t)
	w.drop("m.ndjson", lines(0, 3))
	w.run()
	w.drop("a.ndjson", lines(10, 3)) // smaller key, later
	w.drop("m.ndjson.2", lines(20, 3))
	if rep := w.run(); rep.Rows.Written != 6 {
		t.Fatalf("%+v", rep)
	}
	if rep := w.verify(); rep.Source.Verified != 9 {
		t.Fatalf("verify %+v", rep)
	}
}

func TestAChangedObjectIsReportedAndNeverReadAgain(t *testing.T) {
	w := newWorld(t)
	w.drop("a.ndjson", lines(0, 3))
	w.run()
	w.drop("a.ndjson", lines(0, 4))
	rep := w.run()
	if rep.Outcome != pipeline.Empty || rep.Objects.Changed != 1 {
		t.Fatalf("%+v", rep)
	}
	if v := w.verify(); v.Source.Unverifiable != 3 || v.Rows != 3 {
		t.Fatalf("verify %+v", v)
	}
}

func TestAnObjectLargerThanABatchIsConsumedInRanges(t *testing.T) {
	w := newWorld(t)
	w.limits = batch.Limits{Records: 10}
	w.drop("big.ndjson", lines(0, 95))
	w.drop("small.ndjson", lines(95, 5))
	rep := w.run()
	if rep.Rows.Written != 100 || rep.Batches < 10 || rep.Objects.Read != 2 {
		t.Fatalf("%+v", rep)
	}
	if again := w.run(); again.Outcome != pipeline.Empty {
		t.Fatalf("again %+v", again)
	}
	if v := w.verify(); v.Source.Verified != 100 {
		t.Fatalf("verify %+v", v)
	}
	t.Logf("%d batches", rep.Batches)
}

func TestAnObjectThatVanishesHalfReadIsAGap(t *testing.T) {
	w := newWorld(t)
	w.limits = batch.Limits{Records: 10}
	w.drop("big.ndjson", lines(0, 95))
	if _, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{MaxBatches: 2}); err != nil {
		t.Fatal(err)
	}
	if err := w.input.Delete(t.Context(), "big.ndjson"); err != nil {
		t.Fatal(err)
	}
	_, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{})
	var gap *files.GapError
	if !errors.As(err, &gap) || gap.Key != "big.ndjson" || gap.Position == 0 {
		t.Fatalf("got %v", err)
	}
}

func TestP31_BadRecordsGoToTheDeadLettersOrTheBatchCommitsNothing(t *testing.T) {
	w := newWorld(t)
	w.budget = batch.Budget{Ratio: 0.5, MinRecords: 2}
	w.drop("a.ndjson", lines(0, 3)+"{broken\n"+lines(3, 3))
	rep := w.run()
	if rep.Rows.Written != 6 || rep.Rows.Dead != 1 || len(rep.Offenders) != 1 {
		t.Fatalf("%+v", rep)
	}
	w.drop("b.ndjson", strings.Repeat("{broken\n", 10))
	failed, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{})
	var budget *batch.BudgetError
	if !errors.As(err, &budget) || failed.Batches != 0 || budget.Dead != 10 {
		t.Fatalf("%+v, %v", failed, err)
	}
	accepted, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{AcceptBad: pipeline.AcceptBad})
	if err != nil || accepted.Rows.Dead != 10 {
		t.Fatalf("%+v, %v", accepted, err)
	}
	if v := w.verify(); v.Source.Verified != 17 || v.Rows != 17 {
		t.Fatalf("verify %+v", v)
	}
}

func TestABrokenContainerIsOneDeadLetterAndNoneOfItsRows(t *testing.T) {
	w := newWorld(t)
	w.budget = batch.Budget{Ratio: 1}
	w.drop("a.ndjson", lines(0, 3))
	w.drop("b.ndjson.gz", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xffgarbage that is no deflate stream")
	w.drop("c.ndjson", lines(3, 3))
	rep := w.run()
	if rep.Rows.Written != 6 || rep.Rows.Dead != 1 || rep.Objects.Quarantined != 1 {
		t.Fatalf("%+v", rep)
	}
	if v := w.verify(); v.Source.Verified != 7 || v.Rows != 7 {
		t.Fatalf("verify %+v", v)
	}
}

func TestD17_EmptyObjectsAreDoneAndMakeNoFile(t *testing.T) {
	w := newWorld(t)
	w.drop("empty.ndjson", "")
	w.drop("blank.ndjson", " \n\n")
	rep := w.run()
	if rep.Outcome != pipeline.Committed || rep.Objects.Read != 2 || len(rep.Files) != 0 {
		t.Fatalf("%+v", rep)
	}
	if again := w.run(); again.Outcome != pipeline.Empty {
		t.Fatalf("again %+v", again)
	}
}

func TestAnExplicitRangeIsANoOpOnceItIsCommitted(t *testing.T) {
	w := newWorld(t)
	w.drop("a.ndjson", lines(0, 5))
	w.drop("b.ndjson", lines(5, 5))
	w.run()
	p := w.invoke(source.Shard{})
	s, err := p.Log.Slot(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	ranges := s.Manifest.Batch.Ranges.Items
	rep, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{Ranges: ranges})
	if err != nil || rep.Outcome != pipeline.Already || rep.Requests.Put != 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	w.drop("c.ndjson", lines(10, 5))
	fresh, _, err := w.input.Get(t.Context(), "c.ndjson", object.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fresh.Close()
	info := list(t, w.input)["c.ndjson"]
	more := append(slices.Clone(ranges[:1]), source.Range{Key: "c.ndjson", ETag: info.ETag, Size: info.Size, Modified: info.Modified, To: source.Position(info.Size), Last: true})
	_, err = w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{Ranges: more})
	var partly *pipeline.PartlyCoveredError
	if !errors.As(err, &partly) {
		t.Fatalf("got %v", err)
	}
	rep, err = w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{Ranges: more[1:]})
	if err != nil || rep.Outcome != pipeline.Committed || rep.Rows.Written != 5 {
		t.Fatalf("%+v, %v", rep, err)
	}
}

func list(t *testing.T, s object.Store) map[string]object.Info {
	out := map[string]object.Info{}
	for info, err := range s.List(t.Context(), "", object.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		out[info.Key] = info
	}
	return out
}

func TestAnotherSourceOfAnExistingPipelineIsRefused(t *testing.T) {
	w := newWorld(t)
	w.drop("a.ndjson", lines(0, 1))
	w.run()
	p := w.invoke(source.Shard{})
	p.Config.Source = "mem://elsewhere"
	_, err := p.Run(t.Context(), pipeline.Options{})
	var mismatch *manifest.MismatchError
	if !errors.As(err, &mismatch) || mismatch.Key != "source.files.path" {
		t.Fatalf("got %v", err)
	}
}

// TestShardsAndOverlappingRunsCommitEveryRecordOnce lets two shards and two
// unsharded invocations drain the same source side by side, while types and
// columns differ between objects, so that lost races are rebased, planned again
// and written again.
func TestShardsAndOverlappingRunsCommitEveryRecordOnce(t *testing.T) {
	w := newWorld(t)
	w.limits = batch.Limits{Objects: 3}
	const objects = 60
	for i := range objects {
		body := lines(i*10, 10)
		if i%6 == 5 {
			body += fmt.Sprintf(`{"n":%d,"extra%d":true}`+"\n", i, i)
		}
		w.drop(fmt.Sprintf("o%02d.ndjson", i), body)
	}
	var wg sync.WaitGroup
	reports := make([]pipeline.Report, 4)
	for i := range reports {
		shard := source.Shard{}
		if i < 2 {
			shard = source.Shard{Index: i, Count: 2}
		}
		p := w.invoke(shard)
		wg.Go(func() {
			var err error
			if reports[i], err = p.Run(context.Background(), pipeline.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	v := w.verify()
	want := int64(objects*10 + objects/6)
	if v.Source.Verified != want || v.Rows != want {
		t.Fatalf("verify %+v, want %d records", v, want)
	}
	batches := 0
	for _, r := range reports {
		batches += r.Batches
	}
	if int64(batches) != v.Batches {
		t.Errorf("%d batches acknowledged, %d in the chain", batches, v.Batches)
	}
	t.Logf("%d manifests, batches per invocation %d %d %d %d", v.Head, reports[0].Batches, reports[1].Batches, reports[2].Batches, reports[3].Batches)
}

func TestAnIdleRunCostsTheSameAfter10And1000Batches(t *testing.T) {
	w := newWorld(t)
	w.limits = batch.Limits{Objects: 1}
	cost := map[int]object.Requests{}
	n := 0
	for _, target := range []int{10, 200, 1000} {
		for ; n < target; n++ {
			w.drop(fmt.Sprintf("o%04d.ndjson", n), lines(n, 1))
		}
		rep := w.run()
		idle := w.run()
		if idle.Outcome != pipeline.Empty {
			t.Fatalf("%+v", idle)
		}
		cost[target] = idle.Requests
		t.Logf("%d batches: idle run %+v; the run before: %d batches, %+v", target, idle.Requests, rep.Batches, rep.Requests)
	}
	localdev.Figure("idle run after 10, 200, 1000 batches", fmt.Sprintf("%+v, %+v, %+v", cost[10], cost[200], cost[1000]))
	for _, target := range []int{10, 200, 1000} {
		c := cost[target]
		if c.Get+c.Put+c.Delete+c.Head > 6 || c.Get != cost[10].Get {
			t.Errorf("after %d batches an idle run makes %+v", target, c)
		}
	}
}

// TestEachObjectIsReadOnce in a run of many batches, although small ones are read ahead.
func TestEachObjectIsReadOnce(t *testing.T) {
	const objects = 60
	size := int64(len(lines(0, 1)))
	for _, limits := range []batch.Limits{{Objects: 1}, {Objects: 7}, {Bytes: 5*size + 1}, {}} {
		w := newWorld(t)
		w.limits = limits
		for i := range objects {
			w.drop(fmt.Sprintf("o%04d.ndjson", i), lines(i%10, 1))
		}
		before := object.RequestsOf(w.input)
		rep := w.run()
		if made := object.RequestsOf(w.input).Sub(before); rep.Objects.Read != objects || made.Get != objects {
			t.Errorf("%+v: %d batches read %d objects with %d GETs", limits, rep.Batches, rep.Objects.Read, made.Get)
		}
	}
}

func TestABatchAfterStartUpCostsFewRequests(t *testing.T) {
	w := newWorld(t)
	w.limits = batch.Limits{Objects: 1}
	cost := func(from, n int) object.Requests {
		for i := from; i < from+n; i++ {
			w.drop(fmt.Sprintf("o%04d.ndjson", i), lines(i, 1))
		}
		before := object.RequestsOf(w.store)
		if rep := w.run(); rep.Batches != n {
			t.Fatalf("%+v", rep)
		}
		return object.RequestsOf(w.store).Sub(before)
	}
	cost(0, 300) // history
	one := cost(300, 1)
	many := cost(301, 201)
	gets := float64(many.Get-one.Get) / 200
	puts := float64(many.Put-one.Put) / 200
	t.Logf("a run of one batch: %+v; each further batch: %.2f GETs, %.2f PUTs", one, gets, puts)
	localdev.Figure("each further batch of a run", fmt.Sprintf("%.2f GETs and %.2f PUTs beside reading the source", gets, puts))
	if gets > 4 || puts > 1+2+1+1 {
		t.Errorf("a batch makes %.2f GETs and %.2f PUTs", gets, puts)
	}
}
