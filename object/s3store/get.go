package s3store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"batcher/object"
)

// Get implements object.Store with one GetObject. A range beyond the end,
// which the service answers with 416, costs a HeadObject more, and one under another
// ETag than it is pinned to a second GetObject, which tells what stands there: it may
// be the same ETag in another spelling.
func (s *Store) Get(ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	what := "get " + s.place(key)
	if _, _, err := opts.Span(0); err != nil || key == "" {
		return nil, object.Info{}, fmt.Errorf("%s: %w", what, errors.Join(err, orEmptyKey(key)))
	}
	in := &s3.GetObjectInput{Bucket: &s.bucket, Key: s.full(key), Range: rangeHeader(opts)}
	if opts.ETag != "" {
		in.IfMatch = &opts.ETag
	}
	out, err := s.client.GetObject(ctx, in)
	if status, _ := answer(err); err != nil && status == http.StatusPreconditionFailed && opts.ETag != "" {
		in.IfMatch = nil
		out, err = s.client.GetObject(ctx, in)
	}
	if err != nil {
		if status, _ := answer(err); status == http.StatusRequestedRangeNotSatisfiable {
			return s.emptyRange(ctx, key, opts)
		}
		return nil, object.Info{}, s.fail(ctx, getOp, what, err)
	}
	total, length, err := extent(opts, aws.ToString(out.ContentRange), out.ContentLength)
	if err != nil {
		out.Body.Close()
		return nil, object.Info{}, fmt.Errorf("%s: %w", what, err)
	}
	info := object.Info{
		Key: key, Size: total, ETag: spelled(out.ETag),
		Version: version(out.VersionId), Modified: instant(out.LastModified),
	}
	if opts.ETag != "" && !sameETag(spelled(&opts.ETag), info.ETag) {
		out.Body.Close() // or the service does not know If-Match
		return nil, object.Info{}, fmt.Errorf("%s pinned to %s: it is now %s: %w", what, opts.ETag, info.ETag, object.ErrChanged)
	}
	return &body{ctx: ctx, what: what, inner: out.Body, left: length}, info, nil
}

// emptyRange answers a read that begins at or after the end of the object.
func (s *Store) emptyRange(ctx context.Context, key string, opts object.GetOptions) (io.ReadCloser, object.Info, error) {
	in := &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.full(key)}
	out, err := s.client.HeadObject(ctx, in)
	if err != nil {
		return nil, object.Info{}, s.fail(ctx, getOp, "get "+key, err)
	}
	info := object.Info{
		Key: key, Size: aws.ToInt64(out.ContentLength), ETag: spelled(out.ETag),
		Version: version(out.VersionId), Modified: instant(out.LastModified),
	}
	if opts.ETag != "" && !sameETag(spelled(&opts.ETag), info.ETag) {
		return nil, object.Info{}, fmt.Errorf("get %s pinned to %s: it is now %s: %w", key, opts.ETag, info.ETag, object.ErrChanged)
	}
	if info.Size > opts.From {
		return nil, object.Info{}, fmt.Errorf("get %s: it grew to %d bytes during the read: %w", key, info.Size, object.ErrChanged)
	}
	return io.NopCloser(strings.NewReader("")), info, nil
}

// rangeHeader returns the Range of a request, nil for the whole object.
func rangeHeader(opts object.GetOptions) *string {
	switch {
	case opts.Limit > 0:
		return aws.String(fmt.Sprintf("bytes=%d-%d", opts.From, opts.From+opts.Limit-1))
	case opts.From > 0:
		return aws.String(fmt.Sprintf("bytes=%d-", opts.From))
	}
	return nil
}

// extent returns the size of the object and the length of the body that
// follows, and refuses an answer that is not the range that was asked for.
func extent(opts object.GetOptions, contentRange string, contentLength *int64) (total, length int64, err error) {
	if contentLength == nil {
		return 0, 0, fmt.Errorf("the answer has no length: %w", object.ErrUnsupported)
	}
	length, total = *contentLength, *contentLength
	if contentRange != "" { // "bytes 0-9/100"
		_, size, _ := strings.Cut(contentRange, "/")
		if total, err = strconv.ParseInt(size, 10, 64); err != nil {
			return 0, 0, fmt.Errorf("content range %q: %w", contentRange, object.ErrUnsupported)
		}
	}
	from, to, err := opts.Span(total)
	if err != nil {
		return 0, 0, err
	}
	if length != to-from {
		return 0, 0, fmt.Errorf("%d bytes for a range of %d; the service ignores Range: %w", length, to-from, object.ErrUnsupported)
	}
	return total, length, nil
}

// body counts what arrives, so that an early end is an error.
type body struct {
	ctx   context.Context
	what  string
	inner io.ReadCloser
	left  int64
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.inner.Read(p)
	b.left -= int64(n)
	switch {
	case err == nil:
		return n, nil
	case err == io.EOF && b.left == 0:
		return n, io.EOF
	case b.ctx.Err() != nil:
		return n, fmt.Errorf("%s: %w", b.what, b.ctx.Err())
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return n, fmt.Errorf("%s: %d bytes before the end: %w: %w", b.what, b.left, object.ErrUnknown, err)
}

// Close implements io.Closer.
func (b *body) Close() error { return b.inner.Close() }

// full returns the key as the bucket knows it.
func (s *Store) full(key string) *string { return aws.String(s.prefix + key) }

// orEmptyKey is the error of an empty key.
func orEmptyKey(key string) error {
	if key == "" {
		return fmt.Errorf("empty key: %w", object.ErrUnsupported)
	}
	return nil
}

// version returns a version id; "null" is what buckets without versions say.
func version(id *string) string {
	if v := aws.ToString(id); v != "null" {
		return v
	}
	return ""
}

func instant(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
