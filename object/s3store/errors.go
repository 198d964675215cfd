package s3store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"batcher/object"
)

// operation tells fail what an answer means.
type operation uint8

const (
	getOp operation = iota
	putOp
	listOp
	deleteOp
)

// markedCredentials marks the errors of a provider, which the SDK gives no
// type of their own.
type markedCredentials struct{ aws.CredentialsProvider }

// Retrieve implements aws.CredentialsProvider.
func (m markedCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := m.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return c, &credentialsError{err}
	}
	return c, nil
}

type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return e.err.Error() }
func (e *credentialsError) Unwrap() error { return e.err }

// fail wraps what the SDK returned with the sentinel that says what is known.
// An answer counts even under a cancelled context; without an answer the
// context's error is the reason, and a write may have happened.
func fail(ctx context.Context, op operation, what string, err error) error {
	status, code := answer(err)
	if status == 0 && ctx.Err() != nil {
		if op == putOp {
			return fmt.Errorf("%s: %w: %w", what, object.ErrUnknown, ctx.Err())
		}
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	// The handshake failed, so nothing was sent, and the next try will end the same.
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("%s: %w: its certificate is not trusted (ca_file names further authorities): %w", what, object.ErrUnsupported, err)
	}
	if _, ok := errors.AsType[*credentialsError](err); ok && !transient(status) {
		return fmt.Errorf("%s: %w: %w", what, object.ErrDenied, err)
	}
	return fmt.Errorf("%s: %w: %w", what, sentinel(op, status, code), err)
}

// answer returns the HTTP status and the error code of the service: 0 and ""
// if none came. The SDK wraps a transport error in a ResponseError whose status
// is 0.
func answer(err error) (status int, code string) {
	if res, ok := errors.AsType[*awshttp.ResponseError](err); ok && res.Response != nil && res.Response.Response != nil {
		status = res.HTTPStatusCode()
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code = api.ErrorCode()
	}
	return status, code
}

// sentinel is the meaning of an answer, as the commit protocol needs it: only
// what the service decided may count as decided.
func sentinel(op operation, status int, code string) error {
	switch code {
	case "NoSuchBucket":
		return object.ErrUnsupported
	case "RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable", "Throttling", "ThrottlingException":
		return object.ErrUnknown
	case "ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired", "InvalidAccessKeyId",
		"SignatureDoesNotMatch", "AccessDenied", "RequestTimeTooSkewed":
		return object.ErrDenied
	}
	switch {
	case transient(status), status < 300: // 0: no answer; 2xx: one that could not be read
		return object.ErrUnknown
	case status == http.StatusPreconditionFailed && op == putOp:
		return object.ErrExists
	case status == http.StatusPreconditionFailed && op == getOp:
		return object.ErrChanged
	case status == http.StatusNotFound && op != putOp:
		return object.ErrNotFound
	case status == http.StatusConflict:
		return object.ErrConflict
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return object.ErrDenied
	}
	return object.ErrUnsupported
}

// transient says that an answer decides nothing. 501 is not among them: what a
// service does not implement it will not do tomorrow.
func transient(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusRequestTimeout ||
		status >= 500 && status != http.StatusNotImplemented
}
