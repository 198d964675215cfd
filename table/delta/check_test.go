package delta_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"batcher/compact"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/schema"
	"batcher/table/delta"
)

// check holds the log of the main table against the chain.
func (l *lake) check(since manifest.Seq) delta.Checked { return l.checkTable("events", since) }

// checkTable holds the log of a table against the chain.
func (l *lake) checkTable(name string, since manifest.Seq) delta.Checked {
	l.t.Helper()
	all, err := l.projector(l.store).Check(l.t.Context(), l.head(), since)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, c := range all {
		if c.Table == name {
			return c
		}
	}
	l.t.Fatalf("no table %s was checked", name)
	return delta.Checked{}
}

// eventful is a published history of all that makes versions: batches, merges, a
// widening and a rewind.
func eventful(t testing.TB) (*lake, *memstore.Store) {
	l := newLake(t, nil)
	store := memstore.New(memstore.WithClock(func() time.Time { return l.clock.Now() }))
	l.store = store
	for i := range 12 {
		l.run(record(i))
	}
	l.merge()
	l.publish()
	l.widen("n", schema.Type{Kind: schema.Float64})
	for i := range 8 {
		l.run(record(20 + i))
		l.publish()
	}
	l.rewind(l.head().Manifest.Seq - 2)
	for i := range 3 {
		l.run(record(40 + i))
	}
	l.publish()
	return l, store
}

// body is what stands under a key.
func body(t testing.TB, s *memstore.Store, key string) string {
	t.Helper()
	b := s.Objects()[key]
	if b == nil {
		t.Fatalf("%s is not there", key)
	}
	return string(b)
}

// without leaves the nth line out that has some text.
func without(text, has string, n int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, has) {
			if n--; n == -1 {
				continue
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

func TestCheck_FindsWhatTheChainDoesNotSay(t *testing.T) {
	good, store := eventful(t)
	last := int(good.head().Manifest.Tables["events"].Version)
	if c := good.check(0); len(c.Findings) > 0 || c.Conflict != nil || c.Lag() != 0 || c.From != 0 ||
		int(c.Projected) != last || int(c.Versions) != last+1 || c.Checkpoints == 0 || c.Files == 0 {
		t.Fatalf("the good log: %+v", c)
	}
	first := int(good.check(20).From) // since manifest 20
	if c := good.check(20); first < 15 || int(c.Versions) != last-first+1 || len(c.Findings) > 0 {
		t.Fatalf("since manifest 20: %+v", c)
	}
	edited := func(v int, edit func(string) string) func(*lake, *memstore.Store) {
		return func(l *lake, s *memstore.Store) { l.put(versionKey(v), edit(body(l.t, s, versionKey(v)))) }
	}
	gone := func(key string) func(*lake, *memstore.Store) {
		return func(l *lake, s *memstore.Store) {
			if body(l.t, s, key); s.Delete(l.t.Context(), key) != nil {
				l.t.Fatal("not deleted")
			}
		}
	}
	for _, c := range []struct {
		name   string
		tamper func(*lake, *memstore.Store)
		key    string
		want   string
		late   bool // also seen since manifest 20
	}{
		{"an add left out", edited(3, func(s string) string { return without(s, `{"add"`, 0) }), versionKey(3), "-1 files, -1 rows", false},
		{"a remove left out", edited(12, func(s string) string { return without(s, `{"remove"`, 2) }), versionKey(12), "1 files", false},
		{"a remove of what is not there", edited(12, func(s string) string {
			at := strings.LastIndex(s, ".parquet")
			return s[:at] + ".other" + s[at+len(".parquet"):]
		}), versionKey(12), "which is not there before", false},
		{"another size", edited(last, func(s string) string { return strings.Replace(s, `"size":`, `"size":1`, 1) }), versionKey(last), "bytes", true},
		{"other rows", edited(last, func(s string) string { return strings.Replace(s, `numRecords\":`, `numRecords\":1`, 1) }), versionKey(last), "rows", true},
		{"another file of the same size", edited(last, func(s string) string { return strings.Replace(s, `"path":"data/0`, `"path":"data/1`, 1) }), versionKey(last), "which is not live in manifest", true},
		{"another hash", edited(5, func(s string) string {
			at := strings.Index(s, `"sha256":"`) + len(`"sha256":"`)
			return s[:at] + strings.Repeat("0", 64) + s[at+64:]
		}), versionKey(5), "sha256 0000", false},
		{"another manifest", edited(5, func(s string) string { return strings.Replace(s, `"seq":6`, `"seq":7`, 1) }), versionKey(5), "manifest 7", false},
		{"a manifest that is not there", edited(5, func(s string) string { return strings.Replace(s, `"seq":6`, `"seq":600`, 1) }), versionKey(5), "not in the chain", false},
		{"another txn", edited(5, func(s string) string { return strings.Replace(s, `"version":6`, `"version":4`, 1) }), versionKey(5), "accounts for manifest 4", false},
		{"the place of one taken by a stranger", edited(5, func(string) string { return `{"commitInfo":{"engineInfo":"other"}}` + "\n" }), versionKey(5), "a foreign commit, and version 6", false},
		{"torn", edited(5, func(s string) string { return s[:len(s)-20] }), versionKey(5), "cannot be read", false},
		{"columns that are not there", edited(13, func(s string) string { return strings.Replace(s, `\"name\":\"n\"`, `\"name\":\"m\"`, 1) }), versionKey(last), "columns", true},
		{"a version gone", gone(versionKey(7)), versionKey(7), "version 7 is missing", false},
		{"a late version gone", gone(versionKey(last - 1)), versionKey(last - 1), "is missing", true},
		{"versions gone up to a checkpoint", func(l *lake, s *memstore.Store) {
			for v := 20; v <= last; v++ {
				gone(versionKey(v))(l, s)
			}
		}, versionKey(20), "its checkpoint is there", false},
		{"a checkpoint of other files", func(l *lake, s *memstore.Store) {
			l.put(checkpointKey(20), body(l.t, s, checkpointKey(10)))
		}, checkpointKey(20), "manifest 11, want", false},
		{"a checkpoint that is none", func(l *lake, s *memstore.Store) { l.put(checkpointKey(10), "nonsense") }, checkpointKey(10), "cannot be read", false},
		{"a checkpoint gone that the hint names", gone(checkpointKey(20)), hintKey, "is missing", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := store.Clone()
			l := *good
			l.t, l.store = t, s
			c.tamper(&l, s)
			for _, since := range []manifest.Seq{0, 20} {
				if since > 0 && !c.late {
					continue
				}
				got := l.check(since)
				found := false
				for _, f := range got.Findings {
					t.Logf("%s (manifest %d): %s", f.Key, f.Seq, f.Detail)
					found = found || f.Key == c.key && strings.Contains(f.Detail, c.want)
				}
				if !found || got.Findings[0].Key != c.key {
					t.Errorf("since %d: %s is not found first", since, c.key)
				}
			}
		})
	}
}

// TestCheck_TellsWhatIsNoDamage: logs that lag, that others wrote behind, that were
// cleaned or begun anew, and hints of slower projectors.
func TestCheck_TellsWhatIsNoDamage(t *testing.T) {
	stranger := func(l *lake, v int) {
		l.put(versionKey(v), `{"commitInfo":{"engineInfo":"other"}}`+"\n"+`{"add":{"path":"x.parquet","partitionValues":{},"size":1,"modificationTime":0,"dataChange":true}}`+"\n")
	}
	for _, c := range []struct {
		name string
		act  func(l *lake, s *memstore.Store, last int)
		want func(c delta.Checked, last int) bool
	}{
		{"lag", func(l *lake, _ *memstore.Store, _ int) { l.run(record(90)); l.run(record(91)) },
			func(c delta.Checked, last int) bool { return c.Lag() == 2 && int(c.Projected) == last }},
		{"conflict", func(l *lake, _ *memstore.Store, last int) {
			stranger(l, last+1)
			stranger(l, last+2)
			l.run(record(90))
		},
			func(c delta.Checked, last int) bool {
				return c.Conflict != nil && int(c.Conflict.Version) == last+1 && c.Conflict.Engine == "other" && int(c.Projected) == last && c.Lag() == 1
			}},
		{"published anew", func(l *lake, _ *memstore.Store, last int) {
			stranger(l, last+1)
			l.run(record(90))
			if _, err := l.rebuild(l.head()); err != nil {
				l.t.Fatal(err)
			}
			l.run(record(91))
			l.publish()
		}, func(c delta.Checked, last int) bool {
			return c.Lag() == 0 && int(c.Projected) == last+3 && int(c.Versions) == last+3
		}},
		{"cleaned", func(l *lake, _ *memstore.Store, _ int) {
			l.clock.add(100 * day)
			l.run(record(90))
			l.publish()
			if done, err := l.projector(l.store).Clean(l.t.Context(), "events"); err != nil || done.Versions < 10 {
				l.t.Fatalf("%+v, %v", done, err)
			}
		}, func(c delta.Checked, last int) bool { return c.From >= 10 && int(c.Projected) == last+1 }},
		{"adopted under another id", func(l *lake, _ *memstore.Store, _ int) {
			r := &compact.Repair{Log: l.log(l.store), Now: l.clock.Now, Logger: quiet}
			if _, err := r.Adopt(l.t.Context()); err != nil {
				l.t.Fatal(err)
			}
			l.run(record(90))
			l.publish()
		}, func(c delta.Checked, last int) bool {
			return c.Lag() == 0 && int(c.Projected) == last+1 && int(c.Versions) == last+2
		}},
		{"a hint to an older checkpoint", func(l *lake, _ *memstore.Store, _ int) {
			l.put(hintKey, `{"version":10,"size":1}`)
		}, func(c delta.Checked, last int) bool { return int(c.Projected) == last }},
		{"nothing is published", func(l *lake, s *memstore.Store, _ int) {
			for key := range deltaLog(s) {
				if err := s.Delete(l.t.Context(), key); err != nil {
					l.t.Fatal(err)
				}
			}
		}, func(c delta.Checked, last int) bool {
			return c.Projected == -1 && c.From == -1 && int(c.Lag()) == last+1
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, s := eventful(t)
			last := int(l.head().Manifest.Tables["events"].Version)
			c.act(l, s, last)
			if got := l.check(0); len(got.Findings) > 0 || !c.want(got, last) {
				t.Errorf("%+v", got)
			}
			if got := l.check(20); len(got.Findings) > 0 {
				t.Errorf("since manifest 20: %+v", got)
			}
		})
	}
}

// TestCheck_TheTableOfBatches, which has a version for every manifest and begins where
// it can.
func TestCheck_TheTableOfBatches(t *testing.T) {
	const name = "events_batches"
	key := func(v int) string { return strings.Replace(versionKey(v), "events/", name+"/", 1) }
	file := fmt.Sprintf("%s/data/%020d-%020d.parquet", name, 23, 24)
	foreign := `{"commitInfo":{"engineInfo":"other"}}` + "\n"
	for _, c := range []struct {
		name string
		act  func(l *lake, s *memstore.Store)
		key  string // of a finding; "": none
		want string
		from delta.Version
	}{
		{name: "sound", act: func(*lake, *memstore.Store) {}},
		{name: "it begins late", act: func(l *lake, s *memstore.Store) {
			l.delete(slices.Collect(maps.Keys(logOf(s, name)))...)
			l.expire()
			l.publish()
		}, from: 20},
		{name: "it began anew behind what was there", act: func(l *lake, s *memstore.Store) {
			before := logOf(s, name)
			l.delete(slices.Collect(maps.Keys(before))...)
			l.expire()
			l.publish()
			for v := range 16 {
				l.put(key(v), before[key(v)])
			}
		}},
		{name: "a hole, and nothing begins behind it", act: func(l *lake, s *memstore.Store) {
			for v := 16; v < 26; v++ {
				l.delete(key(v))
			}
		}, key: key(16), want: "is missing"},
		{name: "a file left out", act: func(l *lake, s *memstore.Store) {
			l.put(key(23), without(body(l.t, s, key(23)), `{"add"`, 0))
		}, key: key(26), want: "the next one begins with 24"},
		{name: "a file gone", act: func(l *lake, _ *memstore.Store) { l.delete(file) }, key: file, want: "is missing"},
		{name: "a file torn", act: func(l *lake, s *memstore.Store) { l.put(file, body(l.t, s, file)[:100]) }, key: file, want: "and it has 100"},
		{name: "a version gone", act: func(l *lake, s *memstore.Store) { l.delete(key(7)) }, key: key(7), want: "is missing"},
		{name: "another manifest", act: func(l *lake, s *memstore.Store) {
			l.put(key(7), strings.ReplaceAll(body(l.t, s, key(8)), `"version":8`, `"version":7`))
		}, key: key(7), want: "which made version 8"},
		{name: "a conflict", act: func(l *lake, _ *memstore.Store) { l.put(key(27), foreign) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, s := eventful(t)
			c.act(l, s)
			got := l.checkTable(name, 0)
			t.Logf("%+v", got)
			if !got.Derived || (len(got.Findings) > 0) != (c.key != "") || got.From < c.from || (got.Conflict != nil) != (c.name == "a conflict") {
				t.Errorf("%+v", got)
			}
			if c.key != "" && !slices.ContainsFunc(got.Findings, func(f delta.Finding) bool { return f.Key == c.key && strings.Contains(f.Detail, c.want) }) {
				t.Errorf("%s is not found: %+v", c.key, got.Findings)
			}
		})
	}
}

// TestCheck_BesideCleaning has the checkpoint deleted with which a check begins, right
// before each of its first calls: its version goes next, but is there still.
func TestCheck_BesideCleaning(t *testing.T) {
	story, _ := months(t)
	story.clock.add(40 * day)
	const first = "events/_delta_log/00000000000000000010.checkpoint.parquet"
	stale, err := story.projector(story.store).Stale(t.Context(), "events")
	at := slices.Index(stale.Keys, first)
	if err != nil || at < 0 {
		t.Fatalf("%+v, %v", stale, err)
	}
	for _, key := range stale.Keys[:at] {
		story.delete(key)
	}
	for call := 1; call <= 12; call++ {
		l, store := clone(story)
		hooked := &hookedStore{Store: l.store, left: call, hook: func() { l.delete(first) }}
		checked, err := l.projector(hooked).Check(t.Context(), l.head(), 0)
		if err != nil || len(checked[0].Findings) > 0 || store.Objects()[first] != nil {
			t.Errorf("before call %d: %+v, %v", call, checked, err)
		}
	}
}

// logOf is the Delta log of one table.
func logOf(s *memstore.Store, table string) map[string]string {
	out := deltaLog(s)
	maps.DeleteFunc(out, func(key, _ string) bool { return !strings.HasPrefix(key, table+"/_delta_log/") })
	return out
}

// expire lets go of all snapshots but the newest.
func (l *lake) expire() {
	l.t.Helper()
	r := &compact.Repair{Log: l.log(l.store), Now: func() time.Time { return l.clock.Now().Add(time.Hour) }, Logger: quiet}
	if _, err := r.Fence(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	if head, err := r.Expire(l.t.Context(), 0); err != nil || head.Manifest.RetainFrom < 20 {
		l.t.Fatalf("retained from %d, %v", head.Manifest.RetainFrom, err)
	}
}

// TestCheck_AStoreThatDoesNotAnswerIsNoFinding breaks each request.
func TestCheck_AStoreThatDoesNotAnswerIsNoFinding(t *testing.T) {
	l, s := eventful(t)
	head := l.head()
	counted := faultstore.New(s, nil)
	if _, err := l.projector(counted).Check(t.Context(), head, 0); err != nil {
		t.Fatal(err)
	}
	calls := len(counted.Calls())
	versions := int(head.Manifest.Tables["events"].Version) + 1 + int(head.Manifest.Seq) + 1
	t.Logf("%d requests for %d versions", calls, versions)
	if calls > 3*versions+20 {
		t.Errorf("%d requests for %d versions", calls, versions)
	}
	for n := 1; n <= calls; n++ {
		f := faultstore.New(s, faultstore.Script{{Call: n, Fault: faultstore.Unavailable}})
		if all, err := l.projector(f).Check(t.Context(), head, 0); !errors.Is(err, object.ErrUnknown) {
			t.Fatalf("call %d: %+v, %v", n, all, err)
		}
	}
}
