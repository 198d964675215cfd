package files_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"batcher/object"
	"batcher/source/files"
)

// TestFindTellsEveryEntryToAFreshProcess looks entries up in segments and among
// the recent ones, and what stands under their keys.
func TestFindTellsEveryEntryToAFreshProcess(t *testing.T) {
	b := newBucket()
	for i := range 1000 {
		b.put(t, fmt.Sprintf("%04d", i), "x", noon.Add(-time.Hour))
	}
	c := newChain(t, b, files.Config{})
	c.consume()
	b.put(t, "recent", "xy", noon.Add(-time.Hour))
	c.consume()
	if len(c.head.Segments.Items) == 0 || len(c.head.Recent) == 0 {
		t.Fatalf("%d segments, %d bytes of recent entries: the test shows nothing", len(c.head.Segments.Items), len(c.head.Recent))
	}
	for key, size := range map[string]int64{"0000": 1, "0999": 1, "recent": 2} {
		c.restart()
		info, err := c.source.Stat(t.Context(), key)
		if err != nil || info.Size != size || info.Key != key {
			t.Fatalf("%s: %+v, %v", key, info, err)
		}
		e, found, err := c.set.Find(t.Context(), c.head, key)
		if err != nil || !found || e.Identity != c.source.Identity(key, info.ETag, info.Size) {
			t.Errorf("%s: %+v, %v, %v", key, e, found, err)
		}
	}
	if _, found, err := c.set.Find(t.Context(), c.head, "other"); found || err != nil {
		t.Errorf("a key that was never consumed: %v, %v", found, err)
	}
	if _, err := c.source.Stat(t.Context(), "other"); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("an absent object: %v", err)
	}
}
