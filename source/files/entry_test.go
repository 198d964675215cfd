package files_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"batcher/object/memstore"
	"batcher/source"
	"batcher/source/files"
)

// goldenEntries are the same in every version of the format.
func goldenEntries(t testing.TB) []files.Entry {
	t.Helper()
	s, err := files.New(memstore.New(), files.Config{Location: "s3://bucket/app"})
	if err != nil {
		t.Fatal(err)
	}
	entry := func(key, etag string, size int64, at time.Time, content string) files.Entry {
		e := files.Entry{Day: s.Day(key, at), Key: files.KeyHash(key), Identity: s.Identity(key, etag, size)}
		if content != "" {
			e.Content = files.KeyHash(content)
		}
		return e
	}
	return []files.Entry{
		entry("2026/events.ndjson", `"d41d8cd98f00b204e9800998ecf8427e"`, 0, time.Date(2026, 11, 29, 23, 59, 59, 0, time.UTC), "content"),
		entry("given-up.gz", "", 1<<40, time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC), ""),
		entry("ünïcode", "e", 1, time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC), "x"),
	}
}

func TestGoldenForms(t *testing.T) {
	entries := goldenEntries(t)
	run, err := files.EncodeRun(entries)
	if err != nil {
		t.Fatal(err)
	}
	recent, err := files.EncodeRecent(entries)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{"consumed.v1.hex": run, "recent.v1.hex": recent} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the form changed:\n%s", name, hex.Dump(got))
		}
	}
	decoded, err := files.DecodeRun(run)
	if err != nil {
		t.Fatal(err)
	}
	again, err := files.DecodeRecent(recent)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range again {
		if decoded.At(i) != e || !slices.Contains(entries, e) {
			t.Errorf("entry %d: run has %+v, recent has %+v", i, decoded.At(i), e)
		}
	}
	if decoded.Len() != 3 || len(again) != 3 || decoded.FromDay() != -1 || decoded.ToDay() != 20787 {
		t.Errorf("run of %d entries, days [%d, %d)", decoded.Len(), decoded.FromDay(), decoded.ToDay())
	}
}

func TestRunDecoderIsStrict(t *testing.T) {
	run, err := files.EncodeRun(goldenEntries(t))
	if err != nil {
		t.Fatal(err)
	}
	head, body, _ := bytes.Cut(run, []byte("\n"))
	swapped := slices.Concat(body[:48], body[96:], body[48:96])
	for name, b := range map[string][]byte{
		"empty":          nil,
		"no body":        append(head, '\n'),
		"no line end":    head,
		"short":          run[:len(run)-1],
		"long":           append(slices.Clone(run), 0),
		"other format":   bytes.Replace(run, []byte(`"format":1`), []byte(`"format":2`), 1),
		"other kind":     bytes.Replace(run, []byte(`"consumed"`), []byte(`"list"`), 1),
		"unknown field":  bytes.Replace(run, []byte(`"count"`), []byte(`"more":1,"count"`), 1),
		"space":          bytes.Replace(run, []byte(`,"count"`), []byte(`, "count"`), 1),
		"wrong count":    bytes.Replace(run, []byte(`"count":3`), []byte(`"count":4`), 1),
		"day count":      bytes.Replace(run, []byte(`[20786,2]`), []byte(`[20786,3]`), 1),
		"negative count": bytes.Replace(run, []byte(`[20786,2]`), []byte(`[20786,-2]`), 1),
		"days swapped":   bytes.Replace(run, []byte(`[-1,1],[20786,2]`), []byte(`[20786,2],[-1,1]`), 1),
		"long day":       bytes.Replace(run, []byte(`[20786,2]`), []byte(`[20786,2,0]`), 1),
		"huge day":       bytes.Replace(run, []byte(`[20786,2]`), []byte(`[4294987082,2]`), 1),
		"no entries":     []byte(`{"format":1,"kind":"consumed","count":0,"days":[]}` + "\n"),
		"out of order":   slices.Concat(head, []byte("\n"), swapped),
		"key twice":      slices.Concat(head, []byte("\n"), body[:96], body[48:96]),
	} {
		if r, err := files.DecodeRun(b); err == nil {
			t.Errorf("%s: decoded to %d entries", name, r.Len())
		}
	}
	if _, err := files.EncodeRun(nil); err == nil {
		t.Error("an empty run was encoded")
	}
	if e := goldenEntries(t)[0]; e.Day != 20786 {
		t.Fatalf("day %d", e.Day)
	} else if _, err := files.EncodeRun([]files.Entry{e, e}); err == nil {
		t.Error("a run with a key twice was encoded")
	}
}

func TestRecentDecoderIsStrict(t *testing.T) {
	entries := goldenEntries(t)
	recent, err := files.EncodeRecent(entries)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := entries[0]
	elsewhere.Day++
	if _, err := files.EncodeRecent(append(entries, elsewhere)); err == nil {
		t.Error("a key on two days was encoded")
	}
	many := make([]files.Entry, files.RecentLimit/files.RecentSize+1)
	for i := range many {
		many[i].Key[0], many[i].Key[1] = byte(i>>8), byte(i)
	}
	if _, err := files.EncodeRecent(many); err == nil {
		t.Error("too many entries were encoded")
	}
	if b, err := files.EncodeRecent(many[1:]); err != nil || len(b) != 12272 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	moved := slices.Clone(recent[:52])
	moved[3]++ // the same key, a day later
	for name, b := range map[string][]byte{
		"short":        recent[:len(recent)-1],
		"out of order": slices.Concat(recent[52:104], recent[:52]),
		"twice":        slices.Concat(recent[:52], recent[:52]),
		"key twice":    slices.Concat(recent[:52], moved),
		"too long":     make([]byte, files.RecentLimit+files.RecentSize),
	} {
		if got, err := files.DecodeRecent(b); err == nil {
			t.Errorf("%s: decoded to %+v", name, got)
		}
	}
	if got, err := files.DecodeRecent(nil); err != nil || len(got) != 0 {
		t.Errorf("nothing: %v, %v", got, err)
	}
}

func FuzzDecodeRun(f *testing.F) {
	run, err := files.EncodeRun(goldenEntries(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(run)
	f.Add([]byte(`{"format":1,"kind":"consumed","count":1,"days":[[9223372036854775807,1]]}` + "\n"))
	f.Add([]byte(`{"format":1,"kind":"consumed","count":-1,"days":[[0,-9223372036854775808]]}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := files.DecodeRun(b)
		if err != nil {
			return
		}
		entries := make([]files.Entry, r.Len())
		for i := range entries {
			entries[i] = r.At(i)
		}
		again, err := files.EncodeRun(entries)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%q decodes but encodes to %q, %v", b, again, err)
		}
	})
}

func FuzzDecodeRecent(f *testing.F) {
	recent, err := files.EncodeRecent(goldenEntries(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(recent)
	f.Add(binaryDay(math.MinInt32))
	f.Add(binaryDay(math.MaxInt32))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := files.DecodeRecent(b)
		if err != nil {
			return
		}
		again, err := files.EncodeRecent(entries)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x decodes but encodes to %x, %v", b, again, err)
		}
	})
}

// FuzzProgress gives a set hostile progress and segments.
func FuzzProgress(f *testing.F) {
	run, err := files.EncodeRun(goldenEntries(f))
	if err != nil {
		f.Fatal(err)
	}
	recent, err := files.EncodeRecent(goldenEntries(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(run, recent, int64(3), int32(-1), int32(20787))
	f.Add(run, []byte{}, int64(3), int32(0), int32(0))
	f.Fuzz(func(t *testing.T, run, recent []byte, count int64, from, to int32) {
		c := newChain(t, newBucket(), files.Config{})
		pack := c.segments.pack()
		ref := source.ConsumedRef{Ref: pack.Add(run), Count: count, FromDay: from, ToDay: to}
		c.segments.write(pack)
		p := &source.FilesProgress{Recent: recent, Count: 3}
		p.Segments.Items, p.Segments.Count = []source.ConsumedRef{ref, ref}, 2
		_ = c.set.Verify(t.Context(), p)
		_, _ = c.set.Advance(p, files.Delta{Ranges: []source.Range{{Key: "k", Last: true}}}, c.segments.pack())
	})
}

func binaryDay(day int32) []byte {
	b := make([]byte, files.RecentSize)
	b[0], b[1], b[2], b[3] = byte(uint32(day)>>24), byte(uint32(day)>>16), byte(uint32(day)>>8), byte(day)
	return b
}

func TestProgressFormIsStable(t *testing.T) {
	b := newBucket()
	b.put(t, "k", "v", noon.Add(-time.Hour))
	c := newChain(t, b, files.Config{})
	c.consume()
	got, err := json.Marshal(c.head)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "progress.v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != strings.TrimSpace(string(want)) {
		t.Errorf("progress is now\n%s", got)
	}
}
