package files

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"batcher/object"
)

// Why is the reason why a name below the source path is no input.
type Why string

// The reasons, beside those of object.Skip.
const (
	Hidden     Why = "hidden"     // it, or a folder that it lies in, begins with "." or "_"
	Unfinished Why = "unfinished" // its ending says that it is being written, or only of use to a program
	Folder     Why = "folder"     // it ends in "/": a store keeps it for an empty folder
	Unwanted   Why = "globs"      // include does not have it, or exclude has it
)

// LeftOut are names that are no input for one reason.
type LeftOut struct {
	Why   Why
	Count int64
	First []string // the first of them by name, at most maxLeftOut
}

// maxLeftOut is how many names are told for each reason.
const maxLeftOut = 3

// unfinished are the endings, in any case, of names under which programs write, download
// or copy what gets another name at the end, and of their locks and swap files.
var unfinished = map[string]bool{
	".tmp": true, ".part": true, ".partial": true, ".inprogress": true, ".incomplete": true, ".uploading": true,
	".filepart":   true,                      // WinSCP
	".crdownload": true, ".opdownload": true, // Chrome, Opera
	".crswap": true, ".aria2": true, ".gstmp": true, // web pages, aria2, gsutil
	"._copying_": true,                             // hdfs dfs -put
	".swp":       true, ".swo": true, ".swx": true, // vi
}

// ignores says why a key is no input by its name or by the globs; "" if it is one.
func (s *Source) ignores(key string) Why {
	if key == "" || strings.HasSuffix(key, "/") {
		return Folder
	}
	name := key
	for part := range strings.SplitSeq(key, "/") {
		if hidden(part) {
			return Hidden
		}
		name = part
	}
	if isUnfinished(name) {
		return Unfinished
	}
	match := func(glob string) bool { return glob == "**" || doublestar.MatchUnvalidated(glob, key) }
	if len(s.cfg.Include) > 0 && !slices.ContainsFunc(s.cfg.Include, match) || slices.ContainsFunc(s.cfg.Exclude, match) {
		return Unwanted
	}
	return ""
}

// Wants says whether a key is an input by its name and by the globs.
func (s *Source) Wants(key string) bool { return s.ignores(key) == "" }

// hidden says whether a name marks what lies under it as no input.
func hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") }

// isUnfinished says whether a name is that of a file that is not written to its end, an
// editor's copy (a.csv~, #a.csv#) or an office program's lock (~$a.xlsx).
func isUnfinished(name string) bool {
	if strings.HasSuffix(name, "~") || strings.HasPrefix(name, "~$") || len(name) > 1 && name[0] == '#' && name[len(name)-1] == '#' {
		return true
	}
	dot := strings.LastIndexByte(name, '.')
	return dot >= 0 && unfinished[strings.ToLower(name[dot:])]
}

// leftOut counts names by reason. What it says does not depend on their order, but for
// one that is told twice, which may count twice.
type leftOut map[Why]*LeftOut

func (l leftOut) add(key string, why Why) {
	o := l[why]
	if o == nil {
		o = &LeftOut{Why: why}
		l[why] = o
	}
	o.Count++
	at, found := slices.BinarySearch(o.First, key)
	if found || at == maxLeftOut {
		return
	}
	o.First = slices.Insert(o.First, at, key)
	o.First = o.First[:min(len(o.First), maxLeftOut)]
}

// list is what was counted, by reason.
func (l leftOut) list() (all []LeftOut) {
	for _, o := range l {
		all = append(all, *o)
	}
	slices.SortFunc(all, func(a, b LeftOut) int { return strings.Compare(string(a.Why), string(b.Why)) })
	return all
}

// leftOut says whether a listed key is no input, and notes why.
func (p *planner) leftOut(key string) bool {
	why := p.source.ignores(key)
	if why != "" {
		p.names.add(key, why)
	}
	return why != ""
}

// skip notes a name that the listing leaves out, unless it would be no input anyway.
func (p *planner) skip(key string, why object.Skip) {
	if p.source.ignores(key) == "" {
		p.skipped.add(key, Why(why))
	}
}
