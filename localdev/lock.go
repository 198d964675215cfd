//go:build unix

package localdev

import (
	"os"
	"syscall"
)

// acquire waits for the lock on a file. Closing the file releases it, and so
// does the end of the process.
func acquire(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
