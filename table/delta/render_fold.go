package delta

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"batcher/manifest"
)

// The table of batches gets a small file for each manifest. At every tenth version the
// last of them become one, at every hundredth the last hundred manifests do, and so on
// up to foldMost. Files that would have more than foldRows rows together stay as they
// are, because a file is put in one request, from memory.
const (
	foldLeast = 10
	foldMost  = 1000
	foldRows  = 100_000
)

// kept is one file of the table of batches. It has the rows of the manifests in
// [from, to).
type kept struct {
	from, to manifest.Seq
	rows     int64
	add      add // as the version has it that brought the file, but that it is no change any more
}

// factsPath is where the rows of the manifests in [from, to) lie below the table's
// folder. Whoever makes them makes the same.
func factsPath(from, to manifest.Seq) string {
	return fmt.Sprintf("data/%020d-%020d.parquet", int64(from), int64(to))
}

// parseFactsPath is the inverse of factsPath. What has not to the letter such a name is
// somebody else's.
func parseFactsPath(path string) (from, to manifest.Seq, ok bool) {
	n, err := fmt.Sscanf(path, "data/%d-%d.parquet", &from, &to)
	return from, to, err == nil && n == 2 && 0 <= from && from < to && factsPath(from, to) == path
}

// parseKept says what an add of the table of batches brought.
func parseKept(a *add) (kept, error) {
	k := kept{add: *a}
	k.add.Values, k.add.DataChange = map[string]*string{}, false
	var stats statistics
	var ok bool
	if k.from, k.to, ok = parseFactsPath(a.Path); !ok || a.Stats == nil {
		return k, fmt.Errorf("file %q of the table of batches has a name or no statistics of its own", a.Path)
	}
	if err := json.Unmarshal([]byte(*a.Stats), &stats); err != nil {
		return k, fmt.Errorf("statistics of %s: %w", a.Path, err)
	}
	k.rows = stats.Records
	return k, nil
}

// apply returns the files, oldest first, after the actions of one version.
func apply(files []kept, actions []action) ([]kept, error) {
	gone := map[string]bool{}
	out := slices.Clone(files)
	for _, a := range actions {
		switch {
		case a.Remove != nil:
			gone[a.Remove.Path] = true
		case a.Add != nil:
			k, err := parseKept(a.Add)
			if err != nil {
				return nil, err
			}
			out = append(out, k)
		}
	}
	out = slices.DeleteFunc(out, func(k kept) bool { return gone[k.add.Path] })
	slices.SortFunc(out, func(a, b kept) int { return cmp.Compare(a.from, b.from) })
	return out, nil
}

// foldable returns which of the files, oldest first, version v replaces by one: the
// last ones.
func foldable(files []kept, v Version) []kept {
	width := Version(0)
	for w := Version(foldLeast); w <= foldMost && v%w == 0; w *= 10 {
		width = w
	}
	first, rows := len(files), int64(0)
	for width > 0 && first > 0 && Version(files[first-1].from) >= v-width && rows+files[first-1].rows <= foldRows {
		first--
		rows += files[first].rows
	}
	if len(files)-first < 2 {
		return nil
	}
	return files[first:]
}

// batchesVersion is what one version of the table of batches says.
type batchesVersion struct {
	table  string
	made   manifest.Snapshot
	origin *Origin        // nil: the version before is there
	facts  manifest.File  // rows of the manifest
	folded *manifest.File // nil: nothing is folded
	gone   []kept         // in favour of the folded file
}

// actions are those of the version, in the order of RenderCommit.
func (v batchesVersion) actions() ([]action, error) {
	m := v.made.Manifest
	view := newView(v.table, m, BatchesSchema())
	info := &commitInfo{
		Timestamp: view.millis(), Operation: "WRITE", Parameters: map[string]string{"kind": string(m.Kind)}, Blind: len(v.gone) == 0,
		Engine: engine(m), Batcher: &batcherInfo{m.Seq, v.made.SHA256},
	}
	out := []action{{CommitInfo: info}, {Txn: view.txn()}}
	if v.origin != nil {
		meta, err := view.metaData(*v.origin)
		if err != nil {
			return nil, err
		}
		out = append(out, action{Protocol: &protocol{MinReader: 1, MinWriter: 2}}, action{MetaData: meta})
	}
	if v.folded != nil {
		a, err := view.add(v.folded)
		if err != nil {
			return nil, err
		}
		out = append(out, action{Add: a})
	}
	a, err := view.add(&v.facts)
	if err != nil {
		return nil, err
	}
	a.DataChange = true
	out = append(out, action{Add: a})
	for _, k := range v.gone {
		out = append(out, action{Remove: &remove{Path: k.add.Path, Deleted: view.millis(), Extended: true, Values: k.add.Values, Size: k.add.Size}})
	}
	return out, nil
}
