package audit_test

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"batcher/audit"
	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
	"batcher/segment"
	"batcher/source"
	"batcher/source/files"
)

// TestEveryTamperingIsFound makes one thing wrong with a good store and wants
// just the invariants named that it breaks.
func TestEveryTamperingIsFound(t *testing.T) {
	good := history(t)
	rep := good.verify(audit.Options{Checks: all})
	if rep.Head != 6 || rep.Rows != 132 || rep.Records != 132 || rep.Source.Verified != 132 || rep.Lost+rep.Doubled != 0 {
		t.Fatalf("the good store: %+v", rep)
	}
	layout := good.layout()
	for _, c := range []struct {
		name   string
		want   string // invariants, space separated
		checks audit.Check
		tamper func(w *world)
	}{
		{"I1 a hole below the head", "I1", 0, func(w *world) { w.delete(layout.Manifest(3)) }},
		{"I1 a hole where a search would stop, and no hint", "I1", 0, func(w *world) {
			w.delete(layout.Hint())
			w.delete(layout.Manifest(1))
		}},
		{"I1 genesis gone", "I1", 0, func(w *world) { w.delete(layout.Manifest(0)) }},
		{"I1 a slot far above the head", "I1", 0, func(w *world) {
			w.put(layout.Manifest(900), w.bytes.Objects()[layout.Manifest(6)])
		}},
		{"I1 a key that is no slot", "I1", 0, func(w *world) { w.put(layout.Manifests()+"7.json", []byte("x")) }},
		{"I1 a slot with the manifest of another", "I1", 0, func(w *world) {
			w.put(layout.Manifest(3), w.bytes.Objects()[layout.Manifest(2)])
		}},
		{"I1 a chain that begins with data", "I1", 0, func(w *world) {
			w.edit(0, only(0, func(m *manifest.Manifest) { m.Kind = manifest.Gap }))
		}},
		{"I2 a wrong parent hash", "I2", 0, func(w *world) {
			w.edit(3, only(3, func(m *manifest.Manifest) { m.Parent.SHA256[0] ^= 1 }))
		}},
		{"I2 a wrong parent attempt", "I2", 0, func(w *world) {
			w.edit(3, only(3, func(m *manifest.Manifest) { m.Parent.Attempt[0] ^= 1 }))
		}},
		{"I2 a slot overwritten by a manifest that fits its parent", "I2", 0, func(w *world) {
			m := w.slot(3)
			m.CreatedAt = m.CreatedAt.Add(time.Microsecond)
			w.write(m)
		}},
		{"I3 another pipeline", "I3", 0, func(w *world) {
			w.edit(5, func(m *manifest.Manifest) {
				m.Pipeline = "events-00000000000000000000000000000000"
				if m.Batch != nil {
					m.Batch.ID = manifest.NewBatchID(m.Pipeline, m.Generation, m.Batch.Ranges.Items)
				}
			})
		}},
		{"I4 an object consumed twice", "I14 I4", audit.CheckRows, func(w *world) {
			w.forge([]source.Range{w.slot(1).Batch.Ranges.Items[1]})
		}},
		{"I4 progress counts one too many", "I4", 0, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) { m.Progress.Files.Count++ })
		}},
		{"I4 progress falls", "I4", 0, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) { m.Progress.Files.Count = 3 })
		}},
		{"I4 the set holds another object than was read", "I4", 0, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) {
				f := m.Progress.Files
				entries, err := files.DecodeRecent(f.Recent)
				if err != nil {
					t.Fatal(err)
				}
				was := entries[0].Identity
				entries[0].Identity[3] ^= 1
				f.Sum = f.Sum.Sub(was).Add(entries[0].Identity)
				if f.Recent, err = files.EncodeRecent(entries); err != nil {
					t.Fatal(err)
				}
			})
		}},
		{"I4 an entry of the set is lost", "I4", 0, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) { m.Progress.Files.Recent = m.Progress.Files.Recent[files.RecentSize:] })
		}},
		{"I4 generation rises without a rewind", "I4", 0, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) {
				m.Generation++
				m.Batch.ID = manifest.NewBatchID(m.Pipeline, m.Generation, m.Batch.Ranges.Items)
			})
		}},
		{"I5 a batch twice", "I14 I4 I5", audit.CheckRows, func(w *world) { w.forge(w.slot(6).Batch.Ranges.Items) }},
		{"I5 a batch id that does not follow from the ranges", "I5", 0, func(w *world) {
			w.edit(3, only(3, func(m *manifest.Manifest) { m.Batch.ID[0] ^= 1 }))
		}},
		{"I7 an attempt in two slots", "I7", all, func(w *world) { w.takeAttempt(3) }},
		{"I7 the attempt of genesis in another slot", "I7", all, func(w *world) { w.takeAttempt(0) }},
		{"I8 a file below the keys of another attempt", "I8", all, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) {
				w.move(m, func(table string, n int) string { return manifest.DataFile(table, m.Base, manifest.Attempt{9}, n) })
			})
		}},
		{"I8 the same, in a list that stands in a state object", "I8", all, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) {
				w.move(m, func(table string, n int) string { return manifest.DataFile(table, m.Base, manifest.Attempt{9}, n) })
				w.externalize(m)
			})
		}},
		{"I8 a base below the floor", "I8", all, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) {
				m.Base = 2
				w.move(m, func(table string, n int) string { return manifest.DataFile(table, m.Base, m.Attempt, n) })
			})
		}},
		{"I8 a base that is not before the slot", "I8", all, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) {
				m.Base = 6
				w.move(m, func(table string, n int) string { return manifest.DataFile(table, m.Base, m.Attempt, n) })
			})
		}},
		{"I9 the floor falls", "I9", 0, func(w *world) { w.edit(6, func(m *manifest.Manifest) { m.GCFloor = 3 }) }},
		{"I9 retain_from above the floor", "I9", 0, func(w *world) { w.edit(6, func(m *manifest.Manifest) { m.RetainFrom = 5 }) }},
		{"I9 time falls", "I9", 0, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) { m.CreatedAt = m.CreatedAt.Add(-time.Hour) })
		}},
		{"I10 a data file is missing", "I10", 0, func(w *world) { w.delete(w.file(3).Key) }},
		{"I10 a data file has another size", "I10", 0, func(w *world) {
			w.put(w.file(3).Key, append(bytes.Clone(w.bytes.Objects()[w.file(3).Key]), 0))
		}},
		{"I10 a data file has other bytes", "I10", audit.CheckHashes, func(w *world) { w.flip(w.file(3).Key, 100) }},
		{"I10 a data file has another number of rows", "I10", audit.CheckRows, func(w *world) {
			w.edit(3, func(m *manifest.Manifest) {
				table(m, "events", func(t *manifest.Table) {
					if m.Seq == 3 {
						t.Add.Items[0].Rows++
						m.Batch.Rows.Written++
						m.Batch.Rows.Duplicate--
					}
					for i := range t.Live.Recent {
						if t.Live.Recent[i].Seq == 3 {
							t.Live.Recent[i].Rows++
						}
					}
					t.Live.Rows++
				})
			})
		}},
		{"I10 a state object is missing", "I10", 0, func(w *world) { w.delete(w.slot(4).Batch.Ranges.Ref.Key) }},
		{"I10 a state object is cut", "I10", 0, func(w *world) {
			key := w.slot(4).Batch.Ranges.Ref.Key
			w.put(key, w.bytes.Objects()[key][:500])
		}},
		{"I10 a state object has other bytes", "I10", 0, func(w *world) { w.flip(w.slot(4).Batch.Ranges.Ref.Key, 500) }},
		{"I11 a file added twice", "I11", audit.CheckHashes, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) {
				table(m, "events", func(t *manifest.Table) {
					f := t.Add.Items[0]
					t.Add = segment.Of([]manifest.File{f, f})
					t.Live.Recent = append(t.Live.Recent, f)
					t.Live.Files, t.Live.Rows, t.Live.Bytes = t.Live.Files+1, t.Live.Rows+f.Rows, t.Live.Bytes+f.Size
					m.Batch.Rows.Written += f.Rows
					m.Batch.Rows.Duplicate -= f.Rows
				})
			})
		}},
		{"I11 live totals that do not follow", "I11 I16", 0, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) {
				table(m, "events", func(t *manifest.Table) { t.Live.Rows++ })
			})
		}},
		{"I12 the hint is ahead", "I12", 0, func(w *world) { w.hint(manifest.Parent{Seq: 7}) }},
		{"I12 the hint has a wrong hash", "I12", 0, func(w *world) { w.hint(manifest.Parent{Seq: 5}) }},
		{"I12 the hint cannot be read", "I12", 0, func(w *world) { w.put(layout.Hint(), []byte("{}")) }},
		{"I12 the head was overwritten after the hint", "I12", 0, func(w *world) {
			m := w.slot(6)
			m.CreatedAt = m.CreatedAt.Add(time.Microsecond)
			w.write(m)
		}},
		{"I12 a hint without a chain", "I12", 0, func(w *world) {
			for seq := range manifest.Seq(7) {
				w.delete(layout.Manifest(seq))
			}
		}},
		{"I13 a slot was overwritten with something else", "I13", 0, func(w *world) { w.put(layout.Manifest(3), []byte("{}\n")) }},
		{"I13 a slot was cut", "I13", 0, func(w *world) {
			w.put(layout.Manifest(3), w.bytes.Objects()[layout.Manifest(3)][:300])
		}},
		{"I13 the head is overwritten while it is read", "I13", 0, func(w *world) {
			m := w.slot(6)
			m.CreatedAt = m.CreatedAt.Add(time.Microsecond)
			other, err := manifest.EncodeManifest(m)
			if err != nil {
				t.Fatal(err)
			}
			w.store = &fickle{Store: w.bytes, key: layout.Manifest(6), first: 2, other: other} // the hint's proof, the head, then the walk
		}},
		{"I14 counts that do not add up", "I14", 0, func(w *world) {
			w.edit(3, only(3, func(m *manifest.Manifest) { m.Batch.Rows.Written-- }))
		}},
		{"I14 ranges that hold another number of records", "I14", 0, func(w *world) {
			w.edit(3, only(3, func(m *manifest.Manifest) {
				m.Batch.Rows.Read++
				m.Batch.Rows.Duplicate++
			}))
		}},
		{"I16 a live file with another hash", "I16", 0, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) {
				table(m, "events", func(t *manifest.Table) { t.Live.Recent[1].SHA256[0] ^= 1 })
			})
		}},
		{"I16 a live file with other statistics", "I16", 0, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) {
				table(m, "events", func(t *manifest.Table) { t.Live.Recent[1].Columns[0].Nulls++ })
			})
		}},
		{"I16 a live file in the place of another", "I11 I16", 0, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) {
				table(m, "events", func(t *manifest.Table) { t.Live.Recent[1] = t.Live.Recent[2] })
			})
		}},
		{"I16 a version skipped", "I16", 0, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) { table(m, "events", func(t *manifest.Table) { t.Version++ }) })
		}},
		{"I19 a run below the keys of another attempt", "I19", all, func(w *world) {
			w.edit(4, only(4, func(m *manifest.Manifest) {
				r := m.Batch.Ranges.Ref
				now := layout.State(m.Base, manifest.Attempt{9}, 0)
				w.put(now, w.bytes.Objects()[r.Key])
				r.Key = now
			}))
		}},
		{"I19 a table is gone", "I19", 0, func(w *world) {
			w.edit(6, func(m *manifest.Manifest) { delete(m.Tables, "events_dead") })
		}},
		{"I21 rows that lie in a partition which is not theirs", "I21", audit.CheckRows, func(w *world) {
			w.edit(0, func(m *manifest.Manifest) { m.Config.Split = schema.SourceName })
		}},
		{"I20 the last field id falls", "I20", 0, func(w *world) {
			old := w.slot(1).Tables["events"].Schema
			w.edit(6, func(m *manifest.Manifest) { table(m, "events", func(t *manifest.Table) { t.Schema = old }) })
		}},
		{"I20 a column changes its type", "I20", 0, func(w *world) {
			w.evolve(func(s *schema.Schema) { s.Fields[3].Type = schema.Type{Kind: schema.Float64} })
		}},
		{"I20 a column goes", "I20", 0, func(w *world) {
			w.evolve(func(s *schema.Schema) { s.Fields = append(s.Fields[:3], s.Fields[4:]...) })
		}},
		{"I20 two columns share an id, which no reader decodes", "I13", 0, func(w *world) {
			key := layout.Manifest(6)
			body := bytes.ReplaceAll(w.bytes.Objects()[key], []byte(`{"id":18,"name":`), []byte(`{"id":17,"name":`))
			w.put(key, body)
			w.hint(manifest.Parent{Seq: 6, SHA256: manifest.Sum(body)})
		}},
		{"I20 an id is given again", "I20", 0, func(w *world) {
			w.evolve(func(s *schema.Schema) {
				s.Fields = append(s.Fields, schema.Field{ID: 9, Name: "again", Key: "again", Type: schema.Type{Kind: schema.String}})
			})
		}},
		{"I20 a schema that its hash does not cover", "I20", 0, func(w *world) {
			w.edit(2, func(m *manifest.Manifest) {
				table(m, "events", func(t *manifest.Table) { t.Schema.Inline.Fields[3].Name = "renamed" })
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := good.clone(t)
			c.tamper(w)
			w.verify(audit.Options{Checks: c.checks}, bytesFields(c.want)...)
		})
	}
}

func bytesFields(s string) []string {
	var out []string
	for _, f := range bytes.Fields([]byte(s)) {
		out = append(out, string(f))
	}
	return out
}

// file is the first file that a manifest added to the main table.
func (w *world) file(seq manifest.Seq) manifest.File {
	return w.slot(seq).Tables["events"].Add.Items[0]
}

// flip changes one byte of an object.
func (w *world) flip(key string, at int) {
	body := bytes.Clone(w.bytes.Objects()[key])
	body[at] ^= 1
	w.put(key, body)
}

// takeAttempt gives the last manifest the attempt of another, with everything
// that carries it.
func (w *world) takeAttempt(of manifest.Seq) {
	w.edit(6, func(m *manifest.Manifest) {
		m.Attempt = w.slot(of).Attempt
		w.move(m, func(table string, n int) string { return manifest.DataFile(table, m.Base, m.Attempt, n) })
	})
}

// externalize moves the list of added files into a state object of the attempt.
func (w *world) externalize(m *manifest.Manifest) {
	table(m, "events", func(t *manifest.Table) {
		run, err := segment.Encode("list", t.Add.Items)
		if err != nil {
			w.t.Fatal(err)
		}
		pack := segment.NewPack(w.layout().State(m.Base, m.Attempt, 0))
		ref := pack.Add(run)
		w.put(pack.Key(), pack.Bytes())
		t.Add = segment.List[manifest.File]{Ref: &ref, Count: t.Add.Count}
	})
}

// evolve changes the schema of the main table in the last manifest, hash and all.
func (w *world) evolve(change func(s *schema.Schema)) {
	w.edit(6, func(m *manifest.Manifest) {
		table(m, "events", func(t *manifest.Table) {
			s := t.Schema.Inline.Clone()
			change(s)
			ref, err := manifest.NewSchemaRef(s, segment.NewPack(""))
			if err != nil {
				w.t.Fatal(err)
			}
			t.Schema = ref
		})
	})
}

// fickle gives other bytes for a key after it was read a number of times.
type fickle struct {
	object.Store
	key   string
	first int
	other []byte
}

func (f *fickle) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	r, info, err := f.Store.Get(ctx, key, o)
	if key != f.key || err != nil {
		return r, info, err
	}
	if f.first--; f.first >= 0 {
		return r, info, nil
	}
	r.Close()
	info.Size = int64(len(f.other))
	return io.NopCloser(bytes.NewReader(f.other)), info, nil
}
