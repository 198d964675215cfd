package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"batcher/object"
)

// readBatch is how many directory entries are read at a time, so that a
// directory of any size is listed in bounded memory.
const readBatch = 1024

// List implements object.Store. What it shows and hides:
//
//   - files, and symbolic links that lead to files (with the file's size and time);
//   - not what a link to a directory leads to: the same files would appear
//     under two keys and be read twice, or without end;
//   - not pipes, devices, sockets and links that lead nowhere. Who asks by
//     object.Skipping is told of these and of links to directories;
//   - not TempDir;
//   - a name that is not UTF-8 cannot be a key. It ends the listing with
//     ErrUnsupported and its quoted name, because hiding it would lose data;
//   - a directory that may not be read ends it with ErrDenied and its name.
//
// A root that does not exist is ErrNotFound, so that an empty place and a
// mistyped one differ; a prefix that does not exist is an empty listing.
func (s *Store) List(ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		dir := s.root
		if prefix != "" {
			folder, ok := strings.CutSuffix(prefix, "/")
			if !ok {
				yield(object.Info{}, fmt.Errorf("list %q: the prefix must end in a slash: %w", prefix, object.ErrUnsupported))
				return
			}
			path, err := s.path("list", folder)
			if err != nil {
				yield(object.Info{}, err)
				return
			}
			if _, err := os.Stat(s.root); err != nil {
				yield(object.Info{}, classify(reading, "list "+s.root, err))
				return
			}
			dir = path
		}
		w := walk{ctx: ctx, store: s, depth: depth, yield: yield}
		err := w.directory(dir, prefix)
		switch {
		case err == nil, errors.Is(err, errStopped):
		case prefix != "" && errors.Is(err, object.ErrNotFound): // nothing there
		default:
			yield(object.Info{}, err)
		}
	}
}

// errStopped says that the consumer of a listing wants no more.
var errStopped = errors.New("stopped")

// walk is one listing under way.
type walk struct {
	ctx   context.Context
	store *Store
	depth object.Depth
	yield func(object.Info, error) bool
}

// directory lists one directory whose keys begin with prefix.
func (w *walk) directory(dir, prefix string) error {
	f, err := os.Open(dir)
	if err != nil {
		return classify(reading, "list "+dir, err)
	}
	defer f.Close()
	for {
		if err := w.ctx.Err(); err != nil {
			return fmt.Errorf("list %s: %w", dir, err)
		}
		w.store.count.list.Add(1)
		entries, err := f.ReadDir(readBatch)
		for _, e := range entries {
			if err := w.entry(dir, prefix, e); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return classify(reading, "list "+dir, err)
		}
	}
}

// entry lists one name of a directory.
func (w *walk) entry(dir, prefix string, e fs.DirEntry) error {
	name := e.Name()
	if name == TempDir {
		return nil
	}
	path, key := filepath.Join(dir, name), prefix+name
	if !utf8.ValidString(name) {
		return fmt.Errorf("list %s: the name %q is not UTF-8 and so no key: rename or remove it: %w", dir, name, object.ErrUnsupported)
	}
	if e.IsDir() {
		return w.folder(path, key+"/")
	}
	// Stat follows links; a name that is gone by now was never promised.
	info, err := os.Stat(path)
	switch {
	case isAbsent(err), errors.Is(err, syscall.ELOOP):
		if e.Type()&fs.ModeSymlink != 0 {
			object.Skipped(w.ctx, key, object.SkipDeadLink)
		}
		return nil
	case err != nil:
		return classify(reading, "list "+path, err)
	case info.IsDir():
		object.Skipped(w.ctx, key, object.SkipFolderLink)
		return nil
	case !info.Mode().IsRegular():
		object.Skipped(w.ctx, key, object.SkipSpecial)
		return nil
	}
	if !w.yield(describe(key, info), nil) {
		return errStopped
	}
	return nil
}

// folder lists a directory below the one that is being listed.
func (w *walk) folder(path, key string) error {
	if w.depth == object.Shallow {
		holds, err := w.holdsObject(path, key)
		if err != nil || !holds {
			return err
		}
		if !w.yield(object.Info{Key: key, Size: object.FolderSize}, nil) {
			return errStopped
		}
		return nil
	}
	err := w.directory(path, key)
	if errors.Is(err, object.ErrNotFound) {
		return nil // removed while the listing ran
	}
	return err
}

// holdsObject says whether there is an object at any depth below a directory.
func (w *walk) holdsObject(path, key string) (bool, error) {
	found := false
	probe := walk{ctx: w.ctx, store: w.store, depth: object.Deep, yield: func(object.Info, error) bool {
		found = true
		return false
	}}
	err := probe.directory(path, key)
	if found || errors.Is(err, object.ErrNotFound) {
		return found, nil
	}
	return false, err
}
