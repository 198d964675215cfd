package dlq_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"batcher/column"
	"batcher/compact"
	"batcher/datafile"
	"batcher/dlq"
	"batcher/manifest"
	"batcher/object"
	"batcher/record"
	"batcher/schema"
	"batcher/source/files"
)

// badLines has three good records and two bad ones, at 8 and 18.
const badLines = `{"a":1}` + "\n" + `{"a":2,oo` + "\n" + `{"a":3}{}` + "\n" + `{"a":4}` + "\n" + `{"a":5}` + "\n"

func TestEditedLettersBecomeRowsWithTheirIDs(t *testing.T) {
	w := newWorld(t)
	w.drop("d/o.ndjson", badLines)
	w.run()
	expect(t, "letters", len(w.letters()), 2)
	rep := w.replay(
		`{`+id("d/o.ndjson", 8)+`,"raw":"{\"a\":20}","stage":"syntax","code":"syntax","message":"","raw_length":9,"cut":false}`,
		`{`+id("d/o.ndjson", 18)+`,"record":{"a":30,"new":{"x":"ü"}}}`)
	expect(t, "outcome", rep.Outcome, dlq.Committed)
	expect(t, "replayed", rep.Replayed, 2)
	expect(t, "letters", len(w.letters()), 0)
	rows := w.rows("events")
	expect(t, "rows", len(rows), 5)
	contain(t, "rows", rows, id("d/o.ndjson", 8), `"a":20`)
	contain(t, "rows", rows, id("d/o.ndjson", 18), `"a":30`, `"new":{"x":"ü"}`)
	v := w.verify()
	expect(t, "verified", v.Source.Verified, 5)
}

// TestAReplayMayBeRepeatedAtWill replays the same lines five times.
func TestAReplayMayBeRepeatedAtWill(t *testing.T) {
	w := newWorld(t)
	w.drop("o.ndjson", badLines)
	w.run()
	edit := `{` + id("o.ndjson", 8) + `,"raw":"{\"a\":20}"}`
	expect(t, "first", w.replay(edit).Replayed, 1)
	rows, letters, head := w.rows("events"), w.letters(), w.head()
	for range 4 {
		rep := w.replay(edit)
		expect(t, "outcome", rep.Outcome, dlq.Already)
		expect(t, "replayed", rep.Replayed, 0)
		expect(t, "already", rep.Already, 1)
	}
	expect(t, "head", w.head(), head)
	if !slices.Equal(w.rows("events"), rows) || !slices.Equal(w.letters(), letters) {
		t.Error("something changed")
	}
	w.verify()
}

// TestALetterThatIsBadAgainStaysDeadWithTheReasonOfNow keeps the bytes that were
// received, and says nothing twice.
func TestALetterThatIsBadAgainStaysDeadWithTheReasonOfNow(t *testing.T) {
	w := newWorld(t)
	w.drop("o.ndjson", badLines)
	w.run()
	edit := `{` + id("o.ndjson", 8) + `,"raw":"[1]"}`
	rep := w.replay(edit, `{`+id("o.ndjson", 18)+`,"raw":"{\"a\":3}"}`)
	expect(t, "replayed", rep.Replayed, 1)
	expect(t, "dead", rep.Dead, 1)
	expect(t, "fate", rep.Examples[0].Fate, dlq.StillDead)
	contain(t, "letters", w.letters(), id("o.ndjson", 8), `"stage":"schema","code":"not_object"`, `"raw":"{\"a\":2,oo"`, `"raw_length":9`)
	expect(t, "letters", len(w.letters()), 1)
	head := w.head()
	rep = w.replay(edit)
	expect(t, "outcome", rep.Outcome, dlq.Empty)
	expect(t, "head", w.head(), head)
	rep = w.replayAll(dlq.ReplayOptions{Mode: dlq.Confirm}) // as it was received
	expect(t, "dead", rep.Dead, 1)
	contain(t, "letters", w.letters(), `"code":"syntax"`)
	expect(t, "head", w.head(), head+1)
	w.verify()
}

// TestLettersAreReplayedAsTheyAreUnderOtherLimits has records that were too long,
// or too deep, once.
func TestLettersAreReplayedAsTheyAreUnderOtherLimits(t *testing.T) {
	w := newWorld(t)
	w.limits = record.Limits{MaxRecordBytes: 70 << 10, MaxDepth: 3}
	long := `{"text":"` + strings.Repeat("x", 100<<10) + `"}`
	w.drop("long.gz", packed(`{"text":"y"}`+"\n"+long+"\n"))
	w.drop("deep.ndjson", `{"a":[[[[1]]]]}`+"\n"+long+"\n"+`{"text":"z"}`+"\n"+`{"b":`+"\n")
	w.run()
	expect(t, "letters", len(w.letters()), 4)
	expect(t, "under the same limits", w.replayAll(dlq.ReplayOptions{Mode: dlq.Confirm}).Outcome, dlq.Empty)
	w.limits = record.Limits{}
	dry := w.replayAll(dlq.ReplayOptions{})
	expect(t, "dry", dry.Outcome, dlq.Dry)
	expect(t, "dry", dry.Replayed, 3)
	expect(t, "letters", len(w.letters()), 4)
	rep := w.replayAll(dlq.ReplayOptions{Filter: dlq.Filter{Codes: []string{"too_long"}, Sources: []string{"deep.ndjson"}}, Mode: dlq.Confirm})
	expect(t, "replayed by filter", rep.Replayed, 1)
	rep = w.replayAll(dlq.ReplayOptions{Mode: dlq.Confirm})
	expect(t, "replayed", rep.Replayed, 2)
	expect(t, "dead", rep.Dead, 1)
	expect(t, "letters", len(w.letters()), 1)
	contain(t, "rows", w.rows("events"), id("long.gz", 13), strings.Repeat("x", 100<<10))
	w.verify()
}

// TestACutLetterWhoseObjectIsGoneIsRefused and no other for it; its record may be
// given whole.
func TestACutLetterWhoseObjectIsGoneIsRefused(t *testing.T) {
	for name, lose := range map[string]func(w *world){
		"gone":    func(w *world) { w.remove("o.ndjson") },
		"changed": func(w *world) { w.drop("o.ndjson", "{}\n") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.drop("o.ndjson", `{"a":"`+strings.Repeat("x", 100<<10)+"\n"+`{"a":1`+"\n")
			w.run()
			lose(w)
			at := (100 << 10) + 7
			rep := w.replay(`{`+id("o.ndjson", 0)+`}`, `{`+id("o.ndjson", at)+`,"raw":"{\"a\":1}"}`)
			expect(t, "refused", rep.Refused, 1)
			expect(t, "replayed", rep.Replayed, 1)
			expect(t, "fate", rep.Examples[0].Fate, dlq.Refused)
			expect(t, "given whole", w.replay(`{`+id("o.ndjson", 0)+`,"record":{"a":"x"}}`).Replayed, 1)
			expect(t, "letters", len(w.letters()), 0)
			w.verify()
		})
	}
}

// TestCSVLettersAreReadUnderTheHeaderOfTheirObject as long as that is as it was.
func TestCSVLettersAreReadUnderTheHeaderOfTheirObject(t *testing.T) {
	w := newWorld(t)
	w.drop("o.csv", "id;name\n1;x\n2\n3;y;z\n4;\"q\"r\n")
	w.run()
	expect(t, "letters", len(w.letters()), 3)
	rep := w.replayAll(dlq.ReplayOptions{Mode: dlq.Confirm})
	expect(t, "as they are", rep.Dead, 3)
	rep = w.replay(`{`+id("o.csv", 12)+`,"raw":"2;\"a;b\""}`, `{`+id("o.csv", 14)+`,"raw":"3"}`)
	expect(t, "replayed", rep.Replayed, 1)
	expect(t, "dead", rep.Dead, 1)
	w.remove("o.csv")
	rep = w.replay(`{`+id("o.csv", 14)+`,"raw":"3;y"}`, `{`+id("o.csv", 20)+`,"record":{"id":4,"name":"qr"}}`)
	expect(t, "refused", rep.Refused, 1)
	expect(t, "replayed", rep.Replayed, 1)
	rows := w.rows("events")
	contain(t, "rows", rows, id("o.csv", 12), `"id":2,"name":"a;b"`)
	contain(t, "rows", rows, id("o.csv", 20), `"id":4,"name":"qr"`)
	w.verify()
}

// TestLettersOfOtherFormatsAreReplayed takes elements of a document, lines of text
// and envelopes.
func TestLettersOfOtherFormatsAreReplayed(t *testing.T) {
	w := newWorld(t)
	w.drop("o.json", `[{"a":1},5,{"a":2}]`)
	w.drop("o.log", "one\nb\xffd\n")
	w.run()
	expect(t, "letters", len(w.letters()), 2)
	rep := w.replay(`{`+id("o.json", 9)+`,"raw":"{\"a\":5}"}`, `{`+id("o.log", 4)+`,"raw":"{not JSON"}`)
	expect(t, "replayed", rep.Replayed, 2)
	contain(t, "rows", w.rows("events"), id("o.json", 9), `"a":5`)
	contain(t, "rows", w.rows("events"), id("o.log", 4), `"line":"{not JSON"`)
	w.verify()

	w = newWorld(t)
	w.format = record.Format{Kind: record.JSON, Unnest: []string{"Records"}}
	w.drop("o", `{"Records":[{"a":1}]}{"Other":[{"a":2}]}`)
	w.run()
	rep = w.replay(`{` + id("o", 21) + `,"raw":"{\"Records\":[{\"a\":2},{\"a\":3}]}"}`)
	expect(t, "an edited envelope: refused", rep.Refused, 1)
	expect(t, "as it is: dead", w.replayAll(dlq.ReplayOptions{Mode: dlq.Confirm}).Dead, 1)
	expect(t, "a record", w.replay(`{`+id("o", 21)+`,"record":{"a":2}}`).Replayed, 1)
	w.verify()
}

// TestLettersOfParquetAreReadFromTheirObject, or given whole: their text is none.
func TestLettersOfParquetAreReadFromTheirObject(t *testing.T) {
	s := schema.New()
	s.LastID++
	s.Fields = []schema.Field{{ID: s.LastID, Name: "text", Key: "text", Type: schema.Type{Kind: schema.String}}}
	fill := column.NewFiller(s.Leaves()[0])
	for i, text := range []string{"one", "tw\xff", "thr\xff", "f\xffur"} {
		fill.Bytes(i, 0, []byte(text))
	}
	var file bytes.Buffer
	out := datafile.NewWriter(&file, datafile.Options{})
	if err := out.Write(&column.Block{Schema: s, Rows: 4, Columns: []*column.Vector{&fill.Vector}}); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Close(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.drop("o", file.String())
	w.run()
	expect(t, "letters", len(w.letters()), 3)
	contain(t, "letters", w.letters(), id("o", 1), `"cut":false`)
	w.verify()
	rep := w.replay(`{`+id("o", 1)+`,"raw":"{\"text\":\"two\"}"}`, `{`+id("o", 2)+`,"record":{"text":"three"}}`)
	expect(t, "refused", rep.Refused, 1)
	expect(t, "replayed", rep.Replayed, 1)
	expect(t, "as they are", w.replayAll(dlq.ReplayOptions{Mode: dlq.Confirm}).Dead, 2)
	w.format.Invalid = record.Replace
	rep = w.replayAll(dlq.ReplayOptions{Mode: dlq.Confirm, Filter: dlq.Filter{IDs: []dlq.ID{{Source: "o", Offset: 3}}}})
	expect(t, "under another policy", rep.Replayed, 1)
	contain(t, "rows", w.rows("events"), id("o", 3), `"text":"f�ur"`)
	w.format.Invalid = record.Reject
	w.verify()
}

// TestLettersGoToTheirPartition, also those of an object that is retried.
func TestLettersGoToTheirPartition(t *testing.T) {
	w := newWorld(t)
	w.config.Split = "kind"
	w.drop("o.ndjson", `{"kind":"a"}`+"\n"+`{"kind":"b"`+"\n"+`{"kind":"c"`+"\n")
	w.drop("q.gz", packed(`{"kind":"d"}`)[:20])
	w.run()
	expect(t, "replayed", w.replay(`{`+id("o.ndjson", 13)+`,"raw":"{\"kind\":\"b\"}"}`, `{`+id("o.ndjson", 25)+`,"record":{"kind":"a"}}`).Replayed, 2)
	w.drop("q.gz", packed(`{"kind":"d"}`+"\n"+`{"kind":"a"}`+"\n"))
	expect(t, "result", w.retry(dlq.Filter{}).Objects[0].Result, dlq.Read)
	head, err := w.log().Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	live, err := w.log().LoadLive(t.Context(), head.Manifest.Tables["events"].Live)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int64{}
	for i := range live {
		rows[live[i].Part["kind"]] += live[i].Rows
	}
	if want := map[string]int64{"a": 3, "b": 1, "d": 1}; !maps.Equal(rows, want) {
		t.Errorf("partitions have %v rows, want %v", rows, want)
	}
	w.verify()
	q := w.queue()
	q.Config.Split = "other"
	var mismatch *manifest.MismatchError
	if _, err := q.Replay(t.Context(), dlq.ReplayOptions{Mode: dlq.Confirm}); !errors.As(err, &mismatch) || mismatch.Key != "partition_by" {
		t.Errorf("under another split: %v", err)
	}
}

// TestColumnsThatComeWithLettersAreAddedAsByABatch widens a column that is new on
// the way, so that the letters are decoded again.
func TestColumnsThatComeWithLettersAreAddedAsByABatch(t *testing.T) {
	w := newWorld(t)
	w.limits = record.Limits{PrimeBytes: 1, BlockRows: 1}
	var body strings.Builder
	var edits []string
	for i := range 20 {
		at := body.Len()
		fmt.Fprintf(&body, "{%d\n", i)
		value := fmt.Sprint(i)
		if i > 10 {
			value = fmt.Sprintf(`"text %d"`, i)
		}
		edits = append(edits, fmt.Sprintf(`{%s,"record":{"n":%s}}`, id("o.ndjson", at), value))
	}
	w.drop("o.ndjson", body.String())
	w.run()
	expect(t, "replayed", w.replay(edits...).Replayed, 20)
	contain(t, "rows", w.rows("events"), `"n":"3"`)
	contain(t, "rows", w.rows("events"), `"n":"text 15"`)
	w.verify()
}

// TestOfTwoReplaysAtOnceEachLetterTakesOne lets a second replay overtake the
// first before its manifest stands.
func TestOfTwoReplaysAtOnceEachLetterTakesOne(t *testing.T) {
	w := newWorld(t)
	w.drop("o.ndjson", badLines)
	w.run()
	both := []string{`{` + id("o.ndjson", 8) + `,"record":{"a":2}}`, `{` + id("o.ndjson", 18) + `,"record":{"a":3}}`}
	other, plain := *w, w.store
	var first dlq.Report
	w.store = &hooked{plain, func() { first = other.replay(both[0]) }}
	second := w.replay(both...)
	w.store = plain
	expect(t, "first", first.Replayed, 1)
	expect(t, "second", second.Replayed, 1)
	expect(t, "second, already", second.Already, 1)
	expect(t, "rows", len(w.rows("events")), 5)
	expect(t, "letters", len(w.letters()), 0)
	w.verify()
}

// TestAReplayGoesOnBesideAnAppender that adds rows, letters and columns of its own.
func TestAReplayGoesOnBesideAnAppender(t *testing.T) {
	for name, body := range map[string]string{
		"rows": `{"a":6}` + "\n" + `{"a":7` + "\n", "columns": `{"a":6,"other":1,"b":2}` + "\n" + "{\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.drop("o.ndjson", badLines)
			w.run()
			other, plain := *w, w.store
			w.store = &hooked{plain, func() {
				other.drop("p.ndjson", body)
				other.run()
			}}
			rep := w.replay(`{`+id("o.ndjson", 8)+`,"record":{"a":2,"b":3}}`, `{`+id("o.ndjson", 18)+`,"record":{"a":3}}`)
			w.store = plain
			expect(t, "replayed", rep.Replayed, 2)
			expect(t, "rows", len(w.rows("events")), 6)
			expect(t, "letters", len(w.letters()), 1)
			contain(t, "rows", w.rows("events"), id("o.ndjson", 8), `"a":2`, `"b":3`)
			w.verify()
		})
	}
}

// TestARewindBringsLettersBackAndTheyMayBeReplayedAgain also goes back to where
// letters are replayed.
func TestARewindBringsLettersBackAndTheyMayBeReplayedAgain(t *testing.T) {
	w := newWorld(t)
	w.drop("o.ndjson", badLines)
	w.drop("o.csv", "a\n1\n2,3\n")
	w.run()
	before := w.head()
	csv := `{` + id("o.csv", 4) + `,"raw":"2"}`
	edit := `{` + id("o.ndjson", 8) + `,"record":{"a":2}}`
	expect(t, "replayed", w.replay(edit).Replayed, 1)
	after := w.head()
	rewind := func(to manifest.Seq) {
		r := compact.Repair{Log: w.log(), Now: w.clock.Now, Logger: slog.New(slog.DiscardHandler)}
		if _, err := r.Rewind(t.Context(), to); err != nil {
			t.Fatal(err)
		}
	}
	rewind(before)
	expect(t, "letters", len(w.letters()), 3)
	w.verify()
	expect(t, "replayed again", w.replay(edit, csv).Replayed, 2)
	w.verify()
	rewind(after)
	expect(t, "letters", len(w.letters()), 2)
	expect(t, "already", w.replay(edit).Outcome, dlq.Already)
	expect(t, "under the header", w.replay(csv).Replayed, 1)
	w.verify()
}

// TestALetterIsReadUnderWhatStoodWhenItsFileWasWritten follows the chain back over
// a rewind: what was consumed in between is void.
func TestALetterIsReadUnderWhatStoodWhenItsFileWasWritten(t *testing.T) {
	w := newWorld(t)
	w.onChange = files.ReplaceChanged
	const first = "a\n1\n2,3\n4,5\n"
	w.drop("o.csv", first)
	w.run()
	before := w.head()
	w.clock.now = w.clock.now.Add(time.Hour)
	w.drop("o.csv", "b,c\n1\n2,3\n4,5\n")
	w.run()
	r := compact.Repair{Log: w.log(), Now: w.clock.Now, Logger: slog.New(slog.DiscardHandler)}
	if _, err := r.Rewind(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	w.drop("o.csv", first)
	expect(t, "discarded", w.discard(dlq.Filter{IDs: []dlq.ID{{Source: "o.csv", Offset: 8}}}, dlq.Confirm).Discarded, 1)
	expect(t, "replayed", w.replay(`{`+id("o.csv", 4)+`,"raw":"2"}`).Replayed, 1)
	contain(t, "rows", w.rows("events"), id("o.csv", 4), `"a":2`)
}

// fickle is a source whose objects change while they are read.
type fickle struct{ object.Store }

func (f fickle) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	r, info, err := f.Store.Get(ctx, key, o)
	changed := iotest.ErrReader(object.ErrChanged)
	return io.NopCloser(io.MultiReader(io.LimitReader(r, 4<<20), changed)), info, err
}

// TestAnObjectThatChangesWhileItIsReadRefusesItsLetters, also those that were read
// before, and no others.
func TestAnObjectThatChangesWhileItIsReadRefusesItsLetters(t *testing.T) {
	w := newWorld(t)
	w.limits = record.Limits{MaxRecordBytes: 70 << 10}
	long := `{"text":"` + strings.Repeat("x", 100<<10) + `"}` + "\n"
	w.drop("long.ndjson", strings.Repeat(long, 50))
	w.drop("o.ndjson", badLines)
	w.run()
	w.limits = record.Limits{BlockRows: 1, PrimeBytes: 1}
	q := w.queue()
	q.Source = w.source(fickle{w.input})
	edits, err := dlq.ReadEdits(strings.NewReader(fmt.Sprintf("{%s}\n{%s}\n{%s,\"record\":{\"a\":2}}", id("long.ndjson", 0), id("long.ndjson", 49*len(long)), id("o.ndjson", 8))))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := q.Replay(t.Context(), dlq.ReplayOptions{Edits: edits, Mode: dlq.Confirm})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "refused", rep.Refused, 2)
	expect(t, "replayed", rep.Replayed, 1)
	expect(t, "as it is again", w.replayAll(dlq.ReplayOptions{Filter: dlq.Filter{Codes: []string{"too_long"}}, Mode: dlq.Confirm}).Replayed, 50)
	w.verify()
}

// TestLettersOfReplacedContentGoWithIt replays letters of an object that is
// replaced then, and of what it is replaced by.
func TestLettersOfReplacedContentGoWithIt(t *testing.T) {
	w := newWorld(t)
	w.onChange = files.ReplaceChanged
	w.drop("o.csv", "a\n1\n2,3\n4,5\n")
	w.run()
	expect(t, "replayed", w.replay(`{`+id("o.csv", 4)+`,"raw":"2"}`).Replayed, 1)
	w.clock.now = w.clock.now.Add(time.Hour)
	w.drop("o.csv", "b\n1\n2,3\n9\n")
	w.run()
	expect(t, "letters", len(w.letters()), 1)
	expect(t, "rows", len(w.rows("events")), 2)
	expect(t, "replayed", w.replay(`{`+id("o.csv", 4)+`,"raw":"22"}`).Replayed, 1)
	contain(t, "rows", w.rows("events"), id("o.csv", 4), `"b":22`)
	w.verify()
}
