package memstore

import (
	"bytes"
	"context"
	"fmt"

	"batcher/object"
)

// Upload implements object.Uploader by holding the stream until Complete.
func (s *Store) Upload(ctx context.Context, key string) (object.Upload, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("upload %s: %w", key, err)
	}
	return &upload{store: s, key: key}, nil
}

// upload belongs to one goroutine.
type upload struct {
	store *Store
	key   string
	body  bytes.Buffer
	spent bool
}

// Write implements io.Writer.
func (u *upload) Write(p []byte) (int, error) {
	if u.spent {
		return 0, fmt.Errorf("upload %s: write after its end: %w", u.key, object.ErrUnsupported)
	}
	return u.body.Write(p)
}

// Complete implements object.Upload.
func (u *upload) Complete(ctx context.Context) (object.Info, error) {
	if u.spent {
		return object.Info{}, fmt.Errorf("upload %s: completed after its end: %w", u.key, object.ErrUnsupported)
	}
	u.spent = true
	return u.store.Put(ctx, u.key, u.body.Bytes(), object.Always)
}

// Abort implements object.Upload.
func (u *upload) Abort(context.Context) error {
	u.spent = true
	return nil
}
