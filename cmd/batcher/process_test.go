package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"batcher/audit"
	"batcher/localdev"
	"batcher/object/filestore"
)

const localFile = `
pipeline: events
store: ./lake
source: {files: {path: ./in, settle: 0s}}
batch: {max_objects: 3}
`

// seedLocal writes sample objects into the world's input folder.
func (w *world) seedLocal(prefix string, objects, records int) int64 {
	w.t.Helper()
	in, err := filestore.New(filepath.Join(w.dir, "in"))
	if err != nil {
		w.t.Fatal(err)
	}
	n, err := localdev.Seed(w.t.Context(), in, localdev.SeedOptions{Prefix: prefix, Objects: objects, Records: records, Seed: 3})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// proves runs verify --source and demands that it verified so many records.
func (w *world) proves(want int64) audit.Report {
	w.t.Helper()
	var proof audit.Report
	w.must(&proof, "verify", "--source", "--deep")
	if proof.Source.Verified != want || proof.Lost+proof.Doubled+proof.Source.Mismatch != 0 || len(proof.Violations) > 0 {
		w.t.Errorf("verify: %+v, want %d records verified", proof, want)
	}
	return proof
}

func TestKilledRunsOnADirectoryCommitEveryRecordOnce(t *testing.T) {
	w := newWorld(t, nil, localFile)
	want := w.seedLocal("", 60, 1000)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	refills := 0
	kills, err := w.killedRuns(rand.New(rand.NewPCG(seed, 1)), 20, 150*time.Millisecond, func() {
		refills++
		want += w.seedLocal(fmt.Sprintf("more-%d/", refills), 60, 1000)
	})
	if err != nil {
		t.Fatal(err)
	}
	if kills < 20 {
		t.Errorf("only %d of 20 processes were killed", kills)
	}
	proof := w.proves(want)
	figure := fmt.Sprintf("%d records in %d batches, %d processes killed: %d verified, %d lost, %d doubled", want, proof.Batches, kills, proof.Source.Verified, proof.Lost, proof.Doubled)
	t.Log(figure)
	localdev.Figure("kill -9 on a directory", figure)
}

func TestATerminatedRunEndsBetweenBatchesAndTheNextOneFinishes(t *testing.T) {
	w := newWorld(t, nil, localFile)
	want := w.seedLocal("", 100, 3000)
	cmd := w.command("run", "-q")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		found, _ := filepath.Glob(filepath.Join(w.dir, "lake/_batcher/events/manifests/*2.json"))
		return len(found) > 0
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 143 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	var rep report
	w.must(&rep, "run")
	if rep.Outcome != outcomeCommitted {
		t.Errorf("the run was terminated after everything was done: %+v", rep)
	}
	w.proves(want)
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for range 2000 {
		if done() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("waited ten seconds in vain")
}

// TestAFullDiskCommitsNothingAndTheNextRunFinishes gives the store a file system
// that is too small.
func TestAFullDiskCommitsNothingAndTheNextRunFinishes(t *testing.T) {
	w := newWorld(t, nil, localFile)
	want := w.seedLocal("", 10, 20000)
	lake := filepath.Join(w.dir, "lake")
	if err := os.Mkdir(lake, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", lake, "tmpfs", 0, "size=256k"); err != nil {
		localdev.Skip(t, fmt.Sprintf("the full-disk test is skipped: a small file system cannot be mounted here: %v", err))
	}
	defer func() { _ = syscall.Unmount(lake, 0) }()
	r := w.run("run", "-q")
	if r.code != exitTemporary && r.code != exitUnavailable {
		t.Fatalf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if !strings.Contains(r.stderr, "no space left") {
		t.Errorf("the message does not say that the disk is full: %s", r.stderr)
	}
	if err := syscall.Mount("tmpfs", lake, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	var rep report
	w.must(&rep, "run")
	w.proves(want)
	t.Logf("exit %d on the full disk; afterwards %d rows", r.code, rep.Rows.Written)
}

// TestBadInput holds each kind of bad input to its exit code and to a message
// that names the object and the position.
func TestBadInput(t *testing.T) {
	good := strings.Repeat(`{"a":1}`+"\n", 10)
	gz := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(s))
		_ = z.Close()
		return b.String()
	}
	random := make([]byte, 20000)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	for _, c := range []struct {
		name    string
		files   map[string]string
		args    []string
		prepare func(w *world)
		code    int
		says    []string // on stderr
		rows    int64
		dead    string // in the dead letters
	}{
		{name: "unknown key", args: []string{"--set", "source.files.pth=x"}, code: exitConfig, says: []string{"source.files.pth", "path"}},
		{name: "wrong type", args: []string{"--set", "batch.max_records=many"}, code: exitConfig, says: []string{"batch.max_records"}},
		{name: "source inside the store", args: []string{"--set", "source.files.path=lake/in"}, code: exitConfig, says: []string{"contain"}},
		{name: "no such directory", args: []string{"--set", "source.files.path=nowhere"}, code: exitUnavailable, says: []string{"nowhere"}},
		{name: "empty directory", files: map[string]string{"in/.keep": ""}, code: exitOK},
		{name: "zero bytes", files: map[string]string{"in/zero.ndjson": ""}, code: exitOK},
		{name: "truncated gzip", files: map[string]string{"in/a.gz": gz(good)[:20], "in/b.ndjson": good}, code: exitOK, rows: 10, dead: "a.gz"},
		{name: "members", files: map[string]string{"in/a.gz": gz(good) + gz(good)}, code: exitOK, rows: 20},
		{name: "invalid UTF-8", files: map[string]string{"in/a.ndjson": good + "{\"a\":\"\xff\"}\n"}, code: exitOK, rows: 10, dead: "invalid UTF-8 at byte 6"},
		{name: "garbage", files: map[string]string{"in/a.bin": "\x00" + string(random), "in/b.ndjson": good}, code: exitOK, rows: 10, dead: "binary"},
		{name: "a line of 100 MB", files: map[string]string{"in/a.ndjson": good + `{"a":"` + strings.Repeat("x", 100_000_000) + `"}` + "\n" + good}, code: exitOK, rows: 20, dead: "too_long"},
		{name: "over budget", files: map[string]string{"in/a.ndjson": strings.Repeat("{bad\n", 2000)}, code: exitBadRecords, says: []string{"2000 of 2000", "a.ndjson at byte 0"}},
		{name: "broken and fail", files: map[string]string{"in/a.gz": gz(good)[:20]}, args: []string{"--set", "source.files.on_broken=fail"}, code: exitBadRecords, says: []string{"a.gz", "truncated"}},
		{name: "changed and fail", files: map[string]string{"in/a.ndjson": good}, args: []string{"--set", "source.files.on_change=fail"}, prepare: func(w *world) {
			w.run("run", "-q", "--set", "source.files.on_change=fail")
			w.write("in/a.ndjson", good+good)
		}, code: exitGap, says: []string{"a.ndjson"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil, localFile)
			for name, text := range c.files {
				w.write(name, text)
			}
			if c.prepare != nil {
				c.prepare(w)
			}
			r := w.run(append([]string{"run", "-q"}, c.args...)...)
			if r.code != c.code {
				t.Fatalf("exit %d, want %d\n%s%s", r.code, c.code, r.stdout, r.stderr)
			}
			for _, s := range c.says {
				if !strings.Contains(r.stderr, s) {
					t.Errorf("stderr does not say %q: %s", s, r.stderr)
				}
			}
			if r.code != exitOK || strings.Contains(r.stdout, "nothing was created") {
				return
			}
			var proof audit.Report
			w.must(&proof, "verify", "--source")
			if proof.Lost+proof.Doubled != 0 || proof.Source.Unverifiable+proof.Source.Mismatch != 0 {
				t.Errorf("verify: %+v", proof)
			}
			if dead := w.run("head", "--table", "events_dead").stdout; !strings.Contains(dead, c.dead) || (c.dead == "") != (dead == "") {
				t.Errorf("dead letters: %.300q, want %q", dead, c.dead)
			}
			if c.rows > 0 {
				if n := int64(strings.Count(w.run("head", "-n", "1000").stdout, "\n")); n != c.rows {
					t.Errorf("%d rows, want %d", n, c.rows)
				}
			}
		})
	}
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func TestUnreadableDirectoryIsNamedAndDenied(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("run as root: the process drops to another user for this test")
	}
	w := newWorld(t, nil, localFile)
	w.write("in/sub/a.ndjson", `{"a":1}`+"\n")
	if err := os.Chmod(filepath.Join(w.dir, "in/sub"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(w.dir, "in/sub"), 0o755) })
	r := w.asNobody("run", "-q")
	if r.code != exitDenied || !strings.Contains(r.stderr, "sub") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

// asNobody runs as an unprivileged user when the test itself is privileged.
func (w *world) asNobody(args ...string) result {
	w.t.Helper()
	if os.Getuid() != 0 {
		return w.run(args...)
	}
	const nobody = 65534
	for _, dir := range []string{w.dir, filepath.Dir(w.dir), filepath.Dir(filepath.Dir(w.dir)), filepath.Dir(w.path)} {
		if err := os.Chmod(dir, 0o777); err != nil {
			w.t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	cmd := w.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	_ = cmd.Run()
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func TestBucketsThatAreMissingOrRefuseAccess(t *testing.T) {
	s := minio(t)
	file := "pipeline: misc\nstore: s3://misc/lake\nsource: {files: {path: s3://misc/in}}\n"
	w := newWorld(t, s.Env(), file)
	if r := w.run("run", "-q", "--set", "store=s3://no-such-bucket/x"); r.code != exitUnavailable || !strings.Contains(r.stderr, "no-such-bucket") {
		t.Errorf("missing bucket: exit %d: %s", r.code, r.stderr)
	}
	if r := w.run("run", "-q", "--set", "source.files.path=s3://no-such-source/x"); r.code != exitUnavailable || !strings.Contains(r.stderr, "no-such-source") {
		t.Errorf("missing source bucket: exit %d: %s", r.code, r.stderr)
	}
	if r := w.run("run", "-q"); r.code != exitOK || !strings.HasPrefix(r.stdout, "no objects to read under s3://misc/in; nothing was created") {
		t.Errorf("empty prefix: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	const wrong = "wrong-secret-that-must-not-be-printed"
	bad := newWorld(t, append(s.Env(), "AWS_SECRET_ACCESS_KEY="+wrong), file)
	if r := bad.run("run", "-v"); r.code != exitDenied || strings.Contains(r.stdout+r.stderr, wrong) {
		t.Errorf("wrong credentials: exit %d: %s", r.code, r.stderr)
	}
}

func TestDoctorPassesOnMinIOAndRefusesAStoreThatIgnoresTheCondition(t *testing.T) {
	s := minio(t)
	if err := s.Put(t.Context(), "misc", "doctored/a.ndjson", []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	file := "pipeline: doc\nstore: s3://misc/doctor\nsource: {files: {path: s3://misc/doctored}}\n"
	if r := newWorld(t, s.Env(), file).run("doctor"); r.code != exitOK || strings.Contains(r.stdout, "FAIL") || !strings.Contains(r.stdout, "store s3://misc/doctor\npass  reach\n") || !strings.Contains(r.stdout, "pass  create-race-large\n") ||
		!strings.HasSuffix(r.stdout, "source s3://misc/doctored\npass  reach\npass  list\npass  read\npass  range\npass  pinned\n") {
		t.Errorf("doctor on MinIO: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	proxy := s.StripProxy()
	defer proxy.Close()
	w := newWorld(t, s.EnvAt(proxy.Endpoint), file)
	r := w.run("doctor")
	if r.code != exitUnavailable || !strings.Contains(r.stderr, "create-if-absent") {
		t.Errorf("doctor on a store that ignores the condition: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	t.Logf("doctor says: %s", r.stderr)
	// The first run on a root refuses it too, before anything is written.
	if r := w.run("run", "-q"); r.code != exitUnavailable || !strings.Contains(r.stderr, "create-if-absent") {
		t.Errorf("first run on a store that ignores the condition: exit %d: %s", r.code, r.stderr)
	}
}

// spoil changes a file of the store behind batcher's back; nil removes it.
func (w *world) spoil(path string, change func([]byte) []byte) {
	w.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if text = change(text); text == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}
