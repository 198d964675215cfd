package delta_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"batcher/commit"
	"batcher/compact"
	"batcher/object/memstore"
)

const day = 24 * time.Hour

// months makes 33 versions, one every two days, on a store whose clock is the lake's.
func months(t testing.TB) (*lake, *memstore.Store) {
	l := newLake(t, nil)
	store := memstore.New(memstore.WithClock(func() time.Time { return l.clock.Now() }))
	l.store = store
	for i := range 33 {
		l.run(record(i))
		l.publish()
		l.clock.add(2 * day)
	}
	return l, store
}

// TestClean deletes what is older than a checkpoint of thirty days ago and nothing
// else, and both readers read what is left.
func TestClean(t *testing.T) {
	l, store := months(t)
	l.put("events/_delta_log/00000000000000000001.crc", "foreign")
	l.put("events/_delta_log/1.json", "foreign")
	before := deltaLog(store)
	stale, err := l.projector(l.store).Stale(t.Context(), "events")
	if err != nil || len(deltaLog(store)) != len(before) {
		t.Fatalf("%+v, %v", stale, err)
	}
	done, err := l.projector(l.store).Clean(t.Context(), "events")
	if err != nil || !slices.Equal(done.Keys, stale.Keys) || done.Versions != 10 || done.Checkpoints != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if first := done.Keys[0]; first != versionKey(0) || !slices.IsSorted(done.Keys) {
		t.Errorf("in the order %v", done.Keys)
	}
	after := deltaLog(store)
	for key, body := range before {
		if kept := after[key] == body; kept == slices.Contains(done.Keys, key) {
			t.Errorf("%s is there: %t", key, kept)
		}
	}
	dir := dump(t, store)
	rows := "SELECT _source, n FROM t ORDER BY n"
	v := int64(12)
	s, err := l.log(l.store).Slot(t.Context(), 13)
	if err != nil {
		t.Fatal(err)
	}
	both(t, filepath.Join(dir, "events"), nil, l.parquet(dir, "events", l.head().Manifest, rows), rows)
	both(t, filepath.Join(dir, "events"), &v, l.parquet(dir, "events", s.Manifest, rows), rows)
	l.clock.add(20 * day)
	if done, err = l.projector(l.store).Clean(t.Context(), "events"); err != nil || done.Versions != 10 || done.Checkpoints != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	l.run(record(40))
	l.publish()
	dir = dump(t, store)
	both(t, filepath.Join(dir, "events"), nil, l.parquet(dir, "events", l.head().Manifest, rows), rows)
}

// TestClean_KeepsWhatTheHintNames, however old and low it is.
func TestClean_KeepsWhatTheHintNames(t *testing.T) {
	l, store := months(t)
	l.clock.add(365 * day)
	for hint, want := range map[string]int64{
		`{"version":10}`: 10, `{"version":20}`: 20, `{"version":0}`: 0, `{"version":17}`: 10, `no hint`: 0,
	} {
		l.put(hintKey, hint)
		stale, err := l.projector(l.store).Stale(t.Context(), "events")
		if err != nil || stale.Versions != want {
			t.Errorf("hint %s: %d versions, want %d, %v", hint, stale.Versions, want, err)
		}
	}
	l.delete(hintKey)
	if stale, err := l.projector(l.store).Stale(t.Context(), "events"); err != nil || len(stale.Keys) > 0 {
		t.Errorf("no hint: %v, %v", stale.Keys, err)
	}
	if store.Objects()[versionKey(0)] == nil {
		t.Error("something was deleted")
	}
}

// TestAdoption goes on with the log under another pipeline id.
func TestAdoption(t *testing.T) {
	l, store := clone(story(t))
	l.publish()
	before := deltaLog(store)
	r := compact.Repair{Log: l.log(l.store), Now: l.clock.Now, Logger: quiet}
	if _, err := r.Adopt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if states, err := l.projector(l.store).Publish(t.Context(), l.head()); err != nil || states[0].Projected != 14 {
		t.Fatalf("%+v, %v", states, err)
	}
	l.run("new", `{"another":1}`+"\n")
	l.publish()
	after := deltaLog(store)
	for key, body := range before {
		if after[key] != body {
			t.Errorf("%s changed", key)
		}
	}
	id := func(text string) string {
		_, rest, _ := strings.Cut(text, `"metaData":{"id":"`)
		return rest[:36]
	}
	if last := after[versionKey(15)]; id(last) != id(before[versionKey(0)]) || strings.Contains(last, l.genesis()) {
		t.Errorf("version after the adoption: %s", last)
	}
}

// genesis is the pipeline's first id.
func (l *lake) genesis() string {
	first, err := l.log(l.store).Slot(context.Background(), 0)
	if err != nil {
		l.t.Fatal(err)
	}
	return first.Manifest.Pipeline
}

// TestExpiredHistoryIsNoDamage: a chain whose old lists are gone can no longer be
// projected from the start, and says so. While they should be there it is damage.
func TestExpiredHistoryIsNoDamage(t *testing.T) {
	l := newLake(t, memstore.New())
	l.config.Split = "kind"
	var many strings.Builder
	for i := range 300 {
		fmt.Fprintf(&many, `{"kind":"k%d"}`+"\n", i)
	}
	l.run("many", many.String())
	l.run("few", `{"kind":"k"}`+"\n")
	l.rewind(0)
	store := l.store.(*memstore.Store)
	states := 0
	for _, key := range store.Keys() {
		if strings.Contains(key, "/state/") {
			l.delete(key)
			states++
		}
	}
	if states == 0 {
		t.Fatal("all lists stand in the manifests")
	}
	if _, err := l.projector(l.store).Publish(t.Context(), l.head()); !errors.Is(err, commit.ErrDamaged) {
		t.Errorf("%v", err)
	}
	r := compact.Repair{Log: l.log(l.store), Now: l.clock.Now, Logger: quiet}
	if _, err := r.Fence(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Expire(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if l.head().Manifest.RetainFrom < 2 {
		t.Fatal("nothing expired")
	}
	if _, err := l.projector(l.store).Publish(t.Context(), l.head()); !errors.Is(err, commit.ErrExpired) || errors.Is(err, commit.ErrDamaged) {
		t.Errorf("%v", err)
	}
	for key := range deltaLog(store) {
		if !strings.HasPrefix(key, "events_batches/") {
			t.Errorf("%s was projected", key)
		}
	}
	l.beginsAt(l.head().Manifest.RetainFrom) // what is retained, the table of batches has
	// The table can begin with what is live.
	l.run("more", `{"kind":"z"}`+"\n")
	head, err := l.rebuild(l.head())
	if err != nil || head.Manifest.Republish == nil || head.Manifest.Republish.Version != 0 {
		t.Fatalf("%+v, %v", head.Manifest.Republish, err)
	}
	if published := l.publish(); published[0].Projected != 0 || published[0].Lag() != 0 {
		t.Errorf("%+v", published[0])
	}
	if got, live := replayed(t, store, "events"), head.Manifest.Tables["events"].Live.Files; int64(len(got)) != live {
		t.Errorf("%d files are shown, %d are live", len(got), live)
	}
}
