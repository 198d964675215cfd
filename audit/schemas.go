package audit

import (
	"context"

	"batcher/manifest"
	"batcher/schema"
)

// known is the schema of a table that was proved last.
type known struct {
	sum    manifest.SHA256
	schema *schema.Schema
}

// evolve proves the schemas that a manifest brings: each is what its hash says
// and keeps every column of the one before. That it is sound in itself, no id
// given twice, is proved where it is decoded.
func (w *walk) evolve(ctx context.Context, m *manifest.Manifest) error {
	for name, t := range m.Tables {
		before := w.schemas[name]
		if before.schema != nil && before.sum == t.Schema.SHA256 {
			continue
		}
		s, err := w.Log.LoadSchema(ctx, t.Schema)
		if err != nil {
			if err := w.damage(err, "I10", m.Seq); err != nil {
				return err
			}
			continue
		}
		sum, err := manifest.SchemaHash(s)
		if err != nil {
			return err
		}
		if sum != t.Schema.SHA256 || s.LastID != t.Schema.LastID {
			w.violation("I20", m.Seq, "table %q: the schema has sha256 %s and last id %d, the manifest says %s and %d", name, sum, s.LastID, t.Schema.SHA256, t.Schema.LastID)
		}
		if before.schema != nil && m.Kind != manifest.Rewrite && m.Kind != manifest.Rewind {
			w.columns(m.Seq, name, before.schema, s)
		}
		w.schemas[name] = known{t.Schema.SHA256, s}
	}
	return nil
}

// columns proves that no column went, changed its type or took another's id, and
// that no new one took an id that was given before.
func (w *walk) columns(seq manifest.Seq, table string, before, after *schema.Schema) {
	now := map[int32]schema.Leaf{}
	for _, l := range after.Leaves() {
		now[l.Field.ID] = l
	}
	was := map[int32]bool{}
	for _, l := range before.Leaves() {
		was[l.Field.ID] = true
		n, ok := now[l.Field.ID]
		if !ok || !n.Field.Equal(l.Field) || n.MaxDef != l.MaxDef || n.MaxRep != l.MaxRep {
			w.violation("I20", seq, "table %q: column %q with id %d is gone or changed", table, l.Field.Name, l.Field.ID)
		}
	}
	for id, l := range now {
		if !was[id] && id <= before.LastID {
			w.violation("I20", seq, "table %q: column %q takes id %d, which was given before", table, l.Field.Name, id)
		}
	}
}
