package commit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/schema"
	"batcher/segment"
	"batcher/source"
)

// clock stands still but for Sleep.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
	return ctx.Err()
}

func newLog(store object.Store) *commit.Log {
	return commit.New(commit.Options{
		Store: store, Pipeline: "events", Clock: &clock{now: time.Unix(1_700_000_000, 0)},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Writer: manifest.Writer{Version: "test", Host: "h", PID: 1},
	})
}

var config = manifest.Config{Hash: "c1", Source: "mem", Format: "ndjson", RecordID: "position", Table: "events", Dead: "events_dead"}

func reserved() *schema.Schema {
	return &schema.Schema{Fields: []schema.Field{
		{ID: 1, Name: "_source", Type: schema.Type{Kind: schema.String}},
		{ID: 2, Name: "_offset", Type: schema.Type{Kind: schema.Int64}},
	}, LastID: schema.LastReserved}
}

func genesis(id byte) commit.Genesis {
	return commit.Genesis{
		ID: [16]byte{id}, Attempt: manifest.Attempt{0xff, id},
		Tables: map[string]*schema.Schema{"events": reserved(), "events_dead": reserved()},
		Config: config,
	}
}

func create(t *testing.T, store object.Store) (*commit.Log, manifest.Snapshot) {
	t.Helper()
	l := newLog(store)
	head, err := l.Create(t.Context(), genesis(1))
	if err != nil {
		t.Fatal(err)
	}
	return l, head
}

// advance counts objects; the set itself is the business of source/files.
func advance(ranges []source.Range) commit.Advance {
	return func(_ context.Context, p *source.FilesProgress, _ *segment.Pack) (*source.FilesProgress, []manifest.Touched, error) {
		out := *p
		out.Open = nil
		open := map[string]source.OpenObject{}
		for _, o := range p.Open {
			open[o.Key] = o
		}
		for _, r := range ranges {
			delete(open, r.Key)
			if r.Last {
				out.Count++
			} else {
				open[r.Key] = source.OpenObject{Key: r.Key, ETag: r.ETag, Size: r.Size, Next: r.To}
			}
		}
		for _, o := range open {
			out.Open = append(out.Open, o)
		}
		return &out, nil, nil
	}
}

// proposal consumes whole objects of ten records into one file.
func proposal(base manifest.Snapshot, attempt byte, keys ...string) commit.Proposal {
	a := manifest.Attempt{attempt}
	var ranges []source.Range
	for _, k := range keys {
		ranges = append(ranges, source.Range{Key: k, ETag: "e", Size: 100, To: 100, Last: true, Records: 10})
	}
	n := int64(10 * len(keys))
	return commit.Proposal{
		Kind: manifest.Data, Attempt: a, Base: base, Config: config,
		Batch: &manifest.Batch{Ranges: segment.Of(ranges), Objects: int64(len(keys)), Rows: manifest.RowCounts{Read: n, Written: n}},
		Tables: map[string]commit.Delta{"events": {Schema: reserved(), Add: []manifest.File{{
			Key: manifest.DataFile("events", base.Manifest.Seq, a, 0), Size: 1000, Rows: n,
		}}}},
		Advance: advance(ranges),
	}
}

func TestAppendCommitsAndARetryOfTheSameRangesIsANoOp(t *testing.T) {
	store := memstore.New()
	l, head := create(t, store)
	out, err := l.Append(t.Context(), proposal(head, 1, "a", "b"))
	if err != nil || out.Verdict != commit.Committed || out.Receipt.Seq() != 1 {
		t.Fatalf("first: %+v, %v", out.Decision, err)
	}
	// The same ranges again on the old head, as a process does that lost its answer and restarted.
	again, err := l.Append(t.Context(), proposal(head, 2, "a", "b"))
	if err != nil || again.Verdict != commit.Already {
		t.Fatalf("retry: %+v, %v", again.Decision, err)
	}
	found, err := newLog(store).Head(t.Context())
	if err != nil || found.Manifest.Seq != 1 || found.SHA256 != out.Head.SHA256 {
		t.Fatalf("head %+v, %v", found, err)
	}
	if live := found.Manifest.Tables["events"].Live; live.Files != 1 || live.Rows != 20 {
		t.Fatalf("live %+v", live)
	}
}

// Long ranges stand in a state object. Whoever committed them knows them, and must
// not need the store to say so.
func TestACommitIsToldThoughItsListsCannotBeReadBack(t *testing.T) {
	store := memstore.New()
	_, head := create(t, store)
	var keys []string
	for i := range 400 {
		keys = append(keys, fmt.Sprintf("object-%03d", i))
	}
	faults := faultstore.New(store, faultstore.Script{{Op: faultstore.Get, Prefix: "_batcher/events/state/", Times: -1, Fault: faultstore.Tear}})
	out, err := newLog(faults).Append(t.Context(), proposal(head, 1, keys...))
	if err != nil || out.Verdict != commit.Committed || out.Receipt.Seq() != 1 {
		t.Fatalf("%+v, %v", out.Decision, err)
	}
	if b := out.Head.Manifest.Batch; b.Ranges.Ref == nil || len(b.Ranges.Items) != len(keys) {
		t.Errorf("%d ranges at %v, want %d by reference", len(b.Ranges.Items), b.Ranges.Ref, len(keys))
	}
}

func TestALostRaceKeepsItsFilesAndLosesNothing(t *testing.T) {
	store := memstore.New()
	l, head := create(t, store)
	if _, err := l.Append(t.Context(), proposal(head, 1, "a")); err != nil {
		t.Fatal(err)
	}
	out, err := l.Append(t.Context(), proposal(head, 2, "b"))
	if err != nil || out.Verdict != commit.Committed || out.Receipt.Seq() != 2 {
		t.Fatalf("%+v, %v", out.Decision, err)
	}
	if m := out.Head.Manifest; m.Base != 0 || m.Progress.Files.Count != 2 || m.Tables["events"].Live.Rows != 20 {
		t.Fatalf("rebased manifest %+v", m)
	}
}

func TestP11_PartlyTakenRangesArePlannedAgain(t *testing.T) {
	l, head := create(t, memstore.New())
	if _, err := l.Append(t.Context(), proposal(head, 1, "a")); err != nil {
		t.Fatal(err)
	}
	out, err := l.Append(t.Context(), proposal(head, 2, "a", "b"))
	if err != nil || out.Verdict != commit.Replan {
		t.Fatalf("%+v, %v", out.Decision, err)
	}
}

func TestP1_AnAttemptBelowTheFloorAborts(t *testing.T) {
	l, head := create(t, memstore.New())
	floor := commit.Proposal{Kind: manifest.Floor, Attempt: manifest.Attempt{9}, Base: head, Repair: commit.Repair{Floor: 1}, Config: config}
	if out, err := l.Append(t.Context(), floor); err != nil || out.Verdict != commit.Committed {
		t.Fatalf("floor: %+v, %v", out.Decision, err)
	}
	out, err := l.Append(t.Context(), proposal(head, 2, "b"))
	if err != nil || out.Verdict != commit.Abort {
		t.Fatalf("%+v, %v", out.Decision, err)
	}
}

func TestTwoWritersThatAddColumnsDoNotShareFieldIDs(t *testing.T) {
	l, head := create(t, memstore.New())
	grown := func(name string) *schema.Schema {
		s := reserved()
		s.LastID = 17
		s.Fields = append(s.Fields, schema.Field{ID: 17, Name: name, Key: name, Type: schema.Type{Kind: schema.Int64}})
		return s
	}
	with := func(p commit.Proposal, s *schema.Schema) commit.Proposal {
		d := p.Tables["events"]
		d.Schema = s
		p.Tables["events"] = d
		return p
	}
	if _, err := l.Append(t.Context(), with(proposal(head, 1, "a"), grown("x"))); err != nil {
		t.Fatal(err)
	}
	out, err := l.Append(t.Context(), with(proposal(head, 2, "b"), grown("y")))
	if err != nil || out.Verdict != commit.Reencode {
		t.Fatalf("%+v, %v", out.Decision, err)
	}
	// A writer that adds nothing keeps its files.
	out, err = l.Append(t.Context(), proposal(head, 3, "c"))
	if err != nil || out.Verdict != commit.Committed {
		t.Fatalf("%+v, %v", out.Decision, err)
	}
	if id := out.Head.Manifest.Tables["events"].Schema.LastID; id != 17 {
		t.Fatalf("last id %d", id)
	}
}

// TestManyWritersCommitEveryObjectOnce lets writers race for the same objects
// until all are consumed, each planning from the chain as it last saw it.
func TestManyWritersCommitEveryObjectOnce(t *testing.T) {
	const writers, objects = 8, 120
	store := memstore.New()
	_, first := create(t, store)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var mu sync.Mutex
	verdicts := map[commit.Verdict]int{}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(w)))
			l, head := newLog(store), first
			seen := consumed(t, l, head)
			for attempt := 0; len(seen) < objects; attempt++ {
				p := proposal(head, byte(w), free(rnd, seen, objects)...)
				p.Attempt = manifest.Attempt{byte(w), byte(attempt), byte(attempt >> 8)}
				p.Tables, p.Batch.Rows = nil, manifest.RowCounts{}
				out, err := l.Append(context.Background(), p)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				verdicts[out.Verdict]++
				mu.Unlock()
				head = out.Head
				seen = consumed(t, l, head)
			}
		})
	}
	wg.Wait()
	l := newLog(store)
	head, err := l.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	times := consumed(t, l, head)
	t.Logf("%d writers, %d objects, %d manifests, verdicts %v", writers, objects, head.Manifest.Seq, verdicts)
	for k, n := range times {
		if n != 1 {
			t.Errorf("object %s was consumed %d times", k, n)
		}
	}
	if len(times) != objects || head.Manifest.Progress.Files.Count != objects {
		t.Errorf("%d of %d objects consumed, progress says %d", len(times), objects, head.Manifest.Progress.Files.Count)
	}
}

// consumed counts how often each object stands in the chain up to head.
func consumed(t *testing.T, l *commit.Log, head manifest.Snapshot) map[string]int {
	times := map[string]int{}
	for seq := manifest.Seq(1); seq <= head.Manifest.Seq; seq++ {
		s, err := l.Slot(context.Background(), seq)
		if err != nil {
			t.Error(err)
			return nil
		}
		for _, r := range s.Manifest.Batch.Ranges.Items {
			times[r.Key]++
		}
	}
	return times
}

// free draws up to three objects that are not consumed.
func free(rnd *rand.Rand, seen map[string]int, objects int) []string {
	var keys []string
	for _, i := range rnd.Perm(objects) {
		if k := fmt.Sprintf("o%03d", i); seen[k] == 0 && len(keys) < 3 {
			keys = append(keys, k)
		}
	}
	return keys
}

func TestHeadCostsThreeGetsWithAFreshHintHoweverLongTheChain(t *testing.T) {
	store := memstore.New()
	l, head := create(t, store)
	for i := range 300 {
		out, err := l.Append(t.Context(), commit.Proposal{Kind: manifest.Data, Attempt: manifest.Attempt{1, byte(i), byte(i >> 8)}, Base: head,
			Batch: &manifest.Batch{}, Config: config})
		if err != nil || out.Verdict != commit.Committed {
			t.Fatalf("%+v %v", out.Decision, err)
		}
		head = out.Head
	}
	gets := func() int64 {
		before := object.RequestsOf(store).Get
		got, err := newLog(store).Head(t.Context())
		if err != nil || got.Manifest.Seq != 300 {
			t.Fatalf("head %v, %v", got.Manifest, err)
		}
		return object.RequestsOf(store).Get - before
	}
	cold := gets()
	if err := l.PutHint(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	if warm := gets(); warm != 3 || cold > 25 {
		t.Fatalf("%d GETs with a hint, %d without", warm, cold)
	}
	t.Logf("300 manifests: %d GETs without a hint, 3 with", cold)
}

func TestAHintAheadOfTheChainIsAnAlarm(t *testing.T) {
	store := memstore.New()
	l, head := create(t, store)
	ahead := *head.Manifest
	ahead.Seq = 5
	if err := l.PutHint(t.Context(), manifest.Snapshot{Manifest: &ahead, SHA256: head.SHA256}); err != nil {
		t.Fatal(err)
	}
	if _, err := newLog(store).Head(t.Context()); !errors.Is(err, commit.ErrDamaged) {
		t.Fatalf("got %v", err)
	}
}

func TestCreateRacesAndRefusesForeignTables(t *testing.T) {
	store := memstore.New()
	l, head := create(t, store)
	second, err := l.Create(t.Context(), genesis(2))
	if err != nil || second.Manifest.Pipeline != head.Manifest.Pipeline || second.SHA256 != head.SHA256 {
		t.Fatalf("second creator: %v, %v", second.Manifest, err)
	}
	other := commit.New(commit.Options{Store: store, Pipeline: "other", Clock: &clock{}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if _, err := other.Create(t.Context(), genesis(3)); !errors.Is(err, commit.ErrForeign) {
		t.Fatalf("got %v", err)
	}
}

// TestALogWhoseMakerCannotBeAskedIsNotForeign races the genesis and the first
// publication of somebody else, and has the store fail where it would tell of them.
func TestALogWhoseMakerCannotBeAskedIsNotForeign(t *testing.T) {
	store := memstore.New()
	create(t, store)
	key := "events/_delta_log/00000000000000000000.json"
	if _, err := store.Put(t.Context(), key, []byte("{}"), object.Always); err != nil {
		t.Fatal(err)
	}
	layout := manifest.Layout{Pipeline: "events"}
	faults := faultstore.New(store, faultstore.Script{{Op: faultstore.Get, Prefix: layout.Manifests(), Fault: faultstore.Unavailable}})
	_, err := newLog(faults).Create(t.Context(), genesis(2))
	if err == nil || errors.Is(err, commit.ErrForeign) {
		t.Errorf("got %v", err)
	}
	if _, err := newLog(faults).Create(t.Context(), genesis(2)); err != nil {
		t.Errorf("when it can be asked: %v", err)
	}
}
