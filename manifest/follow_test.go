package manifest_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"batcher/manifest"
	"batcher/segment"
	"batcher/source"
)

// follows makes of a manifest on top of the golden data manifest one that reads
// another content of an object, without any record.
func follows(t *testing.T) (manifest.Snapshot, *manifest.Manifest) {
	t.Helper()
	s, m := next(t, manifest.Data)
	for name, table := range s.Manifest.Tables {
		table.Add, table.Remove = segment.List[manifest.File]{}, segment.List[manifest.File]{}
		m.Tables[name] = table
	}
	m.Batch = &manifest.Batch{Objects: 1, Ranges: segment.Of([]source.Range{
		{Key: "a/1.ndjson", Name: source.Mark("a/1.ndjson", source.Hash{1}), Was: source.Hash{4}, ETag: `"e9"`, Size: 20, Modified: at, To: 20, Last: true},
	})}
	rename(m)
	return s, m
}

// TestApplyAdmitsAnotherContentUnderAnotherName breaks one thing at a time of a
// manifest that appends another content of a consumed object.
func TestApplyAdmitsAnotherContentUnderAnotherName(t *testing.T) {
	progress := func(m *manifest.Manifest, edit func(f *source.FilesProgress)) {
		f := *m.Progress.Files
		f.Open = slices.Clone(f.Open)
		edit(&f)
		m.Progress.Files = &f
	}
	cut := func(m *manifest.Manifest) {
		r := &m.Batch.Ranges.Items[0]
		r.To, r.Last = 7, false
		rename(m)
		progress(m, func(f *source.FilesProgress) {
			f.Open = append([]source.OpenObject{{Key: r.Key, ETag: r.ETag, Size: r.Size, Modified: at, Was: r.Was, Next: 7}}, f.Open...)
		})
	}
	for _, c := range []struct {
		invariant, what string
		spoil           func(m *manifest.Manifest)
	}{
		{"", "nothing is wrong", func(*manifest.Manifest) {}},
		{"", "it is read in part", cut},
		{"I4", "it counts twice", func(m *manifest.Manifest) { progress(m, func(f *source.FilesProgress) { f.Count++ }) }},
		{"I4", "it should count", func(m *manifest.Manifest) { m.Batch.Ranges.Items[0].Was = source.Hash{}; rename(m) }},
		{"I14", "it has the first one's name", func(m *manifest.Manifest) { m.Batch.Ranges.Items[0].Name = "" }},
		{"I14", "it has another's name", func(m *manifest.Manifest) { m.Batch.Ranges.Items[0].Name = source.Mark("b", source.Hash{1}) }},
		{"I4", "it stands open after other content", func(m *manifest.Manifest) {
			cut(m)
			progress(m, func(f *source.FilesProgress) { f.Open[0].Was = source.Hash{5} })
		}},
		{"I4", "an open object goes on after other content", func(m *manifest.Manifest) {
			m.Batch.Ranges.Items[0] = source.Range{Key: "big", Name: source.Mark("big", source.Hash{1}), Was: source.Hash{1}, ETag: `"e3"`, Size: 900, From: 40, To: 900, Last: true}
			rename(m)
			progress(m, func(f *source.FilesProgress) { f.Open = nil })
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			s, m := follows(t)
			c.spoil(m)
			_, err := s.Apply(m, manifest.SHA256{})
			var v *manifest.ViolationError
			if c.invariant == "" && err != nil || c.invariant != "" && (!errors.As(err, &v) || v.Invariant != c.invariant) {
				t.Errorf("got %v, want a violation of %q", err, c.invariant)
			}
		})
	}
}

func TestAContentThatComesBackIsAnotherBatch(t *testing.T) {
	back := source.Range{Key: "k", ETag: "e", Size: 1, Modified: at, Was: source.Hash{1}, To: 1}
	seen := map[manifest.BatchID]bool{}
	for _, edit := range []func(r *source.Range){
		func(*source.Range) {},
		func(r *source.Range) { r.Was = source.Hash{2} },
		func(r *source.Range) { r.Was = source.Hash{} },
		func(r *source.Range) { r.Modified = at.Add(time.Second) },
		func(r *source.Range) { r.Modified = at.Add(time.Nanosecond) },
	} {
		r := back
		edit(&r)
		id := manifest.NewBatchID("p", 0, []source.Range{r})
		if seen[id] {
			t.Errorf("%+v has the id of another", r)
		}
		seen[id] = true
	}
	elsewhere := back
	elsewhere.Modified = at.In(time.FixedZone("", 3600))
	if !seen[manifest.NewBatchID("p", 0, []source.Range{elsewhere})] {
		t.Error("the id depends on a time zone")
	}
}
