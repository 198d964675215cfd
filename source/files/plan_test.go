package files_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"batcher/object"
	"batcher/object/filestore"
	"batcher/object/memstore"
	"batcher/source"
	"batcher/source/files"
)

func TestP22_AFailedObjectIsReadByALaterRunThoughItsSuccessorIsCommitted(t *testing.T) {
	b := newBucket()
	b.put(t, "a.csv", "a", noon.Add(-2*time.Hour))
	b.put(t, "b.csv", "b", noon.Add(-time.Hour))
	c := newChain(t, b, files.Config{})
	p := c.plan()
	wantKeys(t, p, "a.csv b.csv")
	c.commit(files.Delta{Ranges: c.whole(p.Objects[1:])}) // a failed
	wantKeys(t, c.consume(), "a.csv")
	wantKeys(t, c.consume(), "")
	c.verify()
}

func TestP23_ALateObjectIsConsumedOnceAndCounted(t *testing.T) {
	b := newBucket()
	b.put(t, "m", "m", noon.Add(-time.Hour))
	c := newChain(t, b, files.Config{Lookback: 24 * time.Hour})
	if p := c.consume(); p.Counts.Late != 0 {
		t.Fatalf("the first run counted %d late objects", p.Counts.Late)
	}
	b.put(t, "a-smaller-key", "1", noon.Add(-time.Hour))       // same second as m
	b.put(t, "b-older", "2", noon.Add(-2*time.Hour))           // inside the lookback
	b.put(t, "c-ancient", "3", noon.Add(-10*365*24*time.Hour)) // far outside
	p := c.consume()
	wantKeys(t, p, "c-ancient b-older a-smaller-key")
	if p.Counts.Late != 1 || !p.Objects[0].Late || p.Objects[1].Late || p.Objects[2].Late {
		t.Fatalf("late: %d, %+v", p.Counts.Late, p.Objects)
	}
	wantKeys(t, c.consume(), "")
	c.verify()
}

func TestP25_P27_UnsortedAndDoubledListingsPlanTheOldestFirst(t *testing.T) {
	for seed := range uint64(5) {
		b := newBucket(memstore.WithShuffle(seed))
		b.doubled = seed%2 == 1
		for i := range 100 {
			b.put(t, fmt.Sprintf("%02d", i), "x", noon.Add(time.Duration(-i/2)*time.Minute))
		}
		c := newChain(t, b, files.Config{MaxObjects: 7})
		var order []string
		for left := 100; ; {
			p := c.plan()
			if len(p.Objects) == 0 {
				break
			}
			if left > 7 && !p.More || !b.doubled && (p.More != (left > 7) || p.Lag.Objects != int64(left)) {
				t.Fatalf("seed %d: with %d left: more %v, lag %+v", seed, left, p.More, p.Lag)
			}
			c.commit(files.Delta{Ranges: c.whole(p.Objects)})
			order = append(order, keysOf(p.Objects))
			left -= len(p.Objects)
		}
		var want []string
		for i := 98; i >= 0; i -= 2 {
			want = append(want, fmt.Sprintf("%02d %02d", i, i+1))
		}
		if got := strings.Join(order, " "); got != strings.Join(want, " ") {
			t.Fatalf("seed %d: read in the order %s", seed, got)
		}
		c.verify()
	}
}

func TestP26_NoAgeHidesAnObjectThatWasNeverRead(t *testing.T) {
	b := newBucket()
	c := newChain(t, b, files.Config{Lookback: time.Hour, MaxObjects: 2})
	for i := range 9 {
		b.put(t, fmt.Sprintf("old-%d", i), "x", noon.AddDate(-i, 0, 0))
	}
	for range 5 {
		c.consume()
	}
	wantKeys(t, c.plan(), "")
	if len(c.read) != 9 {
		t.Fatalf("%d objects were read, want 9", len(c.read))
	}
	c.verify()
}

func TestP30_AVanishedObjectIsNeitherReadAgainNorAnError(t *testing.T) {
	b := newBucket()
	b.put(t, "a", "1", noon.Add(-time.Hour))
	b.put(t, "b", "2", noon.Add(-time.Hour))
	c := newChain(t, b, files.Config{OnChange: files.FailChanged})
	c.consume()
	body := b.Objects()["a"]
	if err := b.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, c.plan(), "")
	b.put(t, "a", string(body), noon) // restored from a backup
	wantKeys(t, c.plan(), "")
	c.restart()
	wantKeys(t, c.plan(), "")
}

func TestChangedObjectIsReportedOrRefusedButNeverRead(t *testing.T) {
	b := newBucket()
	b.put(t, "a", "one", noon.Add(-2*time.Hour))
	c := newChain(t, b, files.Config{})
	c.consume()
	b.put(t, "a", "two", noon.Add(-time.Hour))
	p := c.plan()
	if len(p.Objects) != 0 || p.Counts.Changed != 1 || len(p.Changed) != 1 || p.Changed[0].Key != "a" || len(p.Touched) != 0 {
		t.Fatalf("plan %+v", p)
	}
	c.configure(files.Config{OnChange: files.FailChanged})
	_, err := c.source.Plan(t.Context(), c.head, c.set, c.now)
	var changed *files.ChangedError
	if !errors.As(err, &changed) {
		t.Fatalf("error %v, want a ChangedError", err)
	}
	old := object.Info{Key: "a", Size: 3, ETag: changed.ETag}
	if changed.Key != "a" || changed.New != c.source.Identity("a", old.ETag, old.Size) || changed.Old == changed.New {
		t.Fatalf("changed %+v", changed)
	}
}

func TestTouchedFileIsNoChangeAndItsEntryFollows(t *testing.T) {
	dir := t.TempDir()
	write := func(name, body string, at time.Time) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	store, err := filestore.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	write("a.log", "same", noon.Add(-48*time.Hour))
	write("b.log", "other", noon.Add(-48*time.Hour))
	c := newChain(t, store, files.Config{OnChange: files.FailChanged, Settle: 5 * time.Second})
	c.consume()
	write("a.log", "same", noon.Add(-time.Hour))
	p := c.plan()
	if len(p.Objects) != 0 || len(p.Touched) != 1 || p.Touched[0].Key != "a.log" {
		t.Fatalf("plan %+v", p)
	}
	write("c.log", "new", noon.Add(-time.Minute))
	p = c.consume()
	wantKeys(t, p, "c.log")
	if len(p.Touched) != 1 {
		t.Fatalf("touched %+v", p.Touched)
	}
	if p := c.plan(); len(p.Touched) != 0 || p.Counts.Consumed != 3 {
		t.Fatalf("the touched entry was not replaced: %+v", p)
	}
	c.verify()
	write("a.log", "four", noon.Add(-time.Minute))
	var changed *files.ChangedError
	if _, err := c.source.Plan(t.Context(), c.head, c.set, c.now); !errors.As(err, &changed) || changed.Key != "a.log" {
		t.Fatalf("error %v, want a ChangedError of a.log", err)
	}
}

func TestWithoutBudgetATouchedObjectCountsAsChanged(t *testing.T) {
	b := newBucket()
	b.tagged = true
	b.put(t, "a", "same", noon.Add(-2*time.Hour))
	b.put(t, "b", "longer than a", noon.Add(-2*time.Hour))
	c := newChain(t, b, files.Config{Rehash: 5})
	c.consume()
	b.put(t, "a", "same", noon.Add(-time.Hour))
	b.put(t, "b", "longer than a", noon.Add(-time.Hour))
	p := c.plan()
	if len(p.Touched) != 1 || p.Touched[0].Key != "a" || len(p.Changed) != 1 || p.Changed[0].Key != "b" {
		t.Fatalf("touched %+v, changed %+v", p.Touched, p.Changed)
	}
	gets := b.Requests().Get
	c.plan()
	if n := b.Requests().Get - gets; n != 0 {
		t.Fatalf("the same process read the touched object again: %d GETs", n)
	}
}

func TestGrowingFileWaitsUntilItIsSettled(t *testing.T) {
	b := newBucket()
	c := newChain(t, b, files.Config{Settle: 5 * time.Second, Lookback: time.Hour})
	b.put(t, "growing", "1", c.now.Add(-time.Second))
	b.put(t, "wrong-clock", "1", c.now.AddDate(50, 0, 0))
	b.put(t, "skewed", "1", c.now.Add(time.Minute))
	p := c.consume()
	wantKeys(t, p, "wrong-clock")
	if p.Counts.Young != 2 {
		t.Fatalf("young %d, want 2", p.Counts.Young)
	}
	c.now = c.now.Add(10 * time.Minute)
	b.put(t, "growing", "12", c.now.Add(-time.Second))
	wantKeys(t, c.consume(), "skewed")
	c.now = c.now.Add(time.Minute)
	if p := c.consume(); keysOf(p.Objects) != "growing" || p.Counts.Late != 0 {
		t.Fatalf("plan %+v", p)
	}
	c.verify()
}

func TestObjectThatMovesBetweenPlanAndReadIsStale(t *testing.T) {
	b := newBucket()
	b.put(t, "a", "one", noon.Add(-time.Hour))
	b.put(t, "b", "one", noon.Add(-time.Hour))
	c := newChain(t, b, files.Config{})
	p := c.plan()
	b.put(t, "a", "two", noon)
	if err := b.Delete(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{object.ErrChanged, object.ErrNotFound} {
		_, err := c.source.Open(t.Context(), p.Objects[i])
		if !errors.Is(err, files.ErrStale) || !errors.Is(err, want) {
			t.Errorf("open %s: %v, want ErrStale and %v", p.Objects[i].Key, err, want)
		}
	}
	wantKeys(t, c.consume(), "a")
	c.verify()
}

func TestNamesGlobsAndStartDecideWhatBelongsToTheSource(t *testing.T) {
	b := newBucket()
	for _, key := range []string{
		"in.json", "deep/er/in.json", "in.csv", "no/in.json", ".hidden.json", "_SUCCESS", "a/.git/x.json",
		"a/_temporary/x.json", "x.json.tmp", "x.json.part", "part.json",
	} {
		b.put(t, key, "x", noon.Add(-time.Hour))
	}
	b.put(t, "before.json", "x", noon.AddDate(0, 0, -2))
	b.put(t, "that-second.json", "x", noon.AddDate(0, 0, -1)) // as S3 and tar tell it, which have no fractions
	start := noon.AddDate(0, 0, -1).Add(900 * time.Millisecond)
	c := newChain(t, b, files.Config{Include: []string{"**/*.json"}, Exclude: []string{"no/**"}, Start: start})
	p := c.plan()
	wantKeys(t, p, "that-second.json deep/er/in.json in.json part.json")
	want := files.Counts{Listed: 13, Ignored: 8, BeforeStart: 1}
	if p.Counts != want {
		t.Fatalf("counts %+v, want %+v", p.Counts, want)
	}
	left := []files.LeftOut{
		{files.Unwanted, 2, []string{"in.csv", "no/in.json"}},
		{files.Hidden, 4, []string{".hidden.json", "_SUCCESS", "a/.git/x.json"}},
		{files.Unfinished, 2, []string{"x.json.part", "x.json.tmp"}},
	}
	if !reflect.DeepEqual(p.LeftOut, left) {
		t.Fatalf("left out %+v, want %+v", p.LeftOut, left)
	}
	c.head = c.advance(nil, files.Delta{Ranges: c.whole(p.Objects), Start: start})
	c.configure(files.Config{}) // progress keeps the start; the globs may change
	p = c.plan()
	wantKeys(t, p, "in.csv no/in.json")
	if p.Counts.BeforeStart != 1 {
		t.Fatalf("the start in progress was forgotten: %+v", p.Counts)
	}
}

func TestShardsShareTheWorkWithoutOverlapWhateverTheirNumber(t *testing.T) {
	b := newBucket()
	c := newChain(t, b, files.Config{})
	for round, count := range []int{1, 2, 5, 3} {
		for i := range 50 {
			b.put(t, fmt.Sprintf("%d/%02d", round, i), "x", noon.Add(-time.Hour))
		}
		base, baseSet := c.head, 0
		for i := range count {
			c.configure(files.Config{Shard: source.Shard{Index: i, Count: count}})
			p, err := c.source.Plan(t.Context(), base, c.set, c.now)
			if err != nil {
				t.Fatal(err)
			}
			baseSet += len(p.Objects)
			c.commit(files.Delta{Ranges: c.whole(p.Objects)})
		}
		if baseSet != 50 {
			t.Fatalf("%d shards planned %d objects, want 50", count, baseSet)
		}
		wantKeys(t, c.plan(), "")
	}
	c.verify()
}

func TestP34_OpenObjectContinuesPinnedAndItsLossIsAGap(t *testing.T) {
	begin := func(t *testing.T, cfg files.Config) (*bucket, *chain) {
		b := newBucket()
		b.put(t, "big", "0123456789", noon.Add(-2*time.Hour))
		b.put(t, "small", "x", noon.Add(-3*time.Hour))
		c := newChain(t, b, cfg)
		big := c.plan().Objects[1]
		c.commit(files.Delta{Ranges: []source.Range{{Key: big.Key, ETag: big.ETag, Size: 10, Modified: big.Modified, To: 4}}})
		return b, c
	}
	t.Run("continues first", func(t *testing.T) {
		_, c := begin(t, files.Config{})
		p := c.plan()
		wantKeys(t, p, "big small")
		if o := p.Objects[0]; o.From != 4 || p.Lag.Bytes != 7 || p.Lag.Objects != 2 {
			t.Fatalf("object %+v, lag %+v", o, p.Lag)
		}
		c.consume()
		wantKeys(t, c.consume(), "")
		if len(c.head.Open) != 0 || c.head.Count != 2 {
			t.Fatalf("head %+v", c.head)
		}
		c.verify()
	})
	spoil := map[string]func(*testing.T, *bucket){
		"gone":    func(t *testing.T, b *bucket) { _ = b.Delete(t.Context(), "big") },
		"changed": func(t *testing.T, b *bucket) { b.put(t, "big", "0123456789 and more", noon) },
	}
	for reason, spoil := range spoil {
		t.Run(reason, func(t *testing.T) {
			b, c := begin(t, files.Config{})
			o := c.plan().Objects[0]
			spoil(t, b)
			_, err := c.source.Plan(t.Context(), c.head, c.set, c.now)
			if gap := asGap(t, err); gap.Key != "big" || gap.Position != 4 || gap.Reason != reason {
				t.Fatalf("gap %+v", gap)
			}
			_, err = c.source.Open(t.Context(), o)
			if gap := asGap(t, err); gap.Position != 4 || gap.Reason != reason {
				t.Fatalf("open: gap %+v", gap)
			}
		})
		t.Run(reason+" and skipped", func(t *testing.T) {
			b, c := begin(t, files.Config{OnGap: files.SkipGap})
			spoil(t, b)
			p := c.consume()
			wantKeys(t, p, "small")
			if len(p.Gaps) != 1 || p.Gaps[0].Key != "big" || p.Gaps[0].Next != 4 || p.Gaps[0].Reason != reason {
				t.Fatalf("gaps %+v", p.Gaps)
			}
			p = c.consume()
			wantKeys(t, p, "")
			if len(p.Gaps) != 0 || len(c.head.Open) != 0 || p.Counts.Changed != map[string]int64{"gone": 0, "changed": 1}[reason] {
				t.Fatalf("after the gap: %+v, head %+v", p, c.head)
			}
			c.verify()
		})
	}
}

func TestNewRefusesWhatHasNoMeaning(t *testing.T) {
	for name, cfg := range map[string]files.Config{
		"no location": {},
		"zero byte":   {Location: "a\x00b"},
		"glob":        {Location: "x", Include: []string{"[a"}},
		"exclude":     {Location: "x", Exclude: []string{"{a"}},
		"shard":       {Location: "x", Shard: source.Shard{Index: 2, Count: 2}},
		"on_change":   {Location: "x", OnChange: "merge"},
		"blind":       {Location: "x", OnChange: files.AppendChanged, Rehash: -1},
		"on_gap":      {Location: "x", OnGap: "ignore"},
		"negative":    {Location: "x", Lookback: -1},
		"time_path":   {Location: "x", TimePath: "{yyyy}/{MM}/"},
	} {
		if _, err := files.New(memstore.New(), cfg); err == nil {
			t.Errorf("%s: %+v was accepted", name, cfg)
		}
	}
}
