package manifest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"batcher/localdev"
	"batcher/manifest"
	"batcher/segment"
)

// list is a live list with the runs that were made for it.
type list struct {
	manifest.Live
	runs        map[segment.Ref][]manifest.File
	read        int   // segments that were loaded
	added, size int64 // bytes of the entries of all files, and of all runs
}

// add appends files, folding as a commit does.
func (l *list) add(t *testing.T, key string, files []manifest.File) {
	t.Helper()
	for i := range files {
		line, err := json.Marshal(files[i])
		if err != nil {
			t.Fatal(err)
		}
		l.added += int64(len(line))
	}
	e := manifest.Edit{Segments: l.Segments.Items, Add: files}
	var err error
	if e.Fold, err = l.Fold(e.Segments, files); err != nil {
		t.Fatal(err)
	}
	for _, ref := range e.Segments[len(e.Segments)-e.Fold:] {
		e.Loaded = append(e.Loaded, l.runs[ref])
		l.read++
	}
	pack := segment.NewPack(key)
	if l.Live, _, err = l.Edit(e, pack); err != nil {
		t.Fatal(err)
	}
	l.size += int64(len(pack.Bytes()))
	for _, ref := range l.Segments.Items {
		if ref.Key != key {
			continue
		}
		if l.runs[ref], err = segment.Decode[manifest.File](manifest.LiveKind, pack.Bytes()[ref.Offset:ref.Offset+ref.Size]); err != nil {
			t.Fatal(err)
		}
	}
}

// files are all files in order.
func (l *list) files() (all []manifest.File) {
	for _, ref := range l.Segments.Items {
		all = append(all, l.runs[ref]...)
	}
	return append(all, l.Recent...)
}

// TestALiveListHasFewSegments adds 20,000 files in commits of one to nine: they stay in
// order, in few segments, and what is written of the list stays in proportion.
func TestALiveListHasFewSegments(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	const files = 20_000
	l, n, most := list{runs: map[segment.Ref][]manifest.File{}}, 0, 0
	for n < files {
		var batch []manifest.File
		for range min(1+random.IntN(9), files-n) {
			batch = append(batch, manifest.File{Key: fmt.Sprint(n), Rows: 1, Columns: make([]manifest.ColumnStats, random.IntN(30))})
			n++
		}
		l.add(t, fmt.Sprint("state of ", n), batch)
		most = max(most, len(l.Segments.Items))
	}
	if l.Files != files || l.Segments.Ref != nil {
		t.Errorf("%d files; segments %+v", l.Files, l.Segments)
	}
	all := l.files()
	for i := range all {
		if all[i].Key != fmt.Sprint(i) {
			t.Fatalf("file %d is %s", i, all[i].Key)
		}
	}
	if limit := int(l.added>>19) + 8; len(all) != files || most > limit {
		t.Errorf("%d files in %d segments, want %d in at most %d", len(all), most, files, limit)
	}
	times := float64(l.size) / float64(l.added)
	if times > 8 {
		t.Errorf("the list was written %.1f times", times)
	}
	localdev.Figure("live list of 20,000 files", fmt.Sprintf("%d KB in at most %d segments, %d times a segment was read again, each byte written %.1f times", l.added>>10, most, l.read, times))
}
