package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batcher/audit"
	"batcher/localdev"
)

// vacuumed is a pipeline whose table others clean up.
type vacuumed struct {
	*world
	readers *localdev.DeltaReaders
	folder  string // of the table
	n       int    // objects so far, with one record each
}

// newVacuumed makes a table with a checkpoint, merged files behind it, and what was there
// before the merge, which is manifest 13 and version 12.
func newVacuumed(t *testing.T) *vacuumed {
	w := newWorld(t, nil, localFile+"publish: [delta]\ncompact: {after_run: 0%}\n")
	readers, err := localdev.OpenDeltaReaders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v := &vacuumed{world: w, readers: readers, folder: filepath.Join(w.dir, "lake", "events")}
	for range 12 {
		v.feed()
	}
	v.must(&struct{}{}, "compact", "--all")
	v.feed()
	return v
}

// feed has a run take one more object.
func (v *vacuumed) feed(args ...string) {
	v.t.Helper()
	v.n++
	v.write(fmt.Sprintf("in/%d.ndjson", v.n), fmt.Sprintf(`{"n":%d}`+"\n", v.n))
	v.must(&report{}, append([]string{"run"}, args...)...)
}

// holds are the data files and the versions of the table.
func (v *vacuumed) holds() map[string]string {
	v.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(v.folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		name, _ := filepath.Rel(v.folder, path)
		out[filepath.ToSlash(name)] = string(body)
		return err
	})
	if err != nil {
		v.t.Fatal(err)
	}
	return out
}

// complete wants each record once, as delta-rs and the files of the chain have them.
func (v *vacuumed) complete(when string) {
	v.t.Helper()
	q := localdev.DeltaQuery{Table: v.folder, SQL: []string{"SELECT n FROM t ORDER BY n"}}
	var want []map[string]any
	for i := range v.n {
		want = append(want, map[string]any{"n": json.Number(fmt.Sprint(i + 1))})
	}
	for name, ask := range map[string]func() (localdev.DeltaAnswer, error){
		"DuckDB":   func() (localdev.DeltaAnswer, error) { return v.readers.DuckDB(v.t.Context(), q) },
		"delta-rs": func() (localdev.DeltaAnswer, error) { return v.readers.DeltaRS(v.t.Context(), q) },
	} {
		a, err := ask()
		if err != nil {
			v.t.Fatalf("%s: %s: %v", when, name, err)
		}
		if !slices.EqualFunc(a.Rows[0], want, maps.Equal[map[string]any]) {
			v.t.Errorf("%s: %s reads %v, want 1 to %d", when, name, a.Rows[0], v.n)
		}
	}
}

// conflict is what status says of the table.
func (v *vacuumed) conflict() string {
	v.t.Helper()
	var s statusReport
	v.must(&s, "status")
	for _, d := range s.Delta {
		if d.Table == "events" {
			return d.Conflict
		}
	}
	return "status does not know the table"
}

// TestAVacuumByOthersDeletesNothing: delta-rs takes the period that the table says, a
// century, and refuses a shorter one. Files that were merged stay, those that no version
// names yet, too.
func TestAVacuumByOthersDeletesNothing(t *testing.T) {
	v := newVacuumed(t)
	v.complete("before")
	v.feed("--set", "publish=[]") // committed, and not published
	v.write("lake/events/data/00000000000000000014/0123456789abcdef0123456789abcdef/000000.parquet", "of a run under way")
	before := v.holds()
	for _, arguments := range []string{"{}", `{"full":true}`} {
		if deleted, err := v.readers.Vacuum(t.Context(), v.folder, arguments); err != nil || len(deleted) > 0 {
			t.Errorf("vacuum %s: deleted %v, %v", arguments, deleted, err)
		}
	}
	for _, arguments := range []string{`{"retention_hours":168}`, `{"retention_hours":0,"full":true}`} {
		if deleted, err := v.readers.Vacuum(t.Context(), v.folder, arguments); err == nil || !strings.Contains(err.Error(), "minimum retention") {
			t.Errorf("vacuum %s: deleted %v, %v", arguments, deleted, err)
		}
	}
	if after := v.holds(); !maps.Equal(before, after) {
		t.Errorf("the table held %v and holds %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
	v.feed()
	v.complete("after")
	v.must(&audit.Report{}, "verify", "--source", "--deep")
	v.must(&repaired{}, "rewind", "12", "--confirm")
	v.must(&report{}, "run")
	v.complete("rewound to before the merge")
	localdev.Figure("files that a VACUUM of delta-rs left alone, as no period of its own was forced on it", len(before))
}

// TestAForcedVacuum has delta-rs delete all that the last version does not name. The rows
// that are live stay. What is gone is found and named, and the pipeline goes on.
func TestAForcedVacuum(t *testing.T) {
	v := newVacuumed(t)
	before := v.holds()
	deleted, err := v.readers.Vacuum(t.Context(), v.folder, `{"retention_hours":0,"enforce_retention_duration":false,"full":true}`)
	if err != nil || len(deleted) != 12 {
		t.Fatalf("deleted %v, %v", deleted, err)
	}
	if after := v.holds(); len(after) != len(before)-12+2 { // two commits say that it began and ended
		t.Errorf("%d objects, then %d", len(before), len(after))
	}
	v.complete("vacuumed")
	if c := v.conflict(); !strings.Contains(c, "delta-rs") {
		t.Errorf("status: %s", c)
	}
	if r := v.run("run"); r.code != exitUnavailable || !strings.Contains(r.stderr, "publish --rebuild") {
		t.Errorf("run: exit %d: %s", r.code, r.stderr)
	}
	r := v.run("verify")
	for _, path := range deleted {
		if !strings.Contains(r.stdout, "events/"+path+" is absent") {
			t.Errorf("verify does not name %s", path)
		}
	}
	if r.code != exitDamaged {
		t.Errorf("verify: exit %d: %s", r.code, r.stdout)
	}
	v.must(&publication{}, "publish", "--rebuild", "--confirm")
	v.feed()
	v.complete("published anew")
	if r := v.run("rewind", "12", "--confirm"); r.code != exitUsage || !strings.Contains(r.stderr, "not retained") {
		t.Errorf("rewind to what is gone: exit %d: %s", r.code, r.stderr)
	}
	v.giveUpSnapshots()
	v.feed()
	v.complete("at last")
}

// TestAForcedVacuumTakesWhatIsNotPublished: files of a batch that was committed and not
// published are strangers to others. They are live, and are named; a rewind to before the
// batch has its objects read again.
func TestAForcedVacuumTakesWhatIsNotPublished(t *testing.T) {
	v := newVacuumed(t)
	v.feed("--set", "publish=[]") // manifest 15
	if deleted, err := v.readers.Vacuum(t.Context(), v.folder, `{"retention_hours":0,"enforce_retention_duration":false,"full":true}`); err != nil || len(deleted) != 13 {
		t.Fatalf("deleted %v, %v", deleted, err)
	}
	if r := v.run("verify"); r.code != exitDamaged || !strings.Contains(r.stdout, "I10 at manifest 15: events/data/00000000000000000014/") {
		t.Errorf("verify: exit %d: %s", r.code, r.stdout)
	}
	v.must(&repaired{}, "rewind", "14", "--confirm")
	v.must(&publication{}, "publish", "--rebuild", "--confirm")
	v.must(&report{}, "run")
	v.complete("read again")
	v.giveUpSnapshots()
}

// giveUpSnapshots has those expire that lack files, and wants a proof of what is left.
func (v *vacuumed) giveUpSnapshots() {
	v.t.Helper()
	v.must(&struct{}{}, "gc", "--keep", "0s", "--confirm")
	v.must(&repaired{}, "expire", "--keep", "0s", "--confirm")
	v.must(&audit.Report{}, "verify", "--source", "--deep")
}
