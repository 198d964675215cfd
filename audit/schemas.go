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
		if before.schema != nil {
			if err := w.follows(ctx, m, name, before.schema, s); err != nil {
				return err
			}
		}
		w.schemas[name] = known{t.Schema.SHA256, s}
	}
	return nil
}

// follows holds the schema of a table against the one before: it only grows, but
// for a rewrite, which changes types, and a rewind, which gives them back.
func (w *walk) follows(ctx context.Context, m *manifest.Manifest, table string, before, now *schema.Schema) error {
	check := schema.CheckGrowth
	switch m.Kind {
	case manifest.Rewrite:
		check = schema.CheckRewrite
	case manifest.Rewind:
		then, ok, err := w.slot(ctx, *m.RewindTo)
		if err != nil || !ok {
			return err
		}
		was, err := w.Log.LoadSchema(ctx, then.Manifest.Tables[table].Schema)
		if err != nil {
			return w.damage(err, "I10", m.Seq)
		}
		if !schema.Restore(was, before).Equal(now) {
			w.violation("I20", m.Seq, "table %q: the columns are not those of manifest %d with what was added since", table, *m.RewindTo)
		}
		return nil
	}
	if err := check(before, now); err != nil {
		w.violation("I20", m.Seq, "table %q: %v", table, err)
	}
	return nil
}
