package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"batcher/localdev"
	"batcher/object"
)

// TestAnOverwrittenWriterStopsAtItsNextBatch puts a store that ignores the
// condition under an existing pipeline, so that no doctor looks at it. A rival
// overwrites the first writer's manifest; the writer must notice at its next
// batch, write nothing more, and exit with 70.
func TestAnOverwrittenWriterStopsAtItsNextBatch(t *testing.T) {
	s := minio(t)
	place := fmt.Sprintf("fork-%d", time.Now().UnixNano())
	file := fmt.Sprintf("pipeline: fork\nstore: s3://misc/%[1]s/lake\nsource: {files: {path: s3://misc/%[1]s/in}}\nbatch: {max_objects: 1}\n", place)
	direct := bucket(t, s, "misc", place)
	if _, err := direct.Put(t.Context(), "in/first.ndjson", []byte("{}\n"), object.Always); err != nil {
		t.Fatal(err)
	}
	if r := newWorld(t, s.Env(), file).run("run", "-q"); r.code != exitOK { // a chain, on the store as it is
		t.Fatalf("exit %d: %s", r.code, r.stderr)
	}
	for i := range 3 {
		if _, err := direct.Put(t.Context(), fmt.Sprintf("in/%d.ndjson", i), []byte(fmt.Sprintf("{\"n\":%d}\n", i)), object.Always); err != nil {
			t.Fatal(err)
		}
	}
	const slot = "lake/_batcher/fork/manifests/00000000000000000002.json"
	var mu sync.Mutex
	written, overwritten := false, false
	proxy := s.Proxy(func(_ int, req *http.Request) localdev.Action {
		mu.Lock()
		defer mu.Unlock()
		here := strings.HasSuffix(req.URL.Path, slot)
		if req.Method == http.MethodPut {
			written = written || here
			return localdev.StripCondition
		}
		if here && written && !overwritten { // the writer looks at its own slot again
			overwritten = true
			body, _, err := object.ReadAll(t.Context(), direct, slot, object.GetOptions{}, 1<<20)
			if err == nil {
				_, err = direct.Put(t.Context(), slot, bytes.Replace(body, []byte(`"pid":`), []byte(`"pid":1`), 1), object.Always)
			}
			if err != nil {
				t.Error(err)
			}
		}
		return localdev.Pass
	})
	defer proxy.Close()
	r := newWorld(t, s.EnvAt(proxy.Endpoint), file).run("run", "-q", "-o", "json")
	if r.code != exitDamaged || !strings.Contains(r.stderr, "overwritten") {
		t.Fatalf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	for info, err := range direct.List(t.Context(), "lake/_batcher/fork/manifests/", object.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(info.Key, "3.json") {
			t.Errorf("something was written on top of the fork: %s", info.Key)
		}
	}
	t.Logf("the overwritten writer says: %s", r.stderr)
}
