package main

import (
	"context"
	"fmt"

	"batcher/config"
	"batcher/object"
	"batcher/object/filestore"
)

// openStore opens a place. It makes no request.
func openStore(ctx context.Context, at config.Location, how config.S3) (object.Store, error) {
	if !at.IsS3() {
		return filestore.New(at.Dir)
	}
	return nil, fmt.Errorf("s3: %w", object.ErrUnsupported)
}

// readRemote reads a pipeline file from a bucket.
func readRemote(ctx context.Context, uri string) ([]byte, error) {
	return nil, fmt.Errorf("read %s: %w", uri, object.ErrUnsupported)
}
