package filestore

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"batcher/object"
)

// The system errors here cannot be provoked without a file system of one's own.
func TestSystemErrorsHaveOneMeaning(t *testing.T) {
	for _, c := range []struct {
		op   operation
		err  error
		want error
	}{
		{writing, syscall.ENOSPC, object.ErrConflict},
		{writing, syscall.EDQUOT, object.ErrConflict},
		{writing, &syncError{syscall.ENOSPC}, object.ErrUnknown},
		{writing, &syncError{syscall.EIO}, object.ErrUnknown},
		{writing, &syncError{syscall.EACCES}, object.ErrUnknown},
		{writing, syscall.EROFS, object.ErrDenied},
		{writing, syscall.EACCES, object.ErrDenied},
		{writing, &noLinkError{syscall.EPERM}, object.ErrUnsupported},
		{writing, syscall.EXDEV, object.ErrUnsupported},
		{writing, syscall.ENAMETOOLONG, object.ErrUnsupported},
		{writing, syscall.EIO, object.ErrUnknown},
		{reading, syscall.EIO, object.ErrUnknown},
		{reading, syscall.ENOENT, object.ErrNotFound},
		{reading, syscall.ENOTDIR, object.ErrNotFound},
		{reading, syscall.EMFILE, object.ErrUnknown},
	} {
		err := classify(c.op, "test", &fs.PathError{Op: "op", Path: "p", Err: c.err})
		if !errors.Is(err, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%v (%T) when %d: %v, want %v", c.err, c.err, c.op, err, c.want)
		}
		_, explained := errors.AsType[object.Explained](err)
		if full := isAny(c.err, syscall.ENOSPC, syscall.EDQUOT); full != explained || full != strings.HasPrefix(err.Error(), "the disk is full") {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}
