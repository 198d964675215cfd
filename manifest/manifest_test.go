package manifest_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batcher/manifest"
	"batcher/schema"
	"batcher/segment"
	"batcher/source"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	at    = time.Date(2026, 1, 2, 3, 4, 5, 6000000, time.UTC)
	nobug = manifest.Writer{Version: "v1", Host: "h", PID: 7}
	conf  = manifest.Config{Hash: "c", Source: "/in", Format: "auto", RecordID: "position", Table: "events", Dead: "events_dead"}
)

func table(s *schema.Schema) manifest.Table {
	ref, err := manifest.NewSchemaRef(s, segment.NewPack("k"))
	if err != nil {
		panic(err)
	}
	return manifest.Table{Schema: ref, Version: -1}
}

// genesis is the first manifest of the golden chain.
func genesis() *manifest.Manifest {
	return &manifest.Manifest{
		Format: manifest.Format, Pipeline: "events-000102030405060708090a0b0c0d0e0f", Kind: manifest.Genesis,
		Attempt: manifest.Attempt{1}, Progress: source.Progress{Files: &source.FilesProgress{}},
		Tables: map[string]manifest.Table{"events": table(schema.New()), "events_dead": table(schema.DeadLetters())},
		Config: conf, Writer: nobug, CreatedAt: at,
	}
}

func sum(t *testing.T, m *manifest.Manifest) manifest.SHA256 {
	t.Helper()
	b, err := manifest.EncodeManifest(m)
	if err != nil {
		t.Fatal(err)
	}
	return manifest.Sum(b)
}

// data is the second one: it uses every field that a data manifest may have.
func data(t *testing.T) *manifest.Manifest {
	g := genesis()
	ranges := []source.Range{
		{Key: "a/1.ndjson", ETag: `"e1"`, Size: 100, Modified: at, To: 100, Last: true, Records: 3, IDSum: source.Hash{7}, Content: source.Hash{8}},
		{Key: "b.gz", ETag: `"e2"`, Size: 50, Modified: at, Last: true, Records: 1, IDSum: source.Hash{9}, Broken: "truncated gzip"},
		{Key: "big", ETag: `"e3"`, Size: 900, Modified: at, To: 40, Records: 1, IDSum: source.Hash{2}},
	}
	m := *g
	m.Seq, m.Kind, m.Attempt, m.CreatedAt = 1, manifest.Data, manifest.Attempt{2}, at.Add(time.Second)
	m.Parent = &manifest.Parent{Seq: 0, Attempt: g.Attempt, SHA256: sum(t, g)}
	m.Progress.Files = &source.FilesProgress{
		Start: at, Count: 2, Sum: source.Hash{3}, Newest: at, Recent: []byte("recent"), TimePath: "{yyyy}/{MM}/{dd}", Relisted: at,
		Segments: segment.Of([]source.ConsumedRef{{Ref: segment.Ref{Key: state(0, 2), Offset: 5, Size: 6, SHA256: segment.Sum([]byte("x"))}, Count: 1, FromDay: 20454, ToDay: 20455}}),
		Open:     []source.OpenObject{{Key: "big", ETag: `"e3"`, Size: 900, Modified: at, Next: 40}},
	}
	m.Batch = &manifest.Batch{
		ID: manifest.NewBatchID(m.Pipeline, 0, ranges), Ranges: segment.Of(ranges), Objects: 3, Late: 1,
		Touched: segment.Of([]manifest.Touched{{Key: "t", ETag: `"e4"`, Size: 1, Modified: at, Content: source.Hash{5}, Was: source.Hash{6}}}),
		Rows:    manifest.RowCounts{Read: 5, Written: 4, Dead: 1}, Bytes: 190,
	}
	events, dead := g.Tables["events"], g.Tables["events_dead"]
	add(&events, manifest.File{Key: manifest.DataFile("events", 0, m.Attempt, 0), Size: 10, Rows: 4, SHA256: segment.Sum([]byte("f")), Seq: 1, Schema: events.Schema.SHA256,
		Columns: []manifest.ColumnStats{{ID: 2, Nulls: 0, Min: json.RawMessage("0"), Max: json.RawMessage("80")}}})
	add(&dead, manifest.File{Key: manifest.DataFile("events_dead", 0, m.Attempt, 0), Size: 20, Rows: 1, Seq: 1, Part: map[string]string{"day": "2026-01-02"}})
	m.Tables = map[string]manifest.Table{"events": events, "events_dead": dead}
	return &m
}

func state(base manifest.Seq, attempt byte) string {
	return manifest.Layout{Pipeline: "events"}.State(base, manifest.Attempt{attempt}, 0)
}

func add(t *manifest.Table, f manifest.File) {
	t.Version++
	t.LastSeq = f.Seq
	t.Add = segment.Of([]manifest.File{f})
	t.Live.Files++
	t.Live.Rows += f.Rows
	t.Live.Bytes += f.Size
	t.Live.Recent = append(t.Live.Recent, f)
}

// TestGolden holds the bytes of every object against the golden files of format
// 1. They never change; a new form gets a new format and files of its own.
func TestGolden(t *testing.T) {
	g, d := genesis(), data(t)
	live, err := segment.Encode(manifest.LiveKind, d.Tables["events"].Live.Recent)
	if err != nil {
		t.Fatal(err)
	}
	_, r := next(t, manifest.Replace)
	replaced(r)
	_, f := follows(t)
	byRef := segment.List[manifest.File]{Ref: &segment.Ref{Key: "k", Offset: 1, Size: 2}, Count: 3}
	for name, make := range map[string]func() ([]byte, error){
		"genesis-v1.json": func() ([]byte, error) { return manifest.EncodeManifest(g) },
		"data-v1.json":    func() ([]byte, error) { return manifest.EncodeManifest(d) },
		"replace-v1.json": func() ([]byte, error) { return manifest.EncodeManifest(r) },
		"append-v1.json":  func() ([]byte, error) { return manifest.EncodeManifest(f) },
		"format-v1.json": func() ([]byte, error) {
			return manifest.EncodeFormat(manifest.FormatFile{Format: 1, Pipeline: g.Pipeline})
		},
		"claim-v1.json": func() ([]byte, error) {
			return manifest.EncodeClaim(manifest.ClaimFile{Format: 1, Table: "events", Pipeline: g.Pipeline})
		},
		"head-v1.json": func() ([]byte, error) {
			return manifest.EncodeHint(manifest.HintFile{Format: 1, Seq: 1, SHA256: sum(t, d)})
		},
		"live-v1.seg":      func() ([]byte, error) { return live, nil },
		"list-ref-v1.json": func() ([]byte, error) { return segment.EncodeObject(byRef) },
	} {
		got, err := make()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

func TestGoldenManifestsReadBackAndFollowEachOther(t *testing.T) {
	read := func(name string) (*manifest.Manifest, manifest.SHA256) {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		m, err := manifest.DecodeManifest(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := manifest.EncodeManifest(m)
		if err != nil || string(again) != string(b) {
			t.Errorf("%s is not what its value encodes to: %v\n%s", name, err, again)
		}
		return m, manifest.Sum(b)
	}
	s, err := manifest.Begin(read("genesis-v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(read("data-v1.json")); err != nil {
		t.Fatal(err)
	}
}

func TestReadersRefuseWhatTheyDoNotKnow(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "genesis-v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	good := string(b)
	for name, text := range map[string]string{
		"unknown format":  strings.Replace(good, `{"format":1,`, `{"format":2,`, 1),
		"unknown field":   strings.Replace(good, `{"format":1,`, `{"format":1,"color":"red",`, 1),
		"field below":     strings.Replace(good, `"writer":{`, `"writer":{"color":"red",`, 1),
		"torn":            good[:len(good)/2],
		"something after": good + good,
		"empty":           "",
	} {
		if _, err := manifest.DecodeManifest([]byte(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestApplyRefuses breaks one thing of a good manifest at a time.
func TestApplyRefuses(t *testing.T) {
	for _, c := range []struct {
		invariant, what string
		spoil           func(m *manifest.Manifest)
	}{
		{"I1", "a gap", func(m *manifest.Manifest) { m.Seq = 2 }},
		{"I1", "a second genesis", func(m *manifest.Manifest) { m.Kind = manifest.Genesis }},
		{"I2", "no parent", func(m *manifest.Manifest) { m.Parent = nil }},
		{"I2", "another parent attempt", func(m *manifest.Manifest) { m.Parent = &manifest.Parent{SHA256: m.Parent.SHA256} }},
		{"I2", "another parent hash", func(m *manifest.Manifest) { p := *m.Parent; p.SHA256[0]++; m.Parent = &p }},
		{"I3", "another pipeline", func(m *manifest.Manifest) { m.Pipeline = "other-00" }},
		{"I4", "generation", func(m *manifest.Manifest) { m.Generation = 1 }},
		{"I4", "progress gone", func(m *manifest.Manifest) { m.Progress.Files = nil }},
		{"I4", "too many consumed", func(m *manifest.Manifest) { m.Progress.Files.Count++ }},
		{"I4", "a range that leaves records out", func(m *manifest.Manifest) { m.Batch.Ranges.Items[0].From = 5; rename(m) }},
		{"I4", "an open object forgotten", func(m *manifest.Manifest) { m.Progress.Files.Open = nil }},
		{"I4", "an open object elsewhere", func(m *manifest.Manifest) { m.Progress.Files.Open[0].Next = 39 }},
		{"I4", "a gap nobody opened", func(m *manifest.Manifest) { m.Gaps = []manifest.GapRecord{{Key: "x", From: 3}} }},
		{"I5", "another batch id", func(m *manifest.Manifest) { m.Batch.ID[0]++ }},
		{"I5", "no batch", func(m *manifest.Manifest) { m.Batch = nil }},
		{"I5", "an object twice", func(m *manifest.Manifest) {
			m.Batch.Ranges = segment.Of(append(m.Batch.Ranges.Items, m.Batch.Ranges.Items[0]))
			rename(m)
		}},
		{"I8", "base ahead", func(m *manifest.Manifest) { m.Base = 1 }},
		{"I8", "a file of another attempt", func(m *manifest.Manifest) {
			m.Tables["events"].Add.Items[0].Key = manifest.DataFile("events", 0, manifest.Attempt{9}, 0)
		}},
		{"I9", "a floor by a data manifest", func(m *manifest.Manifest) { m.GCFloor = 1 }},
		{"I9", "retain_from above the floor", func(m *manifest.Manifest) { m.RetainFrom = 1 }},
		{"I9", "time that falls", func(m *manifest.Manifest) { m.CreatedAt = at.Add(-time.Second) }},
		{"I11", "live totals", func(m *manifest.Manifest) { edit(m, func(t *manifest.Table) { t.Live.Files = 2 }) }},
		{"I11", "live rows", func(m *manifest.Manifest) { edit(m, func(t *manifest.Table) { t.Live.Rows = 5 }) }},
		{"I14", "a record without a row", func(m *manifest.Manifest) { m.Batch.Rows.Read++ }},
		{"I14", "fewer rows in files", func(m *manifest.Manifest) { m.Batch.Rows.Read++; m.Batch.Rows.Written++ }},
		{"I16", "a version skipped", func(m *manifest.Manifest) { edit(m, func(t *manifest.Table) { t.Version = 2 }) }},
		{"I16", "last_seq", func(m *manifest.Manifest) { edit(m, func(t *manifest.Table) { t.LastSeq = 0 }) }},
		{"I19", "a table gone", func(m *manifest.Manifest) { delete(m.Tables, "events_dead") }},
		{"I19", "a run of somebody else", func(m *manifest.Manifest) { m.Progress.Files.Segments.Items[0].Key = state(0, 9) }},
		{"I20", "field ids that fall", func(m *manifest.Manifest) { edit(m, func(t *manifest.Table) { t.Schema.LastID = 3 }) }},
	} {
		t.Run(c.invariant+" "+c.what, func(t *testing.T) {
			s, err := manifest.Begin(genesis(), sum(t, genesis()))
			if err != nil {
				t.Fatal(err)
			}
			m := data(t)
			if _, err := s.Apply(m, manifest.SHA256{}); err != nil {
				t.Fatalf("the good one: %v", err)
			}
			c.spoil(m)
			_, err = s.Apply(m, manifest.SHA256{})
			var v *manifest.ViolationError
			if !errors.As(err, &v) || v.Invariant != c.invariant {
				t.Errorf("got %v, want a violation of %s", err, c.invariant)
			}
		})
	}
}

// rename gives a batch the id of its ranges.
func rename(m *manifest.Manifest) {
	m.Batch.ID = manifest.NewBatchID(m.Pipeline, m.Generation, m.Batch.Ranges.Items)
}

func edit(m *manifest.Manifest, f func(*manifest.Table)) {
	t := m.Tables["events"]
	f(&t)
	m.Tables["events"] = t
}

func TestP16_TheBatchIDDependsOnTheRangesAlone(t *testing.T) {
	ranges := []source.Range{{Key: "a", ETag: "e", Size: 1, To: 1}, {Key: "b", ETag: "e", Size: 1, To: 1}}
	id := manifest.NewBatchID("p", 0, ranges)
	more := append([]source.Range(nil), ranges...)
	more[0].Records, more[0].Modified = 9, at
	if manifest.NewBatchID("p", 0, more) != id {
		t.Error("what was found in a range changes its id")
	}
	for name, other := range map[string]manifest.BatchID{
		"pipeline":   manifest.NewBatchID("q", 0, ranges),
		"generation": manifest.NewBatchID("p", 1, ranges),
		"order":      manifest.NewBatchID("p", 0, []source.Range{ranges[1], ranges[0]}),
		"boundary":   manifest.NewBatchID("p", 0, []source.Range{{Key: "ae", Size: 1, To: 1}, ranges[1]}),
	} {
		if other == id {
			t.Errorf("another %s gives the same id", name)
		}
	}
}

func TestKeysCarryTheirBase(t *testing.T) {
	l := manifest.Layout{Pipeline: "events"}
	key := l.State(42, manifest.Attempt{1}, 3)
	if base, ok := manifest.BaseOf(strings.TrimPrefix(key, l.States())); !ok || base != 42 {
		t.Errorf("%s: base %d, %v", key, base, ok)
	}
	for _, foreign := range []string{"x/y", "0000000000000000004/x", "0000000000000000000a/x", "00000000000000000042", ""} {
		if _, ok := manifest.BaseOf(foreign); ok {
			t.Errorf("%q has a base", foreign)
		}
	}
}

func TestALongLiveListLeavesTheManifest(t *testing.T) {
	live := manifest.Live{}
	var packs []*segment.Pack
	for i := range 400 {
		pack := segment.NewPack(fmt.Sprintf("k%d", i))
		files := []manifest.File{{Key: fmt.Sprintf("events/data/%d", i), Rows: 1, Size: 2}}
		items := live.Segments.Items
		var err error
		if live, _, err = live.Edit(manifest.Edit{Segments: items, Add: files}, pack); err != nil {
			t.Fatal(err)
		}
		if len(pack.Bytes()) > 0 {
			packs = append(packs, pack)
		}
	}
	n := len(live.Recent)
	for _, ref := range live.Segments.Items {
		for _, p := range packs {
			if p.Key() == ref.Key {
				run := p.Bytes()[ref.Offset : ref.Offset+ref.Size]
				if err := ref.Check(run); err != nil {
					t.Fatal(err)
				}
				files, err := segment.Decode[manifest.File](manifest.LiveKind, run)
				if err != nil {
					t.Fatal(err)
				}
				n += len(files)
			}
		}
	}
	if n != 400 || live.Files != 400 || live.Rows != 400 || live.Bytes != 800 {
		t.Errorf("%d files found, live %+v", n, live)
	}
	if text, _ := json.Marshal(live); len(text) > 2*segment.InlineLimit {
		t.Errorf("the live set takes %d bytes of the manifest", len(text))
	}
}

// FuzzDecode throws bytes at every decoder: none may panic, and what is accepted
// encodes to an equal value again.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"genesis-v1.json", "data-v1.json", "format-v1.json", "claim-v1.json", "head-v1.json", "live-v1.seg"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = manifest.DecodeFormat(b)
		_, _ = manifest.DecodeClaim(b)
		_, _ = manifest.DecodeHint(b)
		_, _ = segment.Decode[manifest.File](manifest.LiveKind, b)
		_, _ = segment.Decode[source.Range]("list", b)
		m, err := manifest.DecodeManifest(b)
		if err != nil {
			return
		}
		once, err := manifest.EncodeManifest(m)
		if err != nil {
			return // text that JSON cannot carry, or too long
		}
		again, err := manifest.DecodeManifest(once)
		if err != nil {
			t.Fatalf("own encoding is refused: %v", err)
		}
		if twice, err := manifest.EncodeManifest(again); err != nil || string(twice) != string(once) {
			t.Fatalf("encoding is not stable: %v\n%s\n%s", err, once, twice)
		}
		_, _ = manifest.Begin(m, manifest.SHA256{})
		_, _ = manifest.Snapshot{Manifest: m}.Apply(m, manifest.SHA256{})
	})
}

// TestTableNamesAsLongAsAPipelineFileAllowsAreGood holds Apply to what package
// config lets pass: a name it refused would stop the pipeline for good.
func TestTableNamesAsLongAsAPipelineFileAllowsAreGood(t *testing.T) {
	for name, want := range map[string]bool{
		strings.Repeat("p", 63) + "_dead": true, strings.Repeat("t", 128): true, strings.Repeat("t", 129): false, "Events": false, "": false,
	} {
		if got := manifest.ValidTable(name); got != want {
			t.Errorf("%q (%d bytes): %v", name, len(name), got)
		}
	}
}
