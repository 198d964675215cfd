package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"batcher/localdev"
)

// refusing stands before a server and answers for some keys as S3 does for objects that
// it does not hand out. It counts the reads of objects below in/.
func refusing(t *testing.T, s *localdev.Server, answers map[string][2]string) (env []string, reads *atomic.Int64) {
	t.Helper()
	at, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	reads = &atomic.Int64{}
	forward := httputil.NewSingleHostReverseProxy(at) // with the Host that was signed
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/in/") {
			reads.Add(1)
			for key, answer := range answers {
				if strings.HasSuffix(r.URL.Path, key) {
					var status int
					fmt.Sscan(answer[0], &status)
					w.WriteHeader(status)
					fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>no</Message></Error>`, answer[1])
					return
				}
			}
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return s.EnvAt(proxy.URL), reads
}

// TestFourOfAThousandObjectsCannotBeRead has an archived, a denied, an always failing and
// a missing one in a bucket: the others are committed, these are named by the report, by
// the error and by status, and the next run reads none of the others again.
func TestFourOfAThousandObjectsCannotBeRead(t *testing.T) {
	s := minio(t)
	answers := map[string][2]string{
		"/o0007": {"403", "InvalidObjectState"}, "/o0300": {"403", "AccessDenied"}, "/o0301": {"500", "InternalError"}, "/o0998": {"404", "NoSuchKey"},
	}
	env, reads := refusing(t, s, answers)
	root := "s3://input/" + t.Name()
	for i := range 1000 {
		if err := s.Put(t.Context(), "input", fmt.Sprintf("%s/in/o%04d", t.Name(), i), fmt.Appendf(nil, "{\"n\":%d}\n", i)); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t, env, fmt.Sprintf("pipeline: events\nstore: s3://lake/%s\nsource: {files: {path: %s/in}}\nbatch: {max_objects: 400}\n", t.Name(), root))
	want := []reportUnreadable{
		{"o0007", "archived", "InvalidObjectState"}, {"o0300", "denied", "AccessDenied"},
		{"o0301", "unavailable", "InternalError"}, {"o0998", "gone", "NoSuchKey"},
	}
	var rep report
	first := w.run("run", "-o", "json")
	if err := json.Unmarshal([]byte(first.stdout), &rep); err != nil {
		t.Fatal(err)
	}
	if first.code != exitGap || rep.Outcome != outcomeCommitted || rep.Rows.Written != 996 || !slices.Equal(rep.Unreadable, want) || rep.Error == nil || rep.Error.Code != exitGap {
		t.Fatalf("exit %d: %s%s", first.code, first.stdout, first.stderr)
	}
	for _, o := range want {
		if !strings.Contains(first.stderr, fmt.Sprintf("%q: %s (%s)", o.Key, o.Cause, o.Code)) {
			t.Errorf("%s is not named: %s", o.Key, first.stderr)
		}
	}
	reads.Store(0)
	if r := w.run("run", "-q"); r.code != exitGap || reads.Load() > 60 {
		t.Errorf("second run: exit %d after %d reads: %s", r.code, reads.Load(), r.stderr)
	}
	var st statusReport
	w.must(&st, "status")
	slices.SortFunc(st.Unreadable, func(a, b reportUnreadable) int { return strings.Compare(a.Key, b.Key) })
	if !slices.Equal(st.Unreadable, want[:len(st.Unreadable)]) || len(st.Unreadable) < 3 || st.Lag.Objects != 4 {
		t.Errorf("status: %+v, %+v", st.Unreadable, st.Lag)
	}
	if r := w.run("run", "-q", "--set", "source.files.on_unreadable=fail"); r.code != exitGap || !strings.Contains(r.stderr, "o0007") || !strings.Contains(r.stderr, "restore") {
		t.Errorf("on_unreadable fail: exit %d: %s", r.code, r.stderr)
	}
	delete(answers, "/o0007")
	delete(answers, "/o0300")
	if r := w.run("run", "-q"); r.code != exitTemporary {
		t.Errorf("with what passes left: exit %d: %s", r.code, r.stderr)
	}
	clear(answers)
	w.must(&rep, "run")
	if rep.Rows.Written != 2 || len(rep.Unreadable) != 0 {
		t.Errorf("in the end: %+v", rep)
	}
	w.proves(1000)
}

// TestFilesWithoutReadPermission wait in a directory, too, and when nothing can be read
// that is an error of the whole.
func TestFilesWithoutReadPermission(t *testing.T) {
	w := newWorld(t, nil, localFile)
	for i := range 5 {
		w.write(fmt.Sprintf("in/o%d.ndjson", i), fmt.Sprintf("{\"n\":%d}\n", i))
	}
	if err := os.Chmod(filepath.Join(w.dir, "in/o2.ndjson"), 0); err != nil {
		t.Fatal(err)
	}
	if r := w.asNobody("run", "--color", "never"); r.code != exitGap || !strings.Contains(r.stderr, `"o2.ndjson": denied (EACCES)`) || !strings.Contains(r.stdout, "4 rows") {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if r := w.asNobody("status"); r.code != exitOK || !strings.Contains(r.stdout, `"o2.ndjson" cannot be read: denied (EACCES)`) {
		t.Errorf("status: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	w.write("in2/a.ndjson", "{}\n")
	if err := os.Chmod(filepath.Join(w.dir, "in2/a.ndjson"), 0); err != nil {
		t.Fatal(err)
	}
	if r := w.asNobody("run", "-q", "--set", "source.files.path=./in2", "--set", "pipeline=other", "--set", "table=other"); r.code != exitDenied {
		t.Errorf("nothing can be read: exit %d: %s", r.code, r.stderr)
	}
}

// TestAnEditThatKeepsSizeAndTime cannot be noticed by a run, and is no violation.
func TestAnEditThatKeepsSizeAndTime(t *testing.T) {
	w := newWorld(t, nil, localFile)
	w.write("in/a.ndjson", "{\"n\":1}\n")
	w.write("in/b.ndjson", "{\"n\":2}\n")
	var rep report
	w.must(&rep, "run")
	path := filepath.Join(w.dir, "in/a.ndjson")
	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	w.write("in/a.ndjson", "{\"n\":7}\n")
	if err := os.Chtimes(path, was.ModTime(), was.ModTime()); err != nil {
		t.Fatal(err)
	}
	if p := w.proves(1); p.Source.Unverifiable != 1 {
		t.Errorf("%+v", p.Source)
	}
}

// TestAnUnreadableObjectIsQuarantinedAndReadLater sets it aside as one dead letter, which a
// retry exchanges for its rows once it can be read.
func TestAnUnreadableObjectIsQuarantinedAndReadLater(t *testing.T) {
	w := newWorld(t, nil, localFile+"dead_letters: {fail_above: {ratio: 1}}\n")
	for i := range 3 {
		w.write(fmt.Sprintf("in/o%d.ndjson", i), fmt.Sprintf("{\"n\":%d}\n{\"n\":%d}\n", i, i+10))
	}
	barred := filepath.Join(w.dir, "in/o1.ndjson")
	if err := os.Chmod(barred, 0); err != nil {
		t.Fatal(err)
	}
	quarantine := []string{"--set", "source.files.on_unreadable=quarantine"}
	if r := w.asNobody(append([]string{"run"}, quarantine...)...); r.code != exitOK || !strings.Contains(r.stdout, "quarantined") {
		t.Fatalf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if r := w.asNobody(append([]string{"run", "-q"}, quarantine...)...); r.code != exitOK {
		t.Errorf("again: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if r := w.asNobody(append([]string{"dlq", "list"}, quarantine...)...); r.code != exitOK || !strings.Contains(r.stdout, "cannot be read: denied (EACCES)") {
		t.Errorf("dlq list: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if r := w.asNobody(append([]string{"verify", "--source"}, quarantine...)...); r.code != exitOK || !strings.Contains(r.stdout, "4 records verified, 1 unverifiable") {
		t.Errorf("verify: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if err := os.Chmod(barred, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := w.asNobody(append([]string{"dlq", "retry"}, quarantine...)...); r.code != exitOK {
		t.Errorf("dlq retry: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if r := w.asNobody(append([]string{"verify", "--source"}, quarantine...)...); r.code != exitOK || !strings.Contains(r.stdout, "6 records verified, 0 unverifiable") {
		t.Errorf("in the end: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
}

// TestABucketThatCannotBeReadAtAll is an error of the whole, soon, and no object of it
// waits or is quarantined.
func TestABucketThatCannotBeReadAtAll(t *testing.T) {
	s := minio(t)
	for i := range 200 {
		if err := s.Put(t.Context(), "input", fmt.Sprintf("%s/in/o%04d", t.Name(), i), fmt.Appendf(nil, "{\"n\":%d}\n", i)); err != nil {
			t.Fatal(err)
		}
	}
	for answer, code := range map[[2]string]int{{"403", "AccessDenied"}: exitDenied, {"500", "InternalError"}: exitTemporary} {
		env, reads := refusing(t, s, map[string][2]string{"": answer})
		w := newWorld(t, env, fmt.Sprintf("pipeline: events\nstore: ./lake\nsource: {files: {path: s3://input/%s/in, on_unreadable: quarantine}}\n", t.Name()))
		begun := time.Now()
		r := w.run("run", "-o", "json")
		if r.code != code || !strings.Contains(r.stdout, `"batches":0`) || !strings.Contains(r.stdout, `"unreadable":[]`) {
			t.Errorf("%s: exit %d: %s%s", answer[1], r.code, r.stdout, r.stderr)
		}
		if took := time.Since(begun); took > time.Minute || reads.Load() > 300 {
			t.Errorf("%s: %s, %d reads", answer[1], took, reads.Load())
		}
	}
}
