package dlq_test

import (
	"testing"

	"batcher/dlq"
	"batcher/manifest"
	"batcher/record"
	"batcher/source/files"
)

func (w *world) retry(f dlq.Filter) dlq.RetryReport {
	w.t.Helper()
	rep, err := w.queue().Retry(w.t.Context(), f)
	if err != nil {
		w.t.Fatal(err)
	}
	return rep
}

// whole is an object in which one record of four is bad.
var whole = packed(`{"n":1}` + "\n" + `{"n":2}` + "\n" + `{"n":` + "\n" + `{"n":4,"more":1}` + "\n")

// TestARepairedObjectIsReadInThePlaceOfItsLetter uploads an object again that was
// cut off, and then retries five times.
func TestARepairedObjectIsReadInThePlaceOfItsLetter(t *testing.T) {
	w := newWorld(t)
	w.drop("a.gz", whole[:len(whole)-9])
	w.drop("b.gz", whole[:30])
	w.drop("c.ndjson", badLines)
	w.run()
	expect(t, "letters", len(w.letters()), 4)
	w.drop("a.gz", whole)
	rep := w.retry(dlq.Filter{})
	expect(t, "objects", len(rep.Objects), 2)
	expect(t, "a", rep.Objects[0].Result, dlq.Read)
	expect(t, "a", rep.Objects[0].Rows, manifest.RowCounts{Read: 4, Written: 3, Dead: 1, Replaced: 1})
	expect(t, "a", rep.Objects[0].Seq, w.head())
	expect(t, "b", rep.Objects[1].Result, dlq.StillBroken)
	rows, head := w.rows("events"), w.head()
	expect(t, "rows", len(rows), 6)
	contain(t, "rows", rows, id("a.gz", 22), `"more":1`)
	contain(t, "letters", w.letters(), id("a.gz", 16), `"code":"syntax"`)
	expect(t, "letters", len(w.letters()), 4)
	for range 4 {
		expect(t, "objects", len(w.retry(dlq.Filter{}).Objects), 1)
	}
	expect(t, "head", w.head(), head)
	expect(t, "nothing new for a run", w.run().Rows.Read, 0)
	expect(t, "its letters are replayed", w.replay(`{`+id("a.gz", 16)+`,"record":{"n":3}}`).Replayed, 1)
	w.verify()
}

// TestTheTypesOfARepairedObjectMayWidenWhileItIsRead, so that it is read twice.
func TestTheTypesOfARepairedObjectMayWidenWhileItIsRead(t *testing.T) {
	w := newWorld(t)
	w.limits = record.Limits{PrimeBytes: 1, BlockRows: 1}
	text := packed(`{"n":1}` + "\n" + `{` + "\n" + `{"n":2}` + "\n" + `{"n":"text"}` + "\n")
	w.drop("a.gz", text[:20])
	w.run()
	w.drop("a.gz", text)
	rep := w.retry(dlq.Filter{})
	expect(t, "rows", rep.Objects[0].Rows, manifest.RowCounts{Read: 4, Written: 3, Dead: 1, Replaced: 1})
	contain(t, "rows", w.rows("events"), `"n":"2"`)
	expect(t, "rows", len(w.rows("events")), 3)
	expect(t, "letters", len(w.letters()), 1)
	w.verify()
}

// TestAnObjectThatIsStillBrokenStaysQuarantined, and so does one that is gone.
func TestAnObjectThatIsStillBrokenStaysQuarantined(t *testing.T) {
	w := newWorld(t)
	w.drop("a.gz", whole[:30])
	w.drop("b.gz", whole[:30])
	w.run()
	head := w.head()
	w.drop("a.gz", whole[:len(whole)-3])
	w.remove("b.gz")
	rep := w.retry(dlq.Filter{})
	expect(t, "a", rep.Objects[0].Result, dlq.StillBroken)
	expect(t, "b", rep.Objects[1].Result, dlq.Gone)
	expect(t, "by another filter", len(w.retry(dlq.Filter{Sources: []string{"c"}}).Objects), 0)
	expect(t, "head", w.head(), head)
	expect(t, "letters", len(w.letters()), 2)
	expect(t, "a replay leaves them alone", w.replayAll(dlq.ReplayOptions{Mode: dlq.Confirm, Filter: dlq.Filter{Limit: 1}}).Letters, 0)
	expect(t, "a replay leaves them alone", w.replayAll(dlq.ReplayOptions{Mode: dlq.Confirm}).Letters, 0)
	expect(t, "one that is asked for", w.replay(`{`+id("a.gz", 0)+`,"record":{}}`).Refused, 1)
	w.verify()
}

// TestAnObjectThatWasConsumedAnewIsNotRetried: its rows would stand twice.
func TestAnObjectThatWasConsumedAnewIsNotRetried(t *testing.T) {
	w := newWorld(t)
	w.onChange = files.AppendChanged
	w.drop("a.gz", whole[:30])
	w.drop("b.ndjson", "{}\n")
	w.run()
	w.drop("a.gz", whole)
	w.drop("b.ndjson", whole[:30])
	w.run()
	expect(t, "rows", len(w.rows("events")), 4)
	rep := w.retry(dlq.Filter{})
	expect(t, "objects", len(rep.Objects), 2)
	for _, o := range rep.Objects {
		expect(t, o.Source, o.Result, dlq.Skipped)
	}
	w.verify()
}

// TestARetryRacesWithARunThatReplacesTheObject: one of the two reads it.
func TestARetryRacesWithARunThatReplacesTheObject(t *testing.T) {
	w := newWorld(t)
	w.onChange = files.ReplaceChanged
	w.drop("a.gz", whole[:30])
	w.run()
	w.drop("a.gz", whole)
	other, plain := *w, w.store
	w.store = &hooked{plain, func() { other.run() }}
	rep := w.retry(dlq.Filter{})
	w.store = plain
	expect(t, "result", rep.Objects[0].Result, dlq.Settled)
	expect(t, "rows", len(w.rows("events")), 3)
	expect(t, "letters", len(w.letters()), 1)
	w.verify()
}
