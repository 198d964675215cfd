package s3store_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"batcher/localdev"
	"batcher/object/s3store"
	"batcher/object/storetest"
)

// server is the MinIO of this package's tests.
var server *localdev.Server

func TestMain(m *testing.M) {
	var err error
	server, err = localdev.StartMinIO(context.Background(), localdev.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "the tests of s3store need a MinIO:", err)
		os.Exit(1)
	}
	for _, variable := range server.Env() {
		name, value, _ := strings.Cut(variable, "=")
		os.Setenv(name, value)
	}
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func open(t *testing.T, cfg s3store.Config) *s3store.Store {
	t.Helper()
	s, err := s3store.New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name   string
		cfg    s3store.Config
		params storetest.Params
	}{
		{"plain", s3store.Config{Bucket: "plain", Prefix: "some/prefix/"}, storetest.Params{ListObjects: 1100}},
		{"versioned", s3store.Config{Bucket: "versioned"}, storetest.Params{RaceKeys: 20, LargeKeys: 4}},
		{"crc32", s3store.Config{Bucket: "plain", Prefix: "crc", Checksums: s3store.CRC32}, storetest.Params{RaceKeys: 4, LargeKeys: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			env := storetest.Env{Store: open(t, c.cfg), Prefix: "probe/", Params: c.params}
			storetest.Run(context.Background(), env, storetest.All(), func(r storetest.Result) {
				t.Logf("%-20s %6d ms %+v", r.Check.Name, time.Since(start).Milliseconds(), r.Requests)
				if r.Err != nil || r.CleanUp != nil {
					t.Errorf("%s: %v; clean-up: %v", r.Check.Name, r.Err, r.CleanUp)
				}
				start = time.Now()
			})
		})
	}
}
