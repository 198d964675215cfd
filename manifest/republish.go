package manifest

import "batcher/segment"

// Republished says how the projection of a table goes on behind commits of others, or
// behind manifests whose lists are no longer retained: with a version that restores the
// whole table. Nothing in the chain's own view of
// the table changes but its version, which may also fall: versions that were never
// projected count for nothing.
type Republished struct {
	Table   string `json:"table"`
	Version int64  `json:"version"` // that this manifest makes: one above the last that is there
	// Foreign are the files that the versions before may show, by their paths as the
	// Delta log has them. Those that are not live go.
	Foreign segment.List[string] `json:"foreign"`
}

// checkRepublish holds what stands in a republish, and in no other manifest.
func checkRepublish(p *Snapshot, m *Manifest) (string, string) {
	r := m.Republish
	if (m.Kind == Republish) != (r != nil) {
		return broken("I16", "kind %s with a table to republish: %t", m.Kind, r != nil)
	}
	if r == nil {
		return "", ""
	}
	if before, ok := p.Manifest.Tables[r.Table]; !ok || before.Version < 0 || r.Version < 0 {
		return broken("I16", "table %q of version %d is published anew as version %d", r.Table, before.Version, r.Version)
	}
	for name, t := range m.Tables {
		if t.Add.Count > 0 || t.Remove.Count > 0 || t.Schema.SHA256 != p.Manifest.Tables[name].Schema.SHA256 {
			return broken("I16", "kind %s changes table %q", m.Kind, name)
		}
	}
	return "", ""
}

// republishes says whether the manifest publishes a table anew.
func (m *Manifest) republishes(table string) bool {
	return m.Republish != nil && m.Republish.Table == table
}
