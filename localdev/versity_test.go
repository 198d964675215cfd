package localdev_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"batcher/localdev"
	"batcher/object/s3store"
	"batcher/object/storetest"
)

// TestVersityIsAdmittedAndDiffersInTwoPlaces holds a server that is not MinIO to
// every check of the suite. It keeps all that the protocol needs, and two
// promises it does not keep, which no key that batcher writes depends on:
//   - control-keys: it lists a control character in a key as U+FFFD;
//   - create-again: in a bucket that keeps versions it takes a deleted key for one
//     that exists, and refuses to create it again.
func TestVersityIsAdmittedAndDiffersInTwoPlaces(t *testing.T) {
	localdev.Proof(t) // builds versitygw first
	s, err := localdev.StartVersity(context.Background(), localdev.Options{})
	if err != nil {
		t.Fatalf("this test needs a versitygw: %v", err)
	}
	for _, c := range []struct {
		name   string
		cfg    s3store.Config
		params storetest.Params
		fails  []string
	}{
		{"plain", s3store.Config{Bucket: "plain", Prefix: "some/prefix/"}, storetest.Params{ListObjects: 1100}, []string{"control-keys"}},
		{"versioned", s3store.Config{Bucket: "versioned"}, storetest.Params{RaceKeys: 20, LargeKeys: 4}, []string{"control-keys", "create-again"}},
		{"crc32", s3store.Config{Bucket: "plain", Prefix: "crc", Checksums: s3store.CRC32}, storetest.Params{RaceKeys: 4, LargeKeys: 1}, []string{"control-keys"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := open(t, s, c.cfg)
			start := time.Now()
			var failed []string
			storetest.Run(t.Context(), storetest.Env{Store: store, Prefix: "probe/", Params: c.params}, storetest.All(), func(r storetest.Result) {
				t.Logf("%-20s %6d ms %+v", r.Check.Name, time.Since(start).Milliseconds(), r.Requests)
				if r.Err != nil {
					failed = append(failed, r.Check.Name)
					t.Logf("%s: %v", r.Check.Name, r.Err)
				}
				if r.CleanUp != nil {
					t.Errorf("%s: clean-up: %v", r.Check.Name, r.CleanUp)
				}
				start = time.Now()
			})
			if !slices.Equal(failed, c.fails) {
				t.Errorf("failed: %v, want %v", failed, c.fails)
			}
		})
	}
	for range 2 {
		if err := s.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	if res, err := http.Get(s.Endpoint); err == nil {
		res.Body.Close()
		t.Error("the server answers after it was stopped")
	}
}

// open opens a part of a bucket of a server.
func open(t *testing.T, s *localdev.Server, cfg s3store.Config) *s3store.Store {
	t.Helper()
	setenv(t, s.Env())
	store, err := s3store.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// setenv sets variables for the rest of a test.
func setenv(t *testing.T, variables []string) {
	t.Helper()
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
}
