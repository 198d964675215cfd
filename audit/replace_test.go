package audit_test

import (
	"bytes"
	"strings"
	"testing"

	"batcher/audit"
	"batcher/column"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/source"
	"batcher/source/files"
)

// changed is a store whose first batch has two objects in one file, a with ten
// records and b with six, of which one is bad, and whose second one consumes
// another content of b, with four records, as the policy says.
func changed(t *testing.T, policy files.OnChange, a string) *world {
	t.Helper()
	w := newWorld(t)
	w.change = policy
	w.drop("a", a)
	w.drop("b", lines(10, 5)+"{broken\n")
	w.run()
	w.drop("b", lines(50, 4))
	w.run()
	if w.head() != 2 {
		t.Fatalf("the head is %d", w.head())
	}
	return w
}

// refile writes the nth file that a manifest added to the main table anew, from the
// blocks of another file, and makes the chain agree with what is there.
func (w *world) refile(seq manifest.Seq, n int, from *world, fromSeq manifest.Seq, fromN int, step datafile.Step) {
	w.t.Helper()
	src := from.slot(fromSeq).Tables["events"]
	file := src.Add.Items[fromN]
	r, err := datafile.Open(bytes.NewReader(from.bytes.Objects()[file.Key]), file.Size)
	if err != nil {
		w.t.Fatal(err)
	}
	var body bytes.Buffer
	out := datafile.NewWriter(&body, datafile.Options{})
	if _, _, err := r.Rewrite(src.Schema.Inline, step, out.Write); err != nil {
		w.t.Fatal(err)
	}
	made, err := out.Close()
	if err != nil {
		w.t.Fatal(err)
	}
	key := w.slot(seq).Tables["events"].Add.Items[n].Key
	w.edit(seq, func(m *manifest.Manifest) {
		table(m, "events", func(t *manifest.Table) {
			for i := range t.Live.Recent {
				if f := &t.Live.Recent[i]; f.Key == key {
					t.Live.Rows += made.Rows - f.Rows
					t.Live.Bytes += made.Size - f.Size
					f.Size, f.Rows, f.SHA256, f.Columns = made.Size, made.Rows, made.SHA256, made.Columns
				}
			}
			if m.Seq == seq {
				f := &t.Add.Items[n]
				m.Batch.Rows.Written += made.Rows - f.Rows
				m.Batch.Rows.Duplicate -= made.Rows - f.Rows
				f.Size, f.Rows, f.SHA256, f.Columns = made.Size, made.Rows, made.SHA256, made.Columns
			}
		})
	})
	w.put(key, body.Bytes())
}

// TestEveryWrongReplacementIsFound has a writer that takes the wrong rows away, or
// harms those that it writes again.
func TestEveryWrongReplacementIsFound(t *testing.T) {
	const fresh, kept = 0, 1 // the files that the replacement adds
	a := lines(0, 10)
	only := func(keep func(source string, offset int64) bool) datafile.Step {
		return datafile.Filter(func(source []byte, offset int64) bool { return keep(string(source), offset) })
	}
	all0 := func(b *column.Block) (*column.Block, error) { return b, nil }
	for _, c := range []struct {
		name   string
		checks audit.Check
		tamper func(t *testing.T, w *world)
		want   []string
	}{
		{"nothing", all, func(*testing.T, *world) {}, nil},
		{"a row that was to go stays", audit.CheckRows, func(_ *testing.T, w *world) {
			w.refile(2, kept, w, 1, 0, only(func(source string, offset int64) bool { return source == "a" || offset == 0 }))
		}, []string{"I14"}},
		{"a row that was to stay goes", audit.CheckRows, func(_ *testing.T, w *world) {
			w.refile(2, kept, w, 1, 0, only(func(source string, offset int64) bool { return source == "a" && offset > 0 }))
		}, []string{"I14"}},
		{"a row that was to stay has another value", all, func(t *testing.T, w *world) {
			other := changed(t, files.ReplaceChanged, strings.Replace(a, `"n":7`, `"n":8`, 1))
			w.refile(2, kept, other, 2, kept, all0)
		}, []string{"I15"}},
		{"the same, seen by ids alone", audit.CheckRows, func(t *testing.T, w *world) {
			other := changed(t, files.ReplaceChanged, strings.Replace(a, `"n":7`, `"n":8`, 1))
			w.refile(2, kept, other, 2, kept, all0)
		}, nil},
		{"a new row is missing", audit.CheckRows, func(_ *testing.T, w *world) {
			w.refile(2, fresh, w, 2, fresh, only(func(_ string, offset int64) bool { return offset > 0 }))
		}, []string{"I14"}},
		{"what is taken away is said to be less", 0, func(_ *testing.T, w *world) {
			w.edit(2, func(m *manifest.Manifest) {
				m.Batch.Replaced.Items[0].Rows--
				m.Batch.Rows.Replaced--
			})
		}, []string{"I14"}},
		{"another entry is said to be replaced", 0, func(_ *testing.T, w *world) {
			w.edit(2, func(m *manifest.Manifest) {
				m.Batch.Ranges.Items[0].Was[0] ^= 1
				m.Batch.ID = manifest.NewBatchID(m.Pipeline, m.Generation, m.Batch.Ranges.Items)
			})
		}, []string{"I4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := changed(t, files.ReplaceChanged, a)
			c.tamper(t, w)
			w.verify(audit.Options{Checks: c.checks}, c.want...)
		})
	}
}

func TestAWrongNameIsFound(t *testing.T) {
	w := changed(t, files.AppendChanged, lines(0, 10))
	if rep := w.verify(audit.Options{Checks: all}); rep.Source.Verified != 14 || rep.Source.Unverifiable != 6 {
		t.Fatalf("the good store: %+v", rep)
	}
	w.edit(2, func(m *manifest.Manifest) { m.Batch.Ranges.Items[0].Name = source.Mark("b", source.Hash{1}) })
	w.verify(audit.Options{}, "I14")
}

// TestWhatWasReplacedIsNotCounted also walks from where the rows that go are not
// known.
func TestWhatWasReplacedIsNotCounted(t *testing.T) {
	w := changed(t, files.ReplaceChanged, lines(0, 10))
	if rep := w.verify(audit.Options{Checks: all}); rep.Source.Verified != 14 || rep.Source.Unverifiable != 0 {
		t.Fatalf("replaced: %+v", rep)
	}
	if rep := w.verify(audit.Options{Checks: all, Since: 1}); rep.Source.Verified != 4 || rep.Source.Unverifiable != 0 {
		t.Fatalf("since the first batch: %+v", rep)
	}
}
