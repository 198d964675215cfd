package s3store

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// spelled is an ETag as Amazon S3 spells it, in quotes and strong. Gateways and proxies
// leave the quotes out, or make it weak on the way because they compress what follows;
// a listing and a read of one object may differ in that.
func spelled(etag *string) string {
	tag := strings.TrimPrefix(aws.ToString(etag), "W/")
	if tag == "" || strings.HasPrefix(tag, `"`) {
		return tag
	}
	return `"` + tag + `"`
}

// sameETag says whether two spelled ETags name one content. Those that are hash sums
// are the same in letters of either case.
func sameETag(a, b string) bool {
	return a == b || len(a) == len(b) && isSum(a) && strings.EqualFold(a, b)
}

// isSum says whether an ETag is the sum that stores make: 32 hex digits, and behind a
// hyphen the number of parts.
func isSum(etag string) bool {
	sum, parts, _ := strings.Cut(strings.Trim(etag, `"`), "-")
	return len(sum) == 32 && strings.Trim(sum, "0123456789abcdefABCDEF") == "" && strings.Trim(parts, "0123456789") == ""
}
