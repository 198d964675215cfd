package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestShowPutsLongListsInPlace replaces so many objects, in so many files, that each
// list of the manifest stands in a state object.
func TestShowPutsLongListsInPlace(t *testing.T) {
	const objects, files = 100, 40
	w := newWorld(t, nil, "pipeline: events\nstore: ./lake\nsource: {files: {path: ./in, settle: 0s, on_change: replace}}\n"+
		"schema: {columns: [{path: p, type: string}]}\npartition_by: [{column: p}]\n")
	for round := range 2 {
		for i := range objects {
			w.write(fmt.Sprintf("in/%0200d.ndjson", i), fmt.Sprintf("{\"p\":\"%d\",\"n\":%d}\n", i%files, (round+1)*1000))
		}
		w.must(&report{}, "run")
	}
	var m struct {
		Batch struct {
			Ranges, Replaced []struct{ Key string }
		}
		Tables map[string]struct {
			Add, Remove []struct{ Key string }
		}
	}
	w.must(&m, "show", "2")
	main := m.Tables["events"]
	if len(m.Batch.Ranges) != objects || len(m.Batch.Replaced) != objects || len(main.Add) != files || len(main.Remove) != files {
		t.Errorf("%d ranges, %d replaced, %d files added, %d removed", len(m.Batch.Ranges), len(m.Batch.Replaced), len(main.Add), len(main.Remove))
	}
	stored, err := filepath.Glob(filepath.Join(w.dir, "lake/_batcher/events/manifests/*2.json"))
	if err != nil || len(stored) != 1 {
		t.Fatalf("%v: %v", stored, err)
	}
	text, err := os.ReadFile(stored[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"ranges", "replaced", "add", "remove"} {
		if !strings.Contains(string(text), `"`+list+`":{"count":`) {
			t.Errorf("%s stand in the manifest itself: the test shows nothing", list)
		}
	}
}
