package audit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"batcher/audit"
	"batcher/object"
	"batcher/object/filestore"
	"batcher/object/memstore"
)

// flawed is a store whose conditional PUT is what the test makes it.
type flawed struct {
	object.Store
	put func(s object.Store, ctx context.Context, key string, body []byte) (object.Info, error)
}

func (f *flawed) Put(ctx context.Context, key string, body []byte, c object.Condition) (object.Info, error) {
	if c != object.IfAbsent {
		return f.Store.Put(ctx, key, body, c)
	}
	return f.put(f.Store, ctx, key, body)
}

func overwriting() *flawed {
	return &flawed{memstore.New(memstore.WithClock(time.Now)), func(s object.Store, ctx context.Context, key string, body []byte) (object.Info, error) {
		return s.Put(ctx, key, body, object.Always)
	}}
}

// losing answers the first conditional PUT of each key, which it carries out,
// with the error.
func losing(answer error) *flawed {
	var mu sync.Mutex
	seen := map[string]bool{}
	return &flawed{memstore.New(memstore.WithClock(time.Now)), func(s object.Store, ctx context.Context, key string, body []byte) (object.Info, error) {
		info, err := s.Put(ctx, key, body, object.IfAbsent)
		mu.Lock()
		defer mu.Unlock()
		if seen[key] || err != nil {
			return info, err
		}
		seen[key] = true
		return object.Info{}, fmt.Errorf("put %s: %w", key, answer)
	}}
}

// failed names the probes that failed.
func failed(findings []audit.Finding) []string {
	var names []string
	for _, f := range findings {
		if f.Err != nil {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

// clean wants nothing left below the probes' folder.
func clean(t *testing.T, s object.Store) {
	t.Helper()
	for info, err := range s.List(t.Context(), "", object.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s is left", info.Key)
	}
}

func TestDoctorAndAdmit(t *testing.T) {
	dir, err := filestore.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	conditional := []string{"create-if-absent", "create-race", "create-race-large"}
	for _, c := range []struct {
		name   string
		store  object.Store
		admit  []string // probes that fail
		doctor []string
	}{
		{"memory", memstore.New(memstore.WithClock(time.Now)), nil, nil},
		{"a directory", dir, nil, nil},
		{"one that ignores the condition", overwriting(), conditional, conditional},
	} {
		t.Run(c.name, func(t *testing.T) {
			short, err := audit.Admit(t.Context(), c.store)
			if err != nil || !slices.Equal(failed(short), c.admit) {
				t.Errorf("admit: %q fail, want %q; %v", failed(short), c.admit, err)
			}
			clean(t, c.store)
			long, err := audit.Doctor(t.Context(), c.store, quiet, nil)
			if err != nil || !slices.Equal(failed(long), c.doctor) {
				t.Errorf("doctor: %q fail, want %q; %v", failed(long), c.doctor, err)
			}
			clean(t, c.store)
			if len(long) <= len(short) || !slices.ContainsFunc(long, func(f audit.Finding) bool { return f.Name == "commit-after-lost-answer" }) {
				t.Errorf("admit made %d probes, doctor %d", len(short), len(long))
			}
		})
	}
}

// TestP2_ACommitWhoseAnswerIsLostIsFoundOutToBeOurs has stores that lose answers
// themselves, or whose client repeats a lost PUT and reports its own bytes as
// somebody else's: a commit through them is settled all the same.
func TestP2_ACommitWhoseAnswerIsLostIsFoundOutToBeOurs(t *testing.T) {
	for _, answer := range []error{object.ErrUnknown, object.ErrExists} {
		s := losing(answer)
		findings, err := audit.Doctor(t.Context(), s, quiet, nil)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(findings, func(f audit.Finding) bool { return f.Name == "commit-after-lost-answer" })
		if at < 0 || findings[at].Err != nil {
			t.Errorf("%v: %+v", answer, findings)
		}
		clean(t, s)
	}
}

// TestTheSettleProbeFails shows that the probe can fail: on a store that refuses
// every conditional PUT.
func TestTheSettleProbeFails(t *testing.T) {
	s := &flawed{memstore.New(memstore.WithClock(time.Now)), func(s object.Store, ctx context.Context, key string, body []byte) (object.Info, error) {
		return object.Info{}, fmt.Errorf("put %s: %w", key, object.ErrDenied)
	}}
	findings, err := audit.Doctor(t.Context(), s, quiet, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(failed(findings), "commit-after-lost-answer") {
		t.Errorf("failed: %q", failed(findings))
	}
	clean(t, s)
}

// TestAProbeNeitherReadsNorRemovesWhatAnotherLeft holds what the package comment
// says of a probe that was killed.
func TestAProbeNeitherReadsNorRemovesWhatAnotherLeft(t *testing.T) {
	s := memstore.New(memstore.WithClock(time.Now))
	const left = "_batcher/_probe/0123456789abcdef/create-race/slot-0"
	if _, err := s.Put(t.Context(), left, []byte("of a probe that may be running"), object.Always); err != nil {
		t.Fatal(err)
	}
	if findings, err := audit.Doctor(t.Context(), s, quiet, nil); err != nil || len(failed(findings)) > 0 {
		t.Fatal(failed(findings), err)
	}
	if held := s.Objects(); len(held) != 1 || held[left] == nil {
		t.Errorf("%d objects are left", len(held))
	}
}

func TestACancelledProbeLeavesNothing(t *testing.T) {
	for _, stop := range []int{20, 300} {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		var mu sync.Mutex
		s := &flawed{memstore.New(memstore.WithClock(time.Now)), func(s object.Store, ctx context.Context, key string, body []byte) (object.Info, error) {
			mu.Lock()
			if n++; n == stop {
				cancel()
			}
			mu.Unlock()
			return s.Put(ctx, key, body, object.IfAbsent)
		}}
		if _, err := audit.Doctor(ctx, s, quiet, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("stopped at PUT %d: %v", stop, err)
		}
		clean(t, s.Store)
		cancel()
	}
}

func TestFindingsAreReadableByMachines(t *testing.T) {
	b, err := audit.Finding{Name: "n", Why: "w", Err: object.ErrExists}.MarshalJSON()
	if err != nil || !strings.Contains(string(b), `"passed":false,"error":"object exists","why":"w"`) {
		t.Errorf("%s, %v", b, err)
	}
	b, err = audit.Finding{Name: "n", Why: "w"}.MarshalJSON()
	if err != nil || string(b) != `{"name":"n","passed":true}` {
		t.Errorf("a probe that passed: %s, %v", b, err)
	}
}
