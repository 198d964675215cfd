package audit_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"batcher/audit"
	"batcher/batch"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/pipeline"
	"batcher/record"
	"batcher/source/files"
)

// made is a world whose first manifest consumed these objects: key, body, key, body.
func made(t testing.TB, objects ...string) *world {
	w := newWorld(t)
	for i := 0; i < len(objects); i += 2 {
		w.drop(objects[i], objects[i+1])
	}
	w.run()
	return w
}

// TestEveryWrongRowIsFound replaces the file of a good batch by one that a wrong
// writer could have made: each has a sound footer, and a manifest that agrees.
func TestEveryWrongRowIsFound(t *testing.T) {
	const (
		bad     = "{broken\n"
		altered = "{brokeN\n"
	)
	a, b := lines(0, 10), lines(10, 5)
	first, last := lines(0, 1), lines(9, 1)
	for _, c := range []struct {
		name          string
		table         string
		from          func(t *testing.T) []*world
		checks        audit.Check
		want          []string
		lost, doubled int64
		mismatch      int64
	}{
		{"none", "events", func(t *testing.T) []*world {
			return []*world{made(t, "a", a+bad, "b", b)}
		}, all, nil, 0, 0, 0},
		{"a row lost", "events", func(t *testing.T) []*world {
			return []*world{made(t, "a", strings.TrimSuffix(a, last), "b", b)}
		}, audit.CheckRows, []string{"I14"}, 1, 0, 0},
		{"all rows of an object lost", "events", func(t *testing.T) []*world {
			return []*world{made(t, "a", a)}
		}, audit.CheckRows, []string{"I14"}, 5, 0, 0},
		{"a row doubled", "events", func(t *testing.T) []*world {
			return []*world{made(t, "a", a, "b", b), made(t, "a", first)}
		}, audit.CheckRows, []string{"I14"}, 0, 1, 0},
		{"all rows of an object doubled", "events", func(t *testing.T) []*world {
			return []*world{made(t, "a", a, "b", b), made(t, "b", b)}
		}, audit.CheckRows, []string{"I14"}, 0, 5, 0},
		{"a row doubled in the place of another", "events", func(t *testing.T) []*world {
			return []*world{made(t, "a", strings.TrimSuffix(a, last), "b", b), made(t, "a", first)}
		}, audit.CheckRows, []string{"I14"}, 1, 1, 0},
		{"a row of one object in the place of another's", "events", func(t *testing.T) []*world {
			return []*world{made(t, "a", strings.TrimSuffix(a, last), "b", b), made(t, "b", first)}
		}, audit.CheckRows, []string{"I14"}, 1, 1, 0},
		{"a row of an object that was not read", "events", func(t *testing.T) []*world {
			return []*world{made(t, "a", a, "b", b), made(t, "c", first)}
		}, audit.CheckRows, []string{"I14"}, 0, 1, 0},
		{"a row altered, seen without the source", "events", func(t *testing.T) []*world {
			return []*world{made(t, "a", strings.Replace(a, `"n":7`, `"n":8`, 1), "b", b)}
		}, audit.CheckRows, nil, 0, 0, 0},
		{"a row altered", "events", func(t *testing.T) []*world {
			return []*world{made(t, "a", strings.Replace(a, `"n":7`, `"n":8`, 1), "b", b)}
		}, all, []string{"I14"}, 0, 0, 11},
		{"two rows with each other's values", "events", func(t *testing.T) []*world {
			swapped := strings.NewReplacer(`"n":7`, `"n":8`, `"n":8`, `"n":7`).Replace(a)
			return []*world{made(t, "a", swapped, "b", b)}
		}, all, []string{"I14"}, 0, 0, 11},
		{"a value lost", "events", func(t *testing.T) []*world {
			return []*world{made(t, "a", strings.Replace(a, `"b1"`, `null`, 1), "b", b)}
		}, all, []string{"I14"}, 0, 0, 11},
		{"a dead letter lost", "events_dead", func(t *testing.T) []*world {
			return []*world{made(t, "b", b+bad)}
		}, audit.CheckRows, []string{"I14"}, 1, 1, 0},
		{"the bytes of a dead letter altered", "events_dead", func(t *testing.T) []*world {
			return []*world{made(t, "a", a+altered)}
		}, all, []string{"I14"}, 0, 0, 11},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := made(t, "a", a+bad, "b", b)
			w.replace(c.table, c.from(t)...)
			rep := w.verify(audit.Options{Checks: c.checks}, c.want...)
			if rep.Lost != c.lost || rep.Doubled != c.doubled || rep.Source.Mismatch != c.mismatch {
				t.Errorf("%d lost, %d doubled, %d differ from the source; want %d, %d, %d",
					rep.Lost, rep.Doubled, rep.Source.Mismatch, c.lost, c.doubled, c.mismatch)
			}
			if c.checks&audit.CheckSource != 0 && rep.Source.Verified != 16-c.mismatch {
				t.Errorf("%d verified", rep.Source.Verified)
			}
		})
	}
}

// garbled gives other bytes of an object than it holds, under its identity.
type garbled struct {
	object.Store
	key string
}

func (g *garbled) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	r, info, err := g.Store.Get(ctx, key, o)
	if key != g.key || err != nil {
		return r, info, err
	}
	r.Close()
	return io.NopCloser(bytes.NewReader(bytes.Repeat([]byte{0xff}, int(info.Size)))), info, nil
}

func TestAQuarantinedObjectThatIsReadableIsAMismatch(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(lines(0, 7))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.drop("a.ndjson.gz", packed.String())
	w.drop("b.ndjson", lines(7, 3))
	sound := w.input
	w.input = &garbled{sound, "a.ndjson.gz"}
	w.run()
	if m := w.slot(1); m.Batch.Rows.Dead != 1 || m.Batch.Rows.Written != 3 {
		t.Fatalf("the object was not quarantined: %+v", m.Batch.Rows)
	}
	if rep := w.verify(audit.Options{Checks: all}); rep.Source.Verified != 4 { // still broken: right
		t.Errorf("%+v", rep.Source)
	}
	w.input = sound
	if rep := w.verify(audit.Options{Checks: all}, "I14"); rep.Source.Mismatch != 1 || rep.Source.Verified != 3 {
		t.Errorf("%+v", rep.Source)
	}
}

func TestASourceObjectThatIsGoneOrChangedCannotBeVerified(t *testing.T) {
	w := newWorld(t)
	w.limits = batch.Limits{Records: 6}
	w.drop("a", lines(0, 20)) // consumed in ranges
	w.drop("b", lines(20, 3))
	w.drop("c", lines(23, 4))
	w.run()
	if err := w.input.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	w.drop("b", lines(50, 3)) // of the same size
	rep := w.verify(audit.Options{Checks: all})
	if rep.Source != (audit.SourceReport{Verified: 4, Unverifiable: 23}) || rep.Rows != 27 {
		t.Errorf("%+v, %d rows", rep.Source, rep.Rows)
	}
}

func TestAStoreThatDoesNotAnswerIsAnErrorAndNoFinding(t *testing.T) {
	good := history(t)
	for _, c := range []struct {
		fault  faultstore.Fault
		prefix string
		op     faultstore.Op
		want   error
	}{
		{faultstore.Deny, "events/data/", faultstore.Get, object.ErrDenied},
		{faultstore.Unavailable, "events/data/", faultstore.Get, object.ErrUnknown},
		{faultstore.Tear, "events/data/", faultstore.Get, object.ErrUnknown},
		{faultstore.Unavailable, "events/data/", faultstore.List, object.ErrUnknown},
		{faultstore.Unavailable, "_batcher/events/state/", faultstore.Get, object.ErrUnknown},
		{faultstore.Unavailable, "_batcher/events/state/", faultstore.List, object.ErrUnknown},
		{faultstore.Deny, "_batcher/events/manifests/", faultstore.Get, object.ErrDenied},
		{faultstore.Unavailable, "_batcher/events/manifests/", faultstore.List, object.ErrUnknown},
		{faultstore.Unavailable, "_batcher/events/head.json", faultstore.Get, object.ErrUnknown},
	} {
		w := good.clone(t)
		w.store = faultstore.New(w.bytes, faultstore.Script{{Op: c.op, Prefix: c.prefix, Times: -1, Fault: c.fault}})
		rep, err := w.try(audit.Options{Checks: all})
		if !errors.Is(err, c.want) || len(rep.Violations) > 0 {
			t.Errorf("%s of %s %s: %v, %v", c.fault, c.op, c.prefix, err, rep.Violations)
		}
	}
}

func TestSinceReadsTheRowsOfLaterManifestsAlone(t *testing.T) {
	w := newWorld(t)
	w.limits = batch.Limits{Objects: 1}
	for i := range 14 {
		w.drop(fmt.Sprintf("o%02d", i), lines(i*4, 4))
	}
	w.run()
	read := func(since manifest.Seq) (audit.Report, map[string]bool, int) {
		f := faultstore.New(w.bytes, nil)
		c := *w
		c.store = f
		rep := c.verify(audit.Options{Since: since, Checks: all})
		keys := map[string]bool{}
		gets := 0
		for _, call := range f.Calls() {
			if call.Op == faultstore.Get {
				keys[call.Key] = true
				gets++
			}
		}
		return rep, keys, gets
	}
	whole, _, allGets := read(0)
	part, keys, gets := read(9)
	t.Logf("%d GETs for 14 batches, %d since manifest 9", allGets, gets)
	if whole.Rows != 56 || part.Rows != 20 || part.Batches != 5 || part.Source.Verified != 20 || part.Files != 5 {
		t.Errorf("whole %+v, part %+v", whole, part)
	}
	for seq := manifest.Seq(1); seq <= 14; seq++ {
		if got, want := keys[w.file(seq).Key], seq > 9; got != want {
			t.Errorf("file of manifest %d read: %t", seq, got)
		}
		if got, want := keys[w.layout().Manifest(seq)], seq >= 9; got != want {
			t.Errorf("manifest %d read: %t", seq, got)
		}
	}
	if gets > allGets/2 {
		t.Errorf("%d GETs of %d", gets, allGets)
	}
	if _, err := w.try(audit.Options{Since: 15}); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("since a manifest that is not there: %v", err)
	}

	w.edit(11, func(m *manifest.Manifest) { // a file that was live before the walk began
		table(m, "events", func(t *manifest.Table) { t.Live.Recent[3].SHA256[0] ^= 1 })
	})
	w.verify(audit.Options{Since: 9}, "I16")
	w.verify(audit.Options{Since: 12}) // there the list is what the walk begins with
}

// gauge notes the heap in use whenever another object below a prefix begins to be read.
type gauge struct {
	*memstore.Store
	prefix string
	last   string
	used   []uint64
}

func (g *gauge) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	if strings.HasPrefix(key, g.prefix) && key != g.last {
		g.last = key
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		g.used = append(g.used, m.HeapAlloc)
	}
	return g.Store.Get(ctx, key, o)
}

func TestRowsAreTalliedNotKept(t *testing.T) {
	w := newWorld(t)
	w.limits = batch.Limits{Objects: 1}
	const objects, records = 8, 20_000
	for i := range objects {
		w.drop(fmt.Sprintf("o%d", i), lines(i*records, records))
	}
	w.run()
	g := &gauge{Store: w.bytes, prefix: "events/data/"}
	w.store = g
	if rep := w.verify(audit.Options{Checks: audit.CheckRows}); rep.Rows != objects*records {
		t.Fatalf("%d rows", rep.Rows)
	}
	// From the second file to the last 120,000 rows go by, whose ids alone take 16 bytes each.
	grown := int64(g.used[len(g.used)-1]) - int64(g.used[1])
	t.Logf("%d files, heap grown by %d bytes over %d rows", len(g.used), grown, (objects-2)*records)
	if len(g.used) != objects || grown > (objects-2)*records*8 {
		t.Errorf("%d files read, the heap grew by %d bytes", len(g.used), grown)
	}
}

// before calls act once, before the first PUT below a prefix.
type before struct {
	object.Store
	prefix string
	act    func()
}

func (b *before) Put(ctx context.Context, key string, body []byte, c object.Condition) (object.Info, error) {
	if act := b.act; act != nil && strings.HasPrefix(key, b.prefix) {
		b.act = nil
		act()
	}
	return b.Store.Put(ctx, key, body, c)
}

// A rival adds a column between a batch's base and its commit. What the batch has
// under that key stands in _rescued, and is no mismatch.
func TestAColumnThatARivalAddedMeanwhileIsNoMismatch(t *testing.T) {
	w := newWorld(t)
	w.drop("first", `{"n":1}`+"\n")
	w.run()
	w.drop("mine", `{"n":2}`+"\n"+`{"n":3,"extra":3}`+"\n")
	w.store = &before{w.bytes, w.layout().Manifests(), func() {
		w.drop("rival", `{"n":4,"extra":4}`+"\n")
		p := w.invoke()
		p.Limits.Objects = 1
		src, err := files.New(w.input, files.Config{Location: "mem://in", Include: []string{"rival"}})
		if err != nil {
			t.Fatal(err)
		}
		p.Source, p.Set = src, src.NewSet(p.Log)
		if _, err := p.Run(t.Context(), pipeline.Options{}); err != nil {
			t.Fatal(err)
		}
	}}
	p := w.invoke()
	p.Record = record.Limits{MaxColumns: 4} // as many as the table has
	if _, err := p.Run(t.Context(), pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	own := w.slot(3)
	if own.Base != 1 || own.Batch.Ranges.Items[0].Key != "mine" {
		t.Fatalf("manifest 3 of base %d consumes %v", own.Base, own.Batch.Ranges.Items)
	}
	if rep := w.verify(audit.Options{Checks: all}); rep.Source.Verified != 4 {
		t.Errorf("%+v", rep.Source)
	}
}
