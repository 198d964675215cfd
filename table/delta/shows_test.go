package delta_test

import (
	"errors"
	"strings"
	"testing"

	"batcher/manifest"
	"batcher/object/memstore"
	"batcher/table/delta"
)

// TestShows_OnlyWhatTheChainMade asks for the version of every manifest of a chain whose
// table was published anew, so that numbers of the chain belong to a stranger, to a
// later manifest, and to nobody.
func TestShows_OnlyWhatTheChainMade(t *testing.T) {
	l := newLake(t, memstore.New())
	for i := range 2 { // versions 0 and 1 of manifests 1 and 2
		l.run(record(i))
		l.publish()
	}
	l.put(versionKey(2), foreign)
	for i := range 3 { // manifests 3 to 5 have versions 2 to 4, which are never projected
		l.run(record(2 + i))
	}
	if _, err := l.rebuild(l.head()); err != nil { // manifest 6 has version 3
		t.Fatal(err)
	}
	l.publish()
	l.run(record(9)) // manifest 7 has version 4, and is not projected
	for seq, want := range []struct {
		version delta.Version
		reason  string
	}{
		{-1, ""}, {0, ""}, {1, ""},
		{-1, "version 2 is a foreign commit"},
		{-1, "version 3 was made from manifest 6"},
		{-1, "version 4 is not there"},
		{3, ""},
		{-1, "version 4 is not there"},
	} {
		at, err := l.log(l.store).Slot(t.Context(), manifest.Seq(seq))
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.projector(l.store).Shows(t.Context(), at, "events")
		var unshown *delta.UnshownError
		if got != want.version || errors.As(err, &unshown) != (want.reason != "") || err != nil && !strings.Contains(err.Error(), want.reason) {
			t.Errorf("manifest %d: version %d, %v; want %d, %q", seq, got, err, want.version, want.reason)
		}
	}
	if got, err := l.projector(l.store).Shows(t.Context(), l.head(), "events_dead"); got != -1 || err != nil {
		t.Errorf("a table that nothing was written to: version %d, %v", got, err)
	}
}
