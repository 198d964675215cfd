package dlq_test

import (
	"fmt"
	"testing"

	"batcher/dlq"
)

func TestListCountsLettersAndShowsTheFirst(t *testing.T) {
	w := newWorld(t)
	for i := range 25 {
		w.drop(fmt.Sprintf("d/%02d.ndjson", i), "[1]\n")
	}
	w.drop("o.ndjson", badLines)
	w.drop("q.gz", packed("{}\n")[:9])
	w.run()
	s, err := w.queue().List(t.Context(), dlq.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "letters", s.Letters, 28)
	expect(t, "groups", len(s.Groups), 4)
	first := s.Groups[0]
	expect(t, "most letters", first.Letters, 25)
	expect(t, "code", first.Code, "not_object")
	expect(t, "first", first.First, dlq.ID{Source: "d/00.ndjson"})
	expect(t, "sources", s.Sources[0], dlq.SourceCount{Source: "o.ndjson", Letters: 2})
	expect(t, "others", s.Others, 7)
	expect(t, "quarantined", len(s.Quarantined), 1)
	expect(t, "size", s.Quarantined[0].Size, 9)
	some, err := w.queue().List(t.Context(), dlq.Filter{Stages: []string{"syntax"}})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "letters of a stage", some.Letters, 2)
}
