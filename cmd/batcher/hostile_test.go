package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batcher/audit"
	"batcher/localdev"
	"batcher/object"
)

// TestHostileKeysInABucketAreDataAndNothingElse does in a bucket what
// TestHostileKeysAreDataAndNothingElse does in a directory: keys there may be
// almost anything. Those that the server itself refuses are named in the log.
func TestHostileKeysInABucketAreDataAndNothingElse(t *testing.T) {
	s := minio(t)
	place := fmt.Sprintf("hostile-%d", time.Now().UnixNano())
	w := newWorld(t, s.Env(), fmt.Sprintf("pipeline: h\nstore: s3://misc/%[1]s/lake\nsource: {files: {path: s3://misc/%[1]s/in}}\ndead_letters: {fail_above: {ratio: 1}}\n", place))
	in, whole := bucket(t, s, "misc", place+"/in"), bucket(t, s, "misc", place)
	want := map[string]bool{}
	for _, key := range []string{
		"../../lake/x", "a/../../lake/b", "plain", "sp ace+plus%2Fpercent", "new\nline", "esc\x1b[31m", "q'\"uote", "é\u202egnp", "?query=1#frag",
		"lake/h/data/head.json", strings.Repeat("k", 200) + "/" + strings.Repeat("l", 200), strings.Repeat("n", 900), "a//b", "trailing/dot./x", "\\back\\slash",
	} {
		_, err := in.Put(t.Context(), key, []byte("{\"a\":1}\nbad\n"), object.Always)
		if err != nil {
			if !errors.Is(err, object.ErrUnsupported) && !errors.Is(err, object.ErrUnknown) {
				t.Errorf("key %q: %v", key, err)
			}
			t.Logf("the server refuses the key %.40q", key)
			continue
		}
		want[key] = true
	}
	if len(want) < 8 {
		t.Fatalf("only %d keys could be made: the test shows little", len(want))
	}
	var rep report
	w.must(&rep, "run")
	if n := int64(len(want)); rep.Rows.Written != n || rep.Rows.Dead != n {
		t.Errorf("rows %+v of %d keys", rep.Rows, n)
	}
	var proof audit.Report
	w.must(&proof, "verify", "--source", "--deep")
	if proof.Source.Verified != int64(2*len(want)) || len(proof.Violations) > 0 {
		t.Errorf("verify: %+v", proof)
	}
	for info, err := range whole.List(t.Context(), "", object.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		key := info.Key
		switch {
		case strings.HasPrefix(key, "in/") && want[strings.TrimPrefix(key, "in/")]:
		case strings.HasPrefix(key, "lake/_batcher/"), strings.HasPrefix(key, "lake/h/data/"), strings.HasPrefix(key, "lake/h_dead/data/"),
			strings.HasPrefix(key, "lake/h/_delta_log/"), strings.HasPrefix(key, "lake/h_dead/_delta_log/"),
			strings.HasPrefix(key, "lake/h_batches/data/"), strings.HasPrefix(key, "lake/h_batches/_delta_log/"):
		default:
			t.Errorf("written outside of its place: %q", key)
		}
	}
	figure := fmt.Sprintf("%d keys in a bucket: each one row and one dead letter, nothing elsewhere", len(want))
	t.Log(figure)
	localdev.Figure("hostile keys", figure)
}

// TestADamagedStateObjectIsDamage cuts, garbles and removes the state object that
// the consumed set stands in.
func TestADamagedStateObjectIsDamage(t *testing.T) {
	for name, spoil := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:100] },
		"garbled": func(b []byte) []byte { b[1000] ^= 0xff; return b },
		"gone":    func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, strings.Replace(localFile, "max_objects: 3", "max_objects: 1000", 1))
			w.seedLocal("", 300, 1) // 300 entries do not fit into the manifest
			var rep report
			w.must(&rep, "run")
			states, err := filepath.Glob(filepath.Join(w.dir, "lake/_batcher/events/state/*/*/*.seg"))
			if err != nil || len(states) == 0 {
				t.Fatalf("no state object: %v", err)
			}
			for _, path := range states {
				w.spoil(path, spoil)
			}
			if r := w.run("verify", "--deep"); r.code != exitDamaged || !strings.Contains(r.stdout, "VIOLATION I10") {
				t.Errorf("verify: exit %d: %s%s", r.code, r.stdout, r.stderr)
			}
			w.seedLocal("more/", 1, 1)
			made := filepath.Join(w.dir, "in/more")
			err = filepath.WalkDir(made, func(path string, _ fs.DirEntry, err error) error {
				return errors.Join(err, os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)))
			})
			if err != nil {
				t.Fatal(err)
			}
			// Older than what is consumed, so that the consumed set has to be read.
			if r := w.run("run"); r.code != exitDamaged {
				t.Errorf("exit %d: %s", r.code, r.stderr)
			}
		})
	}
}
