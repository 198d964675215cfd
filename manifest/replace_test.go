package manifest_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"batcher/manifest"
	"batcher/schema"
	"batcher/segment"
	"batcher/source"
)

// next is a manifest of a kind on top of the golden data manifest that puts one
// file with the same rows in the place of the one that is there.
func next(t *testing.T, kind manifest.Kind) (manifest.Snapshot, *manifest.Manifest) {
	t.Helper()
	s, err := manifest.Begin(genesis(), sum(t, genesis()))
	if err != nil {
		t.Fatal(err)
	}
	d := data(t)
	if s, err = s.Apply(d, sum(t, d)); err != nil {
		t.Fatal(err)
	}
	m := *d
	m.Seq, m.Kind, m.Attempt, m.Base, m.Batch, m.CreatedAt = 2, kind, manifest.Attempt{3}, 1, nil, at.Add(time.Minute)
	m.Parent = &manifest.Parent{Seq: 1, Attempt: d.Attempt, SHA256: s.SHA256}
	m.Tables = map[string]manifest.Table{}
	for name, table := range d.Tables {
		table.Add = segment.List[manifest.File]{}
		m.Tables[name] = table
	}
	swap(&m, "events", 4)
	return s, &m
}

// swap puts one file with so many rows in the place of all of a table.
func swap(m *manifest.Manifest, table string, rows int64) {
	t := m.Tables[table]
	f := manifest.File{Key: manifest.DataFile(table, 1, m.Attempt, 0), Size: 7, Rows: rows, Seq: m.Seq, Schema: t.Schema.SHA256}
	if t.Remove.Count == 0 {
		t.Remove = segment.Of(t.Live.Recent)
	}
	t.Add = segment.Of([]manifest.File{f})
	t.Live = manifest.Live{Files: 1, Rows: rows, Bytes: 7, Recent: []manifest.File{f}}
	t.Version, t.LastSeq = 1, m.Seq
	if m.Kind == manifest.Rewrite {
		t.Rewritten = m.Seq
	}
	m.Tables[table] = t
}

// replaced makes a good replace manifest: the first object is read again, and has
// one record more.
func replaced(m *manifest.Manifest) {
	ranges := []source.Range{{Key: "a/1.ndjson", Was: source.Hash{4}, ETag: `"e9"`, Size: 120, To: 120, Last: true, Records: 4}}
	m.Batch = &manifest.Batch{Ranges: segment.Of(ranges), Objects: 1, Rows: manifest.RowCounts{Read: 4, Written: 4, Replaced: 3},
		Replaced: segment.Of([]manifest.Replaced{{Key: "a/1.ndjson", Rows: 3, IDSum: source.Hash{7}}})}
	rename(m)
	swap(m, "events", 5)
}

func lettersOf(m *manifest.Manifest) {
	m.Letters = &manifest.Letters{Replayed: 1}
	swap(m, "events", 5)
	t := m.Tables["events_dead"]
	t.Remove = segment.Of(t.Live.Recent)
	t.Live = manifest.Live{}
	t.Version, t.LastSeq = 1, m.Seq
	m.Tables["events_dead"] = t
}

func retype(m *manifest.Manifest) {
	edit(m, func(t *manifest.Table) {
		s := schema.New()
		s.LastID = 17
		s.Fields = append(s.Fields, schema.Field{ID: 17, Name: "x", Key: "x", Type: schema.Type{Kind: schema.String}})
		t.Schema = table(s).Schema
		t.Add.Items[0].Schema = t.Schema.SHA256
	})
}

// TestApplyHoldsReplacementsToTheirKind breaks one thing of a good manifest that
// takes files away at a time.
func TestApplyHoldsReplacementsToTheirKind(t *testing.T) {
	good := map[manifest.Kind]func(*manifest.Manifest){
		manifest.Compact: func(*manifest.Manifest) {}, manifest.Rewrite: retype, manifest.Replace: replaced, manifest.Replay: lettersOf,
	}
	for _, c := range []struct {
		kind            manifest.Kind
		invariant, what string
		spoil           func(m *manifest.Manifest)
	}{
		{manifest.Compact, "I15", "a row is lost", func(m *manifest.Manifest) { swap(m, "events", 3) }},
		{manifest.Compact, "I11", "a file that was not live goes", func(m *manifest.Manifest) {
			edit(m, func(t *manifest.Table) {
				t.Remove = segment.Of(slices.Clone(t.Remove.Items))
				t.Remove.Items[0].Key = "x"
			})
		}},
		{manifest.Compact, "I11", "a file goes twice", func(m *manifest.Manifest) {
			edit(m, func(t *manifest.Table) {
				t.Remove = segment.Of(append(slices.Clone(t.Remove.Items), t.Remove.Items...))
				t.Live.Files, t.Live.Rows, t.Live.Bytes = 0, 0, -3
			})
		}},
		{manifest.Compact, "I11", "what goes is live still", func(m *manifest.Manifest) {
			edit(m, func(t *manifest.Table) { t.Live.Recent = append(slices.Clone(t.Live.Recent), t.Remove.Items...) })
		}},
		{manifest.Compact, "I11", "a file comes twice", func(m *manifest.Manifest) {
			edit(m, func(t *manifest.Table) {
				t.Remove, t.Add = segment.List[manifest.File]{}, segment.Of(append(slices.Clone(t.Add.Items), t.Add.Items...))
				t.Live = manifest.Live{Files: 3, Rows: 12, Bytes: 24, Recent: append(slices.Clone(t.Add.Items), t.Live.Recent...)}
			})
		}},
		{manifest.Compact, "I16", "what comes is not live", func(m *manifest.Manifest) {
			edit(m, func(t *manifest.Table) { t.Live.Recent = nil })
		}},
		{manifest.Compact, "I20", "the schema changes", func(m *manifest.Manifest) { retype(m) }},
		{manifest.Compact, "I20", "it says it rewrote", func(m *manifest.Manifest) { edit(m, func(t *manifest.Table) { t.Rewritten = 2 }) }},
		{manifest.Compact, "I5", "it carries a batch", func(m *manifest.Manifest) { m.Batch = &manifest.Batch{} }},
		{manifest.Compact, "I4", "it consumes", func(m *manifest.Manifest) { f := *m.Progress.Files; f.Count++; m.Progress.Files = &f }},
		{manifest.Compact, "I14", "it replays letters", func(m *manifest.Manifest) { m.Letters = &manifest.Letters{} }},
		{manifest.Rewrite, "I15", "a row is lost", func(m *manifest.Manifest) { swap(m, "events", 3); retype(m) }},
		{manifest.Rewrite, "I20", "a file stays as it was", func(m *manifest.Manifest) {
			edit(m, func(t *manifest.Table) {
				old := t.Remove.Items[0]
				t.Add, t.Remove = segment.List[manifest.File]{}, segment.List[manifest.File]{}
				t.Live = manifest.Live{Files: 1, Rows: old.Rows, Bytes: old.Size, Recent: []manifest.File{old}}
			})
		}},
		{manifest.Rewrite, "I20", "a file has the old types", func(m *manifest.Manifest) {
			edit(m, func(t *manifest.Table) { t.Add.Items[0].Schema[0]++ })
		}},
		{manifest.Rewrite, "I20", "it says nothing of it", func(m *manifest.Manifest) { edit(m, func(t *manifest.Table) { t.Rewritten = 0 }) }},
		{manifest.Replace, "I14", "a row is lost", func(m *manifest.Manifest) { swap(m, "events", 4) }},
		{manifest.Replace, "I14", "nothing is replaced", func(m *manifest.Manifest) { m.Batch.Replaced = segment.List[manifest.Replaced]{} }},
		{manifest.Replace, "I14", "what is replaced is not read", func(m *manifest.Manifest) { m.Batch.Replaced.Items[0].Key = "x" }},
		{manifest.Replace, "I14", "it was not consumed before", func(m *manifest.Manifest) { m.Batch.Ranges.Items[0].Was = source.Hash{}; rename(m) }},
		{manifest.Replace, "I14", "it has another's name", func(m *manifest.Manifest) { m.Batch.Ranges.Items[0].Name = "b"; rename(m) }},
		{manifest.Replace, "I14", "another one is read after other content and replaces nothing", func(m *manifest.Manifest) {
			m.Batch.Ranges = segment.Of(append(slices.Clone(m.Batch.Ranges.Items), source.Range{Key: "b", Was: source.Hash{5}, Last: true}))
			rename(m)
		}},
		{manifest.Replace, "I14", "it is read in part", func(m *manifest.Manifest) { m.Batch.Ranges.Items[0].From = 1; rename(m) }},
		{manifest.Replace, "I14", "other rows were there", func(m *manifest.Manifest) { m.Batch.Replaced.Items[0].Rows++ }},
		{manifest.Replace, "I4", "the object counts twice", func(m *manifest.Manifest) { f := *m.Progress.Files; f.Count++; m.Progress.Files = &f }},
		{manifest.Replay, "I14", "a letter becomes two rows", func(m *manifest.Manifest) { m.Letters.Replayed = 2 }},
		{manifest.Replay, "I14", "a letter is gone", func(m *manifest.Manifest) { m.Letters.Discarded = 1 }},
		{manifest.Replay, "I14", "nothing is said of letters", func(m *manifest.Manifest) { m.Letters = nil }},
		{manifest.Data, "I11", "a data manifest takes a file away", func(m *manifest.Manifest) {
			m.Kind, m.Batch = manifest.Data, &manifest.Batch{}
			rename(m)
		}},
	} {
		t.Run(string(c.kind)+" "+c.what, func(t *testing.T) {
			s, m := next(t, c.kind)
			if prepare := good[c.kind]; prepare != nil {
				prepare(m)
				if _, err := s.Apply(m, manifest.SHA256{}); err != nil {
					t.Fatalf("the good one: %v", err)
				}
			}
			c.spoil(m)
			_, err := s.Apply(m, manifest.SHA256{})
			var v *manifest.ViolationError
			if !errors.As(err, &v) || v.Invariant != c.invariant {
				t.Errorf("got %v, want a violation of %s", err, c.invariant)
			}
		})
	}
}

// TestNoFileOfAnOlderBaseComesAfterARewrite has an attempt that began before a
// rewrite: its files have the types from before.
func TestNoFileOfAnOlderBaseComesAfterARewrite(t *testing.T) {
	s, m := next(t, manifest.Compact)
	for _, kind := range []manifest.Kind{manifest.Compact, manifest.Rewrite} {
		before := *s.Manifest
		before.Tables = map[string]manifest.Table{"events": s.Manifest.Tables["events"], "events_dead": s.Manifest.Tables["events_dead"]}
		edit(&before, func(t *manifest.Table) { t.Rewritten = 1 })
		m.Kind = kind
		edit(m, func(t *manifest.Table) {
			if t.Rewritten = 1; kind == manifest.Rewrite {
				t.Rewritten = 2
			}
		})
		rewritten := manifest.Snapshot{Manifest: &before, SHA256: s.SHA256}
		if _, err := rewritten.Apply(m, manifest.SHA256{}); err != nil {
			t.Fatal(err)
		}
		old := *m
		old.Base, old.Tables = 0, map[string]manifest.Table{"events": m.Tables["events"], "events_dead": m.Tables["events_dead"]}
		edit(&old, func(t *manifest.Table) {
			t.Add = segment.Of(slices.Clone(t.Add.Items))
			t.Add.Items[0].Key = manifest.DataFile("events", 0, old.Attempt, 0)
			t.Live.Recent = t.Add.Items
		})
		var v *manifest.ViolationError
		if _, err := rewritten.Apply(&old, manifest.SHA256{}); !errors.As(err, &v) || v.Invariant != "I20" {
			t.Errorf("%s: got %v, want a violation of I20", kind, err)
		}
	}
}

func TestRestoreGivesColumnsBackTheirTypes(t *testing.T) {
	col := func(id int32, name string, typ schema.Type) schema.Field {
		return schema.Field{ID: id, Name: name, Key: name, Type: typ}
	}
	kind := func(k schema.Kind, fields ...schema.Field) schema.Type { return schema.Type{Kind: k, Fields: fields} }
	then := &schema.Schema{LastID: 21, Fields: []schema.Field{col(17, "n", kind(schema.Int64)), col(18, "doc", kind(schema.JSON)),
		col(19, "who", kind(schema.Struct, col(20, "id", kind(schema.Int64))))}}
	now := &schema.Schema{LastID: 31, Fields: []schema.Field{col(17, "n", kind(schema.String)),
		col(18, "doc", kind(schema.Struct, col(22, "a", kind(schema.Bool)))),
		col(19, "who", kind(schema.Struct, col(20, "id", kind(schema.String)), col(23, "more", kind(schema.Bool)))), col(24, "new", kind(schema.Bool))}}
	want := &schema.Schema{LastID: 31, Fields: []schema.Field{then.Fields[0], then.Fields[1],
		col(19, "who", kind(schema.Struct, col(20, "id", kind(schema.Int64)), col(23, "more", kind(schema.Bool)))), now.Fields[3]}}
	if got := schema.Restore(then, now); !got.Equal(want) {
		t.Errorf("got %+v", got)
	}
	if err := schema.CheckGrowth(then, schema.Restore(then, now)); err != nil {
		t.Error(err)
	}
	gone := &schema.Schema{LastID: 31, Fields: []schema.Field{col(19, "who", kind(schema.Struct, col(30, "id", kind(schema.String))))}}
	if got := schema.Restore(then, gone).Fields[0].Type; !got.Equal(then.Fields[2].Type) {
		t.Errorf("a struct whose parts are others: %v", got)
	}
}
