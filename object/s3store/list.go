package s3store

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"batcher/object"
)

// List implements object.Store, one ListObjectsV2 for each page. A "folder
// marker", an empty object whose key is the prefix itself, is left out.
func (s *Store) List(ctx context.Context, prefix string, depth object.Depth) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		token := ""
		for {
			page, next, err := s.ListPage(ctx, prefix, depth, token)
			if err != nil {
				yield(object.Info{}, err)
				return
			}
			for _, info := range page {
				if !yield(info, nil) {
					return
				}
			}
			if token = next; token == "" {
				return
			}
		}
	}
}

// ListPage implements object.Pager.
func (s *Store) ListPage(ctx context.Context, prefix string, depth object.Depth, token string) ([]object.Info, string, error) {
	what := "list " + s.place(prefix)
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		return nil, "", fmt.Errorf("%s: the prefix must end in a slash: %w", what, object.ErrUnsupported)
	}
	// Keys may hold characters that XML cannot; in URL encoding all can travel.
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: s.full(prefix), EncodingType: types.EncodingTypeUrl}
	if depth == object.Shallow {
		in.Delimiter = aws.String("/")
	}
	if token != "" {
		in.ContinuationToken = &token
	}
	out, err := s.client.ListObjectsV2(ctx, in)
	if err != nil {
		return nil, "", s.fail(ctx, listOp, what, err)
	}
	page, err := s.entries(prefix, out)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", what, err)
	}
	if !aws.ToBool(out.IsTruncated) {
		return page, "", nil
	}
	next := aws.ToString(out.NextContinuationToken)
	if next == "" || next == token {
		return nil, "", fmt.Errorf("%s: a truncated page without a token for the next: %w", what, object.ErrUnsupported)
	}
	return page, next, nil
}

// entries translates one page.
func (s *Store) entries(prefix string, out *s3.ListObjectsV2Output) ([]object.Info, error) {
	page := make([]object.Info, 0, len(out.Contents)+len(out.CommonPrefixes))
	for _, o := range out.Contents {
		key, err := s.relative(o.Key, out.EncodingType)
		if err != nil {
			return nil, err
		}
		size := aws.ToInt64(o.Size)
		if key == "" || key == prefix && size == 0 {
			continue // "" is a marker of the store's own prefix and no key of it
		}
		page = append(page, object.Info{Key: key, Size: size, ETag: spelled(o.ETag), Modified: instant(o.LastModified)})
	}
	for _, p := range out.CommonPrefixes {
		key, err := s.relative(p.Prefix, out.EncodingType)
		if err != nil {
			return nil, err
		}
		page = append(page, object.Info{Key: key, Size: object.FolderSize})
	}
	return page, nil
}

// relative decodes a listed key and takes the store's prefix off.
func (s *Store) relative(listed *string, encoding types.EncodingType) (string, error) {
	key := aws.ToString(listed)
	if encoding == types.EncodingTypeUrl {
		decoded, err := url.QueryUnescape(key)
		if err != nil {
			return "", fmt.Errorf("key %q is not in URL encoding: %w", key, object.ErrUnsupported)
		}
		key = decoded
	}
	rest, ok := strings.CutPrefix(key, s.prefix)
	if !ok {
		return "", fmt.Errorf("key %q is not below %q: %w", key, s.prefix, object.ErrUnsupported)
	}
	return rest, nil
}
