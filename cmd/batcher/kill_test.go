package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"batcher/audit"
	"batcher/localdev"
	"batcher/object"
	"batcher/object/s3store"
)

// program builds the binary once for all process tests.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "batcher-program-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "batcher")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return path, nil
})

// server is one real MinIO for all process tests of the package.
var server = sync.OnceValues(func() (*localdev.Server, error) {
	return localdev.StartMinIO(context.Background(), localdev.Options{Buckets: []string{"lake", "input", "misc"}})
})

// stopping runs the tests of the package and then ends what they started.
type stopping struct{ *testing.M }

// Run implements testscript.TestingM.
func (s stopping) Run() int {
	defer stopServers()
	return s.M.Run()
}

// stopServers ends what process tests started.
func stopServers() {
	if started.Load() {
		if s, err := server(); err == nil {
			_ = s.Stop()
		}
	}
	if built.Load() {
		if path, err := program(); err == nil {
			os.RemoveAll(filepath.Dir(path))
		}
	}
}

var built atomic.Bool

var started atomic.Bool

// minio returns the shared server.
func minio(t *testing.T) *localdev.Server {
	t.Helper()
	started.Store(true)
	s, err := server()
	if err != nil {
		t.Fatalf("this test needs a real MinIO: %v", err)
	}
	return s
}

// world is a folder with a pipeline file and an environment to run batcher in.
type world struct {
	t    *testing.T
	path string // of the program
	dir  string
	env  []string
}

func newWorld(t *testing.T, env []string, pipelineFile string) *world {
	t.Helper()
	built.Store(true)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, path: path, dir: t.TempDir(), env: append(os.Environ(), env...)}
	if err := os.WriteFile(filepath.Join(w.dir, "pipeline.yaml"), []byte(pipelineFile), 0o644); err != nil {
		t.Fatal(err)
	}
	return w
}

// command is one invocation that was not started yet.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.path, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	return cmd
}

// result is how an invocation ended.
type result struct {
	code           int // -1: killed
	stdout, stderr string
}

func (w *world) run(args ...string) result {
	w.t.Helper()
	var out, errs bytes.Buffer
	cmd := w.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// must runs and decodes the one line of JSON that comes out.
func (w *world) must(into any, args ...string) {
	w.t.Helper()
	r := w.run(append(args, "-o", "json")...)
	if r.code != 0 {
		w.t.Fatalf("%v: exit %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	if err := json.Unmarshal([]byte(r.stdout), into); err != nil {
		w.t.Fatalf("%v: %v in %q", args, err, r.stdout)
	}
}

// killedRuns starts run after run and kills each with SIGKILL at a random moment
// within the window, until so many were killed; then it lets runs end by
// themselves until one has nothing left to do. It returns how many it killed. If
// the source is drained before, refill puts more into it; without refill that is
// the end.
func (w *world) killedRuns(rnd *rand.Rand, kills int, window time.Duration, refill func(), args ...string) (int, error) {
	killed := 0
	for range 10 * (kills + 10) {
		var out, errs bytes.Buffer
		cmd := w.command(append([]string{"run", "-q", "-o", "json"}, args...)...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			return killed, err
		}
		stop := func() bool { return true }
		if killed < kills {
			at := time.Duration(rnd.Int64N(int64(window)))
			if killed%2 == 0 {
				at += 200 * time.Millisecond // some get through the first run's probes of the store
			}
			stop = time.AfterFunc(at, func() { _ = cmd.Process.Kill() }).Stop
		}
		err := cmd.Wait()
		stop()
		if code := cmd.ProcessState.ExitCode(); code == -1 {
			killed++
			continue
		} else if code != 0 && code != exitTemporary && code != exitSuperseded {
			return killed, fmt.Errorf("exit %d: %w: %s", code, err, errs.String())
		}
		var rep report
		if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
			return killed, fmt.Errorf("report %q: %w", out.String(), err)
		}
		switch {
		case rep.Outcome != outcomeEmpty:
		case killed < kills && refill != nil:
			refill()
		default:
			return killed, nil
		}
	}
	return killed, errors.New("the source is never drained")
}

// TestKilledShardsCommitEveryRecordOnceOnMinIO is the promise on a real S3
// server: two shards, killed at random moments until all is consumed.
func TestKilledShardsCommitEveryRecordOnceOnMinIO(t *testing.T) {
	if testing.Short() {
		localdev.Skip(t, "the kill test on MinIO is skipped by -short")
	}
	const objects, records = 200, 5000
	s := minio(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	place := fmt.Sprintf("killed-%d", seed)
	w := newWorld(t, s.Env(), fmt.Sprintf(`
pipeline: killed
store: s3://lake/%[1]s
source: {files: {path: s3://input/%[1]s}}
batch: {max_objects: 20}
`, place))
	in := bucket(t, s, "input", place)
	want, err := localdev.Seed(t.Context(), in, localdev.SeedOptions{Objects: objects, Records: records, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	var kills atomic.Int64
	var wg sync.WaitGroup
	for shard := range 2 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(shard)))
			n, err := w.killedRuns(rnd, 8, 400*time.Millisecond, nil, "--shard", fmt.Sprintf("%d/2", shard))
			if err != nil {
				t.Error(err)
			}
			kills.Add(int64(n))
		})
	}
	wg.Wait()
	took := time.Since(begun)
	if kills.Load() < 4 {
		t.Errorf("only %d processes were killed before all was done: the test shows nothing", kills.Load())
	}
	var proof audit.Report
	w.must(&proof, "verify", "--source")
	if proof.Source.Verified != want || proof.Lost+proof.Doubled+proof.Source.Mismatch+proof.Source.Unverifiable != 0 {
		t.Errorf("verify --source: %+v, want %d records verified", proof, want)
	}
	rows, ids := w.duckCount(s, "lake")
	if rows != want || ids != want {
		t.Errorf("DuckDB counts %d rows and %d ids, want %d", rows, ids, want)
	}
	figure := fmt.Sprintf("%d records of %d objects in %d batches by 2 shards, %d processes killed, %.1f s; verify --source: %d verified, %d lost, %d doubled; DuckDB: %d rows, %d ids",
		want, objects, proof.Batches, kills.Load(), took.Seconds(), proof.Source.Verified, proof.Lost, proof.Doubled, rows, ids)
	t.Log(figure)
	localdev.Figure("kill -9 on MinIO", figure)
}

// bucket opens a part of a bucket for the test itself.
func bucket(t *testing.T, s *localdev.Server, name, prefix string) object.Store {
	t.Helper()
	for _, e := range s.Env() {
		k, v, _ := strings.Cut(e, "=")
		t.Setenv(k, v)
	}
	b, err := s3store.New(t.Context(), s3store.Config{Bucket: name, Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// duckCount counts rows and distinct ids of the committed files with DuckDB,
// which knows nothing of batcher: it gets the files that `batcher files` names.
func (w *world) duckCount(s *localdev.Server, name string) (rows, ids int64) {
	w.t.Helper()
	duck, err := localdev.OpenDuckDB(w.t.Context())
	if err != nil {
		w.t.Fatalf("this test needs DuckDB: %v", err)
	}
	paths := w.download(s, name)
	got, err := duck.Query(w.t.Context(), fmt.Sprintf(
		`SELECT count(*) AS n, count(DISTINCT (_source, _offset)) AS d FROM read_parquet([%s], union_by_name = true)`, strings.Join(paths, ",")))
	if err != nil {
		w.t.Fatal(err)
	}
	return number(w.t, got[0]["n"]), number(w.t, got[0]["d"])
}

// download fetches the live files and returns their local paths as SQL literals.
func (w *world) download(s *localdev.Server, name string) []string {
	w.t.Helper()
	b := bucket(w.t, s, name, "")
	dir := w.t.TempDir()
	r := w.run("files")
	var paths []string
	for i, uri := range strings.Fields(r.stdout) {
		body, _, err := object.ReadAll(w.t.Context(), b, strings.TrimPrefix(uri, "s3://"+name+"/"), object.GetOptions{}, 1<<30)
		if err != nil {
			w.t.Fatal(err)
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.parquet", i))
		if err := os.WriteFile(path, body, 0o644); err != nil {
			w.t.Fatal(err)
		}
		paths = append(paths, literal(path))
	}
	return paths
}

// number reads a count that came through JSON.
func number(t *testing.T, v any) int64 {
	t.Helper()
	n, err := json.Number(fmt.Sprint(v)).Int64()
	if err != nil {
		t.Fatalf("%v (%T) is no count: %v", v, v, err)
	}
	return n
}
