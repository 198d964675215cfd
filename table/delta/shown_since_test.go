package delta_test

import (
	"testing"
	"time"

	"batcher/manifest"
)

// TestSince asks since when readers see what a manifest left: since the version was put,
// however long before that the manifest was committed.
func TestSince(t *testing.T) {
	l, store := months(t)
	late := l.run("late", `{"n":99}`+"\n")
	p := l.projector(l.store)
	since := func(s manifest.Snapshot) time.Time {
		t.Helper()
		if _, err := p.Publish(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		at, err := p.ShownSince(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	slot := func(seq manifest.Seq) manifest.Snapshot {
		t.Helper()
		s, err := l.log(l.store).Slot(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	l.clock.add(40 * day)
	published := l.clock.now
	if at := since(late); at.Before(published) || at.After(l.clock.now) {
		t.Errorf("what was published late is seen since %v, and not before %v", at, published)
	}
	l.clock.add(day)
	if at := since(late); at.Before(published) || at.After(l.clock.now.Add(-day)) {
		t.Errorf("a day later since %v", at)
	}
	if at, made := since(slot(20)), slot(20).Manifest.CreatedAt; at.Before(made) || at.After(made.Add(time.Hour)) {
		t.Errorf("what was published at once at %v is seen since %v", made, at)
	}
	if at := since(slot(0)); !at.IsZero() {
		t.Errorf("what has no table is seen since %v", at)
	}
	if _, err := p.Clean(t.Context(), "events"); err != nil || store.Objects()[versionKey(4)] != nil {
		t.Fatal(err)
	}
	if at := since(slot(5)); !at.IsZero() {
		t.Errorf("what was cleaned away is seen since %v", at)
	}
	before := l.clock.now
	if at := since(l.run("later", `{"n":100}`+"\n")); at.Before(before) {
		t.Errorf("what is not published is seen since %v", at)
	}
}

// TestSince_AForeignNumber is that of a version which was never projected: others took
// it, and the table was published anew behind them.
func TestSince_AForeignNumber(t *testing.T) {
	l, _ := clone(story(t))
	l.publish()
	l.put(versionKey(15), foreign)
	never := l.run(record(20)) // would be version 15
	head, err := l.rebuild(l.head())
	if err != nil {
		t.Fatal(err)
	}
	p := l.projector(l.store)
	if _, err := p.Publish(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	before := l.clock.now
	if at, err := p.ShownSince(t.Context(), never); err != nil || at.Before(before) {
		t.Errorf("since %v, %v", at, err)
	}
}
