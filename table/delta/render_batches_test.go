package delta_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	vectors "batcher/column"
	"batcher/manifest"
	"batcher/segment"
	"batcher/source"
	"batcher/table/delta"
)

// manifests have between them every fact that there is.
func manifests() []*manifest.Manifest {
	at := time.Date(2026, 11, 30, 8, 0, 0, 123_000_000, time.UTC)
	writer := manifest.Writer{Version: "1.2.3", Host: "h", PID: 1}
	file := func(table string, n int, rows, size int64) manifest.File {
		return manifest.File{Key: manifest.DataFile(table, 3, manifest.Attempt{7}, n), Rows: rows, Size: size}
	}
	to := manifest.Seq(5)
	return []*manifest.Manifest{
		{Kind: manifest.Genesis, Attempt: manifest.Attempt{1}, CreatedAt: at, Tables: map[string]manifest.Table{"events": {Version: -1}}},
		{Seq: 7, Kind: manifest.Replace, Attempt: manifest.Attempt{7}, Base: 3, Generation: 2, CreatedAt: at, Writer: writer,
			Gaps: []manifest.GapRecord{{Key: "gone", From: 12, Reason: "object is gone"}},
			Batch: &manifest.Batch{
				ID: manifest.BatchID{9}, Bytes: 4321, Rows: manifest.RowCounts{Read: 15, Written: 9, Late: 3, Dead: 2, Duplicate: 1, Replaced: 4},
				Ranges: segment.Of([]source.Range{
					{Key: "a/ö.ndjson", ETag: "e1", Size: 100, Modified: at, From: 0, To: 100, Last: true, Records: 10},
					{Key: "b", Name: "b#0123456789abcde", ETag: "e2", Size: 200, Modified: at, From: 50, To: 90, Records: 5},
					{Key: "c", Size: 3, Last: true, Broken: "gzip: unexpected end"},
				}),
				Touched:  segment.Of([]manifest.Touched{{Key: "t", ETag: "e3", Size: 5, Modified: at}}),
				Replaced: segment.Of([]manifest.Replaced{{Key: "a/ö.ndjson", Rows: 4}}),
			},
			Tables: map[string]manifest.Table{
				"events_dead": {Add: segment.Of([]manifest.File{file("events_dead", 0, 2, 20)})},
				"events":      {Add: segment.Of([]manifest.File{file("events", 1, 5, 50), file("events", 0, 4, 40)}), Remove: segment.Of([]manifest.File{file("events", 9, 4, 44)})},
			}},
		{Seq: 8, Kind: manifest.Rewind, Attempt: manifest.Attempt{8}, Generation: 3, RewindTo: &to, CreatedAt: at},
		{Seq: 9, Kind: manifest.Replay, Attempt: manifest.Attempt{9}, Letters: &manifest.Letters{Replayed: 2, Discarded: 1}, CreatedAt: at},
		{Seq: 10, Kind: manifest.Republish, Attempt: manifest.Attempt{10}, Republish: &manifest.Republished{Table: "events"}, CreatedAt: at},
	}
}

func TestFactsOfManifests_Golden(t *testing.T) {
	var got bytes.Buffer
	for _, m := range manifests() {
		err := delta.FactsOf(m, func(b *vectors.Block) error {
			if err := vectors.Check(b); err != nil {
				return err
			}
			for rows := vectors.NewCursor(b); rows.Next(); {
				got.Write(append(rows.AppendJSON(nil), '\n'))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	golden := filepath.Join("testdata", "batches", "facts.jsonl")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got\n%s\nwant\n%s", got.Bytes(), want)
	}
}

// TestFoldsAreBounded says which files become one: the last ones, up to so many rows.
func TestFoldsAreBounded(t *testing.T) {
	const half = delta.FoldRows / 2
	tens := func(rows int64) (files [][3]int64) {
		for i := range int64(9) {
			files = append(files, [3]int64{i * 10, i*10 + 10, rows})
		}
		return files
	}
	singles := func(from int64) (files [][3]int64) {
		for i := range int64(10) {
			files = append(files, [3]int64{from + i, from + i + 1, 1})
		}
		return files
	}
	for name, c := range map[string]struct {
		files [][3]int64
		v     delta.Version
		want  [][2]int64 // first and last of what is folded; none: nothing is
	}{
		"no tenth version":        {singles(0), 11, nil},
		"the tenth":               {singles(0), 10, [][2]int64{{0, 1}, {9, 10}}},
		"the twentieth":           {append(tens(1)[:1], singles(10)...), 20, [][2]int64{{10, 11}, {19, 20}}},
		"the hundredth":           {append(tens(1), singles(90)...), 100, [][2]int64{{0, 10}, {99, 100}}},
		"nothing to fold":         {singles(0)[9:], 10, nil},
		"as many rows as may be":  {[][3]int64{{0, 8, 1}, {8, 9, half}, {9, 10, half}}, 10, [][2]int64{{8, 9}, {9, 10}}},
		"one more":                {[][3]int64{{8, 9, half + 1}, {9, 10, half}}, 10, nil},
		"large files stay":        {append(tens(half), singles(90)...), 100, [][2]int64{{80, 90}, {99, 100}}},
		"a large one at the end":  {append(tens(1), [3]int64{90, 100, delta.FoldRows + 1}), 100, nil},
		"a log that begins late":  {singles(15)[:5], 20, [][2]int64{{15, 16}, {19, 20}}},
		"the thousandth, of many": {append(tens(1), [3]int64{90, 1000, 5}), 1000, [][2]int64{{0, 10}, {90, 1000}}},
		"no more than a thousand": {[][3]int64{{0, 1000, 5}, {1000, 1990, 5}, {1990, 2000, 5}}, 2000, [][2]int64{{1000, 1990}, {1990, 2000}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := delta.Folds(c.files, c.v)
			if len(got) > 0 {
				got = [][2]int64{got[0], got[len(got)-1]}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("folds %v, want %v", got, c.want)
			}
		})
	}
}
