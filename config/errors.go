package config

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one thing that is wrong with a pipeline file or with what was laid
// over it.
type Error struct {
	File string // name of the file, or the origin: "--set", "environment"
	Line int    // from 1; 0 when the origin is not the file
	Col  int    // from 1, in characters; 0 when unknown
	Key  string // key path, e.g. batch.max_bytes; "" for the document as a whole
	Msg  string // what is wrong; never holds a value from the environment or a file
	Hint string // what to do about it; may be empty
}

// Error is file:line:col: key: message (hint).
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Col > 0 {
			fmt.Fprintf(&b, ":%d", e.Col)
		}
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Msg)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Errors are all the errors of one pipeline file, in the order of the file. It
// is never empty as an error.
type Errors []*Error

// Error has one line an error.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// within moves positions that the YAML library puts behind the end of the file,
// where it missed something, to the last line.
func (es Errors) within(data []byte) Errors {
	last := 1
	for _, lineBreak := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		last += bytes.Count(data, []byte(lineBreak))
	}
	for _, e := range es {
		e.Line = min(e.Line, last)
	}
	return es
}

// sorted returns the errors in the order of the file, those from elsewhere last.
func (es Errors) sorted() Errors {
	slices.SortStableFunc(es, func(a, b *Error) int {
		outsideA, outsideB := a.Line == 0, b.Line == 0
		if outsideA != outsideB {
			if outsideA {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return es
}

// nearest returns the candidate that word is most likely a misspelling of, or
// "". It ignores case and takes - for _.
func nearest(word string, candidates []string) string {
	word = strings.ReplaceAll(strings.ToLower(word), "-", "_")
	best, bestDistance := "", 1+max(1, len(word)/3)
	for _, c := range candidates {
		if d := distance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b string) int {
	before, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, previous, current = previous, current, before
	}
	return previous[len(b)]
}
