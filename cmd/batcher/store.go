package main

import (
	"context"
	"path"

	"batcher/config"
	"batcher/object"
	"batcher/object/filestore"
	"batcher/object/retry"
	"batcher/object/s3store"
)

// openStore opens a place. It makes no request. What may be repeated on a
// network is repeated within bounds; a conditional PUT never is, because commit
// settles it.
func openStore(ctx context.Context, at config.Location, how config.S3) (object.Store, error) {
	return openPlace(ctx, at, how, retry.Default())
}

// openPlace is openStore with another policy.
func openPlace(ctx context.Context, at config.Location, how config.S3, policy retry.Policy) (object.Store, error) {
	if !at.IsS3() {
		return filestore.New(at.Dir)
	}
	s, err := s3store.New(ctx, s3store.Config{
		Bucket: at.Bucket, Prefix: at.Prefix,
		Endpoint: string(how.Endpoint), Region: how.Region, Profile: how.Profile, RoleARN: how.RoleARN,
		CAFile: string(how.CAFile), SSEKMSKey: how.SSEKMSKey, PathStyle: how.PathStyle,
		Retry: retry.Loop(policy, retry.System()),
	})
	if err != nil {
		return nil, err
	}
	return retry.New(s, policy, retry.System()), nil
}

// readRemote reads a pipeline file from a bucket.
func readRemote(ctx context.Context, address string) ([]byte, error) {
	at, err := config.ParseLocation(address)
	if err != nil {
		return nil, usageError("", "%s: %w", address, err)
	}
	key := path.Base(at.Prefix)
	at.Prefix = path.Dir(at.Prefix)
	if at.Prefix == "." {
		at.Prefix = ""
	}
	store, err := openStore(ctx, at, config.S3{})
	if err != nil {
		return nil, err
	}
	text, _, err := object.ReadAll(ctx, store, key, object.GetOptions{}, config.MaxBytes)
	return text, err
}
