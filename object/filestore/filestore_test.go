package filestore_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"batcher/object"
	"batcher/object/filestore"
	"batcher/object/storetest"
)

func open(t *testing.T, dir string) *filestore.Store {
	t.Helper()
	s, err := filestore.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "yet", "there")
	env := storetest.Env{
		Store: open(t, dir), Peers: []object.Store{open(t, dir)}, Prefix: "probe/",
		Params: storetest.Params{ListObjects: 1500},
	}
	storetest.Run(context.Background(), env, storetest.All(), func(r storetest.Result) {
		t.Logf("%-20s %+v", r.Check.Name, r.Requests)
		if r.Err != nil || r.CleanUp != nil {
			t.Errorf("%s: %v; clean-up: %v", r.Check.Name, r.Err, r.CleanUp)
		}
	})
	var left []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		left = append(left, path)
		return err
	})
	if err != nil || len(left) != 2 { // the root and the directory for temporary files
		t.Errorf("left behind: %q, %v", left, err)
	}
}
