// Package localdev runs real services on this machine for tests and examples:
// a MinIO server, proxies that misbehave on its behalf, Lambda's runtime API,
// DuckDB as an independent reader, and seeded sample data.
//
// Duty: get the tools (from the PATH, or built or installed once into the
// user's cache folder), start them on the loopback interface, and leave nothing
// behind.
//
// Invariants: only processes that this package started are ever stopped, by
// their own handle; a service dies with the process that started it; whatever
// cannot be provided is an error and never a reason to skip a test.
//
// It is never imported by what ships, only by tests and its own mains.
package localdev

import (
	"fmt"
	"os"
	"path/filepath"
)

// toolFolder returns the folder below the user's cache in which tools are
// kept, and makes it.
func toolFolder(elem ...string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	dir := filepath.Join(append([]string{cache, "batcher"}, elem...)...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the tool folder: %w", err)
	}
	return dir, nil
}

// once calls build unless path exists, while it alone holds the lock on path,
// so that test packages that run side by side build a tool once.
func once(path string, build func() error) error {
	lock, err := acquire(path + ".lock")
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	defer lock.Close()
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := build(); err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("the build left nothing: %w", err)
	}
	return nil
}
