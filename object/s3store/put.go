package s3store

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"

	"batcher/object"
)

// Put implements object.Store with one PutObject. The service tells no time,
// so that Info.Modified is zero.
func (s *Store) Put(ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
	what := "put " + s.place(key)
	if err := orEmptyKey(key); err != nil {
		return object.Info{}, fmt.Errorf("%s: %w", what, err)
	}
	in := &s3.PutObjectInput{
		Bucket: &s.bucket, Key: s.full(key),
		Body: bytes.NewReader(body), ContentLength: aws.Int64(int64(len(body))),
	}
	if cond == object.IfAbsent {
		in.IfNoneMatch = aws.String("*")
	}
	in.ServerSideEncryption, in.SSEKMSKeyId = s.encryption()
	in.ChecksumCRC32 = s.checksum(body)
	out, err := s.client.PutObject(ctx, in, s.payload)
	if err != nil {
		err = s.fail(ctx, putOp, what, err)
		if cond == object.Always && errors.Is(err, object.ErrExists) {
			return object.Info{}, fmt.Errorf("%s: 412 without a condition: %w", what, object.ErrUnsupported)
		}
		return object.Info{}, err
	}
	return object.Info{Key: key, Size: int64(len(body)), ETag: spelled(out.ETag), Version: version(out.VersionId)}, nil
}

// Delete implements object.Store. In a bucket with versions it leaves a delete
// marker.
func (s *Store) Delete(ctx context.Context, key string) error {
	what := "delete " + s.place(key)
	if err := orEmptyKey(key); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: s.full(key)})
	if err == nil {
		return nil
	}
	if err = s.fail(ctx, deleteOp, what, err); errors.Is(err, object.ErrNotFound) {
		return nil
	}
	return err
}

// encryption returns what asks for the configured KMS key.
func (s *Store) encryption() (types.ServerSideEncryption, *string) {
	if s.kmsKey == "" {
		return "", nil
	}
	return types.ServerSideEncryptionAwsKms, &s.kmsKey
}

// checksum returns the CRC32 header of a payload, nil in SHA256 mode.
func (s *Store) checksum(body []byte) *string {
	if !s.crc {
		return nil
	}
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(body))
	return aws.String(base64.StdEncoding.EncodeToString(sum))
}

// payload signs the SHA-256 of the payload in SHA256 mode, which the SDK by
// itself leaves out over TLS. In CRC32 mode that is as wanted: it would hash
// every byte a second time. Without TLS the SDK signs the payload in any case.
func (s *Store) payload(o *s3.Options) {
	if s.crc {
		return
	}
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		sign := &v4.ComputePayloadSHA256{}
		_, err := stack.Finalize.Swap(sign.ID(), sign)
		return err
	})
}
