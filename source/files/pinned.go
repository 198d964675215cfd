package files

import (
	"context"
	"errors"
	"fmt"
	"io"

	"batcher/object"
)

// A body that breaks off is asked for again from there on. Of resumptions that bring
// less than worthResuming bytes there are maxResumptions.
const (
	maxResumptions = 4
	worthResuming  = 1 << 20
)

// pinned reads one object as it was planned, and maps the errors on the way.
type pinned struct {
	body    io.ReadCloser
	object  Object
	ctx     context.Context // of Open: io.ReaderAt takes none
	store   object.Store
	at      int64 // offset of the next byte of the body
	resumed int64 // where it was taken up again last
	poor    int   // resumptions that brought little
}

// Size returns the size of the stored object.
func (p *pinned) Size() int64 { return p.object.Size }

// ReadAt implements io.ReaderAt.
func (p *pinned) ReadAt(b []byte, off int64) (int, error) {
	if len(b) == 0 {
		return 0, nil // a Limit of 0 would ask for everything
	}
	for poor := 0; ; poor++ {
		n, err := p.readAt(b, off)
		if err == nil || err == io.EOF || poor == maxResumptions || !p.resumable(err) {
			return n, err
		}
	}
}

func (p *pinned) readAt(b []byte, off int64) (int, error) {
	r, _, err := p.store.Get(p.ctx, p.object.Key, object.GetOptions{From: off, Limit: int64(len(b)), ETag: p.object.ETag})
	if err != nil {
		return 0, moved(p.object, fmt.Errorf("read %s at %d: %w", p.object.Key, off, err))
	}
	defer r.Close()
	// Only ReadFull's own word that the body ended becomes io.EOF: a store
	// wraps the same error where a connection broke.
	n, err := io.ReadFull(r, b)
	if err == nil {
		return n, nil
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return n, io.EOF
	}
	return n, torn(moved(p.object, fmt.Errorf("read %s at %d: %w", p.object.Key, off, err)))
}

// Read implements io.Reader.
func (p *pinned) Read(b []byte) (int, error) {
	n, err := p.body.Read(b)
	p.at += int64(n)
	if err == nil || err == io.EOF {
		return n, err
	}
	err = torn(moved(p.object, fmt.Errorf("read %s: %w", p.object.Key, err)))
	if !p.resumable(err) {
		return n, err
	}
	if err := p.resume(err); err != nil {
		return n, err
	}
	return n, nil
}

// torn makes of a body that the store could not hand out whole what it is.
func torn(err error) error {
	if u, ok := errors.AsType[*UnreadableError](err); ok && u.Cause == Unavailable {
		u.Cause = Torn
	}
	return err
}

// resumable says whether a body broke off for no reason of its own. Without an ETag
// its rest might be another object's.
func (p *pinned) resumable(err error) bool {
	u, ok := errors.AsType[*UnreadableError](err)
	return ok && u.Cause == Torn && p.object.ETag != "" && p.ctx.Err() == nil
}

// resume takes the body up again where it broke.
func (p *pinned) resume(broke error) error {
	if p.at-p.resumed < worthResuming {
		p.poor++
	}
	if p.poor > maxResumptions || p.at >= p.object.Size {
		return broke
	}
	p.resumed = p.at
	r, _, err := p.store.Get(p.ctx, p.object.Key, object.GetOptions{From: p.at, ETag: p.object.ETag})
	if err != nil {
		return moved(p.object, fmt.Errorf("read %s at %d: %w", p.object.Key, p.at, err))
	}
	p.body.Close()
	p.body = r
	return nil
}

// Close implements io.Closer.
func (p *pinned) Close() error { return p.body.Close() }
