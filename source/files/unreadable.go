package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"batcher/object"
)

// Cause says why an object that is listed cannot be read.
type Cause string

// The causes. The first three pass by themselves, if they do; the others want a
// person.
const (
	Unavailable Cause = "unavailable" // the store answers with an error of its own, again and again
	Torn        Cause = "torn"        // the body breaks off, again and again
	Gone        Cause = "gone"        // it is listed, again too, and a read finds nothing
	Archived    Cause = "archived"    // it has to be restored from an archive first
	Denied      Cause = "denied"      // the permission to read it is refused
	Differs     Cause = "differs"     // listings agree with each other, and a read finds another object
	Refused     Cause = "refused"     // the store will never hand it out as it was asked for
	Misnamed    Cause = "misnamed"    // its key does not say what the pipeline file has keys say
)

// Passes says whether the cause may be gone without anybody's doing.
func (c Cause) Passes() bool { return c == Unavailable || c == Torn || c == Gone }

// UnreadableError says that one object cannot be read, while others may well be.
type UnreadableError struct {
	Key   string
	Cause Cause
	Code  string // the store's own word, such as InvalidObjectState or EACCES; "" if it gave none
	Err   error  // the store's answer
}

// Error implements error.
func (e *UnreadableError) Error() string { return e.Err.Error() }

// Unwrap returns the store's answer.
func (e *UnreadableError) Unwrap() error { return e.Err }

// Word is the cause with the store's word for it.
func (e *UnreadableError) Word() string {
	if e.Code == "" {
		return string(e.Cause)
	}
	return fmt.Sprintf("%s (%s)", e.Cause, e.Code)
}

// NotAsListed is what an object is that was not as it was listed, twice, while the
// two listings say the same of it. err wraps ErrStale.
func NotAsListed(key string, err error) *UnreadableError {
	cause := Differs
	if errors.Is(err, object.ErrNotFound) {
		cause = Gone
	}
	return &UnreadableError{Key: key, Cause: cause, Code: codeOf(err), Err: err}
}

// unreadable turns the store's answer to a read of one object into an
// UnreadableError. What is no answer, as the end of a context, stays what it is.
func unreadable(key string, err error) error {
	var cause Cause
	code := codeOf(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case code == "InvalidObjectState":
		cause = Archived
	case errors.Is(err, object.ErrDenied):
		cause = Denied
	case errors.Is(err, object.ErrUnsupported):
		cause = Refused
	case errors.Is(err, io.ErrUnexpectedEOF):
		cause = Torn
	case errors.Is(err, object.ErrUnknown), errors.Is(err, object.ErrConflict):
		cause = Unavailable
	default:
		return err
	}
	return &UnreadableError{Key: key, Cause: cause, Code: code, Err: err}
}

// codeOf is the word that a service or the system has for an error.
func codeOf(err error) string {
	var service interface {
		error
		ErrorCode() string
	}
	if errors.As(err, &service) {
		return service.ErrorCode()
	}
	var number syscall.Errno
	switch {
	case errors.As(err, &number) && number == syscall.EIO:
		return "EIO"
	case errors.Is(err, fs.ErrPermission):
		return "EACCES"
	}
	return ""
}

// OutOfSight says whether an error means that a look at the source may do without the
// object: it is not as listed, in an archive, or breaks off.
func OutOfSight(err error) bool {
	u, ok := errors.AsType[*UnreadableError](err)
	return errors.Is(err, ErrStale) || ok && (u.Cause == Archived || u.Cause == Torn)
}

// Try reads the beginning of a planned object, and says why it cannot be read; nil if
// it can, as far as it was tried, or if it has changed since it was listed.
func (s *Source) Try(ctx context.Context, o Object) *UnreadableError {
	const enough = 1 << 20
	r, err := s.Open(ctx, o)
	if err == nil {
		_, err = io.CopyN(io.Discard, r, min(o.Size, enough))
		r.Close()
	}
	if u, ok := errors.AsType[*UnreadableError](err); ok {
		return u
	}
	if errors.Is(err, object.ErrNotFound) {
		return NotAsListed(o.Key, err)
	}
	return nil
}

// Probe says whether the first byte under a key can be read: nil if so.
func (s *Source) Probe(ctx context.Context, key string) error {
	r, _, err := s.store.Get(ctx, key, object.GetOptions{Limit: 1})
	if err != nil {
		return unreadable(key, fmt.Errorf("look at %s: %w", key, err))
	}
	return r.Close()
}

func isUnreadable(err error) bool {
	_, ok := errors.AsType[*UnreadableError](err)
	return ok
}
