package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"batcher/localdev"
)

func TestSeedFillsABucketOnce(t *testing.T) {
	server, err := localdev.StartMinIO(t.Context(), localdev.Options{Buckets: []string{"other"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	for _, entry := range server.Env() {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
	for _, added := range []int{3, 0} {
		var out bytes.Buffer
		if err := seedCommand(t.Context(), []string{server.Endpoint, "demo", "in", "3", "10"}, &out); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(`{"bucket":"demo","objects":3,"records":30,"added":%d}`, added)
		if strings.TrimSpace(out.String()) != want {
			t.Errorf("got %s, want %s", &out, want)
		}
	}
	for _, args := range [][]string{
		{"127.0.0.1", "demo", "in", "3", "10"},
		{server.Endpoint, "demo", "in", "0", "10"},
		{server.Endpoint, "demo", "in", "3", "many"},
		{server.Endpoint, "No Bucket", "in", "3", "10"},
	} {
		if err := seedCommand(t.Context(), args, &bytes.Buffer{}); err == nil {
			t.Errorf("seeded %q", args)
		}
	}
}

func TestProbe(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	if err := probe(t.Context(), server.URL); err != nil {
		t.Error(err)
	}
	status = http.StatusServiceUnavailable
	if err := probe(t.Context(), server.URL); err == nil {
		t.Error("503 passed for healthy")
	}
	server.Close()
	if err := probe(t.Context(), server.URL); err == nil {
		t.Error("silence passed for healthy")
	}
}
