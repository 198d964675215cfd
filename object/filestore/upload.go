package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"batcher/object"
)

// Upload implements object.Uploader: the stream goes to a temporary file,
// which Complete syncs and renames as Put with Always does.
func (s *Store) Upload(ctx context.Context, key string) (object.Upload, error) {
	path, err := s.path("upload", key)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("upload %s: %w", key, err)
	}
	temp, err := s.createTemp()
	if err != nil {
		return nil, classify(writing, "upload "+key, err)
	}
	return &upload{store: s, key: key, path: path, temp: temp}, nil
}

// upload belongs to one goroutine.
type upload struct {
	store     *Store
	key, path string
	temp      *os.File // nil once spent
	err       error    // the first failed write
}

// Write implements io.Writer.
func (u *upload) Write(p []byte) (int, error) {
	if u.temp == nil {
		return 0, fmt.Errorf("upload %s: write after its end: %w", u.key, object.ErrUnsupported)
	}
	if u.err != nil {
		return 0, u.err
	}
	n, err := u.temp.Write(p)
	if err != nil {
		u.err = classify(writing, "upload "+u.key, err)
	}
	return n, u.err
}

// Complete implements object.Upload.
func (u *upload) Complete(ctx context.Context) (object.Info, error) {
	if u.temp == nil {
		return object.Info{}, fmt.Errorf("upload %s: completed after its end: %w", u.key, object.ErrUnsupported)
	}
	if u.err != nil {
		return object.Info{}, errors.Join(u.err, u.Abort(ctx))
	}
	if err := ctx.Err(); err != nil {
		return object.Info{}, fmt.Errorf("upload %s: %w: %w", u.key, object.ErrUnknown, err)
	}
	temp := u.temp
	u.temp = nil
	u.store.count.put.Add(1)
	defer discard(temp.Name())
	return u.store.publish(temp, u.path, u.key, object.Always)
}

// Abort implements object.Upload.
func (u *upload) Abort(context.Context) error {
	if u.temp == nil {
		return nil
	}
	temp := u.temp
	u.temp = nil
	temp.Close()
	if err := os.Remove(temp.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return classify(writing, "abort upload "+u.key, err)
	}
	return nil
}
