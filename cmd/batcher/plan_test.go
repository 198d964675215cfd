package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"batcher/config"
)

// packedDrop writes objects of fifty records each, whose stored size is a small part
// of the decoded one.
func (w *world) packedDrop(from, to int) (size int64) {
	for i := from; i < to; i++ {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(strings.Repeat(fmt.Sprintf("{\"n\":%d}\n", 100+i), 50)))
		_ = z.Close()
		w.write(fmt.Sprintf("in/%03d.ndjson.gz", i), b.String())
		size += int64(b.Len())
	}
	return size
}

// TestPlanKnowsWhatARunAsksOfTheStore, published or not.
func TestPlanKnowsWhatARunAsksOfTheStore(t *testing.T) {
	for _, publish := range []string{"[]", "[delta]"} {
		w := newWorld(t, nil, localFile+"compact: {after_run: 0%}\npublish: "+publish+"\n")
		w.packedDrop(0, 3)
		w.must(&report{}, "run") // which begins the pipeline
		w.packedDrop(3, 63)
		var p planReport
		w.must(&p, "plan")
		var r report
		w.must(&r, "run")
		if r.Batches != 20 || p.Batches != 20 {
			t.Fatalf("%d batches planned, %d committed", p.Batches, r.Batches)
		}
		for what, of := range map[string][2]int64{"GETs": {p.Requests.Get, r.Requests.Get}, "PUTs": {p.Requests.Put, r.Requests.Put}} {
			if planned, made := of[0], of[1]; planned < made*3/4 || planned > made*5/4 {
				t.Errorf("publish %s: about %d %s planned, %d made", publish, planned, what, made)
			}
		}
		t.Logf("publish %s: %+v planned, %+v made", publish, p.Requests, r.Requests)
	}
}

func TestPlanEstimatesWhatItsBatchesRead(t *testing.T) {
	w := newWorld(t, nil, localFile)
	w.packedDrop(0, 24)
	plan := func(args ...string) (p planReport) {
		w.must(&p, append([]string{"plan"}, args...)...)
		return p
	}
	near := func(what string, got, want int64) {
		if got < want-want/10 || got > want+want/10 {
			t.Errorf("%s: about %d records, want %d", what, got, want)
		}
	}
	if p := plan(); p.Objects != 24 || p.Batches != 8 || p.Rows != 0 {
		t.Errorf("before anything is known: %+v", p)
	}
	if text := w.run("plan", "-o", "json", "--set", "source.files.include=[nothing]").stdout; !strings.Contains(text, `"first":[]`) {
		t.Errorf("no list of no objects: %s", text)
	}
	w.must(&report{}, "run") // its 8 small files are merged: the head is no batch
	size := w.packedDrop(24, 31)
	var head []historyRow
	w.must(&head, "history", "-n", "1")
	if head[0].Kind != "compact" {
		t.Fatalf("the head is of kind %s", head[0].Kind)
	}
	p := plan()
	if p.Objects != 7 || p.Batches != 3 || p.Bytes != size || len(p.First) != 5 {
		t.Errorf("%+v, want 7 objects of %d bytes", p, size)
	}
	near("plan", p.Rows, 7*50)
	if p = plan("--max-batches", "1"); p.Objects != 3 || p.Batches != 1 || p.Bytes >= size || len(p.First) != 3 || p.Lag.Objects != 7 {
		t.Errorf("one batch: %+v", p)
	}
	near("one batch", p.Rows, 3*50)
	if p = plan("--max-batches", "3"); p.Objects != 7 || p.Batches != 3 || p.Bytes != size {
		t.Errorf("just enough batches: %+v", p)
	}
	var s statusReport
	w.must(&s, "status")
	near("status", s.Lag.Records, 7*50)
	w.write("ranges.json", w.run("show", "1", "-o", "json").stdout)
	if p = plan("--range", "ranges.json", "--set", "store=./other"); p.Objects != 3 || p.Batches != 1 || p.Rows != 150 {
		t.Errorf("ranges say how many records they have: %+v", p)
	}
}

// TestAPlanCountsBatchesBeyondItsObjects has more objects than one plan names.
func TestAPlanCountsBatchesBeyondItsObjects(t *testing.T) {
	r := &rooms{cfg: &config.Pipeline{Batch: config.Batch{MaxObjects: 10_000, MaxBytes: 1 << 30}}}
	for _, c := range []struct{ objects, bytes, most, wantBatches, wantObjects int64 }{
		{900_000, 900 << 10, 0, 100, 1_000_000},
		{900_000, 900 << 30, 0, 910, 1_000_000},
		{900_000, 900 << 10, 55, 55, 550_000},
		{5, 10, 0, 11, 100_005},
	} {
		rep := planReport{Batches: 10, Objects: 100_000, Bytes: 100 << 10}
		r.beyond(&rep, c.objects, c.bytes, c.most)
		if rep.Batches != c.wantBatches || rep.Objects != c.wantObjects {
			t.Errorf("%+v: %d batches of %d objects", c, rep.Batches, rep.Objects)
		}
		if cost := r.cost(rep); cost.Put < 3*c.wantBatches || cost.Get < c.wantObjects {
			t.Errorf("%+v: %+v", c, cost)
		}
	}
}
