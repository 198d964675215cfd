package filestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"batcher/object"
)

// TestUnreadableDirectoryIsDenied runs as nobody even if the suite runs as the
// superuser, whom no mode keeps out.
func TestUnreadableDirectoryIsDenied(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "closed", "f"), "x")
	write(t, filepath.Join(dir, "locked"), "x")
	for name, mode := range map[string]os.FileMode{"closed": 0, "locked": 0} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(filepath.Join(dir, "closed"), 0o755)
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the test's own folder is 0700
		t.Fatal(err)
	}
	s := open(t, dir)
	var listErr, getErr error
	asNobody(t, func() {
		_, listErr = listed(s, "", object.Deep)
		_, _, getErr = s.Get(t.Context(), "locked", object.GetOptions{})
	})
	if !errors.Is(listErr, object.ErrDenied) || !strings.Contains(listErr.Error(), filepath.Join(dir, "closed")) {
		t.Errorf("list: %v", listErr)
	}
	if !errors.Is(getErr, object.ErrDenied) {
		t.Errorf("get: %v", getErr)
	}
}

// asNobody calls f on a thread whose file accesses are nobody's, if it may.
// The thread is not unlocked, so that it dies with its goroutine.
func asNobody(t *testing.T, f func()) {
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			err = syscall.Setfsuid(65534)
		}
		if err == nil {
			f()
		}
	}()
	<-done
	if err != nil {
		t.Fatal(err)
	}
}
