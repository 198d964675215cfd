package s3store

import (
	"context"
	"crypto/tls"
	"errors"
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
func (s *Store) fail(ctx context.Context, op operation, what string, err error) error {
	status, code := answer(err)
	if status == 0 && ctx.Err() != nil {
		return s.ended(ctx.Err(), op, what, err)
	}
	f := &failure{what: what, kind: sentinel(op, status, code), err: err}
	_, credentials := errors.AsType[*credentialsError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case certificate: // the handshake failed, so nothing was sent, and the next try will end the same
		f.kind = object.ErrUnsupported
		f.says = said{"the certificate of " + s.end.String() + " is not trusted (" + innermost(err) + ")", "ca_file names further authorities"}
	case credentials && !transient(status):
		f.kind = object.ErrDenied
		f.says = noCredentials(err)
	case status == 0:
		f.says = s.unanswered(err)
	default:
		f.says = s.answered(op, status, code, err)
		if id := requestID(err); id != "" && status != http.StatusNotFound {
			f.what += ", request " + id
		}
	}
	return f
}

// ended is the error for an end of the context, which came before any answer.
func (s *Store) ended(end error, op operation, what string, err error) error {
	f := &failure{what: what, kind: end, err: end, says: said{cause: end.Error()}}
	if op == putOp {
		f.kind = object.ErrUnknown
	}
	_, credentials := errors.AsType[*credentialsError](err)
	switch {
	case !errors.Is(end, context.DeadlineExceeded):
	case credentials:
		f.says = said{"no credentials were found in time", setCredentials}
	default:
		f.says = said{"cannot reach " + s.end.String() + " (no answer)", s.end.cure}
	}
	return f
}

// failure is an error that names the cause first, then the cure, then what was being
// done. What the SDK said of it is for errors.As.
type failure struct {
	what string
	says said
	kind error // the sentinel
	err  error
}

// said is a cause and its cure, which may be empty.
type said struct{ cause, cure string }

// Error implements error.
func (f *failure) Error() string {
	text := f.says.cause
	if f.says.cure != "" {
		text += ": " + f.says.cure
	}
	return text + " (" + f.what + ")"
}

// Explained implements object.Explained.
func (f *failure) Explained() {}

// Unwrap returns the sentinel and what the SDK said.
func (f *failure) Unwrap() []error {
	if f.err == nil {
		return []error{f.kind}
	}
	return []error{f.kind, f.err}
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
