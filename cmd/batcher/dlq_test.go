package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"batcher/audit"
	"batcher/dlq"
	"batcher/localdev"
	"batcher/object"
)

// TestKilledReplaysOnMinIOBringEveryLetterBackOnce lets several processes replay
// the same lines side by side, each killed at a random moment as long as there are
// kills left, while a run goes on to consume.
func TestKilledReplaysOnMinIOBringEveryLetterBackOnce(t *testing.T) {
	if testing.Short() {
		localdev.Skip(t, "the kill test on MinIO is skipped by -short")
	}
	const objects, parts, kills = 20, 15, 24
	s := minio(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	place := fmt.Sprintf("replayed-%d", seed)
	w := newWorld(t, s.Env(), fmt.Sprintf(`
pipeline: replayed
store: s3://lake/%[1]s
source: {files: {path: s3://input/%[1]s}}
batch: {max_objects: 5}
dead_letters: {fail_above: {ratio: 1}}
`, place))
	in := bucket(t, s, "input", place)
	put := func(i int) {
		var b bytes.Buffer
		for n := range 100 {
			fmt.Fprintf(&b, `{"n":%d,"bad":`+"\n"+`{"n":%d}`+"\n", n, n)
		}
		if _, err := in.Put(t.Context(), fmt.Sprintf("o%d.ndjson", i), b.Bytes(), object.Always); err != nil {
			t.Fatal(err)
		}
	}
	for i := range objects {
		put(i)
	}
	if r := w.run("run", "-q"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	letters := strings.SplitAfter(strings.TrimSpace(w.run("dlq", "export").stdout), "\n")
	files := make([]string, parts)
	for i, line := range letters {
		files[i%parts] += strings.Replace(line, `\"bad\":`, `\"bad\":true}`, 1)
	}
	for i, text := range files {
		if err := os.WriteFile(filepath.Join(w.dir, fmt.Sprintf("part%d", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var killed atomic.Int64
	killed.Store(-kills)
	var wg sync.WaitGroup
	for process := range 3 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(process)))
			for _, part := range rnd.Perm(parts) {
				if err := w.replayUntilDone(rnd, fmt.Sprintf("part%d", part), &killed); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 10 {
		put(objects + i)
		if r := w.run("run", "-q"); r.code != 0 && r.code != exitTemporary && r.code != exitSuperseded {
			t.Errorf("run: exit %d: %s", r.code, r.stderr)
		}
	}
	wg.Wait()
	if r := w.run("run", "-q"); r.code != 0 {
		t.Error(r.stderr)
	}
	var left dlq.Summary
	w.must(&left, "dlq", "list")
	var proof audit.Report
	w.must(&proof, "verify", "--source")
	want, still := int64((objects+10)*200), int64(10*100)
	if left.Letters != still || proof.Source.Verified != want || proof.Lost+proof.Doubled+proof.Source.Mismatch+proof.Source.Unverifiable != 0 {
		t.Errorf("%d letters left, want %d; verify --source: %+v, want %d records verified", left.Letters, still, proof, want)
	}
	rows, ids := w.duckCount(s, "lake")
	if rows != want-still || ids != want-still {
		t.Errorf("DuckDB counts %d rows and %d ids, want %d", rows, ids, want-still)
	}
	figure := fmt.Sprintf("%d letters in %d parts by 3 processes, %d killed, beside runs; verify --source: %d verified, %d lost, %d doubled; DuckDB: %d rows, %d ids",
		len(letters), parts, killed.Load()+kills, proof.Source.Verified, proof.Lost, proof.Doubled, rows, ids)
	t.Log(figure)
	localdev.Figure("kill -9 of replays on MinIO", figure)
}

// replayUntilDone replays a file, again and again while it is killed.
func (w *world) replayUntilDone(rnd *rand.Rand, file string, killed *atomic.Int64) error {
	for range 100 {
		cmd := w.command("dlq", "replay", file, "-o", "json", "-q")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			return err
		}
		stop := func() bool { return true }
		if killed.Load() < 0 {
			stop = time.AfterFunc(time.Duration(rnd.Int64N(int64(300*time.Millisecond))), func() { _ = cmd.Process.Kill() }).Stop
		}
		_ = cmd.Wait()
		stop()
		switch code := cmd.ProcessState.ExitCode(); code {
		case -1:
			killed.Add(1)
		case exitTemporary, exitSuperseded:
		case exitOK:
			return nil
		default:
			return fmt.Errorf("replay %s: exit %d: %s", file, code, errs.String())
		}
	}
	return fmt.Errorf("replay %s: never done", file)
}
