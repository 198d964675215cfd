package commit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/segment"
)

// raiseFloor fences every attempt in flight.
func raiseFloor(t *testing.T, l *commit.Log, head manifest.Snapshot) manifest.Snapshot {
	t.Helper()
	out, err := l.Append(t.Context(), commit.Proposal{Kind: manifest.Floor, Attempt: manifest.Attempt{9}, Base: head,
		Repair: commit.Repair{Floor: head.Manifest.Seq + 1}, Config: config})
	if err != nil || out.Verdict != commit.Committed {
		t.Fatalf("floor: %+v, %v", out.Decision, err)
	}
	return out.Head
}

func isSuperseded(err error) bool {
	var superseded *commit.SupersededError
	return errors.As(err, &superseded)
}

// TestWhatIsAbsentIsAFenceOrDamage asks what it means that something is gone, for
// attempts that began below and at the floor.
func TestWhatIsAbsentIsAFenceOrDamage(t *testing.T) {
	store := memstore.New()
	l, below := create(t, store)
	at := raiseFloor(t, l, below)
	file := fmt.Errorf("open events/data/x: %w", object.ErrNotFound)
	run := fmt.Errorf("%w: %w", commit.ErrDamaged, &commit.MissingError{Ref: segment.Ref{Key: "state/x"}})
	for name, c := range map[string]struct {
		base, head manifest.Snapshot
		err        error
		want       func(got error) bool
	}{
		"a file, fenced":                      {below, below, file, isSuperseded},
		"a run, fenced":                       {below, below, run, isSuperseded},
		"fenced, the floor was seen":          {below, at, file, isSuperseded},
		"a file":                              {at, at, file, func(err error) bool { return errors.Is(err, commit.ErrDamaged) && errors.Is(err, object.ErrNotFound) }},
		"a run is said to be damaged once":    {at, at, run, isNothingElse(run)},
		"nothing is absent":                   {below, below, object.ErrUnknown, isNothingElse(object.ErrUnknown)},
		"nothing is wrong":                    {below, below, nil, func(err error) bool { return err == nil }},
		"a file that is denied is not absent": {below, below, object.ErrDenied, isNothingElse(object.ErrDenied)},
	} {
		if got := l.Absent(t.Context(), c.base, c.head, c.err); !c.want(got) {
			t.Errorf("%s: %v", name, got)
		}
	}
	blind := newLog(faultstore.New(store, faultstore.Script{{Op: faultstore.Get, Times: -1, Fault: faultstore.Deny}}))
	got := blind.Absent(t.Context(), below, below, file)
	if !errors.Is(got, object.ErrDenied) || !errors.Is(got, object.ErrNotFound) || errors.Is(got, commit.ErrDamaged) || isSuperseded(got) {
		t.Errorf("the chain cannot be asked: %v", got)
	}
}

// isNothingElse says whether an error comes back as it was.
func isNothingElse(want error) func(error) bool {
	return func(got error) bool { return errors.Is(got, want) && got.Error() == want.Error() }
}

// TestAProposalWhoseRunsAreGoneIsFencedOrDamaged takes the runs of a long live list
// away under a proposal that has to read them.
func TestAProposalWhoseRunsAreGoneIsFencedOrDamaged(t *testing.T) {
	for _, fence := range []bool{false, true} {
		store := memstore.New()
		l, head := create(t, store)
		head, keys := appended(t, l, head, 240)
		if head.Manifest.Tables["events"].Live.Segments.Count == 0 {
			t.Fatal("the list is too short for this test")
		}
		late := newLog(&goneOnSight{Store: store, gone: func() {
			if fence {
				raiseFloor(t, l, head)
			}
		}})
		out, err := late.Append(t.Context(), swap(manifest.Compact, head, 250, 10, keys[0]))
		if fence && (err != nil || out.Verdict != commit.Abort || out.Head.Manifest.Seq != head.Manifest.Seq+1) {
			t.Errorf("fenced: %+v, %v", out.Decision, err)
		}
		if !fence && !errors.Is(err, commit.ErrDamaged) {
			t.Errorf("not fenced: %+v, %v", out.Decision, err)
		}
	}
}

// goneOnSight is a store whose state objects are gone, from before the first of them
// is asked for.
type goneOnSight struct {
	object.Store
	gone func()
}

// Get answers for state objects that nothing is there.
func (g *goneOnSight) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	if !strings.Contains(key, "/state/") {
		return g.Store.Get(ctx, key, o)
	}
	if g.gone != nil {
		g.gone()
		g.gone = nil
	}
	return nil, object.Info{}, fmt.Errorf("get %s: %w", key, object.ErrNotFound)
}
