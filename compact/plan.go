package compact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"batcher/manifest"
)

// Defaults of Rules.
const (
	DefaultTarget = 128 << 20
	DefaultFanIn  = 8
	DefaultMost   = 1000
)

// smallest is the size below which all files are of one class: below it a file
// costs its requests, not its bytes.
const smallest = 16 << 10

// Rules say which files are worth merging. The zero value stands for the defaults.
type Rules struct {
	// Target is how many bytes a merged file should have. A file of at least half
	// of it is left alone.
	Target int64
	// FanIn is how many files of a class are merged at the least. Classes are
	// FanIn times apart in size. So a row is written again once for each class at
	// most, of which there are log(Target/16 KiB)/log(FanIn), and of each class
	// fewer than FanIn files of a partition are left lying.
	FanIn int
	// Rows is how many rows a merged file should have at the most, as Target is for
	// bytes, or 0: any number.
	Rows int64
	// Most is how many files are merged into one at the most. So a group is done in
	// a bounded time, however many small files there are: the files that come of them
	// are merged again.
	Most int
	// Classes says whether files of unlike sizes are kept apart.
	Classes Classes
	// Order is the field id of a column by whose least value the files of a
	// partition are put in order before they are merged, or 0: the order in which
	// they were committed.
	Order int32
}

// Classes says which files may be merged with each other.
type Classes uint8

// The two ways.
const (
	BySize   Classes = iota // files of a class; what is written again stays bounded
	AllSizes                // all small files, from two on; may write a large part again
)

func (r Rules) withDefaults() Rules {
	if r.Target <= 0 {
		r.Target = DefaultTarget
	}
	if r.FanIn == 0 {
		r.FanIn = DefaultFanIn
	}
	r.FanIn = max(r.FanIn, 2)
	if r.Rows <= 0 {
		r.Rows = math.MaxInt64
	}
	if r.Most == 0 {
		r.Most = DefaultMost
	}
	r.Most = max(r.Most, r.FanIn)
	return r
}

// Group are files of one partition that become one.
type Group struct {
	Part  map[string]string
	Files []manifest.File // in the order in which their rows are to stand
	Bytes int64
	Rows  int64
}

// Plan chooses what is merged among the live files of a table, oldest first. The
// groups are in the order in which they should be merged: those of small files
// first, because they take many files away for little work.
func Plan(live []manifest.File, r Rules) []Group {
	r = r.withDefaults()
	parts := map[string][]manifest.File{}
	for i := range live {
		if f := live[i]; f.Size < r.Target/2 && f.Rows < r.Rows/2 {
			key := partKey(f.Part)
			parts[key] = append(parts[key], f)
		}
	}
	var groups []Group
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		groups = append(groups, r.partition(parts[key])...)
	}
	slices.SortStableFunc(groups, func(a, b Group) int {
		return cmp.Compare(a.Bytes/int64(len(a.Files)), b.Bytes/int64(len(b.Files)))
	})
	return groups
}

// partKey is equal for equal partitions.
func partKey(part map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(part)) {
		fmt.Fprintf(&b, "%q=%q,", name, part[name])
	}
	return b.String()
}

// partition groups the small files of one partition.
func (r Rules) partition(files []manifest.File) []Group {
	if r.Order != 0 {
		slices.SortStableFunc(files, func(a, b manifest.File) int { return bytes.Compare(r.least(&a), r.least(&b)) })
	}
	if r.Classes == AllSizes {
		return r.cut(files, 2)
	}
	classes := map[int][]manifest.File{}
	for _, f := range files {
		c := r.class(f.Size)
		classes[c] = append(classes[c], f)
	}
	var groups []Group
	for _, c := range slices.Sorted(maps.Keys(classes)) {
		groups = append(groups, r.cut(classes[c], r.FanIn)...)
	}
	return groups
}

// class is the size class of a file: 0 below 16 KiB, 1 from there to FanIn times
// that, and so on.
func (r Rules) class(size int64) int {
	class := 0
	for limit := int64(smallest); size >= limit; limit *= int64(r.FanIn) {
		class++
	}
	return class
}

// cut makes groups of files, none larger than the rules say. The last one may be
// smaller; unless it has least files they stay as they are.
func (r Rules) cut(files []manifest.File, least int) []Group {
	var groups []Group
	var g Group
	for _, f := range files {
		if len(g.Files) > 0 && (g.Bytes+f.Size > r.Target || g.Rows+f.Rows > r.Rows || len(g.Files) == r.Most) {
			groups, g = append(groups, g), Group{}
		}
		g.Part = f.Part
		g.Files = append(g.Files, f)
		g.Bytes += f.Size
		g.Rows += f.Rows
	}
	if len(g.Files) >= least {
		groups = append(groups, g)
	}
	return slices.DeleteFunc(groups, func(g Group) bool { return len(g.Files) < 2 })
}

// least is the smallest value of the ordering column as text that sorts like the
// values do: of a timestamp or date, whose statistics are texts of fixed length.
// Files without one stand first.
func (r Rules) least(f *manifest.File) json.RawMessage {
	for i := range f.Columns {
		if f.Columns[i].ID == r.Order {
			return f.Columns[i].Min
		}
	}
	return nil
}
