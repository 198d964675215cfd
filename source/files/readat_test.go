package files_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"batcher/source/files"
)

// TestOpenReadsFromAnywhere holds the random access that formats read from their
// end need: pinned like the stream, and loud when the object changes.
func TestOpenReadsFromAnywhere(t *testing.T) {
	b := newBucket()
	b.put(t, "a", "0123456789", noon.Add(-time.Hour))
	c := newChain(t, b, files.Config{})
	r, err := c.source.Open(t.Context(), c.plan().Objects[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	at := r.(interface {
		io.ReaderAt
		Size() int64
	})
	if at.Size() != 10 {
		t.Errorf("size %d", at.Size())
	}
	for _, want := range []struct {
		off  int64
		size int
		text string
		err  error
	}{
		{0, 4, "0123", nil}, {6, 4, "6789", nil}, {8, 4, "89", io.EOF}, {10, 1, "", io.EOF}, {3, 0, "", nil},
	} {
		buf := make([]byte, want.size)
		n, err := at.ReadAt(buf, want.off)
		if string(buf[:n]) != want.text || !errors.Is(err, want.err) {
			t.Errorf("%d bytes at %d: %q, %v", want.size, want.off, buf[:n], err)
		}
	}
	b.put(t, "a", "another one", noon)
	if _, err := at.ReadAt(make([]byte, 4), 0); !errors.Is(err, files.ErrStale) {
		t.Errorf("after a change: %v", err)
	}
}
