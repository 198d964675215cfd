package datafile_test

import (
	"bytes"
	"runtime"
	"testing"

	"batcher/datafile"
)

// TestBytesDoNotDependOnCores writes random tables, and events that fill pages and
// row groups, on one core and on more than there are columns at work at a time.
func TestBytesDoNotDependOnCores(t *testing.T) {
	r := newRandom(t, 0)
	for i := range 30 {
		blocks, opts := r.blocks(r.schema()), r.options()
		if i == 0 {
			blocks, opts = eventRows(150_000, 2_500), datafile.Options{}
		}
		var files [2][]byte
		for k, cores := range []int{1, 8} {
			before := runtime.GOMAXPROCS(cores)
			files[k], _ = write(t, opts, blocks...)
			runtime.GOMAXPROCS(before)
		}
		if !bytes.Equal(files[0], files[1]) {
			t.Fatalf("table %d: %d bytes on one core, %d on eight, and not the same", i, len(files[0]), len(files[1]))
		}
	}
}
