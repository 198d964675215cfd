package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"batcher/source"
)

const (
	maxLocated = 1 << 20 // records that are kept at a time to tell positions
	maxNamed   = 5       // positions that a finding names
)

// seen is how often each record of a range is met among live rows, and whether as the
// source gives it.
type seen struct {
	want     records // by position
	lettered bool    // letters may have become rows, or be nowhere
	times    map[int64]int
	other    map[int64]bool // met with another content
	extra    map[int64]bool // positions at which the source has no such record
}

// row takes a live row. That of a letter may have been edited.
func (s *seen) row(offset int64, content source.Hash) {
	want, good := s.want.rows[offset]
	_, letter := s.want.letters[offset]
	switch {
	case good:
		s.take(offset, want, content)
	case letter && s.lettered:
		s.take(offset, content, content)
	default:
		s.extra[offset] = true
	}
}

// letter takes a live dead letter.
func (s *seen) letter(offset int64, content source.Hash) {
	if want, letter := s.want.letters[offset]; letter {
		s.take(offset, want, content)
		return
	}
	s.extra[offset] = true
}

// take counts what is met of a record.
func (s *seen) take(offset int64, want, content source.Hash) {
	s.times[offset]++
	if want != content {
		s.other[offset] = true
	}
}

// misplaced is what is wrong at a position.
type misplaced struct {
	offset int64
	what   string
}

// misplaced returns everything that is wrong, by position.
func (s *seen) misplaced() (out []misplaced) {
	look := func(offset int64) {
		switch n := s.times[offset]; {
		case n == 0:
			out = append(out, misplaced{offset, "is missing"})
		case n > 1:
			out = append(out, misplaced{offset, fmt.Sprintf("is there %d times", n)})
		case s.other[offset]:
			out = append(out, misplaced{offset, "is another"})
		}
	}
	for offset := range s.want.rows {
		look(offset)
	}
	for offset := range s.want.letters {
		if s.times[offset] > 0 || !s.lettered {
			look(offset)
		}
	}
	for offset := range s.extra {
		out = append(out, misplaced{offset, "is not the source's"})
	}
	slices.SortFunc(out, func(a, b misplaced) int { return cmp.Compare(a.offset, b.offset) })
	return out
}

// String names the first positions.
func (s *seen) String() string {
	var b strings.Builder
	for i, p := range s.misplaced() {
		switch {
		case i < maxNamed:
			fmt.Fprintf(&b, "; that at %d %s", p.offset, p.what)
		case i == maxNamed:
			b.WriteString("; and others")
		}
	}
	return b.String()
}

// locate finds positions at which live rows differ: it reads the ranges and the files
// once more, as far as their records can be kept, and leaves what it finds in seen.
func (g *gathering) locate(ctx context.Context, differ []*comparison) error {
	left := int64(maxLocated)
	var of []*comparison
	for _, c := range differ {
		if left -= c.Records; left < 0 {
			break
		}
		c.seen = &seen{
			want:     records{drop: c.want.drop, rows: map[int64]source.Hash{}, letters: map[int64]source.Hash{}},
			lettered: c.lettered, times: map[int64]int{}, other: map[int64]bool{}, extra: map[int64]bool{},
		}
		if err := g.reread(ctx, c.Range, c.table, &c.seen.want); err != nil {
			c.seen = nil // the source changed meanwhile, or does not answer: the finding stands without
			if unproved(err) {
				return err
			}
			continue
		}
		of = append(of, c)
	}
	if len(of) == 0 {
		return nil
	}
	return g.gather(ctx, of)
}
