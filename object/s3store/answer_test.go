package s3store_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"batcher/object"
	"batcher/object/s3store"
)

// TestAnswersHaveOneMeaning makes each call once against a server that always
// answers the same.
func TestAnswersHaveOneMeaning(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		status         int
		code           string
		get, put, list error
	}{
		{404, "NoSuchKey", object.ErrNotFound, object.ErrUnsupported, object.ErrNotFound},
		{404, "NoSuchBucket", object.ErrUnsupported, object.ErrUnsupported, object.ErrUnsupported},
		{412, "PreconditionFailed", object.ErrChanged, object.ErrExists, object.ErrUnsupported},
		{409, "ConditionalRequestConflict", object.ErrConflict, object.ErrConflict, object.ErrConflict},
		{409, "OperationAborted", object.ErrConflict, object.ErrConflict, object.ErrConflict},
		{400, "RequestTimeout", object.ErrUnknown, object.ErrUnknown, object.ErrUnknown},
		{400, "InvalidRequest", object.ErrUnsupported, object.ErrUnsupported, object.ErrUnsupported},
		{400, "ExpiredToken", object.ErrDenied, object.ErrDenied, object.ErrDenied},
		{401, "", object.ErrDenied, object.ErrDenied, object.ErrDenied},
		{403, "AccessDenied", object.ErrDenied, object.ErrDenied, object.ErrDenied},
		{403, "InvalidAccessKeyId", object.ErrDenied, object.ErrDenied, object.ErrDenied},
		{403, "SignatureDoesNotMatch", object.ErrDenied, object.ErrDenied, object.ErrDenied},
		{429, "TooManyRequests", object.ErrUnknown, object.ErrUnknown, object.ErrUnknown},
		{500, "InternalError", object.ErrUnknown, object.ErrUnknown, object.ErrUnknown},
		{501, "NotImplemented", object.ErrUnsupported, object.ErrUnsupported, object.ErrUnsupported},
		{503, "SlowDown", object.ErrUnknown, object.ErrUnknown, object.ErrUnknown},
		{504, "", object.ErrUnknown, object.ErrUnknown, object.ErrUnknown}, // a gateway's HTML
		{301, "PermanentRedirect", object.ErrUnsupported, object.ErrUnsupported, object.ErrUnsupported},
	} {
		fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			if c.code == "" {
				fmt.Fprint(w, "<html>gateway</html>")
				return
			}
			fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>m</Message></Error>`, c.code)
		}))
		s := open(t, s3store.Config{Bucket: "b", Endpoint: fake.URL})
		_, _, getErr := s.Get(ctx, "k", object.GetOptions{ETag: `"x"`})
		_, putErr := s.Put(ctx, "k", []byte("x"), object.IfAbsent)
		_, _, listErr := s.ListPage(ctx, "", object.Deep, "")
		for _, e := range []struct {
			op        string
			got, want error
		}{{"get", getErr, c.get}, {"put", putErr, c.put}, {"list", listErr, c.list}} {
			if !errors.Is(e.got, e.want) {
				t.Errorf("%d %s to %s: %v, want %v", c.status, c.code, e.op, e.got, e.want)
			}
		}
		gets := int64(1)
		if c.status == http.StatusPreconditionFailed {
			gets = 2 // what stands there now may be the same in another spelling
		}
		if r := s.Requests(); r != (object.Requests{Get: gets, Put: 1, List: 1}) {
			t.Errorf("%d %s: requests %+v", c.status, c.code, r)
		}
		fake.Close()
	}
}

func TestNobodyListensIsUnknown(t *testing.T) {
	fake := httptest.NewServer(nil)
	fake.Close()
	s := open(t, s3store.Config{Bucket: "b", Endpoint: fake.URL})
	if _, err := s.Put(context.Background(), "k", nil, object.IfAbsent); !errors.Is(err, object.ErrUnknown) {
		t.Errorf("put: %v", err)
	}
}

func TestRangeThatIsIgnoredIsRefused(t *testing.T) {
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"x"`)
		fmt.Fprint(w, "the whole body")
	}))
	defer fake.Close()
	s := open(t, s3store.Config{Bucket: "b", Endpoint: fake.URL})
	if _, _, err := s.Get(context.Background(), "k", object.GetOptions{From: 4, Limit: 5}); !errors.Is(err, object.ErrUnsupported) {
		t.Errorf("ranged: %v", err)
	}
	if _, _, err := s.Get(context.Background(), "k", object.GetOptions{ETag: `"y"`}); !errors.Is(err, object.ErrChanged) {
		t.Errorf("pinned: %v", err)
	}
}

func TestCredentialsAndSecrets(t *testing.T) {
	ctx, secret := context.Background(), "do-not-print-this-secret"
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	wrong := open(t, s3store.Config{Bucket: "plain"})
	_, err := wrong.Put(ctx, "k", nil, object.IfAbsent)
	if !errors.Is(err, object.ErrDenied) || strings.Contains(err.Error()+wrong.String(), secret) {
		t.Errorf("wrong secret: %v", err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	none := open(t, s3store.Config{Bucket: "plain"})
	if _, _, err := none.Get(ctx, "k", object.GetOptions{}); !errors.Is(err, object.ErrDenied) {
		t.Errorf("no credentials: %v", err)
	}
	if got := none.Requests(); got != (object.Requests{}) {
		t.Errorf("no credentials, and yet requests: %+v", got)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	for name, cfg := range map[string]s3store.Config{
		"no bucket":                   {},
		"path for a bucket":           {Bucket: "a/b"},
		"no region":                   {Bucket: "b"},
		"no URL":                      {Bucket: "b", Endpoint: "localhost:9000"},
		"credentials in the endpoint": {Bucket: "b", Endpoint: "https://me:hunter2@localhost"},
		"no such profile":             {Bucket: "b", Region: "r", Profile: "nobody"},
		"no such CA file":             {Bucket: "b", Region: "r", CAFile: "/nonexistent.pem"},
	} {
		_, err := s3store.New(context.Background(), cfg)
		if !errors.Is(err, object.ErrUnsupported) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := open(t, s3store.Config{Bucket: "b", Region: "eu-central-1", Prefix: "/a/b/"})
	if got := s.String(); got != "s3://b/a/b" {
		t.Errorf("named %q", got)
	}
}

func TestPrefixIsAFolder(t *testing.T) {
	ctx, root := context.Background(), t.Name()
	bucket := open(t, s3store.Config{Bucket: "plain"})
	for _, key := range []string{"/app/x", "/app-old/y", "/apple"} {
		if _, err := bucket.Put(ctx, root+key, []byte("x"), object.IfAbsent); err != nil {
			t.Fatal(err)
		}
	}
	for _, marker := range []string{"/app/", "/app/sub/"} {
		if _, err := bucket.Put(ctx, root+marker, nil, object.IfAbsent); err != nil {
			t.Fatal(err)
		}
	}
	app := open(t, s3store.Config{Bucket: "plain", Prefix: root + "/app"})
	for _, c := range []struct {
		prefix string
		depth  object.Depth
		want   []string
	}{
		{"", object.Deep, []string{"sub/", "x"}},
		{"", object.Shallow, []string{"sub/", "x"}},
		{"sub/", object.Deep, nil},
	} {
		var got []string
		for info, err := range app.List(ctx, c.prefix, c.depth) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, info.Key)
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("list %q: %q, want %q", c.prefix, got, c.want)
		}
	}
	missing := open(t, s3store.Config{Bucket: "no-such-bucket"})
	if _, _, err := missing.ListPage(ctx, "", object.Deep, ""); !errors.Is(err, object.ErrUnsupported) {
		t.Errorf("list of a missing bucket: %v", err)
	}
	if _, _, err := missing.Get(ctx, "k", object.GetOptions{}); !errors.Is(err, object.ErrUnsupported) {
		t.Errorf("get from a missing bucket: %v", err)
	}
}
