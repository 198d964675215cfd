package localdev

import (
	"fmt"
	"os"
)

// Proving says whether this run of the tests explores to the end, as `make prove`
// and nightly runs do. Otherwise tests that explore take a sample, which is
// counted in cases and never in time, so that a slow machine shows the same.
func Proving() bool {
	return os.Getenv("BATCHER_PROVE") != "" || os.Getenv("BATCHER_NIGHTLY") != ""
}

// Sample picks cases of a long row of like ones: all of them when Proving, one in
// so many otherwise.
type Sample struct{ Every, Seen, Taken int }

// OneIn is a sample of one in every cases. Rows often repeat after a few cases; a
// prime number comes by every kind.
func OneIn(every int) *Sample {
	if Proving() {
		every = 1
	}
	return &Sample{Every: every}
}

// Take says whether the next case belongs to the sample. The first one does.
func (s *Sample) Take() bool {
	take := s.Seen%s.Every == 0
	s.Seen++
	if take {
		s.Taken++
	}
	return take
}

// String says how many cases were taken, for figures.
func (s *Sample) String() string {
	if s.Taken == s.Seen {
		return fmt.Sprint(s.Taken)
	}
	return fmt.Sprintf("%d of %d", s.Taken, s.Seen)
}

// Proof skips a test that has its place in `make prove` alone: it takes minutes,
// or builds what nothing else needs.
func Proof(t interface {
	Helper()
	Name() string
	Skip(args ...any)
}) {
	t.Helper()
	if !Proving() {
		Skip(t, "it takes minutes: make prove runs it")
	}
}
