package faultstore

import (
	"context"
	"fmt"

	"batcher/object"
)

// Upload implements object.Uploader.
func (s *Store) Upload(ctx context.Context, key string) (object.Upload, error) {
	up, ok := s.inner.(object.Uploader)
	if !ok {
		return nil, fmt.Errorf("upload %s: %w", key, object.ErrUnsupported)
	}
	u := &upload{store: s, key: key}
	if err := s.apply(ctx, Upload, key, func(ctx context.Context) (err error) {
		u.inner, err = up.Upload(ctx, key)
		return err
	}, nil); err != nil {
		return nil, err
	}
	return u, nil
}

// upload passes writes through and may fail at its completion.
type upload struct {
	store *Store
	key   string
	inner object.Upload
}

// Write implements io.Writer.
func (u *upload) Write(p []byte) (int, error) {
	if u.store.dead() {
		return 0, fmt.Errorf("write upload %s: %w", u.key, ErrCrashed)
	}
	return u.inner.Write(p)
}

// Complete implements object.Upload.
func (u *upload) Complete(ctx context.Context) (object.Info, error) {
	var info object.Info
	err := u.store.apply(ctx, Complete, u.key, func(ctx context.Context) (err error) {
		info, err = u.inner.Complete(ctx)
		return err
	}, func(ctx context.Context) error {
		_, err := u.inner.Complete(ctx)
		return err
	})
	if err != nil {
		return object.Info{}, err
	}
	return info, nil
}

// Abort implements object.Upload. After a crash it reaches nothing; a late
// completion that was aborted fails when it is released.
func (u *upload) Abort(ctx context.Context) error {
	if u.store.dead() {
		return fmt.Errorf("abort upload %s: %w", u.key, ErrCrashed)
	}
	return u.inner.Abort(ctx)
}

// dead says whether the process has crashed.
func (s *Store) dead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crashed
}
