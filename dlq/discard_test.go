package dlq_test

import (
	"testing"

	"batcher/dlq"
	"batcher/manifest"
	"batcher/record"
	"batcher/source"
)

func (w *world) discard(f dlq.Filter, mode dlq.Mode) dlq.Report {
	w.t.Helper()
	rep, err := w.queue().Discard(w.t.Context(), f, mode)
	if err != nil {
		w.t.Fatal(err)
	}
	return rep
}

// TestDiscardedLettersAreAccountedFor discards some letters, then all, then none.
func TestDiscardedLettersAreAccountedFor(t *testing.T) {
	w := newWorld(t)
	w.drop("o.ndjson", badLines)
	w.drop("d/p.ndjson", "[1]\n{\n[2]\n")
	w.drop("q.gz", packed("{}\n")[:9])
	w.run()
	expect(t, "letters", len(w.letters()), 6)
	head := w.head()
	dry := w.discard(dlq.Filter{Codes: []string{"not_object"}}, dlq.DryRun)
	expect(t, "dry", dry.Outcome, dlq.Dry)
	expect(t, "dry", dry.Discarded, 2)
	expect(t, "head", w.head(), head)
	rep := w.discard(dlq.Filter{Codes: []string{"not_object"}, Limit: 1}, dlq.Confirm)
	expect(t, "discarded", rep.Discarded, 1)
	expect(t, "letters", len(w.letters()), 5)
	s, err := w.log().Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := manifest.Letters{Discarded: 1, DiscardedID: record.IDHash("d/p.ndjson", 0)}
	expect(t, "said", *s.Manifest.Letters, want)
	expect(t, "already", w.replay(`{`+id("d/p.ndjson", 0)+`,"record":{}}`).Already, 1)
	expect(t, "replayed", w.replay(`{`+id("d/p.ndjson", 4)+`,"record":{}}`).Replayed, 1)
	w.verify()
	expect(t, "by folder", w.discard(dlq.Filter{Sources: []string{"d/"}}, dlq.Confirm).Discarded, 1)
	expect(t, "by id", w.discard(dlq.Filter{IDs: []dlq.ID{{Source: "o.ndjson", Offset: 8}, {Source: "o.ndjson"}}}, dlq.Confirm).Discarded, 1)
	expect(t, "all", w.discard(dlq.Filter{}, dlq.Confirm).Discarded, 2)
	expect(t, "letters", len(w.letters()), 0)
	expect(t, "none", w.discard(dlq.Filter{}, dlq.Confirm).Outcome, dlq.Empty)
	expect(t, "rows", len(w.rows("events")), 4)
	expect(t, "nothing is read again", w.run().Rows.Read, 0)
	w.verify()
}

// TestTheSumOfDiscardedIDsDoesNotDependOnOrder is what verify relies on.
func TestTheSumOfDiscardedIDsDoesNotDependOnOrder(t *testing.T) {
	w := newWorld(t)
	w.drop("o.ndjson", badLines)
	w.run()
	w.discard(dlq.Filter{}, dlq.Confirm)
	s, err := w.log().Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var sum source.Hash
	for _, at := range []int64{18, 8} {
		sum = sum.Add(record.IDHash("o.ndjson", at))
	}
	expect(t, "sum", s.Manifest.Letters.DiscardedID, sum)
}
