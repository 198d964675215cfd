package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

func TestEveryCallsAtTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		var calls []time.Duration
		every(ctx, 30*time.Second, func() {
			calls = append(calls, time.Since(start))
			if len(calls) == 3 {
				cancel()
			}
		})
		if got := fmt.Sprint(calls); got != "[0s 30s 1m0s]" {
			t.Errorf("called at %s", got)
		}
	})
}

func TestEveryAsksForAnInterval(t *testing.T) {
	for _, interval := range []string{"", "30", "0s", "-1s"} {
		if err := everyCommand(t.Context(), interval, []string{"true"}); err == nil {
			t.Errorf("accepted %q", interval)
		}
	}
}

func TestCallEndsWithTheContext(t *testing.T) {
	if err := call(t.Context(), []string{"true"}); err != nil {
		t.Errorf("true: %v", err)
	}
	if err := call(t.Context(), []string{"false"}); err == nil {
		t.Error("false passed for a success")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if err := call(ctx, []string{"sleep", "60"}); err == nil || time.Since(start) > 20*time.Second {
		t.Errorf("ended after %s with %v", time.Since(start), err)
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
