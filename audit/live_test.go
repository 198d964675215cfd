package audit_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"batcher/audit"
	"batcher/batch"
	"batcher/column"
	"batcher/compact"
	"batcher/datafile"
	"batcher/dlq"
	"batcher/localdev"
	"batcher/manifest"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/record"
	"batcher/schema"
	"batcher/source/files"
)

// merge makes one file of all that a table has.
func (w *world) merge(name string) {
	w.t.Helper()
	m := &compact.Merge{Log: w.invoke().Log, Store: w.store, Random: w.random, Now: w.clock.Now, Logger: quiet,
		Rules: compact.Rules{FanIn: 2, Classes: compact.AllSizes}}
	head, err := m.Log.Head(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if _, did, err := m.Run(w.t.Context(), head, name, compact.Until{}); err != nil || did.Files == 0 {
		w.t.Fatalf("merged %+v, %v", did, err)
	}
}

// merged is a store of four batches whose files were merged, expired and collected.
// The third and the fourth batch have parts of one object, the second adds a column.
func merged(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.limits = batch.Limits{Records: 8}
	w.drop("a", lines(0, 6)+"{broken\n")
	w.run()
	w.drop("b", lines(10, 3)+`{"n":1,"more":{"x":1,"y":"z"}}`+"\n{b\n")
	w.run()
	w.drop("c", lines(20, 12))
	w.run()
	w.merge("events")
	w.merge("events_dead")
	own := w.file(1).Key
	w.expire()
	if w.bytes.Objects()[own] != nil || len(w.slot(w.head()).Tables["events"].Live.Recent) != 1 {
		t.Fatal("the history is not what the tests need")
	}
	return w
}

// remake writes the rows of a file anew, and does something wrong.
type remake func(t testing.TB, r *datafile.Reader, s *schema.Schema, out *datafile.Writer)

// relive writes the only live file of a table anew, as if a wrong merge had made it so:
// every list that names it, sizes and statistics agree.
func (w *world) relive(name string, write remake) {
	w.t.Helper()
	live := w.slot(w.head()).Tables[name]
	was := live.Live.Recent[0]
	r, err := datafile.Open(bytes.NewReader(w.bytes.Objects()[was.Key]), was.Size)
	if err != nil {
		w.t.Fatal(err)
	}
	var body bytes.Buffer
	out := datafile.NewWriter(&body, datafile.Options{})
	write(w.t, r, live.Schema.Inline, out)
	made, err := out.Close()
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(was.Key, body.Bytes())
	w.edit(was.Seq, func(m *manifest.Manifest) {
		table(m, name, func(t *manifest.Table) {
			for _, list := range [][]manifest.File{t.Live.Recent, t.Add.Items} {
				for i := range list {
					if f := &list[i]; f.Key == was.Key {
						f.Size, f.Rows, f.SHA256, f.Columns = made.Size, made.Rows, made.SHA256, made.Columns
					}
				}
			}
			t.Live.Rows += made.Rows - was.Rows
			t.Live.Bytes += made.Size - was.Size
		})
	})
}

// at names a record.
type at struct {
	name   string
	offset int64
}

// remade writes the rows of a file but one, and one twice.
func remade(without, twice at) remake {
	return func(t testing.TB, r *datafile.Reader, s *schema.Schema, out *datafile.Writer) {
		for _, keep := range []func(at) bool{
			func(a at) bool { return a != without },
			func(a at) bool { return a == twice },
		} {
			if _, _, err := r.Rewrite(s, datafile.Filter(func(name []byte, offset int64) bool { return keep(at{string(name), offset}) }), out.Write); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// altered writes the rows of a file with other bytes in a value.
func altered(was, is string) remake {
	return func(t testing.TB, r *datafile.Reader, s *schema.Schema, out *datafile.Writer) {
		done := 0
		for b, err := range r.Blocks(s) {
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range b.Columns[2:] {
				if v.Kind == schema.String || v.Kind == schema.JSON || v.Kind == schema.Bytes {
					done += bytes.Count(v.Plain, []byte(was))
					v.Plain = bytes.Replace(bytes.Clone(v.Plain), []byte(was), []byte(is), 1)
				}
			}
			if err := out.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		if done == 0 {
			t.Fatalf("there is no %q to be altered", was)
		}
	}
}

// moved writes the rows of a file with the values of a column in the rows before.
func moved(id int32) remake {
	return func(t testing.TB, r *datafile.Reader, s *schema.Schema, out *datafile.Writer) {
		for b, err := range r.Blocks(s) {
			if err != nil {
				t.Fatal(err)
			}
			for i, leaf := range s.Leaves() {
				if v := b.Columns[i]; leaf.Field.ID == id && column.Width(v.Kind) == 8 && v.Values > 2 {
					v.Plain = append(bytes.Clone(v.Plain[8:]), v.Plain[:8]...)
				}
			}
			if err := out.Write(b); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestWhatWasMergedAndCollectedIsHeldAgainstTheSource breaks a merged file whose
// origins are gone in the ways in which a merge could.
func TestWhatWasMergedAndCollectedIsHeldAgainstTheSource(t *testing.T) {
	good := merged(t)
	rep := good.verify(audit.Options{Checks: all})
	if rep.Source != (audit.SourceReport{Verified: 6 + 1 + 5 + 12}) {
		t.Fatalf("%+v", rep.Source)
	}
	localdev.Figure("merged, expired and collected, then verify --source", fmt.Sprintf("%d records verified, %d unverifiable", rep.Source.Verified, rep.Source.Unverifiable))
	third, letter := int64(len(lines(20, 2))), int64(len(lines(0, 6)))
	for _, c := range []struct {
		name, table, key string
		write            remake
		want             string
		mismatch         int64
		invariants       []string
	}{
		{"a row dropped", "events", "c", remade(at{"c", third}, at{}),
			fmt.Sprintf(`object "c": live rows differ from the source's records [0, %d), which manifest 3 consumed; that at %d is missing`, len(lines(20, 8)), third), 8, []string{"I14", "I15"}},
		{"a row doubled", "events", "b", remade(at{}, at{"b", 0}), "that at 0 is there 2 times", 5, []string{"I14", "I15"}},
		{"a row in the place of another", "events", "b", remade(at{"c", third}, at{"b", 0}), "that at 0 is there 2 times", 8 + 5, []string{"I14"}},
		{"a value altered", "events", "a", altered("u1", "u9"), fmt.Sprintf("that at %d is another", len(lines(0, 1))), 7, []string{"I14"}},
		{"a value of a column that came later altered", "events", "b", altered("z", "q"), "is another", 5, []string{"I14"}},
		{"values in the wrong rows", "events", "a", moved(schema.LastReserved + 1), "and others", 24, []string{"I14"}},
		{"a letter dropped", "events_dead", "a", remade(at{"a", letter}, at{}), fmt.Sprintf("that at %d is missing", letter), 7, []string{"I14", "I15"}},
		{"a letter altered", "events_dead", "a", altered("{broken", "{brokeN"), fmt.Sprintf("that at %d is another", letter), 7, []string{"I14"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, since := range []manifest.Seq{0, 1} {
				if since == 1 && c.key == "a" {
					continue // of the first batch
				}
				w := good.clone(t)
				w.relive(c.table, c.write)
				rep := w.verify(audit.Options{Checks: all, Since: since}, c.invariants...)
				found := false
				for _, v := range rep.Violations {
					found = found || v.Invariant == "I14" && strings.HasPrefix(v.Detail, fmt.Sprintf("object %q", c.key)) && strings.Contains(v.Detail, c.want)
				}
				if !found || rep.Source.Mismatch != c.mismatch || rep.Source.Unverifiable != 0 {
					t.Errorf("since %d: %+v", since, rep.Source)
				}
			}
		})
	}
}

// TestWhatBecameOfRecordsSinceIsKnownAtTheHead goes through all that may happen to rows
// before their files are merged and collected.
func TestWhatBecameOfRecordsSinceIsKnownAtTheHead(t *testing.T) {
	for _, c := range []struct {
		name string
		act  func(w *world)
		want audit.SourceReport
	}{
		{"a source object is gone", func(w *world) {
			if err := w.input.Delete(w.t.Context(), "a"); err != nil {
				w.t.Fatal(err)
			}
		}, audit.SourceReport{Verified: 12, Unverifiable: 5}},
		{"another configuration, and other rows", func(w *world) {
			w.drop("x", "{\"s\":\"\xff\"}\n")
			w.run()
			w.config, w.format = "c2", record.Format{Invalid: record.Replace}
		}, audit.SourceReport{Verified: 17, Unverifiable: 1, Reconfigured: 1}},
		{"letters discarded", func(w *world) { w.discard(dlq.Filter{Sources: []string{"a"}}) }, audit.SourceReport{Verified: 17}},
		{"letters replayed", func(w *world) { w.replay(`{"n":77}`) }, audit.SourceReport{Verified: 17}},
		{"letters replayed and the others discarded", func(w *world) {
			w.replay(`{"n":77}`)
			w.discard(dlq.Filter{})
		}, audit.SourceReport{Verified: 17}},
		{"an object replaced", func(w *world) {
			w.change = files.ReplaceChanged
			w.drop("a", lines(50, 3))
			w.run()
		}, audit.SourceReport{Verified: 15}},
		{"an object replaced and the replacement rewound", func(w *world) {
			w.change = files.ReplaceChanged
			to := w.head()
			w.drop("a", lines(50, 3))
			w.run()
			w.rewind(to)
		}, audit.SourceReport{Verified: 12, Unverifiable: 5}},
		{"an object changed and appended", func(w *world) {
			w.change = files.AppendChanged
			w.drop("a", lines(50, 3))
			w.run()
		}, audit.SourceReport{Verified: 15, Unverifiable: 5}},
		{"a batch rewound and consumed again", func(w *world) {
			w.rewind(2)
			w.run()
		}, audit.SourceReport{Verified: 17}},
		{"a batch rewound", func(w *world) { w.rewind(2) }, audit.SourceReport{Verified: 12}},
		{"a column widened", func(w *world) {
			wide := &compact.Widen{Log: w.invoke().Log, Store: w.store, Random: w.random, Logger: quiet, FileBytes: 128 << 20}
			if _, err := wide.Run(w.t.Context(), "events", "n", schema.Type{Kind: schema.Float64}); err != nil {
				w.t.Fatal(err)
			}
		}, audit.SourceReport{Verified: 17}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.drop("a", lines(0, 4)+"{a\n")
			w.run()
			w.drop("b", lines(10, 3)+`{"n":1.5,"more":2}`+"\n{b\n")
			w.drop("d", lines(30, 2))
			w.run()
			w.drop("c", lines(20, 5))
			w.run()
			c.act(w)
			w.drop("z", "")
			if len(w.slot(w.head()).Tables["events"].Live.Recent) > 1 {
				w.merge("events")
			}
			w.expire()
			if rep := w.verify(audit.Options{Checks: all}); rep.Source != c.want {
				t.Errorf("%+v, want %+v", rep.Source, c.want)
			}
		})
	}
}

// TestALetterThatIsNowhereIsFound has letters replayed and discarded, so that others
// need not be where they were; but each has to be somewhere, once.
func TestALetterThatIsNowhereIsFound(t *testing.T) {
	good := newWorld(t)
	good.drop("a", lines(0, 4)+"{a\n")
	good.drop("b", lines(10, 4)+"{b\n{b2\n{b3\n")
	good.run()
	good.drop("c", lines(20, 4)+"{c\n")
	good.run()
	good.replay(`{"n":77}`)
	first := int64(len(lines(10, 4)))
	good.discard(dlq.Filter{IDs: []dlq.ID{{Source: "b", Offset: first}}})
	good.merge("events")
	good.merge("events_dead")
	good.expire()
	if rep := good.verify(audit.Options{Checks: all}); rep.Source != (audit.SourceReport{Verified: 12 + 5}) {
		t.Fatalf("%+v", rep.Source)
	}
	for _, c := range []struct {
		name, table string
		write       remake
		want        string
	}{
		{"dropped", "events_dead", remade(at{"b", first + 3}, at{}), "2 dead letters of the source are nowhere, and 1 were discarded"},
		{"doubled", "events_dead", remade(at{}, at{"b", first + 3}), fmt.Sprintf("that at %d is there 2 times", first+3)},
		{"altered", "events_dead", altered("{b3", "{bx"), fmt.Sprintf("that at %d is another", first+7)},
		{"a replayed row twice", "events", remade(at{}, at{"a", int64(len(lines(0, 4)))}), fmt.Sprintf("that at %d is there 2 times", len(lines(0, 4)))},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := good.clone(t)
			w.relive(c.table, c.write)
			rep, err := w.try(audit.Options{Checks: all})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(rep.Violations, func(v audit.Violation) bool { return v.Invariant == "I14" && strings.Contains(v.Detail, c.want) }) {
				t.Errorf("%+v", rep.Violations)
			}
		})
	}
}

// replay makes the letter of object a a row that has this text.
func (w *world) replay(text string) {
	w.t.Helper()
	id := dlq.ID{Source: "a", Offset: int64(len(lines(0, 4)))}
	rep, err := w.queue().Replay(w.t.Context(), dlq.ReplayOptions{Edits: map[dlq.ID]dlq.Edit{id: {ID: id, Text: []byte(text), JSON: true}}, Mode: dlq.Confirm})
	if err != nil || rep.Replayed != 1 {
		w.t.Fatalf("%+v, %v", rep, err)
	}
}

// TestVerifyReadsOfLiveFilesWhatItNeeds has the rows of one batch to be held against
// the source, beside files that cannot have any of them by their statistics.
func TestVerifyReadsOfLiveFilesWhatItNeeds(t *testing.T) {
	w := newWorld(t)
	for i := range 4 {
		w.drop(fmt.Sprint("a", i), lines(10*i, 5))
		w.run()
	}
	w.merge("events")
	for i := range 2 {
		w.drop(fmt.Sprint("b", i), lines(100+10*i, 5))
		w.run()
	}
	other := w.file(6).Key
	w.expire()
	f := faultstore.New(w.bytes, nil)
	w.store = f
	rep := w.verify(audit.Options{Checks: audit.CheckSource, Since: 3})
	if rep.Source != (audit.SourceReport{Verified: 15}) {
		t.Errorf("%+v", rep.Source)
	}
	times := map[string]int{}
	for _, call := range f.Calls() {
		if call.Op == faultstore.Get {
			times[call.Key]++
		}
	}
	if merged := w.file(5).Key; times[merged] != 1 || times[other] > 1 {
		t.Errorf("the merged file was read %d times, another one %d times", times[merged], times[other])
	}
}

// TestRowsThatWereMergedAreTalliedNotKept watches the heap from object to object of the
// source, all of whose rows are in one file.
func TestRowsThatWereMergedAreTalliedNotKept(t *testing.T) {
	w := newWorld(t)
	const objects, records = 8, 20_000
	for i := range objects {
		w.drop(fmt.Sprintf("o%d", i), lines(i*records, records))
		w.run()
	}
	w.merge("events")
	w.expire()
	g := &gauge{Store: w.input.(*memstore.Store)}
	w.input = g
	if rep := w.verify(audit.Options{Checks: audit.CheckSource}); rep.Source != (audit.SourceReport{Verified: objects * records}) {
		t.Fatalf("%+v", rep.Source)
	}
	grown := int64(g.used[len(g.used)-1]) - int64(g.used[1])
	t.Logf("%d objects, heap grown by %d bytes over %d rows", len(g.used), grown, (objects-2)*records)
	if len(g.used) != objects || grown > (objects-2)*records*8 {
		t.Errorf("%d objects read, the heap grew by %d bytes", len(g.used), grown)
	}
}

// crowd is a store whose first batches had so many objects that their lists of ranges
// stood beside the manifests, and went with them when these had expired.
func crowd(t testing.TB, act func(w *world)) *world {
	t.Helper()
	w := newWorld(t)
	for i := range 80 {
		w.drop(fmt.Sprintf("a/%02d", i), lines(i, 2)+"{broken\n")
	}
	w.run()
	for i := range 80 {
		w.drop(fmt.Sprintf("b/%02d", i), lines(i, 1))
	}
	w.drop("b/void", "")
	w.run()
	w.drop("c", lines(100, 4))
	w.run()
	ranges := w.slot(1).Batch.Ranges.Ref
	act(w)
	if len(w.slot(w.head()).Tables["events"].Live.Recent) > 1 {
		w.merge("events")
	}
	w.expire()
	if ranges == nil || w.bytes.Objects()[ranges.Key] != nil {
		t.Fatal("the history is not what the test needs")
	}
	return w
}

// TestBatchesWhoseListsWereCollectedAreComparedByName has nothing but the rows
// themselves and the consumed set to tell what was consumed.
func TestBatchesWhoseListsWereCollectedAreComparedByName(t *testing.T) {
	const records = 80*3 + 80 + 4
	for _, c := range []struct {
		name    string
		act     func(w *world) // before what is needed no more is collected
		after   func(w *world)
		want    audit.SourceReport
		finding string
	}{
		{name: "sound", want: audit.SourceReport{Verified: records}},
		{name: "an object gone", after: func(w *world) { _ = w.input.Delete(t.Context(), "a/07") }, want: audit.SourceReport{Verified: records - 3, Unverifiable: 3}},
		{name: "an object changed", after: func(w *world) { w.drop("a/07", lines(50, 3)) }, want: audit.SourceReport{Verified: records - 3, Unverifiable: 3}},
		{name: "an object changed and appended", act: func(w *world) {
			w.change = files.AppendChanged
			w.drop("a/07", lines(50, 3))
			w.run()
		}, want: audit.SourceReport{Verified: records, Unverifiable: 3}},
		{name: "an object changed and replaced", act: func(w *world) {
			w.change = files.ReplaceChanged
			w.drop("a/07", lines(50, 4))
			w.run()
		}, want: audit.SourceReport{Verified: records + 1}},
		{name: "a batch rewound", act: func(w *world) { w.rewind(1) }, want: audit.SourceReport{Verified: 80 * 3}},
		{name: "letters discarded", act: func(w *world) { w.discard(dlq.Filter{Sources: []string{"a/07"}}) }, want: audit.SourceReport{Verified: records}},
		{name: "a column added by the second batch", act: func(w *world) {
			w.drop("d", `{"n":1,"more":2}`+"\n")
			w.run()
		}, want: audit.SourceReport{Verified: records + 1}},
		{name: "a value altered", after: func(w *world) { w.relive("events", altered(`u5`, `u9`)) },
			want: audit.SourceReport{Verified: records - 3, Mismatch: 3}, finding: "live rows differ from the source's records; that at"},
		{name: "rows of an object that was not consumed", after: func(w *world) {
			w.relive("events", func(t testing.TB, r *datafile.Reader, s *schema.Schema, out *datafile.Writer) {
				for b, err := range r.Blocks(s) {
					if err != nil {
						t.Fatal(err)
					}
					b.Columns[0].Plain = bytes.ReplaceAll(bytes.Clone(b.Columns[0].Plain), []byte("a/07"), []byte("z/07"))
					if err := out.Write(b); err != nil {
						t.Fatal(err)
					}
				}
			})
		}, want: audit.SourceReport{Verified: records - 3, Unverifiable: 2, Mismatch: 3}, finding: `2 live rows of object "z/07", which was not consumed`},
		{name: "a row in the place of another", after: func(w *world) { w.relive("events", remade(at{"a/07", 0}, at{"b/08", 0})) },
			want: audit.SourceReport{Verified: records - 3 - 1, Mismatch: 3 + 1}, finding: `object "a/07": live rows differ from the source's records; that at 0 is missing`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.act == nil {
				c.act = func(*world) {}
			}
			w := crowd(t, c.act)
			if c.after != nil {
				c.after(w)
			}
			var want []string
			if c.finding != "" {
				want = []string{"I14"}
			}
			rep := w.verify(audit.Options{Checks: all}, want...)
			if rep.Source != c.want {
				t.Errorf("%+v, want %+v", rep.Source, c.want)
			}
			if c.finding != "" && !slices.ContainsFunc(rep.Violations, func(v audit.Violation) bool { return strings.Contains(v.Detail, c.finding) }) {
				t.Errorf("%+v", rep.Violations)
			}
			if rep.Records < 80*3+80+4 || rep.Batches < 3 {
				t.Errorf("%+v", rep)
			}
			if c.finding != "" {
				return
			}
			if rep := w.verify(audit.Options{Checks: all, Since: 1}); c.name == "sound" && rep.Source != (audit.SourceReport{Verified: 4, Unverifiable: 80}) {
				t.Errorf("since the first batch: %+v", rep.Source)
			}
		})
	}
}

// TestARewoundRangeDoesNotHideWhatWasConsumedAgain has an object in a batch that was
// rewound, and then in one whose list of ranges is gone.
func TestARewoundRangeDoesNotHideWhatWasConsumedAgain(t *testing.T) {
	w := newWorld(t)
	w.drop("first", lines(0, 1))
	w.run()
	w.drop("twice", lines(1, 6))
	w.run()
	w.rewind(1)
	for i := range 80 {
		w.drop(fmt.Sprintf("a/%02d", i), lines(i, 1))
	}
	w.run()
	w.merge("events")
	w.expire()
	if rep := w.verify(audit.Options{Checks: all}); rep.Source != (audit.SourceReport{Verified: 1 + 6 + 80}) {
		t.Errorf("%+v", rep.Source)
	}
}

// TestARangeThatIsNotListedOfAnObjectWithOthersIsCounted has the last part of an object
// in a batch whose list of ranges is gone.
func TestARangeThatIsNotListedOfAnObjectWithOthersIsCounted(t *testing.T) {
	w := newWorld(t)
	w.limits = batch.Limits{Records: 100}
	w.drop("a", lines(0, 105))
	for i := range 80 {
		w.drop(fmt.Sprintf("b/%02d", i), lines(i, 1))
	}
	w.run()
	if len(w.slot(1).Batch.Ranges.Items) != 1 || w.slot(2).Batch.Ranges.Ref == nil {
		t.Fatal("the history is not what the test needs")
	}
	w.merge("events")
	w.expire()
	if rep := w.verify(audit.Options{Checks: all}); rep.Source != (audit.SourceReport{Verified: 100 + 80, Unverifiable: 5}) {
		t.Errorf("%+v", rep.Source)
	}
}
