package compact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
)

// Bounds of what is read ahead.
const (
	aheadFiles = 8        // read at the same time, and waiting, by default
	aheadBytes = 48 << 20 // of files in memory, unless one alone has more
	wholeBytes = 32 << 20 // a larger file is not held in memory
)

// ahead reads files side by side while earlier ones are merged, and gives them in
// order. Every file is held against its hash before a byte of it is used: footers
// have no checksum of their own. It is for one goroutine.
type ahead struct {
	ctx    context.Context
	cancel context.CancelFunc
	store  object.Store
	most   int             // files that are read at the same time
	files  []manifest.File // that are not begun
	begun  []*reading      // in order
	held   int64           // bytes of files that are begun or in use
	inUse  int64           // bytes of the file that was given last
}

// reading is a file on its way.
type reading struct {
	size int64 // in memory
	done chan struct{}
	in   io.ReaderAt
	err  error
}

// readAhead begins to read files. It must be stopped.
func readAhead(ctx context.Context, store object.Store, most int, files []manifest.File) *ahead {
	if most == 0 {
		most = aheadFiles
	}
	a := &ahead{store: store, most: most, files: files}
	a.ctx, a.cancel = context.WithCancel(ctx)
	return a
}

// next gives the next file. The one before is not needed any more.
func (a *ahead) next() (io.ReaderAt, error) {
	a.held -= a.inUse
	a.inUse = 0
	for len(a.files) > 0 && len(a.begun) < a.most {
		size := memoryOf(&a.files[0])
		if len(a.begun) > 0 && a.held+size > aheadBytes {
			break
		}
		a.begin(&a.files[0], size)
		a.files = a.files[1:]
	}
	r := a.begun[0]
	a.begun = a.begun[1:]
	<-r.done
	a.inUse = r.size
	return r.in, r.err
}

// memoryOf is how many bytes of a file are held in memory.
func memoryOf(f *manifest.File) int64 {
	if f.Size > wholeBytes {
		return 0
	}
	return f.Size
}

// begin reads a file behind the back of the caller, unless one at a time is wanted.
func (a *ahead) begin(f *manifest.File, size int64) {
	r := &reading{size: size, done: make(chan struct{})}
	a.begun = append(a.begun, r)
	a.held += size
	read := func() {
		defer close(r.done)
		r.in, r.err = a.read(f)
	}
	if a.most == 1 {
		read()
		return
	}
	go read()
}

// read reads a file whole, or reads it once to know that it is what the manifest
// says and leaves it to be read again in ranges.
func (a *ahead) read(f *manifest.File) (io.ReaderAt, error) {
	body, _, err := a.store.Get(a.ctx, f.Key, object.GetOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	sum := sha256.New()
	kept := bytes.NewBuffer(make([]byte, 0, memoryOf(f)))
	to := io.MultiWriter(sum, kept)
	if f.Size > wholeBytes {
		to = sum
	}
	n, err := io.Copy(to, io.LimitReader(body, f.Size+1))
	if err != nil {
		return nil, err
	}
	if n != f.Size || manifest.SHA256(sum.Sum(nil)) != f.SHA256 {
		return nil, fmt.Errorf("%w: it is not the file that was committed", datafile.ErrDamaged)
	}
	if f.Size > wholeBytes {
		return object.NewReaderAt(a.ctx, a.store, f.Key), nil
	}
	return bytes.NewReader(kept.Bytes()), nil
}

// stop gives up what was begun, and returns when nothing runs any more.
func (a *ahead) stop() {
	a.cancel()
	for _, r := range a.begun {
		<-r.done
	}
}
