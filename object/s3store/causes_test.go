package s3store_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"batcher/object"
	"batcher/object/s3store"
)

// TestErrorsNameTheCauseFirst has a server give each answer, and wants the cause and the
// cure at the front, and nothing of the SDK's chain.
func TestErrorsNameTheCauseFirst(t *testing.T) {
	for _, c := range []struct {
		status        int
		code, message string
		head          map[string]string
		get, put      string // begin so; "" is as the other
	}{
		{status: 404, code: "NoSuchBucket", get: "bucket b does not exist: "},
		{status: 301, code: "PermanentRedirect", head: map[string]string{"X-Amz-Bucket-Region": "eu-west-1"}, get: "set AWS_REGION or s3.region: the bucket is in eu-west-1 ("},
		{status: 400, code: "AuthorizationHeaderMalformed", message: "The authorization header is malformed; the region 'us-east-1' is wrong; expecting 'eu-west-1'", get: "set AWS_REGION or s3.region: the bucket is in eu-west-1 ("},
		{status: 403, code: "RequestTimeTooSkewed", head: map[string]string{"Date": time.Now().Add(-20 * time.Minute).UTC().Format(http.TimeFormat)}, get: "the clock of this machine is 20 minutes off: "},
		{status: 403, code: "RequestTimeTooSkewed", head: map[string]string{"Date": time.Now().Add(5 * time.Hour).UTC().Format(http.TimeFormat)}, get: "the clock of this machine is 5 hours off: "},
		{status: 403, code: "InvalidAccessKeyId", get: "the store does not know the access key: check AWS_ACCESS_KEY_ID"},
		{status: 403, code: "SignatureDoesNotMatch", get: "the secret key is not that of the access key: check AWS_SECRET_ACCESS_KEY"},
		{status: 400, code: "ExpiredToken", get: "the credentials have expired: "},
		{status: 403, code: "AccessDenied", message: "Access Denied.", get: "access denied: grant s3:GetObject on s3://b/p/*, and s3:ListBucket", put: "access denied: grant s3:PutObject on s3://b/p/* (put s3://b/p/k"},
		{status: 403, code: "AccessDenied", message: "User: x is not authorized to perform: kms:Decrypt", get: "access denied (User: x is not authorized to perform: kms:Decrypt): "},
		{status: 507, code: "XMinioStorageFull", get: "the disk of the store is full"},
		{status: 503, code: "SlowDown", message: "Please reduce your request rate", get: "the store answered 503 (SlowDown: Please reduce your request rate) ("},
		{status: 412, code: "PreconditionFailed", get: "the condition does not hold: the object has changed (", put: "the condition does not hold: there is an object already ("},
		{status: 404, code: "NoSuchKey", get: "not found (NoSuchKey) (get s3://b/p/k)", put: "not found (NoSuchKey) ("},
	} {
		fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range c.head {
				w.Header().Set(name, value)
			}
			w.WriteHeader(c.status)
			fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>%s</Message></Error>`, c.code, c.message)
		}))
		s := open(t, s3store.Config{Bucket: "b", Prefix: "p", Endpoint: fake.URL})
		_, _, get := s.Get(t.Context(), "k", object.GetOptions{ETag: `"x"`})
		_, put := s.Put(t.Context(), "k", nil, object.IfAbsent)
		if c.put == "" {
			c.put = c.get
		}
		says(t, c.code+" to get", get, c.get)
		says(t, c.code+" to put", put, c.put)
		fake.Close()
	}
}

// TestNobodyThereIsSaid has nobody answer, in several ways.
func TestNobodyThereIsSaid(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	}))
	defer broken.Close()
	for _, c := range []struct{ endpoint, env, want string }{
		{"", "http://127.0.0.1:1", "cannot reach http://127.0.0.1:1 (connection refused): check AWS_ENDPOINT_URL_S3 ("},
		{"http://127.0.0.1:1", "", "cannot reach http://127.0.0.1:1 (connection refused): check s3.endpoint ("},
		{"http://no-such-host.invalid:9000", "", "cannot reach http://no-such-host.invalid:9000 ("},
		{strings.Replace(silent.URL, "http:", "https:", 1), "", strings.Replace(silent.URL, "http:", "https:", 1) + " does not speak TLS: "},
		{broken.URL, "", "the connection to " + broken.URL + " broke (EOF) ("},
	} {
		t.Setenv("AWS_ENDPOINT_URL_S3", c.env)
		_, err := open(t, s3store.Config{Bucket: "b", Endpoint: c.endpoint}).Put(t.Context(), "k", nil, object.Always)
		says(t, c.want, err, c.want)
		if !errors.Is(err, object.ErrUnknown) {
			t.Errorf("%v is not %v", err, object.ErrUnknown)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	_, err := open(t, s3store.Config{Bucket: "b", Endpoint: broken.URL}).Put(context.Background(), "k", nil, object.Always)
	says(t, "no credentials", err, "no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
}

// says wants an error that begins so, without the SDK's chain.
func says(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "operation error") || strings.Contains(err.Error(), "StatusCode") {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}
