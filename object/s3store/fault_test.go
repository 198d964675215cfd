package s3store_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"batcher/localdev"
	"batcher/object"
	"batcher/object/retry"
	"batcher/object/s3store"
	"batcher/object/storetest"
)

// through returns a store behind a proxy that treats requests of a method so.
func through(t *testing.T, method string, cfg s3store.Config, action func(n int, req *http.Request) localdev.Action) (*s3store.Store, *localdev.Proxy) {
	t.Helper()
	proxy := server.Proxy(func(n int, req *http.Request) localdev.Action {
		if req.Method != method {
			return localdev.Pass
		}
		return action(n, req)
	})
	t.Cleanup(proxy.Close)
	cfg.Bucket, cfg.Prefix, cfg.Endpoint = "plain", t.Name(), proxy.Endpoint
	return open(t, cfg), proxy
}

// first strikes the first request of the method only.
func first(action localdev.Action) func(int, *http.Request) localdev.Action {
	return func(n int, _ *http.Request) localdev.Action {
		if n == 1 {
			return action
		}
		return localdev.Pass
	}
}

func TestP6_StoreThatIgnoresTheConditionIsRefused(t *testing.T) {
	proxy := server.StripProxy()
	defer proxy.Close()
	env := storetest.Env{
		Store:  open(t, s3store.Config{Bucket: "plain", Endpoint: proxy.Endpoint}),
		Prefix: t.Name() + "/", Params: storetest.Params{RaceKeys: 9, LargeKeys: 2},
	}
	var failed []string
	storetest.Run(context.Background(), env, storetest.Admission(), func(r storetest.Result) {
		if r.Err != nil {
			t.Logf("%s: %v", r.Check.Name, r.Err)
			failed = append(failed, r.Check.Name)
		}
	})
	if want := []string{"create-if-absent", "create-race", "create-race-large"}; !slices.Equal(failed, want) {
		t.Errorf("failed checks %q, want %q", failed, want)
	}
}

// TestP2_P5_OneRequestOneMeaning also shows that no request is repeated.
func TestP2_P5_OneRequestOneMeaning(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		action localdev.Action
		want   error
		second error // of the same Put again
	}{
		{"answer dropped", localdev.DropAnswer, object.ErrUnknown, object.ErrExists},
		{"500 after", localdev.FailAfter, object.ErrUnknown, object.ErrExists},
		{"409 before", localdev.ConflictBefore, object.ErrConflict, nil},
		{"503 before", localdev.UnavailableBefore, object.ErrUnknown, nil},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			s, _ := through(t, http.MethodPut, s3store.Config{}, first(c.action))
			// On a connection that was used before, Go's transport is tempted to
			// repeat the request by itself.
			if _, _, err := s.Get(ctx, "slot", object.GetOptions{}); !errors.Is(err, object.ErrNotFound) {
				t.Fatal(err)
			}
			_, err := s.Put(ctx, "slot", []byte("mine"), object.IfAbsent)
			if !errors.Is(err, c.want) || s.Requests().Put != 1 {
				t.Errorf("%v after %d requests, want %v after one", err, s.Requests().Put, c.want)
			}
			if _, err := s.Put(ctx, "slot", []byte("mine"), object.IfAbsent); !errors.Is(err, c.second) {
				t.Errorf("again: %v, want %v", err, c.second)
			}
			if got, _, err := object.ReadAll(ctx, s, "slot", object.GetOptions{}, 100); err != nil || string(got) != "mine" {
				t.Errorf("the slot holds %q, %v", got, err)
			}
		})
	}
}

func TestP7_PutLandsAfterItsSenderGaveUp(t *testing.T) {
	s, proxy := through(t, http.MethodPut, s3store.Config{}, first(localdev.LandLate))
	sending, giveUp := context.WithCancel(context.Background())
	put := make(chan error, 1)
	go func() {
		_, err := s.Put(sending, "slot", []byte("zombie"), object.IfAbsent)
		put <- err
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := proxy.AwaitKept(ctx); err != nil {
		t.Fatal(err)
	}
	giveUp()
	if err := <-put; !errors.Is(err, object.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Fatalf("put: %v", err)
	}
	if _, _, err := s.Get(ctx, "slot", object.GetOptions{}); !errors.Is(err, object.ErrNotFound) {
		t.Fatalf("before it landed: %v", err)
	}
	proxy.Release()
	if _, err := s.Put(ctx, "slot", []byte("other"), object.IfAbsent); !errors.Is(err, object.ErrExists) {
		t.Errorf("after it landed: %v", err)
	}
	if got, _, err := object.ReadAll(ctx, s, "slot", object.GetOptions{}, 100); err != nil || string(got) != "zombie" {
		t.Errorf("the slot holds %q, %v", got, err)
	}
}

func TestTornBodyIsUnknown(t *testing.T) {
	ctx := context.Background()
	s, _ := through(t, http.MethodGet, s3store.Config{}, first(localdev.TearBody))
	body := []byte(strings.Repeat("0123456789", 1000))
	if _, err := s.Put(ctx, "k", body, object.Always); err != nil {
		t.Fatal(err)
	}
	if _, _, err := object.ReadAll(ctx, s, "k", object.GetOptions{}, 1<<20); !errors.Is(err, object.ErrUnknown) {
		t.Errorf("torn body: %v", err)
	}
	if got, _, err := object.ReadAll(ctx, s, "k", object.GetOptions{}, 1<<20); err != nil || len(got) != len(body) {
		t.Errorf("next read: %d bytes, %v", len(got), err)
	}
}

// TestUploadSurvivesFaults loses the answer to each step of a multipart upload.
func TestUploadSurvivesFaults(t *testing.T) {
	ctx := context.Background()
	body := []byte(strings.Repeat("0123456789abcdef", 20<<16)) // 20 MiB: two parts
	policy := retry.Policy{Tries: 3, FirstPause: time.Millisecond, MaxPause: time.Millisecond, TryTimeout: time.Minute}
	for _, c := range []struct {
		name, method string
		request      int // of that method
	}{
		{"create", http.MethodPost, 1}, {"part", http.MethodPut, 2}, {"complete", http.MethodPost, 2},
	} {
		for name, action := range map[string]localdev.Action{"lost": localdev.DropAnswer, "busy": localdev.UnavailableBefore} {
			t.Run(c.name+"-"+name, func(t *testing.T) {
				s, _ := through(t, c.method, s3store.Config{Retry: retry.Loop(policy, retry.System())}, func(n int, _ *http.Request) localdev.Action {
					if n == c.request {
						return action
					}
					return localdev.Pass
				})
				u, err := s.Upload(ctx, "big")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := u.Write(body); err != nil {
					t.Fatal(err)
				}
				info, err := u.Complete(ctx)
				if err != nil || info.Size != int64(len(body)) {
					t.Fatalf("complete: %+v, %v", info, err)
				}
				got, _, err := object.ReadAll(ctx, s, "big", object.GetOptions{ETag: info.ETag}, 1<<30)
				if err != nil || string(got) != string(body) {
					t.Errorf("read back %d bytes, %v", len(got), err)
				}
			})
		}
	}
}

// TestUploadThatFailsIsAborted uses no retry, so that the first fault is final.
func TestUploadThatFailsIsAborted(t *testing.T) {
	ctx := context.Background()
	s, _ := through(t, http.MethodPut, s3store.Config{}, func(n int, _ *http.Request) localdev.Action {
		if n == 2 {
			return localdev.UnavailableBefore
		}
		return localdev.Pass
	})
	u, err := s.Upload(ctx, "big")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Write(make([]byte, 20<<20)); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Complete(ctx); !errors.Is(err, object.ErrUnknown) {
		t.Errorf("complete: %v", err)
	}
	if got := s.Requests().Delete; got != 1 {
		t.Errorf("%d aborts, want one", got)
	}
	if _, _, err := s.Get(ctx, "big", object.GetOptions{}); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
}
