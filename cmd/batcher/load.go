package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"batcher/config"
)

// Pipeline reads and parses the pipeline file that -c names, with --set and the
// environment laid over it.
func (c *call) Pipeline(ctx context.Context) (*config.Pipeline, error) {
	text, err := c.readConfig(ctx)
	if err != nil {
		return nil, err
	}
	return config.Parse(c.Config, text, config.Options{
		Set:     c.Set,
		Environ: c.Environ,
		Warn:    func(message string) { c.Logger.Warn(message) },
	})
}

func (c *call) readConfig(ctx context.Context) ([]byte, error) {
	if !strings.HasPrefix(c.Config, "s3://") {
		text, err := readBounded(c.Config, config.MaxBytes)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, &exitError{exitConfig, fmt.Errorf("no pipeline file: %w", err), "batcher init writes a first one; -c names another"}
		case err != nil:
			return nil, &exitError{exitConfig, fmt.Errorf("read the pipeline file: %w", err), ""}
		}
		return text, nil
	}
	text, err := c.verbs.ReadFile(ctx, c.Config)
	if err != nil {
		return nil, fmt.Errorf("read the pipeline file %s: %w", c.Config, err)
	}
	return text, nil
}

// readBounded reads a file of at most limit bytes, and one more of a longer one.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}
