package localdev_test

import (
	"errors"
	"io/fs"
	"net/http"
	"sync"
	"testing"

	"batcher/localdev"
	"batcher/object"
	"batcher/object/s3store"
)

// TestProxyDoesWhatItSays creates an object through each action, and asks the
// server itself what is there.
func TestProxyDoesWhatItSays(t *testing.T) {
	s, err := localdev.StartMinIO(t.Context(), localdev.Options{Buckets: []string{"plain"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	for _, c := range []struct {
		action    localdev.Action
		err       error // what the client learns
		stored    bool  // before Release
		forwarded int   // in all
	}{
		{localdev.Pass, nil, true, 1},
		{localdev.StripCondition, nil, true, 1},
		{localdev.DropRequest, object.ErrUnknown, false, 0},
		{localdev.DropAnswer, object.ErrUnknown, true, 1},
		{localdev.DelayAnswer, nil, true, 1},
		{localdev.Duplicate, object.ErrExists, true, 2},
		{localdev.FailAfter, object.ErrUnknown, true, 1},
		{localdev.ConflictBefore, object.ErrConflict, false, 0},
		{localdev.UnavailableBefore, object.ErrUnknown, false, 0},
		{localdev.LoseAndLandLate, object.ErrUnknown, false, 1},
	} {
		t.Run(c.action.String(), func(t *testing.T) {
			var mu sync.Mutex
			var seen []localdev.Exchange
			p := s.WatchedProxy(func(int, *http.Request) localdev.Action { return c.action }, func(x localdev.Exchange) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, x)
			})
			defer p.Close()
			setenv(t, s.EnvAt(p.Endpoint))
			store, err := s3store.New(t.Context(), s3store.Config{Bucket: "plain"})
			if err != nil {
				t.Fatal(err)
			}
			key := t.Name()
			if _, err := store.Put(t.Context(), key, []byte("body"), object.IfAbsent); !errors.Is(err, c.err) {
				t.Errorf("the client learns %v, want %v", err, c.err)
			}
			if _, err := s.Get(t.Context(), "plain", key); errors.Is(err, fs.ErrNotExist) == c.stored || err != nil && c.stored {
				t.Errorf("before the release the server says %v, want stored: %v", err, c.stored)
			}
			p.Release()
			if body, err := s.Get(t.Context(), "plain", key); c.forwarded > 0 && (err != nil || string(body) != "body") {
				t.Errorf("in the end the server has %q, %v", body, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(seen) != c.forwarded {
				t.Errorf("%d requests were forwarded, want %d", len(seen), c.forwarded)
			}
			for i, x := range seen {
				want := []int{http.StatusOK, http.StatusPreconditionFailed}[i]
				if x.Status != want || string(x.Body) != "body" || x.Action != c.action || !x.Sent.Before(x.Answered) {
					t.Errorf("exchange %d: %d %q %s, want %d", i, x.Status, x.Body, x.Action, want)
				}
			}
		})
	}
}
