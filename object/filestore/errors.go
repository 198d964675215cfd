package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"batcher/object"
)

// operation tells classify what a system error means for the caller.
type operation uint8

const (
	// reading cannot leave anything half done.
	reading operation = iota
	// writing is every step of a Put up to the one that names the file, which
	// the system does entirely or not at all.
	writing
)

// syncError marks a failed sync: after it the kernel may have dropped the
// dirty pages, so that nothing is known about what the disk holds.
type syncError struct{ err error }

func (e *syncError) Error() string { return e.err.Error() }
func (e *syncError) Unwrap() error { return e.err }

// noLinkError marks a file system without hard links, which says EPERM.
type noLinkError struct{ err error }

func (e *noLinkError) Error() string {
	return e.err.Error() + " (the file system must support hard links)"
}
func (e *noLinkError) Unwrap() error { return e.err }

// classify wraps a system error with the one sentinel that says what to do.
//
// A full disk, an exhausted quota and too many open files are ErrConflict when
// they strike a write: nothing became visible, nothing is settled, the same
// bytes may be sent again, and a caller whose patience ends reports "run again
// later" rather than a broken store. ErrUnknown would say that the object may
// exist, which is not so. A failed sync is ErrUnknown whatever its cause.
func classify(op operation, what string, err error) error {
	if isAny(err, syscall.ENOSPC, syscall.EDQUOT) {
		return &fullError{what, []error{sentinel(op, err), err}}
	}
	return fmt.Errorf("%s: %w: %w", what, sentinel(op, err), err)
}

// fullError says that the disk is full, and that before anything else: what is known of
// the outcome is for the program.
type fullError struct {
	what string
	errs []error
}

func (e *fullError) Error() string {
	return fmt.Sprintf("the disk is full, or the quota used up: make room (%s: %v)", e.what, e.errs[1])
}
func (e *fullError) Unwrap() []error { return e.errs }
func (e *fullError) Explained()      {}

func sentinel(op operation, err error) error {
	if _, ok := errors.AsType[*syncError](err); ok {
		return object.ErrUnknown
	}
	if _, ok := errors.AsType[*movedError](err); ok {
		return object.ErrUnsupported
	}
	if _, ok := errors.AsType[*noLinkError](err); ok {
		return object.ErrUnsupported
	}
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return object.ErrDenied
	case isAny(err, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.ELOOP, syscall.EXDEV,
		syscall.EISDIR, syscall.ENOSYS, syscall.ENOTSUP, syscall.EMLINK, syscall.EFBIG):
		return object.ErrUnsupported
	case op == reading && isAbsent(err):
		return object.ErrNotFound
	case op == writing && isAny(err, syscall.ENOTDIR, syscall.EEXIST, syscall.ENOTEMPTY):
		return object.ErrUnsupported // an object stands where a folder must be, or the reverse
	case op == writing && isAny(err, syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.ENOENT):
		return object.ErrConflict
	}
	return object.ErrUnknown
}

// isAbsent says that a path leads nowhere: nothing has the name, or something
// on the way to it is not a directory.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func isAny(err error, numbers ...syscall.Errno) bool {
	for _, n := range numbers {
		if errors.Is(err, n) {
			return true
		}
	}
	return false
}
