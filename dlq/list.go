package dlq

import (
	"cmp"
	"context"
	"slices"

	"batcher/manifest"
	"batcher/record"
)

// Bounds of a Summary; what is beyond is counted.
const (
	maxSources     = 20
	maxQuarantined = 100
)

// Summary says what is in the dead-letter table.
type Summary struct {
	Seq     manifest.Seq  `json:"seq"` // head
	Letters int64         `json:"letters"`
	Groups  []Group       `json:"groups"`  // by stage and code, most letters first
	Sources []SourceCount `json:"sources"` // those with most letters
	Others  int64         `json:"other_sources"`
	// Quarantined are the first objects none of whose records could be read; all of
	// them are letters of stage container.
	Quarantined []Quarantined `json:"quarantined"`
}

// Group are the letters of one stage and code.
type Group struct {
	Stage   string `json:"stage"`
	Code    string `json:"code"`
	Letters int64  `json:"letters"`
	First   ID     `json:"first"`
	Message string `json:"message"` // of the first
}

// SourceCount counts the letters of a source.
type SourceCount struct {
	Source  string `json:"source"`
	Letters int64  `json:"letters"`
}

// Quarantined is an object none of whose records could be read.
type Quarantined struct {
	ID
	Size    int64  `json:"size"` // bytes as stored, when it was consumed
	Message string `json:"message"`
}

// List counts the letters of the head that the filter chooses.
func (q *Queue) List(ctx context.Context, f Filter) (Summary, error) {
	head, err := q.Log.Head(ctx)
	if err != nil {
		return Summary{}, err
	}
	live, err := q.live(ctx, head)
	if err != nil {
		return Summary{}, q.Log.Absent(ctx, head, head, err)
	}
	s := Summary{Seq: head.Manifest.Seq, Groups: []Group{}, Sources: []SourceCount{}, Quarantined: []Quarantined{}}
	groups, sources := map[[2]string]*Group{}, map[string]int64{}
	err = q.visit(ctx, live, f, func(_ int, l *record.DeadLetter) error {
		s.Letters++
		sources[l.Source]++
		g := groups[[2]string{l.Stage, l.Code}]
		if g == nil {
			g = &Group{Stage: l.Stage, Code: l.Code, First: idOf(l), Message: l.Message}
			groups[[2]string{l.Stage, l.Code}] = g
		}
		g.Letters++
		if isQuarantined(l) && len(s.Quarantined) < maxQuarantined {
			s.Quarantined = append(s.Quarantined, Quarantined{idOf(l), l.Length, l.Message})
		}
		return nil
	})
	for _, g := range groups {
		s.Groups = append(s.Groups, *g)
	}
	slices.SortFunc(s.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Letters, a.Letters), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Code, b.Code))
	})
	for name, n := range sources {
		s.Sources = append(s.Sources, SourceCount{name, n})
	}
	slices.SortFunc(s.Sources, func(a, b SourceCount) int {
		return cmp.Or(cmp.Compare(b.Letters, a.Letters), cmp.Compare(a.Source, b.Source))
	})
	if n := len(s.Sources); n > maxSources {
		s.Sources, s.Others = s.Sources[:maxSources], int64(n-maxSources)
	}
	return s, q.Log.Absent(ctx, head, head, err)
}
