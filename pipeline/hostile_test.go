package pipeline_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"batcher/audit"
	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/record"
	"batcher/schema"
	"batcher/segment"
	"batcher/source"
	"batcher/source/files"
)

const everyCheck = audit.CheckRows | audit.CheckHashes | audit.CheckSource

func (w *world) violations() []audit.Violation {
	w.t.Helper()
	p := w.invoke(source.Shard{})
	v := audit.Verifier{Log: p.Log, Store: w.store, Source: p.Source, Set: p.Set, Rules: p.Rules, Table: "events", Dead: "events_dead", Logger: p.Logger}
	rep, err := v.Verify(w.t.Context(), audit.Options{Checks: everyCheck})
	if err != nil {
		w.t.Fatal(err)
	}
	return rep.Violations
}

func (w *world) attempt() (a manifest.Attempt) {
	_, _ = w.random.Read(a[:])
	return a
}

// beforeSlot calls f before the first manifest above genesis is put.
type beforeSlot struct {
	*memstore.Store
	once sync.Once
	f    func()
}

func (b *beforeSlot) Put(ctx context.Context, key string, body []byte, c object.Condition) (object.Info, error) {
	if strings.Contains(key, "/manifests/") && !strings.HasSuffix(key, "/00000000000000000000.json") {
		b.once.Do(b.f)
	}
	return b.Store.Put(ctx, key, body, c)
}

// A: rows of manifests without a batch.
func TestVerifySeesRowsThatAManifestWithoutABatchAdds(t *testing.T) {
	for _, kind := range []manifest.Kind{manifest.Floor, manifest.Expire, manifest.Compact} {
		w := newWorld(t)
		w.drop("a.ndjson", lines(0, 3))
		w.run()
		p := w.invoke(source.Shard{})
		head, err := p.Log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f := head.Manifest.Tables["events"].Add.Items[0]
		body, _, err := object.ReadAll(t.Context(), w.store, f.Key, object.GetOptions{}, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		a := w.attempt()
		f.Key = manifest.DataFile("events", head.Manifest.Seq, a, 0)
		if _, err := w.store.Put(t.Context(), f.Key, body, object.IfAbsent); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Log.Append(t.Context(), commit.Proposal{Kind: kind, Attempt: a, Base: head, Config: p.Config,
			Tables: map[string]commit.Delta{"events": {Add: []manifest.File{f}}}}); err != nil {
			continue // refused: as good
		}
		if len(w.violations()) == 0 {
			t.Errorf("%s: every record is in the table twice and verify passes", kind)
		}
	}
}

// B: the consumed set against the chain.
func TestVerifyBindsTheConsumedSetToTheChain(t *testing.T) {
	w := newWorld(t)
	w.drop("a.ndjson", "")
	p := w.invoke(source.Shard{})
	head, err := p.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	info := list(t, w.input)["a.ndjson"]
	r := source.Range{Key: "a.ndjson", ETag: info.ETag, Size: info.Size, Modified: info.Modified, Last: true}
	wrong := r
	wrong.Key = "other.ndjson"
	out, err := p.Log.Append(t.Context(), commit.Proposal{Kind: manifest.Data, Attempt: w.attempt(), Base: head, Config: p.Config,
		Batch: &manifest.Batch{Objects: 1, Ranges: segment.Of([]source.Range{r})},
		Advance: func(_ context.Context, parent *source.FilesProgress, pack *segment.Pack) (*source.FilesProgress, []manifest.Touched, error) {
			after, err := p.Set.Advance(parent, files.Delta{Ranges: []source.Range{wrong}}, pack)
			return after, nil, err
		}})
	if err != nil || out.Verdict != commit.Committed {
		t.Fatal(out.Decision, err)
	}
	if len(w.violations()) == 0 {
		t.Errorf("a.ndjson is consumed by the chain and not in the set, so that the next run reads it again; verify passes")
	}
}

// C: totals beside a list by reference.
func TestVerifySeesWrongTotalsBesideALongList(t *testing.T) {
	w := newWorld(t)
	w.drop("a.ndjson", lines(0, 100))
	p := w.invoke(source.Shard{})
	p.Record, p.FileBytes, p.File.RowGroupRows = record.Limits{BlockRows: 1}, 1, 1
	if _, err := p.Run(t.Context(), pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	head, err := p.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := head.Manifest
	table := m.Tables["events"]
	if table.Add.Ref == nil {
		t.Fatal("the list of files is not long")
	}
	table.Live.Rows += 1000
	m.Tables["events"] = table
	body, err := manifest.EncodeManifest(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Put(t.Context(), p.Log.Layout().Manifest(m.Seq), body, object.Always); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Delete(t.Context(), p.Log.Layout().Hint()); err != nil {
		t.Fatal(err)
	}
	if len(w.violations()) == 0 {
		t.Errorf("the table has 100 rows, its manifest says %d, verify passes", table.Live.Rows)
	}
}

// D: state objects of retained snapshots.
func TestVerifySeesAMissingStateObjectOfARetainedSnapshot(t *testing.T) {
	w := newWorld(t)
	for i := range 2600 {
		w.drop(fmt.Sprintf("o%04d", i), "")
	}
	w.limits.Objects = 40
	w.run()
	p := w.invoke(source.Shard{})
	head, err := p.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	used, gone := map[string]bool{}, 0
	for _, r := range head.Manifest.Refs() {
		used[r.Key] = true
	}
	for seq := manifest.Seq(1); seq < head.Manifest.Seq; seq++ {
		s, err := p.Log.Slot(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Manifest.Progress.Files.Segments.Items {
			if used[r.Key] {
				continue
			}
			used[r.Key] = true
			if err := w.store.Delete(t.Context(), r.Key); err != nil {
				t.Fatal(err)
			}
			gone++
		}
	}
	if gone == 0 {
		t.Fatal("nothing was merged")
	}
	if len(w.violations()) == 0 {
		t.Errorf("%d state objects of retained snapshots are gone, verify passes (I10)", gone)
	}
}

// E: schemas.
func TestASchemaThatChangesOrLosesAColumnIsRefused(t *testing.T) {
	for name, change := range map[string]func(*schema.Schema){
		"type changed": func(s *schema.Schema) { s.Fields[3].Type = schema.Type{Kind: schema.String} },
		"column lost":  func(s *schema.Schema) { s.Fields = s.Fields[:3] },
	} {
		w := newWorld(t)
		w.drop("a.ndjson", `{"n":1}`+"\n")
		w.run()
		p := w.invoke(source.Shard{})
		head, err := p.Log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Log.LoadSchema(t.Context(), head.Manifest.Tables["events"].Schema)
		if err != nil {
			t.Fatal(err)
		}
		s = s.Clone()
		change(s)
		s.LastID++
		_, err = p.Log.Append(t.Context(), commit.Proposal{Kind: manifest.Data, Attempt: w.attempt(), Base: head, Batch: &manifest.Batch{}, Config: p.Config,
			Tables: map[string]commit.Delta{"events": {Schema: s}}})
		if err == nil && len(w.violations()) == 0 {
			t.Errorf("%s: committed, and verify passes (I20)", name)
		}
	}
}

// F: a manifest that nobody can read.
func TestAManifestThatCannotBeReadBackIsNeverPut(t *testing.T) {
	w := newWorld(t)
	w.drop("a.ndjson", `{"n":1}`+"\n")
	w.run()
	p := w.invoke(source.Shard{})
	head, err := p.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	number := schema.Type{Kind: schema.Int64}
	s := &schema.Schema{LastID: 18, Fields: append(schema.Reserved(),
		schema.Field{ID: 17, Name: "n", Key: "n", Type: number}, schema.Field{ID: 18, Name: "m", Key: "n", Type: number})}
	if _, err = p.Log.Append(t.Context(), commit.Proposal{Kind: manifest.Data, Attempt: w.attempt(), Base: head, Batch: &manifest.Batch{}, Config: p.Config,
		Tables: map[string]commit.Delta{"events": {Schema: s}}}); err == nil {
		t.Fatal("committed")
	}
	if _, err := w.invoke(source.Shard{}).Log.Head(t.Context()); err != nil {
		t.Errorf("the pipeline is dead for good: %v", err)
	}
}

// G: an attempt that fell far behind.
func TestAnAttemptThatFellFarBehindStillCommits(t *testing.T) {
	w := newWorld(t)
	w.drop("a.ndjson", lines(0, 3))
	w.run()
	w.drop("slow.ndjson", lines(10, 3))
	mem := w.store.(*memstore.Store)
	w.store = &beforeSlot{Store: mem, f: func() {
		rival := *w
		rival.store = mem
		p := rival.invoke(source.Shard{})
		head, err := p.Log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			out, err := p.Log.Append(t.Context(), commit.Proposal{Kind: manifest.Floor, Attempt: w.attempt(), Base: head, Config: head.Manifest.Config})
			if err != nil {
				t.Fatal(err)
			}
			head = out.Head
		}
	}}
	if rep, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{}); err != nil || rep.Outcome != pipeline.Committed {
		t.Errorf("%s: %v", rep.Outcome, err)
	}
}

// H: many objects that break behind their first records.
func TestManyObjectsThatBreakLateAreQuarantined(t *testing.T) {
	w := newWorld(t)
	var g bytes.Buffer
	zw := gzip.NewWriter(&g)
	for i := range 20000 {
		fmt.Fprintf(zw, `{"n":%d,"text":"aaaaaaaaaaaaaaaaaaaaaaaa"}`+"\n", i%7)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 1001 {
		w.drop(fmt.Sprintf("b%04d.gz", i), g.String()[:g.Len()-20])
	}
	rep, err := w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{AcceptBad: pipeline.AcceptBad})
	if err != nil || rep.Objects.Quarantined != 1001 {
		t.Errorf("%d quarantined, %v", rep.Objects.Quarantined, err)
	}
}

// getHook calls f once before key is read.
type getHook struct {
	*memstore.Store
	key  string
	once sync.Once
	f    func()
}

func (g *getHook) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	if key == g.key {
		g.once.Do(g.f)
	}
	return g.Store.Get(ctx, key, o)
}

// I: a relisting that left an object out.
func TestARelistingThatLeftAnObjectOutIsNotRemembered(t *testing.T) {
	w := newWorld(t)
	w.drop("2025/11/01/a", lines(0, 3))
	w.drop("2025/11/01/b", lines(3, 3))
	run := func(input object.Store, o pipeline.Options) pipeline.Report {
		p := w.invoke(source.Shard{})
		src, err := files.New(input, files.Config{Location: "mem://in", Lookback: 72 * time.Hour, TimePath: "{yyyy}/{MM}/{dd}", Relist: 24 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		p.Source, p.Set = src, src.NewSet(p.Log)
		rep, err := p.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	// One batch: with more the run lists a second time and reads what b is now.
	run(&getHook{Store: w.input, key: "2025/11/01/b", f: func() { w.drop("2025/11/01/b", lines(3, 4)) }}, pipeline.Options{MaxBatches: 1})
	_ = w.clock.Sleep(t.Context(), time.Hour)
	if rep := run(w.input, pipeline.Options{}); rep.Rows.Written != 4 {
		t.Errorf("an hour later: %s, %d rows, lag %+v: b waits for the next relisting, unseen", rep.Outcome, rep.Rows.Written, rep.Lag)
	}
}

// otherTags lists ETags in another form than its Get gives.
type otherTags struct{ *memstore.Store }

func (o otherTags) List(ctx context.Context, prefix string, d object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		for info, err := range o.Store.List(ctx, prefix, d) {
			info.ETag += "-1"
			if !yield(info, err) {
				return
			}
		}
	}
}

// J: a run that could read nothing.
func TestARunThatCouldReadNothingIsNoSuccess(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.drop(fmt.Sprintf("o%d", i), lines(i, 1))
	}
	for _, limit := range []int{0, 2} {
		p := w.invoke(source.Shard{})
		src, err := files.New(otherTags{w.input}, files.Config{Location: "mem://in", MaxObjects: limit})
		if err != nil {
			t.Fatal(err)
		}
		p.Source, p.Set = src, src.NewSet(p.Log)
		before := w.input.Requests()
		rep, err := p.Run(t.Context(), pipeline.Options{})
		used := w.input.Requests().Sub(before)
		if err == nil {
			t.Errorf("limit %d: 3 objects wait, none could be read, and the run ends well: %s", limit, rep.Outcome)
		}
		if used.List > 10 {
			t.Errorf("limit %d: %d listings and %d GETs in one run", limit, used.List, used.Get)
		}
	}
}

// deleteHook calls f before each Delete.
type deleteHook struct {
	*memstore.Store
	f func()
}

func (d *deleteHook) Delete(ctx context.Context, key string) error {
	d.f()
	return d.Store.Delete(ctx, key)
}

// K: a signal while a try is being given up.
func TestASignalDuringARestartIsAnInterruption(t *testing.T) {
	w := newWorld(t)
	w.drop("a.ndjson", `{"n":1}`+"\n"+`{"n":2}`+"\n")
	w.drop("b.ndjson", `{"n":"text"}`+"\n")
	ctx, cancel := context.WithCancel(t.Context())
	w.store = &deleteHook{Store: memstore.New(), f: cancel}
	p := w.invoke(source.Shard{})
	p.Record, p.FileBytes, p.File.RowGroupRows = record.Limits{PrimeBytes: 1, BlockRows: 1}, 1, 1
	if _, err := p.Run(ctx, pipeline.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, but the error is: %v", err)
	}
}

// L: a run of a format to come.
func TestARunOfANewerFormatIsDamageAndNoBug(t *testing.T) {
	w := newWorld(t)
	w.drop("a.ndjson", "")
	p := w.invoke(source.Shard{})
	head, err := p.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	info := list(t, w.input)["a.ndjson"]
	r := source.Range{Key: "a.ndjson", ETag: info.ETag, Size: info.Size, Modified: info.Modified, Last: true}
	out, err := p.Log.Append(t.Context(), commit.Proposal{Kind: manifest.Data, Attempt: w.attempt(), Base: head, Config: p.Config,
		Batch: &manifest.Batch{Objects: 1, Ranges: segment.Of([]source.Range{r})},
		Advance: func(_ context.Context, parent *source.FilesProgress, pack *segment.Pack) (*source.FilesProgress, []manifest.Touched, error) {
			after := *parent
			after.Count = 1
			ref := pack.Add([]byte(`{"format":2,"kind":"consumed","count":1,"days":[[1,1]]}` + "\n"))
			after.Segments = segment.Of([]source.ConsumedRef{{Ref: ref, Count: 1, FromDay: 1, ToDay: 2}})
			return &after, nil, nil
		}})
	if err != nil || out.Verdict != commit.Committed {
		t.Fatal(out.Decision, err)
	}
	if _, err = w.invoke(source.Shard{}).Run(t.Context(), pipeline.Options{}); !errors.Is(err, files.ErrDamaged) {
		t.Errorf("docs/FORMAT.md promises exit 70; this error has no exit code: %v", err)
	}
}

// M: nesting beyond what a schema can hold.
func TestDeepRecordsUnderALargeMaxDepthDoNotStopThePipeline(t *testing.T) {
	w := newWorld(t)
	w.drop("a", `{"n":`+strings.Repeat("[", 70)+"1"+strings.Repeat("]", 70)+"}\n")
	p := w.invoke(source.Shard{})
	p.Rules.MaxDepth = 100
	if _, err := p.Run(t.Context(), pipeline.Options{}); err != nil {
		t.Error(err)
	}
}
