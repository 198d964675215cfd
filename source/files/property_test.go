package files_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"batcher/object"
	"batcher/object/memstore"
	"batcher/source"
	"batcher/source/files"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 draws one")

// history is the plain memory that the real one is compared with.
type history struct {
	*chain
	bucket   *bucket
	rng      *rand.Rand
	cfg      files.Config
	heads    []*source.FilesProgress // every head there was
	commits  [][]source.Range        // what led from each head to the next
	consumed map[string]string       // key → body as it was consumed last
	follows  map[string]source.Hash  // key → identity that was consumed last
	names    map[string]bool         // names under which contents were consumed to their end
	bodies   map[string]string       // key → body as it is now
	workers  []*files.Set            // processes with different memories
	stats    *storyline
}

// storyline counts what happened, over all histories.
type storyline struct {
	rebased, replanned, already, touched, opened, merged, appended, parts, replaced, overtaken int
}

// TestRandomHistories lets processes with fresh, old and shared memories, any
// number of shards and stale heads race over a source that grows, is touched,
// changed and deleted, and compares with a plain map: every object is read
// exactly once as it was first seen, and where the policy says so exactly once
// again for each change that was seen; nothing that can be read is left at the
// end, and progress always sums up to its entries.
func TestRandomHistories(t *testing.T) {
	seed := cmp.Or(*seedFlag, rand.Uint64())
	stats := &storyline{}
	policies := []files.OnChange{files.SkipChanged, files.AppendChanged, files.ReplaceChanged}
	for i := range uint64(6) {
		cfg := files.Config{Lookback: 48 * time.Hour, MaxObjects: 700, OnChange: policies[i/2]}
		if i%2 == 1 {
			cfg.TimePath, cfg.Relist = "{yyyy}-{MM}-{dd}/", 3*time.Hour
		}
		t.Run(fmt.Sprintf("seed=%d", seed+i), func(t *testing.T) { randomHistory(t, seed+i, cfg, stats) })
	}
	if stats.rebased == 0 || stats.replanned == 0 || stats.already == 0 || stats.opened == 0 || stats.touched == 0 || stats.merged == 0 ||
		stats.appended == 0 || stats.parts == 0 || stats.replaced == 0 {
		t.Fatalf("the histories from seed %d on were too tame: %+v", seed, *stats)
	}
}

func randomHistory(t *testing.T, seed uint64, cfg files.Config, stats *storyline) {
	b := newBucket(memstore.WithShuffle(seed))
	b.tagged = true
	h := &history{
		chain: newChain(t, b, cfg), bucket: b, rng: rand.New(rand.NewPCG(seed, 3)), cfg: cfg,
		consumed: make(map[string]string), bodies: make(map[string]string), stats: stats,
		follows: make(map[string]source.Hash), names: make(map[string]bool),
	}
	h.heads = append(h.heads, nil)
	for range 2 {
		h.workers = append(h.workers, h.source.NewSet(h.segments))
	}
	for range 40 {
		h.mutate()
		count := 1 + h.rng.IntN(3)
		for range 1 + h.rng.IntN(3) {
			h.run(source.Shard{Index: h.rng.IntN(count), Count: count})
		}
		h.now = h.now.Add(time.Duration(h.rng.IntN(60)) * time.Minute)
	}
	h.drain()
	for key := range h.bodies {
		if _, ok := h.consumed[key]; !ok {
			t.Fatalf("%s was never read", key)
		}
	}
	if int(h.head.Count) != len(h.consumed) {
		t.Fatalf("progress counts %d, the map %d", h.head.Count, len(h.consumed))
	}
	t.Logf("%d objects, %d commits, %d segments; so far %+v", len(h.consumed), len(h.commits), h.head.Segments.Count, *h.stats)
	h.verify()
}

// mutate writes, touches, changes and deletes objects.
func (h *history) mutate() {
	for range h.rng.IntN(250) {
		day := h.now.AddDate(0, 0, -h.rng.IntN(6))
		key := fmt.Sprintf("%s/%06d", day.Format("2006-01-02"), h.rng.IntN(1_000_000))
		if _, exists := h.bodies[key]; exists {
			continue
		}
		if _, consumed := h.consumed[key]; !consumed {
			h.write(key, strings.Repeat("x", h.rng.IntN(5))+key, day.Add(-time.Duration(h.rng.IntN(3))*time.Minute))
		}
	}
	for _, key := range h.some(3) {
		h.write(key, h.bodies[key], h.now.Add(-time.Duration(h.rng.IntN(300))*time.Second)) // touched
	}
	for _, key := range h.some(2) {
		if !h.isOpen(key) {
			h.write(key, h.bodies[key]+"!", h.now) // changed
		}
	}
	for _, key := range h.some(2) {
		if h.consumed[key] != "" && !h.isOpen(key) {
			if err := h.bucket.Delete(h.t.Context(), key); err != nil {
				h.t.Fatal(err)
			}
			delete(h.bodies, key)
		}
	}
}

func (h *history) write(key, body string, at time.Time) {
	if h.isOpen(key) {
		return
	}
	h.bucket.put(h.t, key, body, at)
	h.bodies[key] = body
}

// some picks up to n keys.
func (h *history) some(n int) []string {
	var keys []string
	for key := range h.bodies {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	h.rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys[:min(n, len(keys))]
}

func (h *history) isOpen(key string) bool {
	return h.head != nil && slices.ContainsFunc(h.head.Open, func(o source.OpenObject) bool { return o.Key == key })
}

// run is one invocation, perhaps on a head that is not the newest any more.
func (h *history) run(shard source.Shard) {
	cfg := h.cfg
	cfg.Shard = shard
	s, err := files.New(h.store, withLocation(cfg))
	if err != nil {
		h.t.Fatal(err)
	}
	h.source = s
	h.set = s.NewSet(h.segments)
	if shard.Count <= 1 && h.rng.IntN(3) > 0 {
		h.set = h.workers[h.rng.IntN(len(h.workers))]
	}
	base := max(0, len(h.heads)-1-h.rng.IntN(3))
	plan, err := s.Plan(h.t.Context(), h.heads[base], h.set, h.now)
	var gap *files.GapError
	if errors.As(err, &gap) && base < len(h.heads)-1 {
		return // open on the old head, finished and then changed or deleted: plan again
	}
	if err != nil {
		h.t.Fatal(err)
	}
	d := h.batch(plan)
	if len(d.Ranges) == 0 {
		return
	}
	h.race(d, base)
}

func withLocation(cfg files.Config) files.Config {
	cfg.Location = "memory"
	return cfg
}

// batch reads some of a plan, in part where an object is large enough.
func (h *history) batch(p *files.Plan) files.Delta {
	n := h.rng.IntN(len(p.Objects) + 1)
	if h.rng.IntN(2) == 0 {
		n = len(p.Objects)
	}
	d := files.Delta{Ranges: h.whole(p.Objects[:n]), Touched: p.Touched}
	if n == len(p.Objects) {
		d.Relisted = p.Relisted
	}
	if n > 0 && h.rng.IntN(2) == 0 && !p.Objects[n-1].Replaces {
		r := &d.Ranges[n-1]
		if half := (r.From + r.To) / 2; half > r.From {
			r.To, r.Last, r.Content = half, false, source.Hash{}
			h.stats.opened++
		}
	}
	return d
}

// race proposes the delta on the newest head, as a loser of races does.
func (h *history) race(d files.Delta, base int) {
	var rivals []source.Range
	for _, c := range h.commits[base:] {
		rivals = append(rivals, c...)
	}
	switch files.Covered(rivals, d.Ranges) {
	case files.CoveredAll:
		h.stats.already++
		return
	case files.CoveredSome:
		h.stats.replanned++
		return
	}
	if base < len(h.heads)-1 {
		if h.overtaken(d) {
			h.stats.overtaken++
			return
		}
		h.stats.rebased++
	}
	// The first proposal, on the base, happens too; its segments stay behind.
	h.advance(h.heads[base], d)
	h.accept(d)
}

// overtaken says whether a rival touched an object that the delta goes on from.
func (h *history) overtaken(d files.Delta) bool {
	if err := h.set.Prepare(h.t.Context(), h.head, d); err != nil {
		h.t.Fatal(err)
	}
	_, err := h.set.Advance(h.head, d, h.segments.pack())
	if err == nil || !errors.Is(err, files.ErrInadmissible) {
		return false
	}
	for _, r := range d.Ranges {
		if h.follows[r.Key] != r.Was {
			return true
		}
	}
	h.t.Fatalf("refused though every entry stands: %v", err)
	return true
}

func (h *history) accept(d files.Delta) {
	before := int64(0)
	if h.head != nil {
		before = h.head.Segments.Count
	}
	for _, r := range d.Ranges {
		h.follow(&r)
		if r.Last {
			h.consumed[r.Key] = h.bodies[r.Key]
			h.follows[r.Key] = h.source.Identity(r.Key, r.ETag, r.Size)
			h.names[r.Source()] = true
		}
	}
	if err := h.set.Prepare(h.t.Context(), h.head, d); err != nil {
		h.t.Fatal(err)
	}
	standing, err := h.set.Standing(h.head, d.Touched)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, t := range standing {
		h.follows[t.Key] = h.source.Identity(t.Key, t.ETag, t.Size)
	}
	h.commit(d)
	if h.head.Segments.Count < before {
		h.stats.merged++
	}
	h.stats.touched += len(d.Touched)
	h.heads, h.commits = append(h.heads, h.head), append(h.commits, d.Ranges)
	if err := h.source.NewSet(h.segments).Verify(h.t.Context(), h.head); err != nil {
		h.t.Fatal(err)
	}
}

// follow holds a range against what it says to follow.
func (h *history) follow(r *source.Range) {
	body, again := h.consumed[r.Key]
	switch {
	case h.follows[r.Key] != r.Was:
		h.t.Fatalf("%s is read in the place of %s; it was consumed as %s, %q", r.Key, r.Was, h.follows[r.Key], body)
	case again && body == h.bodies[r.Key]:
		h.t.Fatalf("%s is read again with the same content", r.Key)
	case again && h.cfg.OnChange == files.ReplaceChanged:
		if r.From != 0 || !r.Last || r.Source() != r.Key {
			h.t.Fatalf("not the whole of %s replaces it: %+v", r.Key, r)
		}
		h.stats.replaced++
		return
	case h.names[r.Source()]:
		h.t.Fatalf("another content of %s is read under the name %s", r.Key, r.Source())
	case again && r.Last:
		h.stats.appended++
	case again:
		h.stats.parts++
	}
}

// drain lets one unsharded process finish the work.
func (h *history) drain() {
	h.now = h.now.Add(24 * time.Hour)
	h.configure(h.cfg)
	for range 100 {
		p := h.plan()
		if len(p.Objects) == 0 {
			h.wantSettled(p)
			return
		}
		h.accept(files.Delta{Ranges: h.whole(p.Objects), Touched: p.Touched, Relisted: p.Relisted})
	}
	h.t.Fatal("the work has no end")
}

// wantSettled compares the last plan's verdicts with the map.
func (h *history) wantSettled(p *files.Plan) {
	if !p.Full {
		h.now = h.now.Add(24 * time.Hour)
		if p = h.plan(); !p.Full {
			h.t.Fatal("not everything was listed")
		}
	}
	if len(p.Objects) > 0 {
		h.t.Fatalf("a full listing still finds %s", keysOf(p.Objects))
	}
	changed := 0
	for key, body := range h.bodies {
		if h.consumed[key] != body {
			changed++
		}
	}
	if int(p.Counts.Changed) != changed || int(p.Counts.Consumed)+changed+len(p.Touched) != len(h.bodies) {
		h.t.Fatalf("counts %+v with %d touched, want %d changed of %d objects", p.Counts, len(p.Touched), changed, len(h.bodies))
	}
}

var _ object.Store = (*bucket)(nil)
