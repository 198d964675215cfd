package batch_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"batcher/batch"
	"batcher/column"
	"batcher/schema"
	"batcher/source"
)

// TestABatchGuessesTheSizeOfPackedObjects reads one object that unpacks to twenty times
// its size or more, and asks whether others of a tenth of the limit fit behind it.
func TestABatchGuessesTheSizeOfPackedObjects(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(strings.Repeat("{\"a\":1}\n", 10_000))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	const limit = 1 << 20
	keep := func(b *column.Block) (*column.Block, error) { return b, nil }
	g := batch.New(batch.Options{Schema: schema.New(), Limits: batch.Limits{Bytes: limit}, Main: keep, Dead: keep})
	in := batch.Object{Info: source.Range{Key: "a.gz", Size: int64(packed.Len())}}
	if err := g.Read(t.Context(), in, bytes.NewReader(packed.Bytes())); err != nil {
		t.Fatal(err)
	}
	for name, full := range map[string]bool{
		"b.ndjson": false, "b.gz/c": false, "b.jsonz": false,
		"b.gz": true, "b.json.gzip": true, "b.zst": true, "b.ZSTD": true, "b.bz2": true, "b.sz": true, "b.snappy": true,
	} {
		if got := g.Full(name, limit/10); got != full {
			t.Errorf("%s: full %t, want %t", name, got, full)
		}
	}
}
