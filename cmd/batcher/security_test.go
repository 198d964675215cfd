package main

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"batcher/localdev"
	"batcher/object"
	"batcher/object/s3store"
)

// guarded is a pipeline on MinIO, and worlds that may do what a policy allows.
type guarded struct {
	server *localdev.Server
	place  string
	file   string
}

func newGuarded(t *testing.T) guarded {
	t.Helper()
	place := fmt.Sprintf("guarded-%d", time.Now().UnixNano())
	g := guarded{minio(t), place, fmt.Sprintf("pipeline: guarded\nstore: s3://lake/%[1]s\nsource: {files: {path: s3://input/%[1]s}}\n", place)}
	return g
}

func (g guarded) put(t *testing.T, key string) {
	t.Helper()
	if err := g.server.Put(t.Context(), "input", g.place+"/"+key, []byte("{\"a\":1}\n{\"a\":2}\n")); err != nil {
		t.Fatal(err)
	}
}

// as returns a world with the credentials of a policy below docs/policies, after
// its text was changed: pairs of old and new.
func (g guarded) as(t *testing.T, policy string, changes ...string) *world {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "policies", policy+".json"))
	if err != nil {
		t.Fatal(err)
	}
	names := append(slices.Clip(changes), "SOURCE_BUCKET", "input", "SOURCE_PREFIX", g.place, "BUCKET", "lake", "PREFIX", g.place)
	env, err := g.server.Restricted(strings.NewReplacer(names...).Replace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return newWorld(t, env, g.file)
}

// store opens the pipeline's store with the credentials of a world.
func (g guarded) store(t *testing.T, w *world) object.Store {
	t.Helper()
	for _, e := range w.env[len(w.env)-6:] {
		k, v, _ := strings.Cut(e, "=")
		t.Setenv(k, v)
	}
	s, err := s3store.New(t.Context(), s3store.Config{Bucket: "lake", Prefix: g.place})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// contents lists the store with full rights: key, size and identity.
func (g guarded) contents(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for info, err := range bucket(t, g.server, "lake", g.place).List(t.Context(), "", object.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, info.Key, info.Size, info.ETag)
	}
	return b.String()
}

func TestTheDocumentedPoliciesSufficeAndNoMore(t *testing.T) {
	g := newGuarded(t)
	g.put(t, "first.ndjson")
	writer := g.as(t, "writer")
	var rep report
	writer.must(&rep, "run")
	if rep.Rows.Written != 2 {
		t.Fatalf("the writer wrote %+v", rep.Rows)
	}
	g.put(t, "second.ndjson")
	before := g.contents(t)

	manifest := "_batcher/guarded/manifests/" + fmt.Sprintf("%020d.json", 0)
	for _, c := range []struct {
		policy string
		keys   []string
	}{
		{"writer", []string{manifest, "_batcher/guarded/head.json", "_batcher/guarded/format.json", "_batcher/_tables/guarded.json"}},
		{"gc", []string{manifest, "_batcher/guarded/head.json", "_batcher/_tables/guarded.json"}},
		{"reader", []string{manifest, "guarded/data/x.parquet"}},
	} {
		s := g.store(t, g.as(t, c.policy))
		for _, key := range c.keys {
			if err := s.Delete(t.Context(), key); !errors.Is(err, object.ErrDenied) {
				t.Errorf("%s deletes %s: %v", c.policy, key, err)
			}
		}
	}
	reader := g.as(t, "reader")
	for _, args := range [][]string{{"files"}, {"head"}, {"history"}, {"verify"}} {
		if r := reader.run(args...); r.code != exitOK {
			t.Errorf("reader %v: exit %d: %s", args, r.code, r.stderr)
		}
	}
	if r := reader.run("run", "-q"); r.code != exitDenied || !strings.Contains(r.stderr, "hint: check the credentials") {
		t.Errorf("reader run: exit %d: %s", r.code, r.stderr)
	}
	blind := g.as(t, "writer", "s3:ListBucket", "s3:ListBucketVersions")
	if r := blind.run("run", "-q"); r.code != exitDenied || !strings.Contains(r.stderr, "hint: ") {
		t.Errorf("run without s3:ListBucket: exit %d: %s", r.code, r.stderr)
	}
	if after := g.contents(t); after != before {
		t.Errorf("something changed:\n%s\nwas\n%s", after, before)
	}
	const orphan = "00000000000000000000/00000000000000000000000000000000/000000" // of an attempt that never committed
	admin := bucket(t, g.server, "lake", g.place)
	for _, key := range []string{"guarded/data/" + orphan + ".parquet", "_batcher/guarded/state/" + orphan + ".seg"} {
		if _, err := admin.Put(t.Context(), key, []byte("orphan"), object.Always); err != nil {
			t.Fatal(err)
		}
	}
	gc := g.as(t, "gc")
	if r := gc.run("gc", "--confirm", "--keep", "0s"); r.code != exitOK || !strings.Contains(r.stdout, "deleted 2") {
		t.Errorf("gc: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	var status statusReport
	writer.must(&status, "status")
	for _, d := range status.Delta {
		if d.Lag > 0 || d.Error != "" {
			t.Errorf("gc committed a floor and did not publish it: %+v", d)
		}
	}
	writer.must(&rep, "run")
	if rep.Rows.Written != 2 {
		t.Errorf("after gc the writer wrote %+v", rep.Rows)
	}
}

// TestSecretsNeverAppear looks for secrets in all that failing and working runs
// print and store.
func TestSecretsNeverAppear(t *testing.T) {
	g := newGuarded(t)
	g.put(t, "first.ndjson")
	const planted = "planted-secret-7f3a"
	real := g.as(t, "writer")
	secrets := []string{planted}
	for _, e := range real.env[len(real.env)-6:] {
		if k, v, _ := strings.Cut(e, "="); k == "AWS_SECRET_ACCESS_KEY" || k == "AWS_SESSION_TOKEN" {
			secrets = append(secrets, v)
		}
	}
	for _, c := range []struct {
		name string
		env  []string
		args []string
		code int
	}{
		{"works", nil, nil, exitOK},
		{"wrong secret", []string{"AWS_SECRET_ACCESS_KEY=" + planted}, nil, exitDenied},
		{"wrong token", []string{"AWS_SESSION_TOKEN=" + planted}, nil, exitDenied},
		{"credentials in the endpoint", []string{"AWS_ENDPOINT_URL_S3=http://user:" + planted + "@127.0.0.1:1"}, nil, exitUnavailable},
		{"another bucket", nil, []string{"--set", "store=s3://nowhere/x"}, exitDenied},
		{"secret of a wrong kind", []string{"NUMBER=" + planted}, []string{"--set", "batch.max_objects={env: NUMBER}"}, exitConfig},
	} {
		real.env = append(real.env[:len(real.env):len(real.env)], c.env...)
		r := real.run(append([]string{"run", "-v", "-o", "json"}, c.args...)...)
		real.env = real.env[:len(real.env)-len(c.env)]
		if r.code != c.code {
			t.Errorf("%s: exit %d, want %d: %s", c.name, r.code, c.code, r.stderr)
		}
		for _, s := range secrets {
			if strings.Contains(r.stdout+r.stderr, s) {
				t.Errorf("%s: a secret is printed:\n%s%s", c.name, r.stdout, r.stderr)
			}
		}
	}
	lake := bucket(t, g.server, "lake", g.place)
	for info, err := range lake.List(t.Context(), "", object.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		body, _, err := object.ReadAll(t.Context(), lake, info.Key, object.GetOptions{}, 1<<24)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets {
			if strings.Contains(string(body), s) {
				t.Errorf("a secret stands in %s", info.Key)
			}
		}
	}
}

func TestACertificateOfAnOwnAuthority(t *testing.T) {
	g := newGuarded(t)
	g.put(t, "first.ndjson")
	upstream, err := url.Parse(g.server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(upstream)
		r.Out.Host = r.In.Host // it is signed
	}})
	proxy.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are refused
	proxy.StartTLS()
	defer proxy.Close()
	w := newWorld(t, g.server.EnvAt(proxy.URL), g.file)
	r := w.run("run", "-q")
	if r.code != exitUnavailable || !strings.Contains(r.stderr, "is not trusted (") || !strings.Contains(r.stderr, "ca_file") {
		t.Errorf("untrusted: exit %d: %s", r.code, r.stderr)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(w.dir, "ca.pem"), ca, 0o644); err != nil {
		t.Fatal(err)
	}
	var rep report
	w.must(&rep, "run", "--set", "s3.ca_file=ca.pem", "--set", "source.files.s3.ca_file=ca.pem")
	if rep.Rows.Written != 2 {
		t.Errorf("with ca_file: %+v", rep.Rows)
	}
}

// TestHostileKeysAreDataAndNothingElse gives the source keys that try to get out
// of their place. Whatever a record's key says, it only ever stands in _source.
func TestHostileKeysAreDataAndNothingElse(t *testing.T) {
	w := newWorld(t, nil, localFile)
	keys := []string{"new\nline", "esc\x1b[31mred", "a b'c\"d\\e", "x..y/z...", "deep" + strings.Repeat("/d", 200) + "/f", strings.Repeat("n", 250), "lake/events/data/head.json", "é\u202egnp"}
	ignored := []string{"..x/...", "lake/_batcher/events/head.json"} // hidden names
	for _, k := range append(ignored, keys...) {
		path := filepath.Join(w.dir, "in", k)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{\"a\":1}\nbad\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var rep report
	w.must(&rep, "run", "--set", "dead_letters.fail_above.ratio=1")
	if n := int64(len(keys)); rep.Rows.Written != n || rep.Rows.Dead != n || rep.Objects.Ignored != int64(len(ignored)) {
		t.Errorf("rows %+v of %d keys, objects %+v", rep.Rows, n, rep.Objects)
	}
	found := map[string]bool{}
	for _, table := range []string{"events", "events_dead"} {
		r := w.run("head", "--table", table, "-n", "100")
		for line := range strings.Lines(r.stdout) {
			var row struct {
				Source string `json:"_source"`
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Errorf("head prints %q: %v", line, err)
			}
			found[table+" "+row.Source] = true
		}
	}
	for _, k := range keys {
		if !found["events "+k] || !found["events_dead "+k] {
			t.Errorf("key %q: no row, or no dead letter", k)
		}
	}
	for _, args := range [][]string{{"files"}, {"head"}, {"status"}, {"verify", "--source"}, {"show", "1"}} {
		r := w.run(args...)
		if r.code != exitOK || strings.ContainsAny(r.stdout+r.stderr, "\x1b\x07") {
			t.Errorf("%v: exit %d: %q %q", args, r.code, r.stdout, r.stderr)
		}
	}
	entries, err := os.ReadDir(w.dir)
	if err != nil || len(entries) != 3 { // in, lake, pipeline.yaml
		t.Errorf("in the folder: %v, %v", entries, err)
	}
	bad := filepath.Join(w.dir, "in", "not\xffutf8")
	if err := os.WriteFile(bad, []byte("{}\n"), 0o644); err != nil {
		localdev.Skip(t, fmt.Sprintf("this file system refuses names that are not UTF-8: %v", err))
	}
	if r := w.run("run", "-q"); r.code != exitUnavailable || !strings.Contains(r.stderr, `not\xffutf8`) {
		t.Errorf("a name that is not UTF-8: exit %d: %q", r.code, r.stderr)
	}
}

// TestHostileStoreContentIsDamage replaces objects of the chain by garbage and
// by 1 GB: the run ends in the message that says so, within little memory.
func TestHostileStoreContentIsDamage(t *testing.T) {
	for _, name := range []string{"head.json", "manifests/00000000000000000001.json"} {
		for _, c := range []struct {
			kind string
			size int64
			code int
			says string
		}{
			{"garbage", 100, exitDamaged, "damaged"},
			{"huge", 1_000_000_000, exitDamaged, "has 1000000000 bytes, more than"},
		} {
			t.Run(c.kind+"-"+filepath.Base(name), func(t *testing.T) {
				w := newWorld(t, nil, localFile)
				w.seedLocal("", 2, 10)
				var rep report
				w.must(&rep, "run")
				path := filepath.Join(w.dir, "lake/_batcher/events", name)
				if err := os.WriteFile(path, []byte(`{"format":1,`), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate(path, c.size); err != nil {
					t.Fatal(err)
				}
				for _, verb := range []string{"run", "files"} {
					// Half of that in memory that can be written to, stacks of threads included.
					cmd := exec.Command("/bin/sh", "-c", `ulimit -d 500000; exec "$@"`, "sh", w.path, verb)
					cmd.Dir, cmd.Env = w.dir, w.env
					out, _ := cmd.CombinedOutput() // the code says it
					if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) {
						t.Errorf("%s: exit %d: %.500s", verb, code, out)
					}
				}
			})
		}
	}
}
