// Package filestore is an object store in a local directory, the default where
// batcher runs without a bucket, and the way to read files that others wrote.
//
// Duty: give a directory the semantics of object.Store, durably: what a Put
// acknowledged survives a power loss.
//
// Invariants:
//   - a key appears with its whole body or not at all, because bodies are
//     written to a file in TempDir, synced, and only then given their name by
//     link(2) (IfAbsent) or rename(2) (Always);
//   - before a Put returns nil, the file, its directory and every directory
//     above it up to the root are synced; a failed sync is ErrUnknown;
//   - no key reaches outside the root: segments that are empty, "." or "..",
//     a leading slash and NUL are ErrUnsupported;
//   - a directory that is only read never gets anything created in it;
//   - once the root was there, nothing is written into another directory that has
//     its name: a store that is moved away does not grow anew.
//
// Limits that the file system sets: a key cannot be both an object and the
// folder of another, and a key segment is at most 255 bytes long; both are
// ErrUnsupported. The identity (ETag) of a file is its size and modification
// time, so that a writer that changes content in place and resets the time
// goes unseen.
//
// It never locks, never follows a symbolic link to a directory in a listing,
// and never retries.
package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"batcher/object"
)

// TempDir is the directory below the root in which bodies are written before
// they get their name. It is made by the first write, it is on the same file
// system as the root, and no key or listing reaches it.
const TempDir = ".batcher-tmp"

// Store is a directory seen as an object store. Use New.
type Store struct {
	root  string                      // absolute and clean
	home  atomic.Pointer[fs.FileInfo] // the root as it was first seen
	sweep sync.Once
	count struct{ get, put, list, delete atomic.Int64 }
}

var (
	_ object.Store    = (*Store)(nil)
	_ object.Uploader = (*Store)(nil)
	_ object.Meter    = (*Store)(nil)
	_ object.Syncer   = (*Store)(nil)
	_ object.Timed    = (*Store)(nil)
)

// New returns the store in directory dir, which need not exist: the first
// write makes it, while reading and listing it give ErrNotFound. New creates
// nothing; a dir that is something else than a directory is ErrUnsupported.
func New(dir string) (*Store, error) {
	if dir == "" || strings.ContainsRune(dir, 0) {
		return nil, fmt.Errorf("directory %q: %w", dir, object.ErrUnsupported)
	}
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("directory %q: %w: %w", dir, object.ErrUnsupported, err)
	}
	switch info, err := os.Stat(root); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, classify(reading, "open "+root, err)
	case !info.IsDir():
		return nil, fmt.Errorf("open %s: not a directory: %w", root, object.ErrUnsupported)
	}
	s := &Store{root: root}
	return s, s.stays()
}

// Delete implements object.Store. It also removes the directories above the
// key that became empty, but never the root; a Put that races with that makes
// them again.
func (s *Store) Delete(ctx context.Context, key string) error {
	path, err := s.path("delete", key)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	s.count.delete.Add(1)
	if err := removeObject(path); err != nil && !isAbsent(err) {
		return classify(reading, "delete "+key, err)
	}
	s.prune(filepath.Dir(path))
	return nil
}

// prune removes dir and what is above it, as far as it is empty and below the root.
func (s *Store) prune(dir string) {
	for dir != s.root && strings.HasPrefix(dir, s.root) {
		// Rmdir and not os.Remove, which would take an object that stands where
		// the key has a folder. It fails if the directory is not empty.
		if syscall.Rmdir(dir) != nil {
			return
		}
		dir = filepath.Dir(dir)
	}
}

// removeObject removes the file at path. A folder there is not an object, so
// that the key is absent and nothing happens.
func removeObject(path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.IsDir() {
		return err
	}
	return os.Remove(path)
}

// String implements object.Store: the absolute path of the directory.
func (s *Store) String() string { return s.root }

// Requests implements object.Meter. A listing counts one for each batch of
// directory entries it read.
func (s *Store) Requests() object.Requests {
	return object.Requests{
		Get: s.count.get.Load(), Put: s.count.put.Load(),
		List: s.count.list.Load(), Delete: s.count.delete.Load(),
	}
}

// path returns the file that key names, or ErrUnsupported.
func (s *Store) path(op, key string) (string, error) {
	if err := checkKey(key); err != nil {
		return "", fmt.Errorf("%s %q: %w: %w", op, key, err, object.ErrUnsupported)
	}
	return filepath.Join(s.root, filepath.FromSlash(key)), nil
}

// checkKey says why a key cannot be a file below the root.
func checkKey(key string) error {
	if strings.ContainsRune(key, 0) {
		return errors.New("key holds a NUL")
	}
	for segment := range strings.SplitSeq(key, "/") {
		switch segment {
		case "", ".", "..":
			return errors.New("key has an empty or relative segment")
		case TempDir:
			return errors.New("key lies in the directory for temporary files")
		}
	}
	if !filepath.IsLocal(filepath.FromSlash(key)) {
		return errors.New("key is no local path on this system")
	}
	return nil
}

// tag is the ETag of a file: its size and its modification time.
func tag(info fs.FileInfo) string {
	return fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano())
}

// Timed implements object.Timed.
func (s *Store) Timed() {}

// describe turns what the file system says into an object.Info.
func describe(key string, info fs.FileInfo) object.Info {
	return object.Info{Key: key, Size: info.Size(), ETag: tag(info), Modified: info.ModTime().UTC()}
}

// Sync implements object.Syncer. It also makes durable that the folder itself
// is there. An absent folder has nothing to lose.
func (s *Store) Sync(ctx context.Context, folder string) error {
	dir, err := s.path("sync", strings.TrimSuffix(folder, "/"))
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sync %s: %w", folder, err)
	}
	err = s.syncDirs(dir)
	if err != nil && !isAbsent(err) {
		return fmt.Errorf("sync %s: %w: %w", folder, object.ErrUnknown, err)
	}
	return nil
}
