package manifest_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"batcher/manifest"
	"batcher/schema"
	"batcher/segment"
)

// anew is a manifest that publishes the main table anew, on top of the golden data
// manifest.
func anew(t *testing.T) (manifest.Snapshot, *manifest.Manifest) {
	t.Helper()
	s, m := next(t, manifest.Republish)
	for name, table := range s.Manifest.Tables {
		table.Add = segment.List[manifest.File]{}
		m.Tables[name] = table
	}
	m.Republish = &manifest.Republished{Table: "events", Version: 9, Foreign: segment.Of([]string{"part-1.parquet"})}
	again(m)
	return s, m
}

// again gives the table the version that it is published anew as.
func again(m *manifest.Manifest) {
	edit(m, func(t *manifest.Table) { t.Version, t.LastSeq = m.Republish.Version, m.Seq })
}

func TestApplyHoldsARepublishToItsKind(t *testing.T) {
	for _, c := range []struct {
		invariant, what string
		spoil           func(m *manifest.Manifest)
	}{
		{"", "nothing is wrong", func(*manifest.Manifest) {}},
		{"I16", "another kind", func(m *manifest.Manifest) { m.Kind = manifest.Compact }},
		{"I16", "it says nothing", func(m *manifest.Manifest) { m.Republish = nil }},
		{"I16", "another table", func(m *manifest.Manifest) { m.Republish.Table = "elsewhere" }},
		{"I16", "a table that was never written to", func(m *manifest.Manifest) {
			before := m.Tables["events"]
			before.Version = 1
			m.Tables["events"], m.Republish.Table = before, "other"
		}},
		{"", "version 0", func(m *manifest.Manifest) { m.Republish.Version = 0; again(m) }},
		{"I16", "version -1", func(m *manifest.Manifest) { m.Republish.Version = -1; again(m) }},
		{"I16", "the table has another version", func(m *manifest.Manifest) { edit(m, func(t *manifest.Table) { t.Version = 8 }) }},
		{"I16", "the table does not tell", func(m *manifest.Manifest) { edit(m, func(t *manifest.Table) { t.LastSeq = 1 }) }},
		{"I16", "files come", func(m *manifest.Manifest) { swap(m, "events", 4); again(m) }},
		{"I16", "the schema changes", func(m *manifest.Manifest) {
			edit(m, func(t *manifest.Table) {
				s := schema.New()
				s.LastID++
				t.Schema = table(s).Schema
			})
		}},
		{"I19", "its list belongs to another attempt", func(m *manifest.Manifest) {
			m.Republish.Foreign.Ref = &segment.Ref{Key: state(1, 9), Size: 1}
		}},
	} {
		s, m := anew(t)
		c.spoil(m)
		_, err := s.Apply(m, sum(t, m))
		var v *manifest.ViolationError
		if c.invariant == "" && err != nil || c.invariant != "" && (!errors.As(err, &v) || v.Invariant != c.invariant) {
			t.Errorf("%s: %v, want %s", c.what, err, c.invariant)
		}
	}
}

func TestARepublishReadsBack(t *testing.T) {
	_, m := anew(t)
	b, err := manifest.EncodeManifest(m)
	if err != nil || !bytes.Contains(b, []byte(`"republish":{"table":"events","version":9,"foreign":["part-1.parquet"]}`)) {
		t.Fatalf("%s, %v", b, err)
	}
	read, err := manifest.DecodeManifest(b)
	if err != nil {
		t.Fatal(err)
	}
	if r := read.Republish; r.Version != 9 || !slices.Equal(r.Foreign.Items, []string{"part-1.parquet"}) {
		t.Errorf("%+v", r)
	}
	m.Republish.Foreign.Ref = &segment.Ref{Key: state(1, 3), Size: 1}
	if !slices.Contains(m.Refs(), *m.Republish.Foreign.Ref) {
		t.Error("the list is not among what the manifest refers to")
	}
}
