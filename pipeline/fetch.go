package pipeline

import (
	"bytes"
	"context"
	"io"

	"batcher/source/files"
)

// The fetcher reads ahead so that the latency of a store does not add up over
// many small objects. Its memory is at most aheadObjects × aheadBytes.
const (
	aheadObjects = 16
	aheadBytes   = 1 << 20 // larger objects are streamed when their turn comes
)

// fetcher opens objects in the order of a batch, small ones ahead of time.
type fetcher struct {
	source  *files.Source
	objects []files.Object
	at      int // first object not started yet
	started map[string]chan fetched
	cancel  []context.CancelFunc
}

type fetched struct {
	body []byte
	err  error
}

func newFetcher(s *files.Source, objects []files.Object) *fetcher {
	return &fetcher{source: s, objects: objects, started: map[string]chan fetched{}}
}

// next returns the stored bytes of o, which must not come before an earlier o.
func (f *fetcher) next(ctx context.Context, o files.Object) (io.ReadCloser, error) {
	for f.at < len(f.objects) && len(f.started) < aheadObjects {
		f.start(ctx, f.objects[f.at])
		f.at++
	}
	wait, ok := f.started[o.Key]
	if !ok {
		return f.source.Open(ctx, o)
	}
	delete(f.started, o.Key)
	got := <-wait
	if got.err != nil {
		return nil, got.err
	}
	return io.NopCloser(bytes.NewReader(got.body)), nil
}

// start begins to read an object ahead.
func (f *fetcher) start(ctx context.Context, o files.Object) {
	if o.Size > aheadBytes {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	f.cancel = append(f.cancel, cancel)
	done := make(chan fetched, 1)
	f.started[o.Key] = done
	go func() {
		body, err := f.read(ctx, o)
		done <- fetched{body, err}
	}()
}

func (f *fetcher) read(ctx context.Context, o files.Object) ([]byte, error) {
	r, err := f.source.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// stop gives up what was read ahead and waits for it, so that nothing of a run
// outlives it.
func (f *fetcher) stop() {
	for _, cancel := range f.cancel {
		cancel()
	}
	for _, wait := range f.started {
		<-wait
	}
}
