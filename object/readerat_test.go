package object_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"batcher/object"
	"batcher/object/memstore"
)

func TestReaderAtReadsRanges(t *testing.T) {
	store := memstore.New()
	if _, err := store.Put(t.Context(), "k", []byte("0123456789"), object.IfAbsent); err != nil {
		t.Fatal(err)
	}
	r := object.NewReaderAt(t.Context(), store, "k")
	for _, c := range []struct {
		from int64
		size int
		want string
		err  error
	}{
		{0, 10, "0123456789", nil}, {3, 4, "3456", nil}, {9, 1, "9", nil}, {4, 0, "", nil},
		{8, 4, "89", io.EOF}, {10, 1, "", io.EOF}, {99, 1, "", io.EOF},
	} {
		b := make([]byte, c.size)
		n, err := r.ReadAt(b, c.from)
		if string(b[:n]) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%d bytes at %d: %q, %v; want %q, %v", c.size, c.from, b[:n], err, c.want, c.err)
		}
	}
	if _, err := object.NewReaderAt(t.Context(), store, "absent").ReadAt(make([]byte, 1), 0); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("absent key: %v", err)
	}
}

// torn is a store whose bodies break off.
type torn struct {
	object.Store
	err error
}

func (s torn) Get(context.Context, string, object.GetOptions) (io.ReadCloser, object.Info, error) {
	return io.NopCloser(io.MultiReader(strings.NewReader("ab"), failing{s.err})), object.Info{Size: 9}, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestReaderAtKeepsWhatTheStoreSays(t *testing.T) {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
		lost := fmt.Errorf("get k: %w: %w", object.ErrUnknown, end)
		n, err := object.NewReaderAt(t.Context(), torn{err: lost}, "k").ReadAt(make([]byte, 4), 0)
		if n != 2 || !errors.Is(err, object.ErrUnknown) {
			t.Errorf("%v: %d bytes, %v", end, n, err)
		}
	}
}
