package object

import (
	"context"
	"io"
)

// NewReaderAt returns a reader of ranges of one object, for formats that are read
// from their end. Each ReadAt is one Get under ctx, and fails with what Get or its
// reader fails with; io.EOF means that the object ends before the range does. It
// does not pin the object: it is for keys that are written once.
func NewReaderAt(ctx context.Context, s Store, key string) io.ReaderAt {
	return &readerAt{ctx, s, key}
}

type readerAt struct {
	ctx   context.Context
	store Store
	key   string
}

// ReadAt implements io.ReaderAt.
func (r *readerAt) ReadAt(b []byte, off int64) (int, error) {
	if len(b) == 0 {
		return 0, nil // a Limit of 0 would ask for everything
	}
	body, _, err := r.store.Get(r.ctx, r.key, GetOptions{From: off, Limit: int64(len(b))})
	if err != nil {
		return 0, err
	}
	defer body.Close()
	n, err := io.ReadFull(body, b)
	// Only ReadFull's own word that the body ended becomes io.EOF: a store wraps
	// the same error where a connection broke.
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return n, err
}
