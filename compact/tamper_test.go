package compact_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"batcher/audit"
	"batcher/column"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
	"batcher/segment"
)

// swapFile puts other bytes in the place of a file that the head added, with all
// that the chain says of it: only its rows are not what they should be.
func (l *lake) swapFile(change func(*column.Block) *column.Block) {
	l.t.Helper()
	head := l.head()
	m := head.Manifest
	log := l.invoke(l.store, "**").Log
	t := m.Tables["events"]
	s, err := log.LoadSchema(context.Background(), t.Schema)
	if err != nil {
		l.t.Fatal(err)
	}
	f := t.Add.Items[0]
	in, err := datafile.Open(object.NewReaderAt(context.Background(), l.store, f.Key), f.Size)
	if err != nil {
		l.t.Fatal(err)
	}
	var out bytes.Buffer
	w := datafile.NewWriter(&out, datafile.Options{})
	if _, _, err := in.Rewrite(s, func(b *column.Block) (*column.Block, error) { return change(b), nil }, w.Write); err != nil {
		l.t.Fatal(err)
	}
	now, err := w.Close()
	if err != nil {
		l.t.Fatal(err)
	}
	now.Key, now.Seq, now.Schema = f.Key, f.Seq, f.Schema
	t.Live.Bytes += now.Size - f.Size
	t.Live.Rows += now.Rows - f.Rows
	t.Add = segment.Of(slices.Clone(t.Add.Items))
	t.Add.Items[0] = now
	t.Live.Recent[slices.IndexFunc(t.Live.Recent, func(x manifest.File) bool { return x.Key == f.Key })] = now
	m.Tables["events"] = t
	body, err := manifest.EncodeManifest(m)
	if err != nil {
		l.t.Fatal(err)
	}
	for key, b := range map[string][]byte{f.Key: out.Bytes(), log.Layout().Manifest(m.Seq): body} {
		if _, err := l.store.Put(context.Background(), key, b, object.Always); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := log.PutHint(context.Background(), manifest.Snapshot{Manifest: m, SHA256: manifest.Sum(body)}); err != nil {
		l.t.Fatal(err)
	}
}

// TestVerifyNoticesWhatARewriteMayNotDo tampers with the rows of a rewrite.
func TestVerifyNoticesWhatARewriteMayNotDo(t *testing.T) {
	leaf := func(b *column.Block, name string) *column.Vector {
		for i, x := range b.Schema.Leaves() {
			if x.Path[0] == name {
				v := *b.Columns[i]
				v.Plain = bytes.Clone(v.Plain)
				b.Columns[i] = &v
				return b.Columns[i]
			}
		}
		t.Fatalf("no column %s", name)
		return nil
	}
	for _, c := range []struct {
		name   string
		checks audit.Check
		want   string
		change func(*column.Block) *column.Block
	}{
		{"nothing", audit.CheckRows | audit.CheckSource | audit.CheckHashes, "", func(b *column.Block) *column.Block { return b }},
		{"another record", audit.CheckRows, "I15", func(b *column.Block) *column.Block { leaf(b, schema.OffsetName).Plain[0]++; return b }},
		{"a row less", audit.CheckRows, "I15", func(b *column.Block) *column.Block { return column.Select(b, []bool{true, false}) }},
		{"another value elsewhere", audit.CheckSource, "I15", func(b *column.Block) *column.Block { leaf(b, "k").Plain[4]++; return b }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := widenWorld(t)
			if _, err := l.widen(l.store).Run(t.Context(), "events", "n", double); err != nil {
				t.Fatal(err)
			}
			l.swapFile(c.change)
			p := l.invoke(l.store, "**")
			v := audit.Verifier{Log: p.Log, Store: l.store, Source: p.Source, Set: p.Set, Rules: p.Rules, Table: "events", Dead: "events_dead", Logger: quiet}
			rep, err := v.Verify(t.Context(), audit.Options{Checks: c.checks})
			if err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(rep.Violations, func(x audit.Violation) bool { return x.Invariant == c.want })
			if found != (c.want != "") || c.want == "" && len(rep.Violations) > 0 {
				t.Errorf("%+v, want %s", rep.Violations, c.want)
			}
		})
	}
}
