package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"batcher/localdev"
)

// seedCommand makes the bucket and puts the sample's objects where they are
// missing, so that it may be repeated. The credentials are AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY. It prints what the bucket now holds of the sample.
func seedCommand(ctx context.Context, args []string, out io.Writer) error {
	endpoint, err := url.Parse(args[0])
	if err != nil || endpoint.Host == "" {
		return fmt.Errorf("endpoint %q: wants an address like http://127.0.0.1:9000", args[0])
	}
	bucket, sample := args[1], localdev.SeedOptions{Prefix: args[2], Seed: 1}
	if sample.Prefix != "" && !strings.HasSuffix(sample.Prefix, "/") {
		sample.Prefix += "/"
	}
	if sample.Objects, err = count(args[3]); err != nil {
		return err
	}
	if sample.Records, err = count(args[4]); err != nil {
		return err
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewEnvAWS(),
		Secure: endpoint.Scheme == "https",
	})
	if err != nil {
		return fmt.Errorf("reach %s: %w", endpoint.Host, err)
	}
	added, err := seed(ctx, client, bucket, sample)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `{"bucket":%q,"objects":%d,"records":%d,"added":%d}`+"\n", bucket, sample.Objects, sample.Objects*sample.Records, added)
	return err
}

// count reads a number of files or records, from 1 to a million.
func count(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1e6 {
		return 0, fmt.Errorf("%q: wants a number from 1 to a million", text)
	}
	return n, nil
}

// seed makes the bucket unless it is there, and each object unless it is there.
// It returns how many objects it made.
func seed(ctx context.Context, client *minio.Client, bucket string, sample localdev.SeedOptions) (added int, err error) {
	err = client.MakeBucket(ctx, bucket, minio.MakeBucketOptions{})
	var refused minio.ErrorResponse
	if err != nil && (!errors.As(err, &refused) || refused.Code != "BucketAlreadyOwnedByYou") {
		return 0, fmt.Errorf("make bucket %s: %w", bucket, err)
	}
	for file := range sample.Objects {
		key, body, err := sample.Object(file)
		if err != nil {
			return added, err
		}
		opts := minio.PutObjectOptions{ContentType: "application/x-ndjson"}
		opts.SetMatchETagExcept("*") // If-None-Match: never touch what is there
		_, err = client.PutObject(ctx, bucket, key, bytes.NewReader(body), int64(len(body)), opts)
		switch {
		case errors.As(err, &refused) && refused.StatusCode == http.StatusPreconditionFailed:
		case err != nil:
			return added, fmt.Errorf("put %s: %w", key, err)
		default:
			added++
		}
	}
	return added, nil
}
