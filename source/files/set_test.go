package files_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"batcher/object"
	"batcher/object/memstore"
	"batcher/segment"
	"batcher/source"
	"batcher/source/files"
)

// fill commits n objects that are not in any store, in batches, in a process
// that begins anew every tenth batch.
func (c *chain) fill(n, batch int, key func(i int) (string, time.Time)) {
	c.t.Helper()
	for i := 0; i < n; i += batch {
		var d files.Delta
		for j := i; j < min(i+batch, n); j++ {
			k, at := key(j)
			d.Ranges = append(d.Ranges, source.Range{Key: k, ETag: "e", Size: 1, Modified: at, To: 1, Last: true, Content: files.KeyHash("x")})
		}
		if i/batch%10 == 9 {
			c.restart()
			if err := c.set.Verify(c.t.Context(), c.head); err != nil {
				c.t.Fatal(err)
			}
		}
		c.head = c.advance(c.head, d)
	}
}

func TestTenThousandObjectsInOnePrefixAreConsumedOnce(t *testing.T) {
	b := newBucket(memstore.WithShuffle(7))
	for i := range 10_000 {
		b.put(t, fmt.Sprintf("in/%05d", i), "x", noon.Add(-time.Duration(i%100)*time.Hour))
	}
	c := newChain(t, b, files.Config{MaxObjects: 3000})
	for range 4 {
		c.consume()
	}
	p := c.plan()
	if len(p.Objects) != 0 || p.Counts.Consumed != 10_000 || len(c.read) != 10_000 {
		t.Fatalf("plan %+v, read %d", p.Counts, len(c.read))
	}
	c.verify()
}

func TestFastPathLoadsNothing(t *testing.T) {
	b := newBucket()
	for i := range 1000 {
		b.put(t, fmt.Sprintf("%04d", i), "x", noon.Add(-time.Hour))
	}
	c := newChain(t, b, files.Config{})
	c.consume()
	if len(c.head.Segments.Items) == 0 {
		t.Fatal("nothing was spilled: the test shows nothing")
	}
	c.restart()
	if p := c.plan(); p.Counts.Consumed != 1000 || len(p.Objects) != 0 || c.segments.loads != 0 {
		t.Fatalf("%d loads, counts %+v", c.segments.loads, p.Counts)
	}
	b.put(t, "newer", "x", noon)
	if p := c.consume(); p.Counts.Consumed != 1000 || c.segments.loads != 0 {
		t.Fatalf("%d loads, counts %+v", c.segments.loads, p.Counts)
	}
	b.put(t, "late", "x", noon.Add(-2*time.Hour))
	wantKeys(t, c.consume(), "late")
	if c.segments.loads != len(c.head.Segments.Items) {
		t.Fatalf("%d loads of %d segments", c.segments.loads, len(c.head.Segments.Items))
	}
	loads := c.segments.loads
	b.put(t, "later", "x", noon.Add(-2*time.Hour))
	wantKeys(t, c.consume(), "later")
	if c.segments.loads != loads {
		t.Fatalf("the same process loaded %d segments again", c.segments.loads-loads)
	}
}

// TestALongListingNeedsNoSegments lists more objects than a plan keeps, and a few new
// ones.
func TestALongListingNeedsNoSegments(t *testing.T) {
	const objects = 70_000
	b := newBucket()
	for i := range objects {
		b.put(t, fmt.Sprintf("%06d", i), "x", noon.Add(-time.Hour))
	}
	c := newChain(t, b, files.Config{MaxObjects: objects})
	c.consume()
	c.restart()
	b.put(t, "new/1", "x", noon)
	b.put(t, "new/2", "x", noon)
	p := c.plan()
	wantKeys(t, p, "new/1 new/2")
	if p.Counts.Consumed != objects || c.segments.loads != 0 {
		t.Errorf("%d loads, counts %+v", c.segments.loads, p.Counts)
	}
	b.put(t, "late", "x", noon.Add(-2*time.Hour))
	wantKeys(t, c.plan(), "late new/1 new/2")
}

// TestAnObjectThatIsListedAsItWasAndAsItIsIsNotNew lists a key twice that was
// overwritten during the listing.
func TestAnObjectThatIsListedAsItWasAndAsItIsIsNotNew(t *testing.T) {
	b := newBucket()
	for i := range 400 {
		b.put(t, fmt.Sprintf("%04d", i), "x", noon.Add(-time.Hour))
	}
	c := newChain(t, b, files.Config{})
	c.consume()
	for _, twice := range []string{"0000", "0399"} {
		c.restart()
		b.stale = b.info(t, twice)
		b.put(t, twice, "other", noon.Add(time.Minute))
		if p := c.plan(); len(p.Objects) != 0 || p.Counts.Changed != 1 {
			t.Errorf("%s: %d objects are planned, counts %+v", twice, len(p.Objects), p.Counts)
		}
		b.stale = object.Info{}
		b.put(t, twice, "x", noon.Add(-time.Hour))
	}
}

// TestSegmentsAreMergedThoughNoPlanLoadsThem consumes objects one by one, each in a
// process of its own.
func TestSegmentsAreMergedThoughNoPlanLoadsThem(t *testing.T) {
	const objects = 2600
	b := newBucket()
	c := newChain(t, b, files.Config{})
	most := int64(0)
	for i := range objects {
		b.put(t, fmt.Sprintf("%05d", i), "x", noon.Add(time.Duration(i-objects)*time.Second))
		c.restart()
		if p := c.consume(); len(p.Objects) != 1 {
			t.Fatalf("object %d: %d are planned", i, len(p.Objects))
		}
		most = max(most, c.head.Segments.Count)
	}
	t.Logf("at most %d segments, %d loads", most, c.segments.loads)
	if spills := files.RecentLimit / files.RecentSize; most > 16 || c.segments.loads > objects/spills*8 {
		t.Errorf("%d segments, %d loads", most, c.segments.loads)
	}
}

func TestHundredThousandEntriesStayInFewSegments(t *testing.T) {
	c := newChain(t, newBucket(), files.Config{})
	key := func(i int) (string, time.Time) {
		return fmt.Sprintf("in/%06d", i), noon.Add(-time.Duration(i%1000) * time.Hour)
	}
	most := 0
	const n, batch = 100_000, 300
	for i := 0; i < n; i += 50 * batch {
		from := i
		c.fill(min(50*batch, n-i), batch, func(j int) (string, time.Time) { return key(from + j) })
		most = max(most, len(c.head.Segments.Items))
	}
	if c.head.Count != n || most > 3*7 {
		t.Fatalf("%d entries, at most %d segments", c.head.Count, most)
	}
	t.Logf("at most %d segments, %d now", most, len(c.head.Segments.Items))
	c.verify()
	written := 0
	for _, b := range c.segments.objects {
		written += len(b)
	}
	if amplification := float64(written) / (n * files.EntrySize); amplification > 5 {
		t.Fatalf("every entry was written %.1f times", amplification)
	}
	for i := range n {
		k, at := key(i)
		r := source.Range{Key: k, ETag: "e", Size: 1, Modified: at, To: 1, Last: true}
		if i%1000 != 0 {
			continue
		}
		got, _, err := c.source.Resolve(t.Context(), []source.Range{r}, c.head, c.set)
		if err != nil || got != files.CoveredAll {
			t.Fatalf("%s: %v, %v", k, got, err)
		}
		if _, err := c.set.Advance(c.head, files.Delta{Ranges: []source.Range{r}}, c.segments.pack()); !errors.Is(err, files.ErrInadmissible) {
			t.Fatalf("%s was consumed again: %v", k, err)
		}
	}
}

func TestVeryManySegmentsStandByReference(t *testing.T) {
	c := newChain(t, newBucket(), files.Config{})
	c.fill(100*300, 300, func(i int) (string, time.Time) { return fmt.Sprint(i), noon.Add(-time.Hour) })
	// Without the segments in memory, which Prepare brings there, nothing is merged.
	for i := 0; c.head.Segments.Ref == nil && i < 200; i++ {
		c.restart()
		var d files.Delta
		for j := range 300 {
			d.Ranges = append(d.Ranges, source.Range{Key: fmt.Sprint("late", i, "-", j), ETag: "e", Size: 1, Modified: noon, To: 1, Last: true, Content: files.KeyHash("x")})
		}
		c.head = c.apply(c.head, d)
	}
	if c.head.Segments.Ref == nil {
		t.Fatal("the list of segments is in place: the test shows nothing")
	}
	c.restart()
	if _, err := c.set.Advance(c.head, files.Delta{}, c.segments.pack()); !errors.Is(err, files.ErrNotLoaded) {
		t.Fatalf("error %v, want ErrNotLoaded", err)
	}
	c.verify()
	if err := c.set.Verify(t.Context(), c.head); err != nil {
		t.Fatal(err)
	}
	before, count := c.head.Segments.Count, c.head.Count
	for i := range 30 {
		c.fill(300, 300, func(j int) (string, time.Time) { return fmt.Sprint("more", i, "-", j), noon })
	}
	if c.head.Segments.Count > before/3 || c.head.Count != count+30*300 {
		t.Fatalf("%d segments after %d, %d entries", c.head.Segments.Count, before, c.head.Count)
	}
	c.verify()
}

func TestABatchBeyondASegmentsLimitIsSplit(t *testing.T) {
	c := newChain(t, newBucket(), files.Config{})
	const n = 256<<10 + 1000
	c.fill(n, n, func(i int) (string, time.Time) {
		return fmt.Sprint(i), noon.Add(-time.Duration(i%50) * 24 * time.Hour)
	})
	if got := len(c.head.Segments.Items); got != 2 || c.head.Segments.Items[0].Count != 256<<10 {
		t.Fatalf("segments %+v", c.head.Segments.Items)
	}
	c.verify()
}

func TestAdvanceIsAFunctionOfItsArguments(t *testing.T) {
	build := func() string {
		c := newChain(t, newBucket(), files.Config{})
		c.fill(20*250, 250, func(i int) (string, time.Time) {
			return fmt.Sprint(i), noon.Add(-time.Duration(i%7) * 24 * time.Hour)
		})
		var all segment.SHA256
		for i := range len(c.segments.objects) {
			sum := segment.Sum(c.segments.objects[fmt.Sprintf("state/%06d", i)])
			all = segment.Sum(append(all[:], sum[:]...))
		}
		return fmt.Sprint(all, c.head.Segments.Items, c.head.Sum)
	}
	if a, b := build(), build(); a != b {
		t.Fatalf("two runs differ:\n%s\n%s", a, b)
	}
}

func TestAdvanceRefusesWhatDoesNotFollow(t *testing.T) {
	c := newChain(t, newBucket(), files.Config{})
	full := source.Range{Key: "done", ETag: "e", Size: 9, To: 9, Last: true}
	part := source.Range{Key: "open", ETag: "e", Size: 9, To: 4}
	c.commit(files.Delta{Ranges: []source.Range{full, part}})
	gap := files.Gap{OpenObject: c.head.Open[0]}
	gap.Next++
	for name, d := range map[string]files.Delta{
		"consumed":       {Ranges: []source.Range{full}},
		"other version":  {Ranges: []source.Range{{Key: "done", ETag: "f", Size: 9, To: 9, Last: true}}},
		"twice":          {Ranges: []source.Range{{Key: "n", Last: true}, {Key: "n", Last: true}}},
		"again":          {Ranges: []source.Range{part}},
		"hole":           {Ranges: []source.Range{{Key: "open", ETag: "e", Size: 9, From: 5, To: 9, Last: true}}},
		"hole in new":    {Ranges: []source.Range{{Key: "n", From: 1, To: 2, Last: true}}},
		"backwards":      {Ranges: []source.Range{{Key: "open", ETag: "e", Size: 9, From: 4, To: 3, Last: true}}},
		"changed":        {Ranges: []source.Range{{Key: "open", ETag: "f", Size: 9, From: 4, To: 9, Last: true}}},
		"other gap":      {Gaps: []files.Gap{gap}},
		"gap of nothing": {Gaps: []files.Gap{{OpenObject: source.OpenObject{Key: "n"}}}},
	} {
		if _, err := c.set.Advance(c.head, d, c.segments.pack()); !errors.Is(err, files.ErrInadmissible) {
			t.Errorf("%s: %v, want ErrInadmissible", name, err)
		}
	}
	c.commit(files.Delta{Ranges: []source.Range{
		{Key: "open", ETag: "e", Size: 9, From: 4, To: 9}, {Key: "open", ETag: "e", Size: 9, From: 9, To: 9, Last: true},
	}})
	if c.head.Count != 2 || len(c.head.Open) != 0 {
		t.Fatalf("head %+v", c.head)
	}
	c.verify()
}

func TestATouchOfAnEntryThatARivalReplacedIsLeftOut(t *testing.T) {
	b := newBucket()
	b.tagged = true
	b.put(t, "a", "same", noon.Add(-3*time.Hour))
	c := newChain(t, b, files.Config{})
	c.consume()
	base := c.head
	b.put(t, "a", "same", noon.Add(-2*time.Hour))
	mine := c.plan().Touched
	b.put(t, "a", "same", noon.Add(-time.Hour))
	c.commit(files.Delta{Touched: c.plan().Touched}) // the rival's
	rival := c.head
	if rival.Sum == base.Sum || rival.Count != base.Count {
		t.Fatalf("the rival's touch did nothing: %+v", rival)
	}
	for head, want := range map[*source.FilesProgress]int{base: 1, rival: 0, nil: 0} {
		if got, err := c.set.Standing(head, mine); err != nil || len(got) != want {
			t.Fatalf("%d touches stand, want %d, %v", len(got), want, err)
		}
	}
	if got := c.advance(rival, files.Delta{Touched: mine}); got.Sum != rival.Sum {
		t.Fatal("a stale touch replaced the rival's entry")
	}
	if got := c.advance(base, files.Delta{Touched: mine}); got.Sum == base.Sum {
		t.Fatal("a good touch was left out")
	}
	c.verify()
}

func TestATouchBehindSegmentsThatAreNotInMemoryIsLeftOut(t *testing.T) {
	b := newBucket()
	b.tagged = true
	for i := range 300 {
		b.put(t, fmt.Sprint(i), "same", noon.Add(-3*time.Hour))
	}
	c := newChain(t, b, files.Config{})
	c.consume()
	b.put(t, "7", "same", noon.Add(-2*time.Hour))
	mine, memory := c.plan().Touched, c.set
	c.restart()
	c.commit(files.Delta{Touched: c.plan().Touched}) // a rival with the same touch
	b.put(t, "7", "same", noon.Add(-time.Hour))
	d := files.Delta{Touched: c.plan().Touched}
	for i := range 300 {
		d.Ranges = append(d.Ranges, source.Range{Key: fmt.Sprint("rival", i), Last: true})
	}
	c.commit(d) // and with another, which stands in a segment
	if len(c.head.Recent) != 0 || len(c.head.Segments.Items) != 2 || len(mine) != 1 {
		t.Fatalf("head %+v, touched %+v", c.head, mine)
	}
	c.set = memory
	if got := c.advance(c.head, files.Delta{Touched: mine}); got.Sum != c.head.Sum {
		t.Fatal("a stale touch replaced an entry that was not in memory")
	}
	c.verify()
}

func TestOpenObjectsLeaveTheFastPathOpen(t *testing.T) {
	b := newBucket()
	for i := range 300 {
		b.put(t, fmt.Sprint(i), "x", noon.Add(-time.Hour))
	}
	b.put(t, "open", "0123456789", noon.Add(-time.Minute))
	c := newChain(t, b, files.Config{})
	p := c.plan()
	d := files.Delta{Ranges: c.whole(p.Objects)}
	d.Ranges[300].To, d.Ranges[300].Last = 5, false
	c.commit(d)
	c.restart()
	p = c.plan()
	wantKeys(t, p, "open")
	if c.segments.loads != 0 || p.Objects[0].From != 5 || p.Counts.Consumed != 300 {
		t.Fatalf("%d loads, plan %+v", c.segments.loads, p)
	}
	c.consume()
	c.verify()
}

func TestOneGoneAndOneNewDoNotPassForNothingNew(t *testing.T) {
	b := newBucket()
	for i := range 300 {
		b.put(t, fmt.Sprint(i), "x", noon.Add(-time.Hour))
	}
	c := newChain(t, b, files.Config{})
	c.consume()
	c.restart()
	if err := b.Delete(t.Context(), "17"); err != nil {
		t.Fatal(err)
	}
	b.put(t, "new", "x", noon)
	wantKeys(t, c.consume(), "new")
	c.verify()
}

func TestTimePathLoadsTheSegmentsOfTheFirstAndLastDayItListed(t *testing.T) {
	b := newBucket()
	c := newChain(t, b, trailConfig())
	for _, days := range []int{-3, 1} { // the ends of the lookback, and tomorrow
		at := noon.AddDate(0, 0, days)
		for i := range 300 {
			b.put(t, trailKey(at, i), "x", noon.Add(-time.Hour))
		}
		c.consume()
	}
	c.head.Relisted = noon
	c.restart()
	p := c.plan()
	if p.Full || len(p.Objects) != 0 || p.Counts.Consumed != 600 || c.segments.loads != 2 {
		t.Fatalf("%d loads, full %v, %d planned, counts %+v", c.segments.loads, p.Full, len(p.Objects), p.Counts)
	}
}

func TestResolveFindsAKeyWhateverTheTimeInTheRange(t *testing.T) {
	c := newChain(t, newBucket(), files.Config{})
	c.fill(300, 300, func(i int) (string, time.Time) { return fmt.Sprint(i), noon })
	c.restart()
	r := source.Range{Key: "5", ETag: "e", Size: 1, Modified: noon.AddDate(0, 0, 9), To: 1, Last: true}
	if got, _, err := c.source.Resolve(t.Context(), []source.Range{r}, c.head, c.set); err != nil || got != files.CoveredAll {
		t.Fatalf("%s, %v", got, err)
	}
}

func TestAMissingOrDamagedSegmentIsAnErrorAndNeverAbsence(t *testing.T) {
	b := newBucket()
	for i := range 300 {
		b.put(t, fmt.Sprint(i), "x", noon.Add(-time.Hour))
	}
	c := newChain(t, b, files.Config{})
	c.consume()
	b.put(t, "late", "x", noon.Add(-2*time.Hour))
	ref := c.head.Segments.Items[0]
	good := c.segments.objects[ref.Key]
	bad := append([]byte(nil), good...)
	bad[len(bad)-1] ^= 1
	c.segments.objects[ref.Key] = bad
	c.restart()
	if _, err := c.source.Plan(t.Context(), c.head, c.set, c.now); err == nil {
		t.Fatal("a damaged segment was taken")
	}
	delete(c.segments.objects, ref.Key)
	if _, err := c.source.Plan(t.Context(), c.head, c.set, c.now); !errors.Is(err, object.ErrNotFound) {
		t.Fatalf("error %v, want ErrNotFound", err)
	}
	c.segments.objects[ref.Key] = good
	lying := *c.head
	lying.Segments = segment.Of([]source.ConsumedRef{{Ref: ref.Ref, Count: ref.Count, FromDay: ref.FromDay, ToDay: ref.ToDay + 1}})
	if _, err := c.source.Plan(t.Context(), &lying, c.set, c.now); err == nil {
		t.Fatal("a ref with wrong days was taken")
	}
	wantKeys(t, c.plan(), "late")
}
