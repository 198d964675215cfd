package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// sample is what to seed a bucket with.
type sample struct {
	bucket  string
	prefix  string // of the keys
	files   int
	records int // of each file
}

// seedCommand makes the bucket and puts the sample's objects where they are
// missing, so that it may be repeated. The credentials are AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY. It prints what the bucket now holds of the sample.
func seedCommand(ctx context.Context, args []string, out io.Writer) error {
	endpoint, err := url.Parse(args[0])
	if err != nil || endpoint.Host == "" {
		return fmt.Errorf("endpoint %q: wants an address like http://127.0.0.1:9000", args[0])
	}
	s := sample{bucket: args[1], prefix: args[2]}
	if s.files, err = count(args[3]); err != nil {
		return err
	}
	if s.records, err = count(args[4]); err != nil {
		return err
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewEnvAWS(),
		Secure: endpoint.Scheme == "https",
	})
	if err != nil {
		return fmt.Errorf("reach %s: %w", endpoint.Host, err)
	}
	added, err := seed(ctx, client, s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `{"bucket":%q,"objects":%d,"records":%d,"added":%d}`+"\n", s.bucket, s.files, s.files*s.records, added)
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
func seed(ctx context.Context, client *minio.Client, s sample) (added int, err error) {
	err = client.MakeBucket(ctx, s.bucket, minio.MakeBucketOptions{})
	var refused minio.ErrorResponse
	if err != nil && (!errors.As(err, &refused) || refused.Code != "BucketAlreadyOwnedByYou") {
		return 0, fmt.Errorf("make bucket %s: %w", s.bucket, err)
	}
	for file := range s.files {
		body := events(file, s.records)
		key := path.Join(s.prefix, fmt.Sprintf("events-%04d.ndjson", file))
		opts := minio.PutObjectOptions{ContentType: "application/x-ndjson"}
		opts.SetMatchETagExcept("*") // If-None-Match: never touch what is there
		_, err := client.PutObject(ctx, s.bucket, key, bytes.NewReader(body), int64(len(body)), opts)
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

// events returns one file of the sample: orders, one JSON object a line, with
// text, numbers, a flag, a time, a nested object and a field that not all have.
func events(file, records int) []byte {
	random := rand.New(rand.NewPCG(1, uint64(file)))
	start := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(file) * time.Hour)
	kinds := []string{"placed", "paid", "shipped", "returned"}
	var b bytes.Buffer
	for i := range records {
		at := start.Add(time.Duration(i) * time.Hour / time.Duration(records))
		fmt.Fprintf(&b, `{"id":"%d-%d","ts":%q,"kind":%q,"amount":%d.%02d,"express":%t,"customer":{"id":%d,"country":%q}`,
			file, i, at.Format(time.RFC3339Nano), kinds[random.IntN(len(kinds))], random.IntN(500), random.IntN(100),
			random.IntN(4) == 0, random.IntN(10000), []string{"AT", "BR", "CA", "DE"}[random.IntN(4)])
		if random.IntN(5) == 0 {
			fmt.Fprintf(&b, `,"note":"leave it at door %d"`, random.IntN(50))
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}
