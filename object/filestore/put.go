package filestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"batcher/object"
)

const (
	// maxRaces bounds how often one Put makes its directories again because a
	// Delete removed them as empty.
	maxRaces = 32
	// tempLifetime is the age at which a temporary file is litter of a crash.
	tempLifetime = 7 * 24 * time.Hour
)

// Put implements object.Store. Its steps, in an order of which none may swap:
//
//  1. write the body to a temporary file and sync it: a name must never lead to
//     bytes that a power loss can take away;
//  2. make the directories, then link (IfAbsent) or rename (Always): this is
//     the instant at which the object exists, and link alone decides a race;
//  3. sync the directories from the file's up to the root: only now may anyone
//     be told.
func (s *Store) Put(ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
	path, err := s.path("put", key)
	if err != nil {
		return object.Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return object.Info{}, fmt.Errorf("put %s: %w: %w", key, object.ErrUnknown, err)
	}
	s.count.put.Add(1)
	temp, err := s.createTemp()
	if err != nil {
		return object.Info{}, classify(writing, "put "+key, err)
	}
	defer discard(temp.Name())
	if _, err := temp.Write(body); err != nil {
		temp.Close()
		return object.Info{}, classify(writing, "put "+key, err)
	}
	return s.publish(temp, path, key, cond)
}

// publish syncs and closes the temporary file and gives it its name.
func (s *Store) publish(temp *os.File, path, key string, cond object.Condition) (object.Info, error) {
	what := "put " + key
	stat, err := seal(temp, path, cond)
	if err != nil {
		return object.Info{}, classify(writing, what, err)
	}
	for range maxRaces {
		if err = s.stays(); err != nil {
			break
		}
		if err = makeDirs(filepath.Dir(path)); err == nil {
			err = name(temp.Name(), path, cond)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist) && cond == object.IfAbsent && !isDir(path):
		return object.Info{}, fmt.Errorf("%s: %w", what, object.ErrExists)
	case err != nil:
		return object.Info{}, classify(writing, what, err)
	}
	if err := s.syncDirs(filepath.Dir(path)); err != nil {
		return object.Info{}, classify(writing, what, err)
	}
	return describe(key, stat), nil
}

// name is the one step that makes an object visible.
func name(temp, path string, cond object.Condition) error {
	if cond != object.IfAbsent {
		return os.Rename(temp, path)
	}
	err := os.Link(temp, path)
	if errors.Is(err, syscall.EPERM) {
		return &noLinkError{err}
	}
	return err
}

// seal makes the temporary file durable and returns what it is. A file that
// replaces one of the same size within one tick of the clock gets the next
// nanosecond as its time, since otherwise both had one ETag.
func seal(temp *os.File, path string, cond object.Condition) (fs.FileInfo, error) {
	defer temp.Close()
	stat, err := temp.Stat()
	if err != nil {
		return nil, err
	}
	if cond == object.Always {
		if old, err := os.Stat(path); err == nil && old.Size() == stat.Size() && !stat.ModTime().After(old.ModTime()) {
			if err := os.Chtimes(temp.Name(), time.Time{}, old.ModTime().Add(1)); err != nil {
				return nil, err
			}
			if stat, err = temp.Stat(); err != nil {
				return nil, err
			}
		}
	}
	if err := temp.Sync(); err != nil {
		return nil, &syncError{err}
	}
	return stat, nil
}

// createTemp makes an empty file in TempDir, and TempDir and the root if need be.
func (s *Store) createTemp() (*os.File, error) {
	if err := s.stays(); err != nil {
		return nil, err
	}
	dir := filepath.Join(s.root, TempDir)
	path := filepath.Join(dir, rand.Text())
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDirs(dir); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err != nil {
		return nil, err
	}
	if err := s.stays(); err != nil {
		f.Close()
		discard(path)
		return nil, err
	}
	s.sweep.Do(func() { sweep(dir, f) })
	return f, nil
}

// sweep removes temporary files that crashed writers left, judged by the file
// system's own clock: the time of the file that was made just now.
func sweep(dir string, newest *os.File) {
	now, err := newest.Stat()
	if err != nil {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && now.ModTime().Sub(info.ModTime()) > tempLifetime {
			discard(filepath.Join(dir, e.Name()))
		}
	}
}

// discard removes a temporary file. One that stays, or that a rename has moved
// away, does no harm: no key reaches it, and a later sweep takes it.
func discard(path string) { _ = os.Remove(path) }

// makeDirs makes dir and what is missing above it, and syncs the parent of
// whatever it makes: syncDirs ends at the root and would miss the root's own name.
func makeDirs(dir string) error {
	err := os.Mkdir(dir, 0o755)
	switch {
	case err == nil:
		return syncDir(filepath.Dir(dir))
	case errors.Is(err, fs.ErrExist):
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		}
		return err // absent again: a Delete was quicker
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := makeDirs(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// syncDirs syncs dir and every directory above it up to the root. All of them,
// because a directory that exists may have been made by a process that has not
// synced its parent yet; a sync of one without changes costs microseconds.
func (s *Store) syncDirs(dir string) error {
	for {
		if err := syncDir(dir); err != nil {
			return err
		}
		if dir == s.root {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// syncDir makes the names in dir durable. File systems that have no sync for
// directories say EINVAL or ENOTSUP; that is not a failure to write.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return &syncError{err}
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !isAny(err, syscall.EINVAL, syscall.ENOTSUP) {
		return &syncError{err}
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
