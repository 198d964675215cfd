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
		if w.expired(m.Seq, err) {
			continue
		}
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
			if err := schema.CheckGrowth(before.schema, s); err != nil {
				w.violation("I20", m.Seq, "table %q: %v", name, err)
			}
		}
		w.schemas[name] = known{t.Schema.SHA256, s}
	}
	return nil
}
