package commit_test

import (
	"testing"

	"batcher/commit"
	"batcher/manifest"
	"batcher/segment"
	"batcher/source"
)

// did is a rival that did something to the table events.
func did(seq manifest.Seq, kind manifest.Kind, edit func(*manifest.Manifest, *manifest.Table)) *manifest.Manifest {
	m := &manifest.Manifest{Seq: seq, Kind: kind, Config: manifest.Config{Hash: "c1"}, Tables: map[string]manifest.Table{}}
	t := manifest.Table{Schema: manifest.SchemaRef{LastID: 20}}
	edit(m, &t)
	m.Tables["events"] = t
	return m
}

func filesOf(keys ...string) segment.List[manifest.File] {
	var l []manifest.File
	for _, k := range keys {
		l = append(l, manifest.File{Key: k})
	}
	return segment.Of(l)
}

// TestDecide holds each rule against facts that differ in one thing.
func TestDecide(t *testing.T) {
	nothing := func(*manifest.Manifest, *manifest.Table) {}
	base := did(5, manifest.Data, nothing)
	added := did(6, manifest.Data, func(m *manifest.Manifest, t *manifest.Table) { t.Add, t.LastSeq = filesOf("n"), 6 })
	compacted := did(6, manifest.Compact, func(m *manifest.Manifest, t *manifest.Table) {
		t.Add, t.Remove, t.LastSeq = filesOf("c"), filesOf("a", "b"), 6
	})
	rewrote := did(6, manifest.Rewrite, func(m *manifest.Manifest, t *manifest.Table) {
		t.Schema.SHA256[0], t.LastSeq, t.Rewritten = 1, 6, 6
	})
	rewroteOther := did(6, manifest.Rewrite, nothing)
	grew := did(6, manifest.Data, func(m *manifest.Manifest, t *manifest.Table) {
		t.Schema.SHA256[0], t.Schema.LastID, t.LastSeq = 1, 21, 6
	})
	other := did(6, manifest.Data, func(m *manifest.Manifest, t *manifest.Table) { m.Config.Hash = "c2" })
	floor := did(6, manifest.Floor, func(m *manifest.Manifest, _ *manifest.Table) { m.GCFloor = 6 })
	republished := did(6, manifest.Republish, func(_ *manifest.Manifest, t *manifest.Table) { t.Version, t.LastSeq = 9, 6 })
	rewound := did(6, manifest.Rewind, func(m *manifest.Manifest, _ *manifest.Table) { m.Generation = 1 })
	took := func(r source.Range) *manifest.Manifest {
		return did(6, manifest.Data, func(m *manifest.Manifest, _ *manifest.Table) {
			m.Batch = &manifest.Batch{Ranges: segment.Of([]source.Range{r})}
		})
	}
	object := source.Range{Key: "k", ETag: "e", Size: 9, To: 9, Last: true}
	changed := object
	changed.ETag = "f"
	touched := did(6, manifest.Data, func(m *manifest.Manifest, _ *manifest.Table) {
		m.Batch = &manifest.Batch{Touched: segment.Of([]manifest.Touched{{Key: "k"}})}
	})
	removes := func(keys ...string) []commit.TableWrite {
		return []commit.TableWrite{{Table: "events", Remove: keys}}
	}
	for _, c := range []struct {
		name  string
		kind  manifest.Kind
		rival *manifest.Manifest
		write []commit.TableWrite
		own   []source.Range
		want  commit.Verdict
	}{
		{"an append beside an append", manifest.Data, added, removes(), nil, commit.Propose},
		{"an append beside a compaction", manifest.Data, compacted, removes(), nil, commit.Propose},
		{"an append after a rewrite", manifest.Data, rewrote, removes(), nil, commit.Reencode},
		{"an append after a rewrite of another table", manifest.Data, rewroteOther, removes(), nil, commit.Propose},
		{"an append of new columns after new columns", manifest.Data, grew, []commit.TableWrite{{Table: "events", Grows: commit.AddsColumns}}, nil, commit.Reencode},
		{"an append of known columns after new columns", manifest.Data, grew, removes(), nil, commit.Propose},
		{"an append under another configuration", manifest.Data, other, removes(), nil, commit.Reencode},
		{"an append over a floor", manifest.Data, floor, removes(), nil, commit.Abort},
		{"an append over a rewind", manifest.Data, rewound, removes(), nil, commit.Abort},
		{"the same object", manifest.Data, took(object), nil, []source.Range{object}, commit.Already},
		{"the same object with other content", manifest.Data, took(changed), nil, []source.Range{object}, commit.Replan},
		{"an object whose entry was replaced", manifest.Data, touched, nil, []source.Range{object}, commit.Replan},

		{"a compaction beside an append", manifest.Compact, added, removes("a", "b"), nil, commit.Propose},
		{"a compaction of files that are gone", manifest.Compact, compacted, removes("b", "x"), nil, commit.Reencode},
		{"a compaction of other files", manifest.Compact, compacted, removes("x"), nil, commit.Propose},
		{"a compaction after a rewrite", manifest.Compact, rewrote, removes("a"), nil, commit.Reencode},
		{"a compaction under another configuration", manifest.Compact, other, removes("a"), nil, commit.Propose},
		{"a compaction over a floor", manifest.Compact, floor, removes("a"), nil, commit.Abort},
		{"a compaction over a rewind", manifest.Compact, rewound, removes("a"), nil, commit.Abort},
		{"a replay of letters that are gone", manifest.Replay, compacted, removes("a"), nil, commit.Reencode},
		{"a replay under another configuration", manifest.Replay, other, removes("x"), nil, commit.Reencode},
		{"a replacement of rows that moved", manifest.Replace, compacted, removes("a"), []source.Range{object}, commit.Reencode},
		{"a replacement that a rival made", manifest.Replace, took(object), removes("a"), []source.Range{object}, commit.Already},
		{"a rewrite after an append", manifest.Rewrite, added, removes("a"), nil, commit.Reencode},
		{"a rewrite after a compaction", manifest.Rewrite, compacted, removes("x"), nil, commit.Reencode},
		{"a rewrite after new columns alone", manifest.Rewrite, grew, removes("a"), nil, commit.Reencode},
		{"a rewrite after a rewrite", manifest.Rewrite, rewrote, removes("a"), nil, commit.Reencode},
		{"a rewrite beside what leaves the table alone", manifest.Rewrite, rewroteOther, removes("a"), nil, commit.Propose},
		{"a rewrite under another configuration", manifest.Rewrite, other, removes("a"), nil, commit.Propose},
		{"a republish beside an append", manifest.Republish, added, nil, nil, commit.Propose},
		{"a republish beside a compaction", manifest.Republish, compacted, nil, nil, commit.Propose},
		{"a republish after another", manifest.Republish, republished, nil, nil, commit.Reencode},
		{"a republish over a rewind", manifest.Republish, rewound, nil, nil, commit.Abort},
		{"an append beside a republish", manifest.Data, republished, removes(), nil, commit.Propose},
		{"a rewrite over a floor", manifest.Rewrite, floor, removes("a"), nil, commit.Abort},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := commit.Decide(commit.Facts{Kind: c.kind, Base: base, Seen: base, Head: c.rival,
				Rivals: []*manifest.Manifest{c.rival}, Ranges: c.own, Config: "c1", Writes: c.write})
			if got.Verdict != c.want || (got.Reason == "") != (c.want == commit.Propose) {
				t.Errorf("got %+v, want %s", got, c.want)
			}
		})
	}
}
