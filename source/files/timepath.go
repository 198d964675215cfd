package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"batcher/object"
)

// maxFolders is how many dated folders a limited listing visits. A time path
// that leads to more is listed whole, which is right but costs what it costs.
const maxFolders = 20_000

// The parts of a date that a time path may hold, with their width in digits.
var tokens = []struct {
	text  string
	width int
}{{"{yyyy}", 4}, {"{MM}", 2}, {"{dd}", 2}}

// TimePath is a pattern over the folders of a key that contains a date, such as
// "*/CloudTrail/*/{yyyy}/{MM}/{dd}/" or "dt={yyyy}-{MM}-{dd}". With it the day of
// an object is a function of its key.
type TimePath struct {
	folders []folder
}

// folder is one segment of the pattern.
type folder struct {
	pattern string
	glob    bool        // to be matched against the names that exist
	parts   []datedPart // of a segment with parts of the date; else nil
	width   int         // bytes of a name that fits parts
}

// datedPart is literal text or, with token ≥ 0, a part of the date.
type datedPart struct {
	text  string
	token int
}

// ParseTimePath reads a pattern of folders below the source path, separated by
// slashes; a slash at the end may be left out. {yyyy}, {MM} and {dd} each stand
// in it exactly once, in segments that hold only text beside them. Other
// segments are text or globs within one segment; "**" is refused because it
// names no bounded set of folders.
func ParseTimePath(pattern string) (*TimePath, error) {
	p := &TimePath{}
	var seen [3]int
	for text := range strings.SplitSeq(strings.TrimSuffix(pattern, "/"), "/") {
		f, err := parseFolder(text, &seen)
		if err != nil {
			return nil, fmt.Errorf("time path %q: %w", pattern, err)
		}
		p.folders = append(p.folders, f)
	}
	if seen != [3]int{1, 1, 1} {
		return nil, fmt.Errorf("time path %q: {yyyy}, {MM} and {dd} must each stand in it once", pattern)
	}
	return p, nil
}

func parseFolder(text string, seen *[3]int) (folder, error) {
	f := folder{pattern: text}
	switch {
	case text == "":
		return f, errors.New("empty folder name")
	case strings.Contains(text, "**"):
		return f, errors.New("** names no bounded set of folders")
	case text == "." || text == "..":
		return f, fmt.Errorf("folder name %q", text)
	}
	if parts, width := splitDate(text, seen); parts != nil {
		for _, p := range parts {
			if p.token < 0 && strings.ContainsAny(p.text, `*?[]{}\`) {
				return f, fmt.Errorf("folder %q: a folder with a date holds only text and {yyyy}, {MM}, {dd}", text)
			}
		}
		f.parts, f.width = parts, width
		return f, nil
	}
	if !doublestar.ValidatePattern(text) {
		return f, fmt.Errorf("folder %q: bad pattern", text)
	}
	if open := strings.IndexByte(text, '{'); open >= 0 && !strings.Contains(text[open:], ",") {
		return f, fmt.Errorf("folder %q: only {yyyy}, {MM} and {dd} are known", text)
	}
	f.glob = strings.ContainsAny(text, `*?[]{}\`)
	return f, nil
}

// splitDate cuts a segment at its date parts; nil if it has none.
func splitDate(text string, seen *[3]int) (parts []datedPart, width int) {
	rest, found := text, false
	for rest != "" {
		at, which := len(rest), -1
		for t := range tokens {
			if i := strings.Index(rest, tokens[t].text); i >= 0 && i < at {
				at, which = i, t
			}
		}
		if at > 0 {
			parts = append(parts, datedPart{text: rest[:at], token: -1})
			width += at
		}
		if which < 0 {
			break
		}
		found = true
		seen[which]++
		parts = append(parts, datedPart{token: which})
		width += tokens[which].width
		rest = rest[at+len(tokens[which].text):]
	}
	if !found {
		return nil, 0
	}
	return parts, width
}

// Day is the day that the folders of a key name, in days since 1970-01-01. A
// key whose folders do not fit the pattern, or name no day of the calendar, has
// UndatedDay and false: it is found only when everything is listed.
func (p *TimePath) Day(key string) (int32, bool) {
	var date [3]int
	for i := range p.folders {
		name, rest, found := strings.Cut(key, "/")
		if !found || !p.folders[i].match(name, &date) {
			return UndatedDay, false
		}
		key = rest
	}
	t := time.Date(date[0], time.Month(date[1]), date[2], 0, 0, 0, 0, time.UTC)
	if t.Year() != date[0] || int(t.Month()) != date[1] || t.Day() != date[2] {
		return UndatedDay, false
	}
	return dayOf(t), true
}

// match says whether a folder's name fits, and notes its parts of the date.
func (f *folder) match(name string, date *[3]int) bool {
	switch {
	case f.parts == nil && !f.glob:
		return name == f.pattern
	case f.parts == nil:
		return f.pattern == "*" || doublestar.MatchUnvalidated(f.pattern, name)
	case len(name) != f.width:
		return false
	}
	for _, part := range f.parts {
		if part.token < 0 {
			if !strings.HasPrefix(name, part.text) {
				return false
			}
			name = name[len(part.text):]
			continue
		}
		number := 0
		for _, c := range []byte(name[:tokens[part.token].width]) {
			if c < '0' || c > '9' {
				return false
			}
			number = 10*number + int(c-'0')
		}
		date[part.token], name = number, name[tokens[part.token].width:]
	}
	return true
}

// name is the folder's name on a day; only for a segment without a glob.
func (f *folder) name(day time.Time) string {
	if f.parts == nil {
		return f.pattern
	}
	var b strings.Builder
	for _, part := range f.parts {
		if part.token < 0 {
			b.WriteString(part.text)
			continue
		}
		n := [3]int{day.Year(), int(day.Month()), day.Day()}[part.token]
		fmt.Fprintf(&b, "%0*d", tokens[part.token].width, n)
	}
	return b.String()
}

// prefixes returns the listing prefixes of all folders of the days [from, to),
// sorted. It lists a folder, shallowly, for each glob of the pattern; the dated
// names themselves are made, not listed, so that the cost does not grow with
// the days that exist. Beyond maxFolders it returns ok false.
func (p *TimePath) prefixes(ctx context.Context, store object.Store, from, to int32) (found []string, ok bool, err error) {
	w := walk{store: store, names: make(map[string][]string)}
	for day := from; day < to; day++ {
		at := []string{""}
		date := time.Unix(int64(day)*24*60*60, 0).UTC()
		for i := range p.folders {
			if at, err = w.step(ctx, &p.folders[i], at, date); err != nil {
				return nil, false, err
			}
			if len(at)+len(found) > maxFolders {
				return nil, false, nil
			}
		}
		found = append(found, at...)
	}
	slices.Sort(found)
	return slices.Compact(found), true, nil
}

// walk finds folders and remembers what it has listed.
type walk struct {
	store object.Store
	names map[string][]string // prefix → names of the folders below
}

// step goes from prefixes to the prefixes one segment deeper.
func (w *walk) step(ctx context.Context, f *folder, at []string, day time.Time) ([]string, error) {
	var next []string
	for _, prefix := range at {
		if !f.glob {
			next = append(next, prefix+f.name(day)+"/")
			continue
		}
		names, err := w.list(ctx, prefix)
		if err != nil {
			return nil, err
		}
		var date [3]int
		for _, name := range names {
			if f.match(name, &date) {
				next = append(next, prefix+name+"/")
			}
		}
	}
	return next, nil
}

// list returns the names of the folders below a prefix, but for those whose
// objects are ignored anyway.
func (w *walk) list(ctx context.Context, prefix string) ([]string, error) {
	if names, known := w.names[prefix]; known {
		return names, nil
	}
	var names []string
	for info, err := range w.store.List(ctx, prefix, object.Shallow) {
		if err != nil {
			return nil, fmt.Errorf("list folders of %q: %w", prefix, err)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(info.Key, prefix), "/")
		if info.IsFolder() && name != "" && !hidden(name) {
			names = append(names, name)
		}
	}
	w.names[prefix] = names
	return names, nil
}
