package compact_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"batcher/commit"
	"batcher/compact"
	"batcher/localdev"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the one history to play; 0 plays several")

// hooked does something else before each call: other processes go on while a
// collector works.
type hooked struct {
	object.Store
	before func()
}

func (h *hooked) Put(ctx context.Context, key string, body []byte, c object.Condition) (object.Info, error) {
	h.before()
	return h.Store.Put(ctx, key, body, c)
}

func (h *hooked) List(ctx context.Context, prefix string, d object.Depth) iter.Seq2[object.Info, error] {
	h.before()
	return h.Store.List(ctx, prefix, d)
}

func (h *hooked) Delete(ctx context.Context, key string) error {
	h.before()
	return h.Store.Delete(ctx, key)
}

// history plays random steps of several writers and of collectors, each of which
// is interrupted by the others at any of its calls.
type history struct {
	*world
	pending []*attempt
	counts  map[string]int
	repairs bool
}

// write lets one writer go on by one step.
func (h *history) write() {
	h.clock.now = h.clock.now.Add(time.Duration(h.random.IntN(3600)) * time.Second)
	at := -1
	if len(h.pending) > 0 {
		at = h.random.IntN(len(h.pending))
	}
	switch n := h.random.IntN(10); {
	case at < 0 || n < 4:
		s := size{1 + h.random.IntN(20), 1 + h.random.IntN(4), h.random.IntN(32)}
		if h.random.IntN(4) == 0 {
			s.objects = 60 + h.random.IntN(240) // ranges, and soon consumed objects, leave the manifest
		}
		h.pending = append(h.pending, h.begin(h.writers[h.random.IntN(len(h.writers))], s))
		h.counts["begun"]++
		return
	case n < 5:
		h.lose(h.pending[at])
		h.counts["lost"]++
	default:
		h.counts[string(h.propose(h.pending[at]))]++
	}
	h.pending = append(h.pending[:at], h.pending[at+1:]...)
}

// repair rewinds to a snapshot that is retained, expires, or fences: of six equal
// chances the first ones.
func (h *history) repair(chances int) {
	h.t.Helper()
	head := h.head().Manifest
	r := &compact.Repair{Log: h.writer(h.bytes).log, Now: h.clock.Now, Logger: quiet}
	var err error
	switch n := h.random.IntN(chances); {
	case n < 3 && head.Seq > head.RetainFrom:
		_, err = r.Rewind(h.t.Context(), head.RetainFrom+manifest.Seq(h.random.IntN(int(head.Seq-head.RetainFrom))))
		h.counts["rewound"]++
	case n < 5:
		_, err = r.Expire(h.t.Context(), time.Duration(h.random.IntN(30))*time.Hour)
		h.counts["expired"]++
	default:
		_, err = r.Fence(h.t.Context())
		h.counts["fenced"]++
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// interrupted lets writers go on at one call in four, and now and then has the
// chain rewound or expired meanwhile.
func (h *history) interrupted() {
	switch n := h.random.IntN(100); {
	case n < 25:
		h.write()
	case n < 28 && h.repairs:
		h.repair(5)
	}
}

// collect runs a collector and holds what it did against what it may do.
func (h *history) collect(o compact.GCOptions) {
	h.t.Helper()
	before := h.head().Manifest
	limit := h.newestBefore(h.clock.now.Add(-o.Keep))
	if o.Mode == compact.Dry {
		h.unchanged(func() {
			if rep, err := h.gc(h.bytes).Run(h.t.Context(), o); err != nil || rep.Deleted != 0 || rep.Floor != max(limit, before.GCFloor) {
				h.t.Errorf("dry: %+v, %v; want floor %d", rep, err, max(limit, before.GCFloor))
			}
		})
		h.counts["dry"]++
		return
	}
	rep, err := h.gc(&hooked{h.bytes, h.interrupted}).Run(h.t.Context(), o)
	var superseded *commit.SupersededError
	if errors.As(err, &superseded) { // the chain was rewound before the floor was committed
		h.counts["superseded"]++
		if rep.Deleted != 0 {
			h.t.Errorf("superseded, and yet: %+v", rep)
		}
		return
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.counts["confirmed"]++
	h.counts["deleted"] += int(rep.Deleted)
	after := h.head().Manifest
	if after.GCFloor != max(limit, before.GCFloor) || rep.Floor != after.GCFloor {
		h.t.Errorf("floor %d, reported %d; before %d, newest old enough %d", after.GCFloor, rep.Floor, before.GCFloor, limit)
	}
	held := h.bytes.Objects()
	for key := range h.referenced() {
		if held[key] == nil {
			h.t.Errorf("%s is needed and gone", key)
		}
	}
	for _, a := range h.pending {
		if a.proposal.Base.Manifest.Seq >= after.GCFloor && !h.complete(a) {
			h.t.Errorf("an attempt in flight with base %d lost files under floor %d", a.proposal.Base.Manifest.Seq, after.GCFloor)
		}
	}
}

// newestBefore is the newest manifest that is not younger than an instant, or 0.
func (h *history) newestBefore(limit time.Time) manifest.Seq {
	newest := manifest.Seq(0)
	l := h.writer(h.bytes).log
	for seq := range h.head().Manifest.Seq + 1 {
		s, err := l.Slot(h.t.Context(), seq)
		if err != nil {
			h.t.Fatal(err)
		}
		if !s.Manifest.CreatedAt.After(limit) {
			newest = seq
		}
	}
	return newest
}

// TestP44_NothingThatAManifestNeedsIsEverDeleted plays random histories, with
// lists so long that live files, ranges and consumed objects stand in state
// objects, and collects at random points of them. In those of odd seeds the chain
// is rewound, expired and fenced as well.
func TestP44_NothingThatAManifestNeedsIsEverDeleted(t *testing.T) {
	seeds := []uint64{2, 21, uint64(time.Now().UnixNano()) | 1}
	if *seedFlag != 0 {
		seeds = []uint64{*seedFlag}
	}
	total := map[string]int{}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := &history{world: newWorld(t, seed), counts: map[string]int{}, repairs: seed%2 == 1}
			for range 110 {
				switch n := h.random.IntN(20); {
				case n == 0:
					h.collect(compact.GCOptions{Mode: compact.Dry, Keep: time.Duration(h.random.IntN(24)) * time.Hour, MaxShare: 1})
				case n < 3:
					h.collect(compact.GCOptions{Mode: compact.Confirm, Keep: time.Duration(h.random.IntN(24)) * time.Hour, MaxShare: 1})
				case n == 3 && h.repairs:
					h.repair(6)
				default:
					h.write()
				}
				if t.Failed() {
					t.Fatalf("replay with -seed %d", seed)
				}
			}
			for _, a := range h.pending {
				h.counts[string(h.propose(a))]++
			}
			h.pending = nil
			h.clock.now = h.clock.now.Add(time.Hour)
			h.collect(compact.GCOptions{Mode: compact.Confirm, MaxShare: 1})
			h.audit()
			h.world.collect(compact.GCOptions{Mode: compact.Confirm, MaxShare: 1}) // at rest: now all garbage goes
			rep := h.audit()
			head := h.head().Manifest
			t.Logf("seed %d: %d manifests, %d objects consumed, floor %d, %d live files in %d segments, %d consumed segments, %v",
				seed, rep.Manifests, head.Progress.Files.Count, head.GCFloor, head.Tables["events"].Live.Files,
				head.Tables["events"].Live.Segments.Count, head.Progress.Files.Segments.Count, h.counts)
			h.counts["segments"] = int(min(head.Progress.Files.Segments.Count, head.Tables["events"].Live.Segments.Count))
			for name, n := range h.counts {
				total[name] += n
			}
			h.onlyNeeded()
		})
	}
	for _, name := range []string{"deleted", "abort", "committed", "rewound", "expired", "segments"} {
		if total[name] == 0 && *seedFlag == 0 {
			t.Errorf("the histories are too tame to show anything: %q never happened in %v", name, total)
		}
	}
}

// onlyNeeded wants nothing of ours left below the floor that no manifest needs.
func (w *world) onlyNeeded() {
	w.t.Helper()
	needed, floor := w.referenced(), w.head().Manifest.GCFloor
	for key := range w.bytes.Objects() {
		for _, folder := range []string{"events/data/", "events_dead/data/", layout.States()} {
			base, ours := manifest.BaseOf(strings.TrimPrefix(key, folder))
			if strings.HasPrefix(key, folder) && ours && base < floor && !needed[key] && w.foreign[key] == "" {
				w.t.Errorf("%s is garbage below floor %d and still there", key, floor)
			}
		}
	}
}

// TestLongListsOfSegmentsAreFollowed has so many segments that their own lists
// stand in state objects.
func TestLongListsOfSegmentsAreFollowed(t *testing.T) {
	localdev.Proof(t)
	w := newWorld(t, 1)
	for range 100 {
		w.commit(size{2, 1, 5500}) // each batch spills the live list, in segments too large to be folded
		w.clock.now = w.clock.now.Add(time.Hour)
	}
	if w.head().Manifest.Tables["events"].Live.Segments.Ref == nil {
		t.Fatal("the list of live segments still stands in place")
	}
	w.commit(size{2, 1, 1})
	lost := w.begin(w.writers[1], size{1, 2, 1})
	w.lose(lost)
	w.commit(size{1, 1, 1})
	w.clock.now = w.clock.now.Add(time.Hour)
	if rep := w.collect(compact.GCOptions{Mode: compact.Confirm}); rep.Deleted != 3 {
		t.Errorf("%+v", rep)
	}
	w.audit()
	w.onlyNeeded()
	w.rewindAndBack(w.head().Manifest.Seq)
}

// rewindAndBack rewinds to the first manifest, to a later one and to the first again, and
// collects when no snapshot is retained but those rewinds: the lists of the second stand
// in none before and none after it.
func (w *world) rewindAndBack(seq manifest.Seq) {
	w.t.Helper()
	r := compact.Repair{Log: w.writers[0].log, Now: w.clock.Now, Logger: quiet}
	for _, to := range []manifest.Seq{1, seq, 1} {
		if _, err := r.Rewind(w.t.Context(), to); err != nil {
			w.t.Fatal(err)
		}
		w.clock.now = w.clock.now.Add(time.Hour)
	}
	w.collect(compact.GCOptions{Mode: compact.Confirm})
	if head, err := r.Expire(w.t.Context(), 150*time.Minute); err != nil || head.Manifest.RetainFrom != seq+1 {
		w.t.Fatalf("retained from %d, %v", head.Manifest.RetainFrom, err)
	}
	w.collect(compact.GCOptions{Mode: compact.Confirm, MaxShare: 1})
	w.audit()
	w.onlyNeeded()
	held := w.bytes.Objects()
	for key := range w.referenced() {
		if held[key] == nil {
			w.t.Errorf("%s is needed and gone", key)
		}
	}
}

func TestTheFloorIsTheNewestManifestOldEnough(t *testing.T) {
	for _, c := range []struct {
		keep  time.Duration
		floor manifest.Seq
	}{
		{0, 10},
		{time.Hour, 9}, // just as old
		{time.Hour + time.Second, 8},
		{90 * time.Minute, 8},
		{9 * time.Hour, 1},
		{10 * time.Hour, 0},
		{100 * time.Hour, 0},
	} {
		w := newWorld(t, 1)
		for range 10 {
			w.clock.now = w.clock.now.Add(time.Hour)
			w.commit(size{1, 1, 1})
		}
		if rep := w.collect(compact.GCOptions{Mode: compact.Confirm, Keep: c.keep}); rep.Floor != c.floor || w.head().Manifest.GCFloor != c.floor {
			t.Errorf("keep %s: reported floor %d, committed %d, want %d", c.keep, rep.Floor, w.head().Manifest.GCFloor, c.floor)
		}
		if rep := w.collect(compact.GCOptions{Mode: compact.Confirm, Keep: 1000 * time.Hour}); rep.Floor != c.floor || w.head().Manifest.GCFloor != c.floor {
			t.Errorf("keep %s, then longer: floor %d, want %d", c.keep, w.head().Manifest.GCFloor, c.floor)
		}
	}
}

// TestSnapshotsExpireWhenReadersHaveSeenLaterOnesForLongEnough: what readers read was
// made from the last three manifests an hour and a half late.
func TestSnapshotsExpireWhenReadersHaveSeenLaterOnesForLongEnough(t *testing.T) {
	w := newWorld(t, 1)
	for range 10 {
		w.clock.now = w.clock.now.Add(time.Hour)
		w.commit(size{1, 1, 1})
	}
	w.collect(compact.GCOptions{Mode: compact.Confirm}) // the floor is manifest 10
	late := func(_ context.Context, s manifest.Snapshot) (time.Time, error) {
		if s.Manifest.Seq >= 8 {
			return s.Manifest.CreatedAt.Add(90 * time.Minute), nil
		}
		return time.Time{}, nil
	}
	broken := errors.New("no answer")
	for _, c := range []struct {
		keep  time.Duration
		since func(context.Context, manifest.Snapshot) (time.Time, error)
		want  manifest.Seq
		err   error
	}{
		{0, nil, 10, nil}, {0, late, 8, nil}, {30 * time.Minute, late, 8, nil}, {time.Hour, nil, 9, nil},
		{time.Hour, late, 7, nil}, {3 * time.Hour, late, 7, nil}, {4 * time.Hour, late, 6, nil},
		{0, func(context.Context, manifest.Snapshot) (time.Time, error) { return time.Time{}, broken }, 0, broken},
	} {
		r := &compact.Repair{Log: w.writers[0].log, Now: w.clock.Now, Logger: quiet, ShownSince: c.since}
		from, err := r.ExpireTo(t.Context(), w.head(), c.keep)
		if !errors.Is(err, c.err) || err == nil && from != c.want {
			t.Errorf("keep %s, late %t: from %d, %v, want %d, %v", c.keep, c.since != nil, from, err, c.want, c.err)
		}
	}
}

// TestAClockYearsAheadDoesNotKeepSnapshotsForEver lets one writer have a wrong clock,
// whose time all later manifests bear.
func TestAClockYearsAheadDoesNotKeepSnapshotsForEver(t *testing.T) {
	w := newWorld(t, 1)
	shown := map[manifest.Seq]time.Time{0: w.clock.now}
	for i := range 10 {
		w.clock.now = w.clock.now.Add(time.Hour)
		now := w.clock.now
		if i == 3 {
			w.clock.now = now.AddDate(10, 0, 0)
		}
		w.commit(size{1, 1, 1})
		w.clock.now = now
		shown[w.head().Manifest.Seq] = now
	}
	r := &compact.Repair{Log: w.writers[0].log, Now: w.clock.Now, Logger: quiet}
	if _, err := r.Fence(t.Context()); err != nil {
		t.Fatal(err)
	}
	shown[w.head().Manifest.Seq] = w.clock.now
	for _, c := range []struct {
		keep  time.Duration
		since func(context.Context, manifest.Snapshot) (time.Time, error)
		want  manifest.Seq
	}{
		{2 * time.Hour, nil, 3},
		{2 * time.Hour, func(_ context.Context, s manifest.Snapshot) (time.Time, error) { return shown[s.Manifest.Seq], nil }, 8},
		{8 * time.Hour, func(_ context.Context, s manifest.Snapshot) (time.Time, error) { return shown[s.Manifest.Seq], nil }, 2},
	} {
		r.ShownSince = c.since
		if from, err := r.ExpireTo(t.Context(), w.head(), c.keep); err != nil || from != c.want {
			t.Errorf("keep %s, published %t: from %d, %v, want %d", c.keep, c.since != nil, from, err, c.want)
		}
	}
}

// TestP1_AStalledWriterCannotCommitWhatGCHasPassed stalls one writer before its
// first proposal, and one whose PUT is on its way, while others commit and a
// collector deletes all it may.
func TestP1_AStalledWriterCannotCommitWhatGCHasPassed(t *testing.T) {
	w := newWorld(t, 1)
	w.commit(size{1, 1, 1})
	stalled := w.begin(w.writers[1], size{3, 2, 1})

	flying := faultstore.New(w.bytes, faultstore.Script{{Op: faultstore.Put, Prefix: layout.Manifests(), Times: -1, Fault: faultstore.LandLate}})
	onItsWay := w.begin(w.writer(flying), size{3, 2, 1})
	if _, err := onItsWay.log.Append(t.Context(), onItsWay.proposal); !errors.Is(err, commit.ErrUnresolved) {
		t.Fatal(err)
	}
	for range 9 {
		w.commit(size{1, 1, 1})
	}
	w.clock.now = w.clock.now.Add(time.Second)
	if rep := w.collect(compact.GCOptions{Mode: compact.Confirm}); rep.Deleted != 4 {
		t.Fatalf("%+v", rep)
	}
	if w.complete(stalled) || w.complete(onItsWay) {
		t.Fatal("the stalled writers' files are still there: the test shows nothing")
	}
	for _, err := range flying.Release(t.Context()) {
		if !errors.Is(err, object.ErrExists) {
			t.Errorf("a PUT that was on its way landed: %v", err)
		}
	}
	if v := w.propose(stalled); v != commit.Abort {
		t.Errorf("the stalled writer: %s", v)
	}
	for seq := range w.head().Manifest.Seq + 1 {
		if n := len(w.bytes.History(layout.Manifest(seq))); n != 1 {
			t.Errorf("slot %d was written %d times", seq, n)
		}
	}
	w.audit()
}

// TestP40_AnAttemptInFlightKeepsItsFiles collects without any delay while an
// attempt has written its files and not proposed them.
func TestP40_AnAttemptInFlightKeepsItsFiles(t *testing.T) {
	w := newWorld(t, 1)
	w.commit(size{1, 1, 1})
	inFlight := w.begin(w.writers[1], size{3, 3, 1}) // base 1 is the head, and will be the floor
	w.clock.now = w.clock.now.Add(24 * time.Hour)
	if rep := w.collect(compact.GCOptions{Mode: compact.Confirm}); rep.Floor != 1 || rep.Deleted != 0 || rep.AboveFloor != 3 {
		t.Errorf("%+v", rep)
	}
	if v := w.propose(inFlight); v != commit.Committed {
		t.Error(v)
	}
	w.audit()
}

func TestGarbageThatIsImplausiblyMuchIsNotDeleted(t *testing.T) {
	w := newWorld(t, 1)
	w.commit(size{1, 1, 1})
	w.begin(w.writers[0], size{1, 199, 0})
	w.commit(size{1, 1, 1})
	w.clock.now = w.clock.now.Add(time.Hour)
	if rep := w.collect(compact.GCOptions{}); rep.Garbage != 199 {
		t.Fatalf("199 objects are few, whatever their share: %+v", rep)
	}
	w.begin(w.writers[0], size{1, 1, 0})
	w.commit(size{1, 1, 1})
	w.clock.now = w.clock.now.Add(time.Hour)
	for _, mode := range []compact.GCMode{compact.Dry, compact.Confirm} {
		deletes := object.RequestsOf(w.bytes).Delete
		rep, err := w.gc(w.bytes).Run(t.Context(), compact.GCOptions{Mode: mode})
		var implausible *compact.ImplausibleError
		if !errors.As(err, &implausible) || implausible.Garbage != 200 || rep.Deleted != 0 || object.RequestsOf(w.bytes).Delete != deletes {
			t.Errorf("%+v, %v", rep, err)
		}
	}
	if rep := w.collect(compact.GCOptions{Mode: compact.Confirm, MaxShare: 1}); rep.Deleted != 200 || rep.Garbage != 200 || len(rep.Keys) != 20 {
		t.Errorf("%+v", rep)
	}
	w.audit()
	w.onlyNeeded()
}

func TestADamagedChainIsNotCollected(t *testing.T) {
	for name, damage := range map[string]func(w *world){
		"a hole":              func(w *world) { w.remove(layout.Manifest(3)) },
		"an overwritten slot": func(w *world) { w.put(layout.Manifest(3), w.bytes.Objects()[layout.Manifest(2)]) },
		"a state object gone": func(w *world) {
			for key := range w.bytes.Objects() {
				if strings.HasPrefix(key, layout.States()) && strings.HasSuffix(key, ".seg") {
					w.remove(key)
				}
			}
		},
	} {
		w := newWorld(t, 1)
		for range 6 {
			w.commit(size{100, 1, 128})
		}
		w.begin(w.writers[0], size{1, 3, 1})
		w.clock.now = w.clock.now.Add(time.Hour)
		head := w.head()
		if err := w.writers[0].log.PutHint(t.Context(), head); err != nil {
			t.Fatal(err)
		}
		damage(w)
		deletes := object.RequestsOf(w.bytes).Delete
		rep, err := w.gc(w.bytes).Run(t.Context(), compact.GCOptions{Mode: compact.Confirm})
		if err == nil || rep.Deleted != 0 || object.RequestsOf(w.bytes).Delete != deletes {
			t.Errorf("%s: %+v, %v", name, rep, err)
		}
	}
}

func (w *world) remove(key string) {
	if err := w.bytes.Delete(w.t.Context(), key); err != nil {
		w.t.Fatal(err)
	}
}

// TestACollectorThatDiesAtAnyCallLosesNothing strikes every store call of a
// collection in turn, lets attempts in flight end, collects again and proves the
// store.
func TestACollectorThatDiesAtAnyCallLosesNothing(t *testing.T) {
	w := newWorld(t, 1)
	w.random = rand.New(rand.NewPCG(3, 3))
	for range 4 {
		w.commit(size{100, 2, 64})
		w.lose(w.begin(w.writers[1], size{1, 2, 1}))
		w.clock.now = w.clock.now.Add(time.Hour)
	}
	w.commit(size{1, 1, 1})
	w.clock.now = w.clock.now.Add(time.Hour)

	whole := faultstore.New(w.clone(t).bytes, nil)
	if rep, err := w.clone(t).gc(whole).Run(t.Context(), compact.GCOptions{Mode: compact.Confirm}); err != nil || rep.Deleted != 12 {
		t.Fatalf("%+v, %v", rep, err)
	}
	calls := whole.Calls()
	runs := 0
	for at := range calls {
		for _, fault := range []faultstore.Fault{
			faultstore.CrashBefore, faultstore.CrashAfter, faultstore.LoseAnswer, faultstore.LandLate,
		} {
			script := faultstore.Script{{Call: at + 1, Fault: fault}}
			c := w.clone(t)
			c.writers = []*writer{c.writer(c.bytes)}
			c.objects = 1000
			early := c.begin(c.writers[0], size{2, 2, 1})
			struck := faultstore.New(c.bytes, script)
			_, err := c.gc(struck).Run(t.Context(), compact.GCOptions{Mode: compact.Confirm})
			if crash := fault == faultstore.CrashBefore || fault == faultstore.CrashAfter; crash && !errors.Is(err, faultstore.ErrCrashed) && !errors.Is(err, commit.ErrUnresolved) {
				t.Errorf("%s: %v", script, err)
			}
			late := c.begin(c.writers[0], size{2, 2, 1})
			c.propose(late)
			c.propose(early)
			c.clock.now = c.clock.now.Add(time.Hour)
			c.collect(compact.GCOptions{Mode: compact.Confirm})
			struck.Release(t.Context())
			c.audit()
			c.onlyNeeded()
			if t.Failed() {
				t.Fatalf("%s at call %d, %s %s", fault, at+1, calls[at].Op, calls[at].Key)
			}
			runs++
		}
	}
	t.Logf("%d calls, %d struck collections", len(calls), runs)
}
