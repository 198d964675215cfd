package filestore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"batcher/object"
	"batcher/object/filestore"
)

// TestAStoreThatIsMovedAwayDoesNotGrowAnew moves the root away under an open store, and
// then puts another directory in its place.
func TestAStoreThatIsMovedAwayDoesNotGrowAnew(t *testing.T) {
	root := filepath.Join(t.TempDir(), "lake")
	s, err := filestore.New(root)
	if err != nil {
		t.Fatal(err)
	}
	put := func(key string, cond object.Condition) error {
		_, err := s.Put(t.Context(), key, []byte("x"), cond)
		return err
	}
	if err := put("a/b", object.IfAbsent); err != nil {
		t.Fatal(err)
	}
	up, err := s.Upload(t.Context(), "c/d")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(root, root+".old"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, cond := range []object.Condition{object.IfAbsent, object.Always} {
			if err := put("a/b", cond); !errors.Is(err, object.ErrUnsupported) || !strings.Contains(err.Error(), "moved away") {
				t.Errorf("put: %v", err)
			}
		}
		if _, err := s.Upload(t.Context(), "e"); !errors.Is(err, object.ErrUnsupported) {
			t.Errorf("upload: %v", err)
		}
		found, err := os.ReadDir(root)
		if len(found) > 0 {
			t.Errorf("%v, %v", found, err)
		}
		if err := os.MkdirAll(root, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := up.Write([]byte("x")); err == nil {
		if _, err := up.Complete(t.Context()); !errors.Is(err, object.ErrUnsupported) {
			t.Errorf("complete: %v", err)
		}
	}
	if found, _ := os.ReadDir(root); len(found) > 0 {
		t.Errorf("%v", found)
	}
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(root+".old", root); err != nil {
		t.Fatal(err)
	}
	if err := put("f", object.IfAbsent); err != nil {
		t.Errorf("moved back: %v", err)
	}
}

// TestManyWritersMakeANewStore has writers begin at once where nothing is yet: a root
// that another one has just made was not moved away.
func TestManyWritersMakeANewStore(t *testing.T) {
	for range 100 {
		s, err := filestore.New(filepath.Join(t.TempDir(), "new"))
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if _, err := s.Put(t.Context(), fmt.Sprintf("a/%d", i), []byte("x"), object.IfAbsent); err != nil {
					t.Errorf("put: %v", err)
				}
			})
		}
		all.Wait()
	}
}
