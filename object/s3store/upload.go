package s3store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"batcher/object"
)

const (
	// partSize is the size of every part but the last. Parts are constant,
	// because some services demand it. One upload holds at most two of them in
	// memory: one that is filled and one that is sent.
	partSize = 16 << 20
	// maxParts is the service's limit; with partSize it allows 156 GiB.
	maxParts = 10_000
	// abortTimeout bounds the clean-up under a cancelled context.
	abortTimeout = 30 * time.Second
)

// Upload implements object.Uploader. What fits in one part becomes one plain
// PutObject; more is a multipart upload, whose parts are sent while the next
// one is filled. ctx bounds the parts that Write sends.
func (s *Store) Upload(ctx context.Context, key string) (object.Upload, error) {
	if err := orEmptyKey(key); err != nil {
		return nil, fmt.Errorf("upload: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("upload %s: %w", key, err)
	}
	return &upload{store: s, ctx: ctx, key: key, what: "upload " + s.place(key)}, nil
}

// upload belongs to one goroutine.
type upload struct {
	store     *Store
	ctx       context.Context
	key, what string

	buf, spare []byte // the part being filled; a buffer to use next
	size       int64
	id         *string // of the multipart upload, nil before the first part
	parts      []types.CompletedPart
	sending    chan error // result of the part under way, nil if none
	spent      bool
	err        error // the first failure
}

// Write implements io.Writer.
func (u *upload) Write(p []byte) (int, error) {
	if u.spent {
		return 0, fmt.Errorf("%s: write after its end: %w", u.what, object.ErrUnsupported)
	}
	written := 0
	for len(p) > 0 && u.err == nil {
		if len(u.buf) == partSize {
			u.err = u.send()
			continue
		}
		n := min(len(p), partSize-len(u.buf))
		u.buf = append(u.buf, p[:n]...)
		p = p[n:]
		written += n
		u.size += int64(n)
	}
	return written, u.err
}

// send waits for the part under way and starts sending the filled one.
func (u *upload) send() error {
	if err := u.wait(); err != nil {
		return err
	}
	if u.id == nil {
		if err := u.begin(); err != nil {
			return err
		}
	}
	if len(u.parts) == maxParts {
		return fmt.Errorf("%s: more than %d parts: %w", u.what, maxParts, object.ErrUnsupported)
	}
	part, number := u.buf, int32(len(u.parts)+1)
	u.parts = append(u.parts, types.CompletedPart{PartNumber: &number})
	done, slot := make(chan error, 1), &u.parts[number-1]
	go func() {
		done <- u.store.retry(u.ctx, func(ctx context.Context) error { return u.sendPart(ctx, part, slot) })
	}()
	u.sending, u.buf, u.spare = done, u.spare[:0], part
	return nil
}

// wait returns the result of the part under way.
func (u *upload) wait() error {
	if u.sending == nil {
		return nil
	}
	err := <-u.sending
	u.sending = nil
	return err
}

// begin makes the multipart upload.
func (u *upload) begin() error {
	in := &s3.CreateMultipartUploadInput{Bucket: &u.store.bucket, Key: u.store.full(u.key)}
	in.ServerSideEncryption, in.SSEKMSKeyId = u.store.encryption()
	if u.store.crc {
		in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32
	}
	return u.store.retry(u.ctx, func(ctx context.Context) error {
		out, err := u.store.client.CreateMultipartUpload(ctx, in)
		if err != nil {
			return u.store.fail(ctx, putOp, u.what, err)
		}
		u.id = out.UploadId
		return nil
	})
}

// sendPart sends one part once.
func (u *upload) sendPart(ctx context.Context, part []byte, slot *types.CompletedPart) error {
	out, err := u.store.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &u.store.bucket, Key: u.store.full(u.key), UploadId: u.id, PartNumber: slot.PartNumber,
		Body: bytes.NewReader(part), ContentLength: aws.Int64(int64(len(part))),
		ChecksumCRC32: u.store.checksum(part),
	}, u.store.payload)
	if err != nil {
		return u.store.fail(ctx, putOp, fmt.Sprintf("%s: part %d", u.what, *slot.PartNumber), err)
	}
	slot.ETag, slot.ChecksumCRC32 = out.ETag, out.ChecksumCRC32
	return nil
}

// Complete implements object.Upload.
func (u *upload) Complete(ctx context.Context) (object.Info, error) {
	if u.spent {
		return object.Info{}, fmt.Errorf("%s: completed after its end: %w", u.what, object.ErrUnsupported)
	}
	var info object.Info
	if u.id == nil && u.err == nil && len(u.parts) == 0 {
		u.spent = true
		err := u.store.retry(ctx, func(ctx context.Context) (err error) {
			info, err = u.store.Put(ctx, u.key, u.buf, object.Always)
			return err
		})
		return info, err
	}
	if u.err == nil {
		u.err = u.send()
	}
	if err := u.wait(); u.err == nil {
		u.err = err
	}
	if u.err == nil {
		u.err = u.store.retry(ctx, func(ctx context.Context) (err error) {
			info, err = u.assemble(ctx)
			return err
		})
	}
	if u.err != nil {
		return object.Info{}, errors.Join(u.err, u.Abort(ctx))
	}
	u.spent = true
	return info, nil
}

// assemble asks for the object to be made of its parts. The service forgets
// the upload when it has done so: an answer that was lost shows as 404 at the
// next try, and the object tells the truth. Its key is this upload's alone.
func (u *upload) assemble(ctx context.Context) (object.Info, error) {
	out, err := u.store.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &u.store.bucket, Key: u.store.full(u.key), UploadId: u.id,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
	})
	if err == nil {
		return object.Info{Key: u.key, Size: u.size, ETag: spelled(out.ETag), Version: version(out.VersionId)}, nil
	}
	if _, code := answer(err); code != "NoSuchUpload" {
		return object.Info{}, u.store.fail(ctx, putOp, u.what, err)
	}
	head, headErr := u.store.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &u.store.bucket, Key: u.store.full(u.key)})
	if headErr != nil || aws.ToInt64(head.ContentLength) != u.size {
		return object.Info{}, fmt.Errorf("%s: the upload is gone and the object is not there: %w: %w", u.what, object.ErrUnknown, errors.Join(err, headErr))
	}
	return object.Info{
		Key: u.key, Size: u.size, ETag: spelled(head.ETag),
		Version: version(head.VersionId), Modified: instant(head.LastModified),
	}, nil
}

// Abort implements object.Upload. It works under a cancelled context too.
func (u *upload) Abort(ctx context.Context) error {
	if u.spent {
		return nil
	}
	u.spent = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	// A part that arrives after the abort would stay for ever, so wait for it.
	_ = u.wait() // whether it arrived no longer matters
	u.buf, u.spare = nil, nil
	if u.id == nil {
		return nil
	}
	_, err := u.store.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: &u.store.bucket, Key: u.store.full(u.key), UploadId: u.id,
	})
	if _, code := answer(err); err == nil || code == "NoSuchUpload" {
		return nil
	}
	return u.store.fail(ctx, deleteOp, "abort "+u.what, err)
}
