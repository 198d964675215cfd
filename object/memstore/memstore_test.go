package memstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"batcher/object"
	"batcher/object/memstore"
)

func put(t *testing.T, s *memstore.Store, key, body string, cond object.Condition) {
	t.Helper()
	if _, err := s.Put(context.Background(), key, []byte(body), cond); err != nil {
		t.Fatal(err)
	}
}

func history(s *memstore.Store, key string) []string {
	var got []string
	for _, body := range s.History(key) {
		if body == nil {
			got = append(got, "<gone>")
			continue
		}
		got = append(got, string(body))
	}
	return got
}

func TestHistoryKeepsEveryVersion(t *testing.T) {
	s := memstore.New()
	put(t, s, "k", "one", object.IfAbsent)
	put(t, s, "k", "", object.Always)
	if err := s.Delete(context.Background(), "k"); err != nil {
		t.Fatal(err)
	}
	put(t, s, "k", "again", object.IfAbsent)
	if _, err := s.Put(context.Background(), "k", []byte("lost"), object.IfAbsent); !errors.Is(err, object.ErrExists) {
		t.Fatalf("second creator: %v", err)
	}
	if got, want := history(s, "k"), []string{"one", "", "<gone>", "again"}; !slices.Equal(got, want) {
		t.Fatalf("history %q, want %q", got, want)
	}
}

func TestCloneIsIndependent(t *testing.T) {
	s := memstore.New()
	put(t, s, "k", "one", object.Always)
	c := s.Clone()
	put(t, s, "k", "two", object.Always)
	put(t, c, "k", "three", object.Always)
	put(t, c, "l", "x", object.Always)
	if got, want := history(s, "k"), []string{"one", "two"}; !slices.Equal(got, want) {
		t.Errorf("original %q, want %q", got, want)
	}
	if got, want := history(c, "k"), []string{"one", "three"}; !slices.Equal(got, want) {
		t.Errorf("clone %q, want %q", got, want)
	}
	if len(s.Objects()) != 1 || len(c.Objects()) != 2 {
		t.Errorf("objects: original %d, clone %d", len(s.Objects()), len(c.Objects()))
	}
}

func TestShuffleNeitherLosesNorSorts(t *testing.T) {
	s := memstore.New(memstore.WithShuffle(7))
	want := []string{}
	for c := 'a'; c <= 'z'; c++ {
		put(t, s, "p/"+string(c), "x", object.Always)
		want = append(want, "p/"+string(c))
	}
	var got []string
	for info, err := range s.List(context.Background(), "p/", object.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, info.Key)
	}
	if slices.IsSorted(got) {
		t.Error("seed 7: the listing came sorted")
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
