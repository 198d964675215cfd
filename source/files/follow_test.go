package files_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"batcher/source"
	"batcher/source/files"
)

// changedChain has consumed "a" and "b", of which "a" has changed since.
func changedChain(t *testing.T, cfg files.Config) (*bucket, *chain) {
	t.Helper()
	b := newBucket()
	b.put(t, "a", "one", noon.Add(-3*time.Hour))
	b.put(t, "b", "one", noon.Add(-3*time.Hour))
	c := newChain(t, b, cfg)
	c.consume()
	b.put(t, "a", "two", noon.Add(-2*time.Hour))
	return b, c
}

func TestAChangedObjectIsConsumedOnceAsThePolicySays(t *testing.T) {
	for policy, named := range map[files.OnChange]string{files.AppendChanged: "a#48631e8a3023fa44", files.ReplaceChanged: "a"} {
		t.Run(string(policy), func(t *testing.T) {
			b, c := changedChain(t, files.Config{OnChange: policy})
			was := c.source.Identity("a", b.etag("one"), 3)
			b.put(t, "c", "new", noon.Add(-time.Hour))
			p := c.plan()
			wantKeys(t, p, "c a")
			o := p.Objects[1]
			if o.Name != named || o.Was != was || o.Replaces != (policy == files.ReplaceChanged) || o.From != 0 || p.Objects[0].Name != "c" || !p.Objects[0].Was.IsZero() {
				t.Fatalf("planned %+v", p.Objects)
			}
			if p.Counts.Changed != 1 || p.Lag.Objects != 2 || p.Lag.Bytes != 6 || p.More {
				t.Fatalf("counts %+v, lag %+v", p.Counts, p.Lag)
			}
			c.consume()
			if c.head.Count != 3 {
				t.Fatalf("head %+v", c.head)
			}
			wantKeys(t, c.plan(), "")
			b.put(t, "a", "two", noon) // uploaded again
			wantKeys(t, c.plan(), "")
			c.verify()
		})
	}
}

func TestAContentThatComesBackHasANameOfItsOwn(t *testing.T) {
	b, c := changedChain(t, files.Config{OnChange: files.AppendChanged})
	seen := map[string]bool{"a": true}
	for i, body := range []string{"two", "one", "two", "one", "two"} {
		b.put(t, "a", body, noon.Add(time.Duration(i)*time.Second))
		p := c.consume()
		wantKeys(t, p, "a")
		if name := p.Objects[0].Name; seen[name] || source.KeyOf(name) != "a" {
			t.Fatalf("%q, as %q, is named %q", body, keysOf(p.Objects), name)
		}
		seen[p.Objects[0].Name] = true
	}
	c.verify()
}

func TestAKeyInTheFormOfANameIsNamedApart(t *testing.T) {
	b := newBucket()
	b.put(t, "a#0123456789abcdef", "x", noon.Add(-time.Hour))
	c := newChain(t, b, files.Config{OnChange: files.ReplaceChanged})
	for range 2 {
		p := c.consume()
		name := p.Objects[0].Name
		if name == "a#0123456789abcdef" || source.KeyOf(name) != "a#0123456789abcdef" {
			t.Fatalf("it is named %q", name)
		}
		b.put(t, "a#0123456789abcdef", "y", noon)
	}
	c.verify()
}

func TestATouchedObjectIsNeverConsumedAgain(t *testing.T) {
	for _, policy := range []files.OnChange{files.AppendChanged, files.ReplaceChanged} {
		b := newBucket()
		b.tagged = true
		c := newChain(t, b, files.Config{OnChange: policy, Rehash: 1})
		for i := range 4 {
			b.put(t, fmt.Sprint(i), "longer than the budget", noon.Add(-2*time.Hour))
		}
		c.consume()
		for i := range 4 {
			b.put(t, fmt.Sprint(i), "longer than the budget", noon.Add(-time.Hour))
		}
		// The budget is for less than one, and one a plan is told all the same.
		for i := range 4 {
			p := c.plan()
			if len(p.Objects) != 0 || len(p.Touched) != 1 || p.Counts.Changed != 0 || p.More != (i < 3) {
				t.Fatalf("%s: plan %+v", policy, p)
			}
			c.commit(files.Delta{Touched: p.Touched})
			c.restart()
		}
		if p := c.plan(); p.Counts.Consumed != 4 || p.More {
			t.Fatalf("%s: plan %+v", policy, p)
		}
		c.verify()
	}
}

func TestNoMoreChangedObjectsArePlannedThanThereIsRoomFor(t *testing.T) {
	b, c := changedChain(t, files.Config{OnChange: files.ReplaceChanged, MaxObjects: 2})
	b.put(t, "b", "two", noon.Add(-time.Hour))
	b.put(t, "c", "new", noon.Add(-time.Hour))
	p := c.consume()
	wantKeys(t, p, "c a")
	if !p.More || p.Lag.Objects != 3 {
		t.Fatalf("plan %+v", p)
	}
	wantKeys(t, c.consume(), "b")
	wantKeys(t, c.plan(), "")
	c.verify()
}

func TestAnAppendedObjectIsConsumedInRanges(t *testing.T) {
	b, c := changedChain(t, files.Config{OnChange: files.AppendChanged, OnGap: files.SkipGap})
	o := c.plan().Objects[0]
	part := o.Range()
	part.To = 2
	c.commit(files.Delta{Ranges: []source.Range{part}})
	if c.head.Count != 2 || len(c.head.Open) != 1 || c.head.Open[0].Was != o.Was {
		t.Fatalf("head %+v", c.head)
	}
	for name, spoil := range map[string]func(*source.Range){
		"after nothing":       func(r *source.Range) { r.Was = source.Hash{} },
		"after other content": func(r *source.Range) { r.Was[0]++ },
	} {
		rest := o.Range()
		rest.From, rest.To, rest.Last = 2, 3, true
		spoil(&rest)
		if _, err := c.set.Advance(c.head, files.Delta{Ranges: []source.Range{rest}}, c.segments.pack()); !errors.Is(err, files.ErrInadmissible) {
			t.Errorf("%s: %v, want ErrInadmissible", name, err)
		}
	}
	kept := *c.head
	p := c.consume()
	if len(p.Objects) != 1 || p.Objects[0].Name != o.Name || p.Objects[0].From != 2 || p.Objects[0].Was != o.Was {
		t.Fatalf("planned %+v", p.Objects)
	}
	if c.head.Count != 2 || len(c.head.Open) != 0 {
		t.Fatalf("head %+v", c.head)
	}
	c.verify()

	c.head = &kept
	b.put(t, "a", "three", noon)
	p = c.consume()
	if len(p.Gaps) != 1 || p.Gaps[0].Was != o.Was || c.head.Count != 2 {
		t.Fatalf("gaps %+v, head %+v", p.Gaps, c.head)
	}
	if p = c.consume(); len(p.Objects) != 1 || p.Objects[0].Was != c.source.Identity("a", b.etag("two"), 3) {
		t.Fatalf("after the gap: %+v", p.Objects)
	}
	if err := c.source.NewSet(c.segments).Verify(t.Context(), c.head); err != nil {
		t.Fatal(err)
	}
}

func TestARangeThatFollowsAnEntryNeedsThatEntry(t *testing.T) {
	b, c := changedChain(t, files.Config{OnChange: files.ReplaceChanged})
	base := c.head
	mine := files.Delta{Ranges: c.whole(c.plan().Objects)}
	b.put(t, "a", "three", noon)
	c.consume() // a rival's
	if err := c.set.Prepare(t.Context(), c.head, mine); err != nil {
		t.Fatal(err)
	}
	if _, err := c.set.Advance(c.head, mine, c.segments.pack()); !errors.Is(err, files.ErrInadmissible) {
		t.Fatalf("%v, want ErrInadmissible", err)
	}
	other := mine
	other.Ranges = append([]source.Range(nil), mine.Ranges...)
	other.Ranges[0].Key = "never consumed"
	for name, head := range map[string]*source.FilesProgress{"another entry": base, "no progress": nil} {
		if _, err := c.set.Advance(head, other, c.segments.pack()); !errors.Is(err, files.ErrInadmissible) {
			t.Errorf("%s: %v, want ErrInadmissible", name, err)
		}
	}
	if next := c.advance(base, mine); next.Count != base.Count || next.Sum == base.Sum {
		t.Fatalf("on its own base: %+v", next)
	}
}

func TestARebaseLoadsTheEntriesThatItsRangesFollow(t *testing.T) {
	b, c := changedChain(t, files.Config{OnChange: files.ReplaceChanged})
	mine, memory := files.Delta{Ranges: c.whole(c.plan().Objects)}, c.set
	c.restart()
	var rival files.Delta
	for i := range 300 {
		rival.Ranges = append(rival.Ranges, source.Range{Key: fmt.Sprint("rival", i), Last: true})
	}
	c.commit(rival)
	if len(c.head.Recent) != 0 || len(c.head.Segments.Items) != 1 {
		t.Fatalf("head %+v", c.head)
	}
	c.set = memory
	if _, err := c.set.Advance(c.head, mine, c.segments.pack()); !errors.Is(err, files.ErrNotLoaded) {
		t.Fatalf("without the segment: %v, want ErrNotLoaded", err)
	}
	loads := c.segments.loads
	c.commit(mine)
	if c.segments.loads != loads+1 || c.head.Count != 302 {
		t.Fatalf("%d loads, head %+v", c.segments.loads-loads, c.head)
	}
	b.put(t, "b", "two", noon)
	wantKeys(t, c.plan(), "b")
	if err := c.source.NewSet(c.segments).Verify(t.Context(), c.head); err != nil {
		t.Fatal(err)
	}
}

func TestResolveAnswersARangeThatFollowsAnEntry(t *testing.T) {
	for _, policy := range []files.OnChange{files.AppendChanged, files.ReplaceChanged} {
		b, c := changedChain(t, files.Config{OnChange: policy})
		ranges := c.whole(c.plan().Objects)
		got, plan, err := c.source.Resolve(t.Context(), ranges, c.head, c.set)
		if err != nil || got != files.CoveredNone || plan.Objects[0].Range() != (source.Range{Key: "a", Name: ranges[0].Name, Was: ranges[0].Was, ETag: ranges[0].ETag, Size: 3, Modified: ranges[0].Modified}) {
			t.Fatalf("%s: %s, %+v, %v", policy, got, plan, err)
		}
		if policy == files.ReplaceChanged {
			part := ranges[0]
			part.To, part.Last = 1, false
			_, _, err := c.source.Resolve(t.Context(), []source.Range{part}, c.head, c.set)
			if gap := asGap(t, err); gap.Key != "a" {
				t.Fatalf("a part that replaces: %+v", gap)
			}
		}
		c.commit(files.Delta{Ranges: ranges})
		if got, _, err := c.source.Resolve(t.Context(), ranges, c.head, c.set); err != nil || got != files.CoveredAll {
			t.Fatalf("%s: once committed: %s, %v", policy, got, err)
		}
		b.put(t, "a", "three", noon)
		c.consume()
		var changed *files.ChangedError
		if _, _, err := c.source.Resolve(t.Context(), ranges, c.head, c.set); !errors.As(err, &changed) {
			t.Fatalf("%s: once overtaken: %v, want a ChangedError", policy, err)
		}
		ranges[0].Key = "x"
		_, _, err = c.source.Resolve(t.Context(), ranges, c.head, c.set)
		if gap := asGap(t, err); gap.Key != "x" {
			t.Fatalf("gap %+v", gap)
		}
	}
	_, c := changedChain(t, files.Config{OnChange: files.AppendChanged})
	ranges := c.whole(c.plan().Objects)
	c.configure(files.Config{})
	var changed *files.ChangedError
	if _, _, err := c.source.Resolve(t.Context(), ranges, c.head, c.set); !errors.As(err, &changed) {
		t.Fatalf("where changed objects are left alone: %v, want a ChangedError", err)
	}
}
