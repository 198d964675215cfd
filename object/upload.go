package object

import (
	"context"
	"fmt"
)

// NewUpload streams to the store where it can, and otherwise gathers the body
// in memory and puts it whole.
func NewUpload(ctx context.Context, s Store, key string) (Upload, error) {
	if u, ok := s.(Uploader); ok {
		return u.Upload(ctx, key)
	}
	return &gathered{store: s, key: key}, nil
}

// gathered is the upload of a store that cannot stream.
type gathered struct {
	store Store
	key   string
	body  []byte
	spent bool
}

// Write implements io.Writer.
func (g *gathered) Write(b []byte) (int, error) {
	g.body = append(g.body, b...)
	return len(b), nil
}

// Complete implements Upload.
func (g *gathered) Complete(ctx context.Context) (Info, error) {
	if g.spent {
		return Info{}, fmt.Errorf("complete %s: upload is spent: %w", g.key, ErrUnsupported)
	}
	g.spent = true
	return g.store.Put(ctx, g.key, g.body, Always)
}

// Abort implements Upload.
func (g *gathered) Abort(context.Context) error {
	g.spent, g.body = true, nil
	return nil
}
