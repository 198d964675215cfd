package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batcher/audit"
	"batcher/object"
)

const remoteFile = "pipeline: far\nstore: s3://misc/far\nsource: {files: {path: s3://misc/landing}}\n"

// TestDoctorWithoutAStore looks at places where nobody is: the answer comes at once or
// within five seconds, as text and as one document.
func TestDoctorWithoutAStore(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	for _, c := range []struct{ endpoint, want string }{
		{"http://127.0.0.1:1", "cannot reach http://127.0.0.1:1 (connection refused): check AWS_ENDPOINT_URL_S3 ("},
		{"http://no-such-host.invalid:9", "cannot reach http://no-such-host.invalid:9 ("},
		{silent.URL, "cannot reach " + silent.URL + " (no answer): check AWS_ENDPOINT_URL_S3 ("},
		{web.URL, "there is no S3 store at " + web.URL + ", which answered 404"},
	} {
		w := newWorld(t, []string{"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_REGION=us-east-1", "AWS_ENDPOINT_URL_S3=" + c.endpoint}, remoteFile)
		begun := time.Now()
		r := w.run("doctor")
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s: doctor took %s", c.endpoint, took)
		}
		if r.code != exitUnavailable || !strings.HasPrefix(r.stderr, "batcher: "+c.want) || !strings.HasPrefix(r.stdout, "store s3://misc/far\nFAIL  reach: "+c.want) || !strings.Contains(r.stdout, "\nsource s3://misc/landing\nFAIL  reach: "+c.want) {
			t.Errorf("%s: exit %d: %s%s", c.endpoint, r.code, r.stdout, r.stderr)
		}
		r = w.run("doctor", "-o", "json")
		d := diagnosed(t, r)
		if r.code != exitUnavailable || d.Verdict != verdictUnreachable || d.Error == nil || d.Error.Code != r.code || !strings.HasPrefix(d.Error.Message, c.want) {
			t.Errorf("%s: exit %d: %s", c.endpoint, r.code, r.stdout)
		}
	}
}

// diagnosis with findings as they are printed.
type printedDiagnosis struct {
	Verdict  string
	Subjects []struct {
		Subject, Place, Verdict string
		Findings                []struct {
			Name, Error, Why, Note string
			Passed                 bool
		}
	}
	Error *reportError
}

// diagnosed reads the one document that doctor prints.
func diagnosed(t *testing.T, r result) (d printedDiagnosis) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), &d); err != nil || strings.Count(r.stdout, "\n") != 1 || len(d.Subjects) != 2 || d.Subjects[0].Subject != "store" || d.Subjects[1].Subject != "source" {
		t.Errorf("%v: %s%s", err, r.stdout, r.stderr)
	}
	return d
}

// TestDoctorTellsWhatIsWrongWithABucket looks at buckets and credentials that are not.
func TestDoctorTellsWhatIsWrongWithABucket(t *testing.T) {
	s := minio(t)
	for _, c := range []struct {
		env, file string
		code      int
		want      string
	}{
		{"AWS_REGION=us-east-1", strings.Replace(remoteFile, "s3://misc/far", "s3://no-such-bucket/far", 1), exitUnavailable, "batcher: bucket no-such-bucket does not exist: "},
		{"AWS_SECRET_ACCESS_KEY=wrong", remoteFile, exitDenied, "batcher: the secret key is not that of the access key: check AWS_SECRET_ACCESS_KEY"},
		{"AWS_ACCESS_KEY_ID=nobody", remoteFile, exitDenied, "batcher: the store does not know the access key: check AWS_ACCESS_KEY_ID"},
	} {
		w := newWorld(t, append(s.Env(), c.env), c.file)
		for _, verb := range []string{"doctor", "run"} {
			if r := w.run(verb); r.code != c.code || !strings.Contains(r.stderr, c.want) || strings.Contains(r.stderr, "operation error") {
				t.Errorf("%s: exit %d, want %d: %s, want %q", verb, r.code, c.code, r.stderr, c.want)
			}
		}
	}
}

// TestDoctorBeforeAnything examines directories in which nothing is.
func TestDoctorBeforeAnything(t *testing.T) {
	w := newWorld(t, nil, localFile)
	if r := w.run("doctor"); r.code != exitUnavailable || !strings.Contains(r.stdout, "FAIL  reach: ") {
		t.Errorf("without a source: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if err := os.MkdirAll(filepath.Join(w.dir, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := w.run("doctor", "-o", "json")
	d := diagnosed(t, r)
	if r.code != exitOK || d.Verdict != verdictFit || d.Error != nil {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if last := d.Subjects[1].Findings[len(d.Subjects[1].Findings)-1]; last.Name != "read" || !strings.Contains(last.Note, "no object to read yet") {
		t.Errorf("%+v", last)
	}
	if left, err := os.ReadDir(filepath.Join(w.dir, "in")); err != nil || len(left) != 0 {
		t.Errorf("the source has %v, %v", left, err)
	}
}

// explained is an error with a cause for people.
type explained struct{ text string }

func (e *explained) Error() string { return e.text }
func (e *explained) Explained()    {}

// TestTheCauseComesFirst wraps an explained error, and others.
func TestTheCauseComesFirst(t *testing.T) {
	cause := &explained{"the disk is full: make room (put k)"}
	for want, err := range map[string]error{
		"the disk is full: make room (put k)":                                cause,
		"the disk is full: make room (put k), after 6 tries (run: put hint)": fmt.Errorf("run: put hint: %w, after 6 tries", cause),
		"put hint: not explained":                                            fmt.Errorf("put hint: %w", errors.New("not explained")),
		"first line\nsecond: the disk is full: make room (put k)":            fmt.Errorf("first line\nsecond: %w", cause),
	} {
		if got := causeFirst(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestABrokenPromiseOutweighsAStumble judges a store of which one probe got no answer and
// another saw two winners: it is refused for good, and not to be tried again.
func TestABrokenPromiseOutweighsAStumble(t *testing.T) {
	stumble := audit.Finding{Name: "create-if-absent", Err: fmt.Errorf("500: %w", object.ErrUnknown)}
	broken := audit.Finding{Name: "create-race", Err: errors.New("2 of 3 racers were told that they created the key")}
	for _, c := range []struct {
		findings []audit.Finding
		want     int
	}{
		{[]audit.Finding{{Name: "round-trip"}, stumble, broken}, exitUnavailable},
		{[]audit.Finding{broken, stumble}, exitUnavailable},
		{[]audit.Finding{stumble, {Name: "create-race"}}, exitTemporary},
	} {
		if err := judge("store", c.findings); classify(err).Code != c.want {
			t.Errorf("%v: exit %d, want %d", err, classify(err).Code, c.want)
		}
	}
	if err := judge("store", []audit.Finding{{Name: "create-race"}}); err != nil {
		t.Error(err)
	}
}
