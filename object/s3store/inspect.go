package s3store

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"batcher/object"
)

// Inspect implements object.Inspector: versioning, lifecycle rules that would
// delete what batcher needs, and replication. What the credentials may not read,
// or the service does not know, is said and is no failure.
func (s *Store) Inspect(ctx context.Context) ([]object.Remark, error) {
	var out []object.Remark
	for _, look := range []func(context.Context) (object.Remark, error){s.versioning, s.lifecycle, s.replication} {
		remark, err := look(ctx)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			remark.Text = "could not be read: " + reason(err)
		}
		if remark.Text != "" {
			out = append(out, remark)
		}
	}
	return out, nil
}

// reason is the service's code for a failure, without the request around it.
func reason(err error) string {
	if _, code := answer(err); code != "" {
		return code
	}
	return err.Error()
}

func (s *Store) versioning(ctx context.Context) (object.Remark, error) {
	r := object.Remark{Subject: "versioning"}
	got, err := s.client.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &s.bucket})
	if err == nil && got.Status == types.BucketVersioningStatusEnabled {
		r.Text = "the bucket keeps every version: the overwritten hint and what gc deletes stay until a lifecycle rule expires noncurrent versions"
	}
	return r, err
}

func (s *Store) lifecycle(ctx context.Context) (object.Remark, error) {
	r := object.Remark{Subject: "lifecycle"}
	got, err := s.client.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &s.bucket})
	if _, code := answer(err); code == "NoSuchLifecycleConfiguration" {
		r.Text = "no rule aborts incomplete multipart uploads: parts of killed uploads are billed for ever"
		return r, nil
	}
	if err != nil {
		return r, err
	}
	aborts := false
	for _, rule := range got.Rules {
		if rule.Status != types.ExpirationStatusEnabled {
			continue
		}
		aborts = aborts || rule.AbortIncompleteMultipartUpload != nil
		if prefix := rulePrefix(rule); rule.Expiration != nil && (strings.HasPrefix(s.prefix, prefix) || strings.HasPrefix(prefix, s.prefix)) {
			r.Text = fmt.Sprintf("rule %q expires objects below %q: it would delete manifests or live data files", text(rule.ID), prefix)
			return r, nil
		}
	}
	if !aborts {
		r.Text = "no rule aborts incomplete multipart uploads: parts of killed uploads are billed for ever"
	}
	return r, nil
}

// rulePrefix is the prefix that a rule applies to, in either of its old and new
// places; "" is the whole bucket.
func rulePrefix(rule types.LifecycleRule) string {
	if f := rule.Filter; f != nil {
		if f.And != nil {
			return text(f.And.Prefix)
		}
		return text(f.Prefix)
	}
	return text(rule.Prefix) //nolint:staticcheck // rules made before filters still carry it
}

func (s *Store) replication(ctx context.Context) (object.Remark, error) {
	r := object.Remark{Subject: "replication"}
	_, err := s.client.GetBucketReplication(ctx, &s3.GetBucketReplicationInput{Bucket: &s.bucket})
	if _, code := answer(err); code == "ReplicationConfigurationNotFoundError" {
		return r, nil
	}
	if err == nil {
		r.Text = "the bucket is replicated: never write through a replica, it decides slots of its own; adopt a copy instead"
	}
	return r, err
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
