//go:build unix

package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

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

func write(t *testing.T, path, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
}

// listed returns the keys and folders of a listing, sorted, and its error.
func listed(s object.Store, prefix string, depth object.Depth) ([]string, error) {
	keys := []string{}
	for info, err := range s.List(context.Background(), prefix, depth) {
		if err != nil {
			return keys, err
		}
		keys = append(keys, info.Key)
	}
	slices.Sort(keys)
	return keys, nil
}

func TestReadingCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in", "a.json"), "{}")
	s := open(t, dir)
	if keys, err := listed(s, "", object.Deep); err != nil || !slices.Equal(keys, []string{"in/a.json"}) {
		t.Fatalf("listed %q, %v", keys, err)
	}
	if _, _, err := object.ReadAll(context.Background(), s, "in/a.json", object.GetOptions{}, 10); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("the directory holds %v, %v", entries, err)
	}
}

func TestMissingRoot(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "absent"))
	for _, prefix := range []string{"", "sub/"} {
		if _, err := listed(s, prefix, object.Deep); !errors.Is(err, object.ErrNotFound) {
			t.Errorf("list %q: %v", prefix, err)
		}
	}
	if _, err := os.Stat(s.String()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the root was made by a listing: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "x")
	if _, err := filestore.New(file); !errors.Is(err, object.ErrUnsupported) {
		t.Errorf("a file as the root: %v", err)
	}
}

func TestKeysStayInside(t *testing.T) {
	ctx, outer := context.Background(), t.TempDir()
	write(t, filepath.Join(outer, "secret"), "x")
	s := open(t, filepath.Join(outer, "root"))
	for _, key := range []string{
		"", "/", "/secret", "../secret", "a/../../secret", "..", ".", "a/./b", "a//b", "a/", "a\x00b",
		filestore.TempDir + "/x", "a/" + filestore.TempDir + "/x",
	} {
		_, putErr := s.Put(ctx, key, []byte("x"), object.Always)
		_, _, getErr := s.Get(ctx, key, object.GetOptions{})
		_, upErr := s.Upload(ctx, key)
		for op, err := range map[string]error{"put": putErr, "get": getErr, "upload": upErr, "delete": s.Delete(ctx, key)} {
			if !errors.Is(err, object.ErrUnsupported) {
				t.Errorf("%s %q: %v", op, key, err)
			}
		}
	}
	if _, err := listed(s, "../", object.Deep); !errors.Is(err, object.ErrUnsupported) {
		t.Errorf("list ../: %v", err)
	}
}

func TestObjectAndFolderOfOneName(t *testing.T) {
	ctx, s := context.Background(), open(t, t.TempDir())
	for _, key := range []string{"a", "d/e"} {
		if _, err := s.Put(ctx, key, []byte("x"), object.IfAbsent); err != nil {
			t.Fatal(err)
		}
	}
	for _, cond := range []object.Condition{object.Always, object.IfAbsent} {
		for _, key := range []string{"a/b", "d"} {
			if _, err := s.Put(ctx, key, []byte("x"), cond); !errors.Is(err, object.ErrUnsupported) {
				t.Errorf("put %s, condition %d: %v", key, cond, err)
			}
		}
	}
	for _, key := range []string{"a/b", "d"} {
		if _, _, err := s.Get(ctx, key, object.GetOptions{}); !errors.Is(err, object.ErrNotFound) {
			t.Errorf("get %s: %v", key, err)
		}
		if err := s.Delete(ctx, key); err != nil {
			t.Errorf("delete %s: %v", key, err)
		}
	}
	if keys, err := listed(s, "", object.Deep); err != nil || !slices.Equal(keys, []string{"a", "d/e"}) {
		t.Errorf("listed %q, %v", keys, err)
	}
}

func TestListOfForeignDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sub", "file"), "x")
	write(t, filepath.Join(dir, filestore.TempDir, "litter"), "x")
	if err := os.MkdirAll(filepath.Join(dir, "empty", "deeper"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"link-to-file": "sub/file", "link-to-directory": "sub", "sub/loop": "..", "dangling": "nowhere", "self": "self",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	for depth, want := range map[object.Depth][]string{
		object.Deep:    {"link-to-file", "sub/file"},
		object.Shallow: {"link-to-file", "sub/"},
	} {
		if keys, err := listed(s, "", depth); err != nil || !slices.Equal(keys, want) {
			t.Errorf("depth %d: listed %q, %v; want %q", depth, keys, err, want)
		}
	}
	skipped := map[string]object.Skip{}
	ctx := object.Skipping(t.Context(), func(key string, why object.Skip) { skipped[key] = why })
	for _, err := range s.List(ctx, "", object.Deep) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := map[string]object.Skip{
		"link-to-directory": object.SkipFolderLink, "sub/loop": object.SkipFolderLink,
		"dangling": object.SkipDeadLink, "self": object.SkipDeadLink, "pipe": object.SkipSpecial,
	}; !maps.Equal(skipped, want) {
		t.Errorf("skipped %v, want %v", skipped, want)
	}
	if _, _, err := s.Get(context.Background(), "pipe", object.GetOptions{}); !errors.Is(err, object.ErrUnsupported) {
		t.Errorf("get of a pipe: %v", err)
	}
}

// TestLargeDirectory has more names than one read of a directory returns.
func TestLargeDirectory(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 2500 {
		want = append(want, fmt.Sprintf("d/%04d", i))
		write(t, filepath.Join(dir, want[i]), "")
	}
	s := open(t, dir)
	got, err := listed(s, "d/", object.Deep)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("listed %d of %d names, %v", len(got), len(want), err)
	}
	if reads := s.Requests().List; reads < 3 {
		t.Errorf("%d reads of the directory, want several", reads)
	}
}

func TestNameThatIsNotUTF8IsReported(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "bad\xff.json"), "x")
	_, err := listed(open(t, dir), "", object.Deep)
	if !errors.Is(err, object.ErrUnsupported) || !strings.Contains(err.Error(), `"bad\xff.json"`) {
		t.Fatalf("list: %v", err)
	}
}

func TestFileThatChangesDuringTheRead(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	path, body := filepath.Join(dir, "f"), strings.Repeat("x", 100)
	s := open(t, dir)
	appendTo := func() {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString("more"); err != nil {
			t.Fatal(err)
		}
	}
	truncate := func() {
		if err := os.Truncate(path, 20); err != nil {
			t.Fatal(err)
		}
	}
	touch := func() {
		if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	pinned := func(o object.GetOptions) object.GetOptions {
		_, info, err := object.ReadAll(ctx, s, "f", object.GetOptions{}, 1000)
		if err != nil {
			t.Fatal(err)
		}
		o.ETag = info.ETag
		return o
	}
	for _, c := range []struct {
		name   string
		pin    bool
		opts   object.GetOptions
		change func()
		want   error
	}{
		{"grows, whole", false, object.GetOptions{}, appendTo, object.ErrChanged},
		{"grows, pinned", true, object.GetOptions{Limit: 50}, appendTo, object.ErrChanged},
		{"grows, followed", false, object.GetOptions{Limit: 50}, appendTo, nil},
		{"shrinks, whole", false, object.GetOptions{}, truncate, object.ErrChanged},
		{"shrinks, ranged", false, object.GetOptions{Limit: 50}, truncate, object.ErrChanged},
		{"touched, pinned", true, object.GetOptions{}, touch, object.ErrChanged},
		{"at rest, pinned", true, object.GetOptions{}, func() {}, nil},
	} {
		write(t, path, body)
		opts := c.opts
		if c.pin {
			opts = pinned(opts)
		}
		r, info, err := s.Get(ctx, "f", opts)
		if err != nil {
			t.Fatal(err)
		}
		c.change()
		want := info.Size
		if opts.Limit > 0 {
			want = opts.Limit
		}
		// A caller that knows the length does not read on to the EOF.
		_, err = io.ReadFull(r, make([]byte, want))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		r.Close()
	}
}

// TestDeleteRacesWithCreate lets a deleter remove the directories that
// creators are about to use.
func TestDeleteRacesWithCreate(t *testing.T) {
	ctx, s := context.Background(), open(t, t.TempDir())
	const rounds, workers = 150, 4
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				key := fmt.Sprintf("a/b/c/%d-%d", w, i)
				if _, err := s.Put(ctx, key, []byte(key), object.IfAbsent); err != nil {
					errs[w] = err
					return
				}
				got, _, err := object.ReadAll(ctx, s, key, object.GetOptions{}, 100)
				if err != nil || string(got) != key {
					errs[w] = fmt.Errorf("%s holds %q: %w", key, got, err)
					return
				}
				if err := s.Delete(ctx, key); err != nil {
					errs[w] = err
					return
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.String(), "a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("empty directories were left: %v", err)
	}
}

func TestLitterOfCrashesIsSwept(t *testing.T) {
	dir := t.TempDir()
	old, young := filepath.Join(dir, filestore.TempDir, "old"), filepath.Join(dir, filestore.TempDir, "young")
	write(t, old, "x")
	write(t, young, "x")
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-8*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, dir).Put(context.Background(), "k", nil, object.IfAbsent); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("old temporary file: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("young temporary file: %v", err)
	}
}
