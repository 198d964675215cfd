package files_test

import (
	"fmt"
	"testing"
	"time"

	"batcher/source"
	"batcher/source/files"
)

func TestTimePathReadsTheDayFromTheKey(t *testing.T) {
	day := func(y int, m time.Month, d int) int32 {
		return int32(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
	}
	for _, c := range []struct {
		pattern, key string
		want         int32
		ok           bool
	}{
		{"{yyyy}/{MM}/{dd}/", "2026/11/29/a.gz", day(2026, 11, 29), true},
		{"{yyyy}/{MM}/{dd}", "2024/02/29/deeper/a.gz", day(2024, 2, 29), true},
		{"{yyyy}/{MM}/{dd}", "2026/02/29/a.gz", files.UndatedDay, false},
		{"{yyyy}/{MM}/{dd}", "2026/13/01/a.gz", files.UndatedDay, false},
		{"{yyyy}/{MM}/{dd}", "2026/11/29", files.UndatedDay, false}, // an object, not a folder
		{"{yyyy}/{MM}/{dd}", "2026/1/2/a.gz", files.UndatedDay, false},
		{"{yyyy}/{MM}/{dd}", "+026/11/29/a.gz", files.UndatedDay, false},
		{"*/CloudTrail/*/{yyyy}/{MM}/{dd}/", "123/CloudTrail/eu-west-1/2026/01/02/x.json.gz", day(2026, 1, 2), true},
		{"*/CloudTrail/*/{yyyy}/{MM}/{dd}/", "123/CloudTrail-Digest/eu-west-1/2026/01/02/x", files.UndatedDay, false},
		{"dt={yyyy}-{MM}-{dd}/h=*", "dt=1969-12-31/h=07/x", -1, true},
		{"dt={yyyy}-{MM}-{dd}/h=*", "dt=1969-12-31/x", files.UndatedDay, false},
		{"{a,b}/{dd}.{MM}.{yyyy}", "b/31.01.2025/x", day(2025, 1, 31), true},
		{"{yyyy}{MM}{dd}", "20261129/x", day(2026, 11, 29), true},
	} {
		p, err := files.ParseTimePath(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := p.Day(c.key); got != c.want || ok != c.ok {
			t.Errorf("%s of %s: %d, %v, want %d, %v", c.pattern, c.key, got, ok, c.want, c.ok)
		}
	}
}

func TestTimePathRefusesWhatItCannotList(t *testing.T) {
	for _, pattern := range []string{
		"", "*", "{yyyy}/{MM}", "{yyyy}/{MM}/{dd}/{dd}", "/{yyyy}/{MM}/{dd}", "{yyyy}//{MM}/{dd}", "**/{yyyy}/{MM}/{dd}",
		"{yyyy}/{MM}/{dd}/{HH}", "{yyyy}/{MM}/{dd}*", "[a/{yyyy}/{MM}/{dd}", "../{yyyy}/{MM}/{dd}", "{year}/{yyyy}/{MM}/{dd}",
	} {
		if _, err := files.ParseTimePath(pattern); err == nil {
			t.Errorf("%q was accepted", pattern)
		}
	}
}

// trail is a year and more of an hourly log of two accounts in two regions.
func trail(t *testing.T, b *bucket, days, perDay int) {
	t.Helper()
	for d := range days {
		at := noon.AddDate(0, 0, -d)
		for i := range perDay {
			b.put(t, trailKey(at, i), "x", at.Add(-time.Duration(i)*time.Second))
		}
	}
}

func trailKey(at time.Time, i int) string {
	return fmt.Sprintf("acc%d/CloudTrail/region%d/%s/%05d.json", i%2, i/2%2, at.Format("2006/01/02"), i)
}

func trailConfig() files.Config {
	return files.Config{
		TimePath: "*/CloudTrail/*/{yyyy}/{MM}/{dd}/", Relist: 24 * time.Hour, Lookback: 72 * time.Hour,
	}
}

func TestTimePathCostsDoNotGrowWithHistory(t *testing.T) {
	type cost struct{ lists, loads int64 }
	measure := func(days, perDay int) (first, hourly cost) {
		b := newBucket()
		trail(t, b, days, perDay)
		c := newChain(t, b, trailConfig())
		c.now = noon.Add(time.Hour)
		planned := 0
		for {
			p := c.plan()
			for batch := range chunks(p.Objects, 10_000) {
				d := files.Delta{Ranges: c.ranges(batch)}
				if planned += len(batch); planned == days*perDay {
					d.Relisted = p.Relisted
				}
				c.commit(d)
			}
			if !p.More {
				break
			}
		}
		if planned != days*perDay || c.head.Relisted.IsZero() {
			t.Fatalf("%d objects planned of %d, relisted %v", planned, days*perDay, c.head.Relisted)
		}
		c.restart()
		run := func() cost {
			before, loads := b.Requests().List, c.segments.loads
			for i := range 4 {
				b.put(t, trailKey(c.now, perDay+i), "x", c.now)
			}
			c.now = c.now.Add(time.Hour)
			p := c.plan()
			if len(p.Objects) != 4 || p.Full || p.Counts.Listed > int64(5*perDay+100) {
				t.Fatalf("planned %s, counts %+v", keysOf(p.Objects), p.Counts)
			}
			c.commit(files.Delta{Ranges: c.ranges(p.Objects)})
			perDay += 4
			return cost{b.Requests().List - before, int64(c.segments.loads - loads)}
		}
		first, hourly = run(), run()
		c.verify()
		return first, hourly
	}
	short, shortHourly := measure(20, 500)
	long, longHourly := measure(400, 500)
	t.Logf("10,000 objects: first %+v, next %+v; 200,000 objects: first %+v, next %+v", short, shortHourly, long, longHourly)
	if long.lists != short.lists || longHourly.lists != shortHourly.lists || long.lists > 30 {
		t.Errorf("LIST requests grow with history: %+v and %+v", short, long)
	}
	if long.loads > 8 || longHourly.loads != 0 {
		t.Errorf("segment loads: %+v, then %+v", long, longHourly)
	}
}

// chunks cuts objects into batches.
func chunks(objects []files.Object, size int) func(func([]files.Object) bool) {
	return func(yield func([]files.Object) bool) {
		for len(objects) > 0 {
			n := min(size, len(objects))
			if !yield(objects[:n]) {
				return
			}
			objects = objects[n:]
		}
	}
}

// ranges is whole without reading the objects.
func (c *chain) ranges(objects []files.Object) []source.Range {
	var ranges []source.Range
	for _, o := range objects {
		ranges = append(ranges, source.Range{Key: o.Key, ETag: o.ETag, Size: o.Size, Modified: o.Modified, From: o.From, To: source.Position(o.Size), Last: true})
	}
	return ranges
}

func TestAChangedTimePathReadsNothingTwice(t *testing.T) {
	right := trailConfig()
	wrong := trailConfig()
	wrong.TimePath = "*/Trail/*/{yyyy}/{MM}/{dd}/"
	none := files.Config{Lookback: right.Lookback}
	for name, order := range map[string][]files.Config{
		"set later":      {none, right, none, right},
		"corrected":      {wrong, right, right},
		"wrong and back": {right, wrong, right},
	} {
		b := newBucket()
		c := newChain(t, b, order[0])
		for round, cfg := range order {
			for i := range 300 { // modification times that have nothing to do with the folders
				b.put(t, trailKey(noon, 1000*round+i), "x", noon.AddDate(0, 0, -100-i))
			}
			c.configure(cfg)
			if c.head != nil && cfg.TimePath == right.TimePath {
				c.head.Relisted = noon // list the folders only
			}
			if p := c.consume(); len(p.Objects) != 300 {
				t.Fatalf("%s, round %d: %d objects planned", name, round, len(p.Objects))
			}
			c.head.Relisted = time.Time{}
		}
		if c.head.TimePath != "" {
			t.Errorf("%s: progress trusts in %q", name, c.head.TimePath)
		}
		c.verify()
	}
}

func TestTimePathFindsOldFoldersOncePerRelist(t *testing.T) {
	b := newBucket()
	trail(t, b, 10, 4)
	c := newChain(t, b, trailConfig())
	if p := c.consume(); len(p.Objects) != 40 || !p.Full {
		t.Fatalf("planned %d, full %v", len(p.Objects), p.Full)
	}
	c.now = c.now.Add(time.Hour)
	b.put(t, trailKey(noon.AddDate(0, 0, -8), 100), "x", c.now) // late, in an old folder
	b.put(t, "README.json", "x", c.now)                         // in no dated folder
	b.put(t, trailKey(noon.AddDate(0, 0, 1), 7), "x", c.now)    // tomorrow, east of UTC
	p := c.consume()
	wantKeys(t, p, trailKey(noon.AddDate(0, 0, 1), 7))
	if p.Full || !p.Relisted.IsZero() {
		t.Fatalf("everything was listed: %+v", p)
	}
	c.now = c.now.Add(24 * time.Hour)
	c.restart()
	p = c.consume()
	wantKeys(t, p, "README.json "+trailKey(noon.AddDate(0, 0, -8), 100))
	if !p.Full || p.Counts.Late != 1 || p.Counts.Undated != 1 || c.head.Relisted != c.now {
		t.Fatalf("plan %+v, relisted %v", p, c.head.Relisted)
	}
	c.restart()
	wantKeys(t, c.consume(), "")
	c.verify()
}

func TestRelistingIsNotRecordedWhileOtherShardsHaveWorkLeft(t *testing.T) {
	b := newBucket()
	trail(t, b, 10, 40)
	c := newChain(t, b, trailConfig())
	for i := range 2 {
		cfg := trailConfig()
		cfg.Shard = source.Shard{Index: i, Count: 2}
		c.configure(cfg)
		p := c.consume()
		if got, want := p.Relisted.IsZero(), i == 0; got != want {
			t.Fatalf("shard %d: relisted %v", i, p.Relisted)
		}
	}
	if len(c.read) != 400 {
		t.Fatalf("%d objects were read", len(c.read))
	}
	c.verify()
}

func TestTimePathLooksAtAnOpenObjectOutsideTheListedFolders(t *testing.T) {
	b := newBucket()
	old := trailKey(noon.AddDate(0, 0, -9), 0)
	b.put(t, old, "0123456789", noon.AddDate(0, 0, -9))
	c := newChain(t, b, trailConfig())
	o := c.plan().Objects[0]
	c.commit(files.Delta{Ranges: []source.Range{{Key: old, ETag: o.ETag, Size: 10, Modified: o.Modified, To: 4}}, Relisted: c.now})
	p := c.plan()
	wantKeys(t, p, old)
	if p.Full || p.Objects[0].From != 4 {
		t.Fatalf("plan %+v", p)
	}
	if err := b.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	_, err := c.source.Plan(t.Context(), c.head, c.set, c.now)
	if gap := asGap(t, err); gap.Key != old || gap.Position != 4 {
		t.Fatalf("gap %+v", gap)
	}
}

func TestTimePathListsEverythingRatherThanTooManyFolders(t *testing.T) {
	b := newBucket()
	at := noon.AddDate(0, 0, -1)
	for i := range 5000 {
		b.put(t, fmt.Sprintf("%04d/%s/x", i, at.Format("2006/01/02")), "x", at)
	}
	c := newChain(t, b, files.Config{TimePath: "*/{yyyy}/{MM}/{dd}", Relist: 24 * time.Hour, Lookback: 72 * time.Hour})
	c.head = c.advance(nil, files.Delta{Relisted: noon})
	if p := c.plan(); !p.Full || len(p.Objects) != 5000 || b.Requests().List > 20 {
		t.Fatalf("full %v, %d objects, %d LISTs", p.Full, len(p.Objects), b.Requests().List)
	}
}

func TestAHugeListingIsListedAgainRatherThanKept(t *testing.T) {
	b := newBucket()
	const n = 70_000
	for i := range n {
		b.put(t, fmt.Sprintf("%06d", i), "x", noon.Add(-time.Hour))
	}
	c := newChain(t, b, files.Config{})
	p := c.plan()
	c.commit(files.Delta{Ranges: c.ranges(p.Objects)})
	c.restart()
	before := b.Requests().List
	if p := c.plan(); p.Counts.Consumed != n || c.segments.loads != 0 || b.Requests().List-before != n/1000 {
		t.Fatalf("nothing new: counts %+v, %d loads", p.Counts, c.segments.loads)
	}
	b.put(t, "new", "x", noon)
	p = c.plan()
	wantKeys(t, p, "new")
	if want := (files.Counts{Listed: n + 1, Consumed: n}); p.Counts != want {
		t.Fatalf("counts %+v, want %+v", p.Counts, want)
	}
	if err := b.Delete(t.Context(), "new"); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, c.plan(), "")
}

func TestKeyHashIsOfTheKeyAlone(t *testing.T) {
	const want = "ba7816bf8f01cfea414140de5dae2223" // half of its SHA-256
	if got := files.KeyHash("abc").String(); got != want {
		t.Errorf("hash of abc is %s", got)
	}
}
