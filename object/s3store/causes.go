package s3store

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// setCredentials is how a process gets credentials.
const setCredentials = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or s3.profile"

// noCredentials tells why there is nothing to sign a request with.
func noCredentials(err error) said {
	if text := err.Error(); strings.Contains(text, "IMDS") || strings.Contains(text, "static credentials are empty") {
		return said{"no credentials were found", setCredentials}
	}
	return said{"the credentials could not be got (" + innermost(err) + ")", "check the profile, and s3.role_arn"}
}

// unanswered tells why no answer came.
func (s *Store) unanswered(err error) said {
	unreached := func(why string) said { return said{"cannot reach " + s.end.String() + " (" + why + ")", s.end.cure} }
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return unreached("unknown host " + dns.Name)
		}
		return unreached("the name server does not know " + dns.Name + " at the moment")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return said{s.end.String() + " does not speak TLS", "the endpoint is to begin with http://"}
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		if dial.Timeout() {
			return unreached("no answer")
		}
		return unreached(innermost(dial))
	}
	timeout, _ := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), timeout != nil && timeout.Timeout():
		return unreached("no answer")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return said{"the connection to " + s.end.String() + " broke (" + innermost(err) + ")", ""}
	}
	return said{"no answer from " + s.end.String() + " (" + innermost(err) + ")", ""}
}

// innermost is the text of the error that all others wrap.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// permissions are what the operations need.
var permissions = map[operation]string{
	getOp: "s3:GetObject", putOp: "s3:PutObject", listOp: "s3:ListBucket", deleteOp: "s3:DeleteObject",
}

// answered tells what an answer of the service means for people.
func (s *Store) answered(op operation, status int, code string, err error) said {
	if region, elsewhere := otherRegion(status, code, err); elsewhere {
		return said{"set AWS_REGION or s3.region", "the bucket is in " + region}
	}
	switch code {
	case "NoSuchBucket":
		return said{"bucket " + s.bucket + " does not exist", "create it, or check its name and " + cmp.Or(s.end.setting, "the account")}
	case "RequestTimeTooSkewed":
		return said{"the clock of this machine is " + skew(err) + " off", "set it by NTP: the store takes no request signed at another time"}
	case "InvalidAccessKeyId":
		return said{"the store does not know the access key", "check AWS_ACCESS_KEY_ID, or the profile"}
	case "SignatureDoesNotMatch":
		return said{"the secret key is not that of the access key", "check AWS_SECRET_ACCESS_KEY, or the profile"}
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired":
		return said{"the credentials have expired", "get new ones"}
	case "InvalidToken":
		return said{"the session token is not valid", "check AWS_SESSION_TOKEN"}
	case "XMinioStorageFull", "StorageFull", "InsufficientStorage", "XMinioDiskFull", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded":
		return said{"the disk of the store is full, or its quota used up", "make room there"}
	case "InvalidObjectState":
		return said{"the object is in an archive (InvalidObjectState)", "restore it first"}
	}
	switch status {
	case http.StatusInsufficientStorage:
		return said{"the disk of the store is full, or its quota used up", "make room there"}
	case http.StatusForbidden, http.StatusUnauthorized:
		return s.denied(op, code, err)
	case http.StatusNotFound:
		if op == listOp {
			return said{"there is no S3 store at " + s.end.String() + ", which answered 404" + named(code), s.end.cure}
		}
		return said{"not found" + named(code), ""}
	case http.StatusPreconditionFailed:
		return said{"the condition does not hold: " + map[operation]string{putOp: "there is an object already", getOp: "the object has changed"}[op], ""}
	}
	return said{fmt.Sprintf("the store answered %d", status) + named(strings.TrimSuffix(code+": "+message(err), ": ")), ""}
}

// denied names the permission that is missing.
func (s *Store) denied(op operation, code string, err error) said {
	cause := "access denied"
	if text := message(err); text != "" && strings.TrimSuffix(text, ".") != "Access Denied" {
		cause += " (" + text + ")"
	} else if code != "" && code != "AccessDenied" {
		cause += named(code)
	}
	place := "s3://" + s.bucket + "/" + s.prefix + "*"
	if op == listOp {
		place = "bucket " + s.bucket
	}
	cure := "grant " + permissions[op] + " on " + place
	if op == getOp {
		cure += ", and s3:ListBucket, without which what is absent looks denied"
	}
	return said{cause, cure}
}

// named is a word of the service in parentheses.
func named(code string) string {
	if code == "" {
		return ""
	}
	return " (" + code + ")"
}

// message is what the service says of its error code; "" if it only repeats it.
func message(err error) string {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok || api.ErrorMessage() == api.ErrorCode() {
		return ""
	}
	return strings.Join(strings.Fields(api.ErrorMessage()), " ")
}

// expecting is how the service names a bucket's region in a message.
var expecting = regexp.MustCompile(`expecting '([a-z0-9-]+)'`)

// otherRegion finds in an answer that the bucket is in another region than requests
// are signed for.
func otherRegion(status int, code string, err error) (region string, elsewhere bool) {
	switch code {
	case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
	default:
		if status != http.StatusMovedPermanently {
			return "", false
		}
	}
	region = header(err).Get("X-Amz-Bucket-Region")
	if m := expecting.FindStringSubmatch(message(err)); region == "" && m != nil {
		region = m[1]
	}
	return cmp.Or(region, "another region"), true
}

// skew is how far this machine's clock is from that of the service.
func skew(err error) string {
	theirs, failed := http.ParseTime(header(err).Get("Date"))
	if failed != nil {
		return "far"
	}
	off := time.Since(theirs).Abs()
	switch minutes := int(off.Round(time.Minute) / time.Minute); {
	case minutes > 120:
		return fmt.Sprintf("%d hours", int(off.Round(time.Hour)/time.Hour))
	default:
		return fmt.Sprintf("%d minutes", minutes)
	}
}

// header returns the head of the service's answer.
func header(err error) http.Header {
	res, ok := errors.AsType[*awshttp.ResponseError](err)
	if !ok || res.Response == nil || res.Response.Response == nil {
		return http.Header{}
	}
	return res.Response.Header
}

// requestID is what the provider's support asks for; "" if the answer has none.
func requestID(err error) string {
	if res, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return res.ServiceRequestID()
	}
	return ""
}
