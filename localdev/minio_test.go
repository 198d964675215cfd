package localdev_test

import (
	"context"
	"net/http"
	"testing"

	"batcher/localdev"
)

func TestMinIOStartsAndStops(t *testing.T) {
	s, err := localdev.StartMinIO(context.Background(), localdev.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.MakeBucket(context.Background(), "another"); err != nil {
		t.Error(err)
	}
	if err := s.MakeBucket(context.Background(), "plain"); err == nil {
		t.Error("the bucket plain was not made at the start")
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
