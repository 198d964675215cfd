package filestore

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"batcher/object"
)

// Get implements object.Store. Symbolic links are followed; a key that names
// anything but a file in the end is ErrNotFound (a directory) or
// ErrUnsupported (a device, a pipe).
//
// The file is compared with what it was at the start before the last bytes are
// handed out: a pinned read, or one to the end of the file, fails with
// ErrChanged if size or time differ. An unpinned read with a Limit only fails
// if its bytes are not there, so that a growing file can be followed.
func (s *Store) Get(ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	path, err := s.path("get", key)
	if err != nil {
		return nil, object.Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return nil, object.Info{}, fmt.Errorf("get %s: %w", key, err)
	}
	s.count.get.Add(1)
	// Without O_NONBLOCK the open of a pipe waits for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, object.Info{}, classify(reading, "get "+key, err)
	}
	r, info, err := newReader(ctx, f, key, opts)
	if err != nil {
		f.Close()
		return nil, object.Info{}, err
	}
	return r, info, nil
}

// reader reads one range of a file and knows what the file was at the start.
type reader struct {
	ctx    context.Context
	file   *os.File
	key    string
	before string // tag at the start
	at, to int64  // what remains, half-open
	strict bool   // the file must still be what it was
	err    error  // the end, once reached
}

func newReader(ctx context.Context, f *os.File, key string, opts object.GetOptions) (*reader, object.Info, error) {
	stat, err := f.Stat()
	if err != nil {
		return nil, object.Info{}, classify(reading, "get "+key, err)
	}
	if err := mustBeFile(stat); err != nil {
		return nil, object.Info{}, fmt.Errorf("get %s: %w", key, err)
	}
	info := describe(key, stat)
	if opts.ETag != "" && opts.ETag != info.ETag {
		return nil, object.Info{}, fmt.Errorf("get %s pinned to %s: it is now %s: %w", key, opts.ETag, info.ETag, object.ErrChanged)
	}
	from, to, err := opts.Span(info.Size)
	if err != nil {
		return nil, object.Info{}, fmt.Errorf("get %s: %w", key, err)
	}
	strict := opts.ETag != "" || opts.Limit == 0
	return &reader{ctx: ctx, file: f, key: key, before: info.ETag, at: from, to: to, strict: strict}, info, nil
}

func mustBeFile(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("a directory: %w", object.ErrNotFound)
	case !info.Mode().IsRegular():
		return fmt.Errorf("not a regular file: %w", object.ErrUnsupported)
	}
	return nil
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if err := r.ctx.Err(); err != nil {
		return 0, fmt.Errorf("get %s: %w", r.key, err)
	}
	if int64(len(p)) > r.to-r.at {
		p = p[:r.to-r.at]
	}
	n, err := r.file.ReadAt(p, r.at)
	r.at += int64(n)
	if err != nil && err != io.EOF {
		r.err = classify(reading, "get "+r.key, err)
		return n, r.err
	}
	if err == io.EOF && r.at < r.to {
		r.err = fmt.Errorf("get %s: it ends at byte %d, before %d: %w", r.key, r.at, r.to, object.ErrChanged)
		return n, r.err
	}
	if r.at < r.to {
		return n, nil
	}
	// The last bytes are only handed out once they are known to belong to the
	// others: a caller that knows the length may never read on to the EOF.
	if r.err = r.check(); r.err != nil {
		return 0, r.err
	}
	r.err = io.EOF
	return n, nil
}

// check compares the file with what it was at the start.
func (r *reader) check() error {
	if !r.strict {
		return nil
	}
	stat, err := r.file.Stat()
	if err != nil {
		return classify(reading, "get "+r.key, err)
	}
	if now := tag(stat); now != r.before {
		return fmt.Errorf("get %s: it was %s and is %s after the read: %w", r.key, r.before, now, object.ErrChanged)
	}
	return nil
}

// Close implements io.Closer.
func (r *reader) Close() error { return r.file.Close() }
