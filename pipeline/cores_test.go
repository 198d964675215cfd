package pipeline_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"runtime"
	"testing"

	"batcher/bench"
	"batcher/object"
	"batcher/pipeline"
	"batcher/source"
)

// events are about size bytes of drawn events.
func events(t *testing.T, shape bench.Shape, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := bench.Write(&b, shape, 1, size); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t *testing.T, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// contents are the hashes of the data files of the head, by key.
func contents(t *testing.T, w *world) map[string]string {
	t.Helper()
	head, err := w.invoke(source.Shard{}).Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for key := range list(t, w.store) {
		body, _, err := object.ReadAll(t.Context(), w.store, key, object.GetOptions{}, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(body, []byte("PAR1")) {
			found[key] = fmt.Sprintf("%x", sha256.Sum256(body))
		}
	}
	if head.Manifest.Seq == 0 || len(found) < 2 {
		t.Fatalf("%d files after manifest %d", len(found), head.Manifest.Seq)
	}
	return found
}

// TestFilesDoNotDependOnCores writes the same input on one core and on two, each
// twice: flat, nested and packed objects, several files and row groups, some bad
// records. Every byte of every data file must be the same.
func TestFilesDoNotDependOnCores(t *testing.T) {
	flat, nested := events(t, bench.Flat, 3<<20), events(t, bench.Nested, 3<<20)
	bad := bytes.Replace(flat, []byte(`{"event_id"`), []byte(`{"event_id`), 20)
	for _, objects := range [][][]byte{{flat, bad, zipped(t, flat)}, {nested, zipped(t, nested)}} {
		var want map[string]string
		for _, cores := range []int{1, 2, 1, 2} {
			func() {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
				w := newWorld(t)
				for i, body := range objects {
					w.drop(fmt.Sprintf("%d.ndjson", i), string(body))
				}
				p := w.invoke(source.Shard{})
				p.FileBytes, p.File.RowGroupRows = 400<<10, 3000
				if _, err := p.Run(t.Context(), pipeline.Options{}); err != nil {
					t.Fatal(err)
				}
				got := contents(t, w)
				if want == nil {
					want = got
				}
				if !maps.Equal(got, want) {
					t.Errorf("%d cores: files\n%v\nwant\n%v", cores, got, want)
				}
			}()
		}
	}
}

// TestALargeObjectThatBreaksLateIsQuarantined: it is read ahead, and must end as a
// small one does.
func TestALargeObjectThatBreaksLateIsQuarantined(t *testing.T) {
	whole := zipped(t, events(t, bench.Flat, 6<<20))
	w := newWorld(t)
	w.budget.Ratio = 1
	w.drop("a.ndjson.gz", string(whole))
	w.drop("b.ndjson.gz", string(whole[:len(whole)-9]))
	rep := w.run()
	if rep.Objects.Quarantined != 1 || rep.Rows.Dead != 1 || rep.Rows.Written == 0 {
		t.Errorf("%+v, %+v", rep.Objects, rep.Rows)
	}
	w.verify()
}

// TestALargeObjectIsCutIntoBatches stops reading ahead in the middle, many times.
func TestALargeObjectIsCutIntoBatches(t *testing.T) {
	w := newWorld(t)
	w.limits.Bytes = 700 << 10
	body := events(t, bench.Flat, 5<<20)
	w.drop("a.ndjson", string(body))
	w.drop("b.ndjson.gz", string(zipped(t, body)))
	rep := w.run()
	if n := int64(2 * bytes.Count(body, []byte("\n"))); rep.Batches < 14 || rep.Rows.Written != n {
		t.Errorf("%d batches with %d rows, want %d", rep.Batches, rep.Rows.Written, n)
	}
	w.verify()
}
