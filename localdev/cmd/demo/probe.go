package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

const probeTimeout = 5 * time.Second

// probe fails unless the address answers with 200.
func probe(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: %s", url, res.Status)
	}
	return nil
}
