//go:build unix

package filestore_test

import (
	"context"
	"fmt"
	"testing"

	"batcher/object"
	"batcher/object/filestore"
)

// BenchmarkCreate is the price of one durable commit in a directory.
func BenchmarkCreate(b *testing.B) {
	s, err := filestore.New(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	body := make([]byte, 4096)
	for i := 0; b.Loop(); i++ {
		if _, err := s.Put(context.Background(), fmt.Sprintf("a/b/c/d/%09d", i), body, object.IfAbsent); err != nil {
			b.Fatal(err)
		}
	}
}
