package manifest

import (
	"strings"

	"batcher/schema"
	"batcher/segment"
)

func checkTables(p *Snapshot, m *Manifest) (string, string) {
	for name := range p.Manifest.Tables {
		if _, ok := m.Tables[name]; !ok {
			return broken("I19", "table %q is gone", name)
		}
	}
	for name, t := range m.Tables {
		if !ValidTable(name) {
			return broken("I19", "table name %q", name)
		}
		before, known := p.Manifest.Tables[name]
		if !known {
			before = Table{Version: -1}
		}
		if inv, detail := checkTable(name, &before, &t, m); inv != "" {
			return inv, detail
		}
	}
	return checkBalance(m)
}

func checkTable(name string, before, t *Table, m *Manifest) (string, string) {
	if inv, detail := checkTypes(name, before, t, m); inv != "" {
		return inv, detail
	}
	touched := t.Add.Count > 0 || t.Remove.Count > 0 || t.Schema.SHA256 != before.Schema.SHA256
	version := before.Version
	last := before.LastSeq
	if touched {
		version++
		last = m.Seq
	}
	if m.republishes(name) {
		version, last = m.Republish.Version, m.Seq
	}
	if touched && !m.Kind.writes() {
		return broken("I16", "kind %s changes table %q", m.Kind, name)
	}
	if t.Version != version || t.LastSeq != last {
		return broken("I16", "table %q has version %d of seq %d, want %d of %d", name, t.Version, t.LastSeq, version, last)
	}
	add, okAdd := sumFiles(t.Add)
	remove, okRemove := sumFiles(t.Remove)
	if !okAdd || !okRemove {
		add.Rows, add.Bytes, remove.Rows, remove.Bytes = t.Live.Rows-before.Live.Rows, t.Live.Bytes-before.Live.Bytes, 0, 0
	}
	if t.Live.Files != before.Live.Files+t.Add.Count-t.Remove.Count ||
		t.Live.Rows != before.Live.Rows+add.Rows-remove.Rows || t.Live.Bytes != before.Live.Bytes+add.Bytes-remove.Bytes {
		return broken("I11", "table %q: live totals %d files %d rows do not follow from %d files %d rows, %d added, %d removed",
			name, t.Live.Files, t.Live.Rows, before.Live.Files, before.Live.Rows, t.Add.Count, t.Remove.Count)
	}
	for _, f := range t.Add.Items {
		if m.Kind == Rewind {
			break // it brings back files of earlier attempts
		}
		if want := TableData(name) + own(m.Base, m.Attempt) + "/"; !strings.HasPrefix(f.Key, want) {
			return broken("I8", "file %q is not below %q", f.Key, want)
		}
	}
	return checkLive(name, before, t, m)
}

func sumFiles(l segment.List[File]) (sum Live, ok bool) {
	for i := range l.Items {
		sum.Rows += l.Items[i].Rows
		sum.Bytes += l.Items[i].Size
	}
	return sum, l.Loaded()
}

// checkTypes holds the schema of a table, and the files that are written under
// it, against the one before. Types of published columns change in a rewrite
// alone, which replaces every file; and no file of an attempt that began before
// it may come after it, because that has the types from before.
func checkTypes(name string, before, t *Table, m *Manifest) (string, string) {
	changed := t.Schema.SHA256 != before.Schema.SHA256
	was, is := before.Schema.Inline, t.Schema.Inline
	switch {
	case t.Schema.LastID < before.Schema.LastID:
		return broken("I20", "table %q: last field id falls from %d to %d", name, before.Schema.LastID, t.Schema.LastID)
	case m.Kind == Rewind:
		return "", ""
	case m.Kind == Rewrite:
		return checkRewrite(name, before, t, m)
	case t.Rewritten != before.Rewritten:
		return broken("I20", "kind %s rewrites table %q", m.Kind, name)
	case t.Add.Count > 0 && m.Base < before.Rewritten:
		return broken("I20", "table %q: files of base %d, manifest %d changed the types", name, m.Base, before.Rewritten)
	case changed && m.Kind == Compact:
		return broken("I20", "kind %s changes the schema of table %q", m.Kind, name)
	case was != nil && is != nil:
		if err := schema.CheckGrowth(was, is); err != nil {
			return broken("I20", "table %q: %v", name, err)
		}
	}
	return "", ""
}

// checkRewrite holds a table in a rewrite against what that may do: every live
// file is replaced by files under the new schema, or the table is left alone.
func checkRewrite(name string, before, t *Table, m *Manifest) (string, string) {
	rewritten := t.Add.Count > 0 || t.Remove.Count > 0 || t.Schema.SHA256 != before.Schema.SHA256
	switch want := before.Rewritten; {
	case rewritten && t.Rewritten != m.Seq, !rewritten && t.Rewritten != want:
		return broken("I20", "table %q says it was rewritten by manifest %d", name, t.Rewritten)
	case rewritten && m.Base < want:
		return broken("I20", "table %q: a rewrite of base %d, manifest %d changed the types", name, m.Base, want)
	case rewritten && t.Remove.Count != before.Live.Files:
		return broken("I20", "table %q: a rewrite takes away %d of %d files", name, t.Remove.Count, before.Live.Files)
	}
	for i := range t.Add.Items {
		if f := &t.Add.Items[i]; f.Schema != t.Schema.SHA256 {
			return broken("I20", "file %q was not written under the schema of the rewrite", f.Key)
		}
	}
	return "", ""
}

// checkLive proves, as far as the files stand in the manifest, that no file is
// live twice, that what is taken away was live and is so no more, and that the
// live list is what follows from the one before.
func checkLive(name string, before, t *Table, m *Manifest) (string, string) {
	if m.Kind == Rewind || !t.Add.Loaded() || !t.Remove.Loaded() {
		return "", ""
	}
	was := map[string]bool{}
	for i := range before.Live.Recent {
		was[before.Live.Recent[i].Key] = true
	}
	away, come := map[string]bool{}, map[string]bool{}
	for i := range t.Remove.Items {
		key := t.Remove.Items[i].Key
		if away[key] || before.Live.Segments.Count == 0 && !was[key] {
			return broken("I11", "table %q: file %q is taken away and was not live", name, key)
		}
		away[key] = true
	}
	for i := range t.Add.Items {
		key := t.Add.Items[i].Key
		if come[key] || was[key] || away[key] {
			return broken("I11", "table %q: file %q is live twice", name, key)
		}
		come[key] = true
	}
	return checkRecent(name, before, t, away)
}

// checkRecent holds the files of a live list that stand in the manifest against
// those before and what was taken away and added.
func checkRecent(name string, before, t *Table, away map[string]bool) (string, string) {
	seen := map[string]bool{}
	for i := range t.Live.Recent {
		key := t.Live.Recent[i].Key
		if away[key] || seen[key] {
			return broken("I11", "table %q: file %q is live, and was taken away or is live twice", name, key)
		}
		seen[key] = true
	}
	if before.Live.Segments.Count+t.Live.Segments.Count > 0 {
		return "", "" // some of the files stand elsewhere: the totals were compared
	}
	for _, list := range [][]File{before.Live.Recent, t.Add.Items} {
		for i := range list {
			if key := list[i].Key; !away[key] && !seen[key] {
				return broken("I16", "table %q: file %q is gone from the live list", name, key)
			}
		}
	}
	return "", ""
}

// checkBalance holds the rows that a manifest adds and takes away against what its
// kind may do.
func checkBalance(m *Manifest) (string, string) {
	if (m.Kind == Replay) != (m.Letters != nil) {
		return broken("I14", "kind %s with letters %v", m.Kind, m.Letters)
	}
	come, gone := map[string]int64{}, map[string]int64{}
	var balance int64
	for name, t := range m.Tables {
		add, okAdd := sumFiles(t.Add)
		remove, okRemove := sumFiles(t.Remove)
		if !okAdd || !okRemove {
			return "", ""
		}
		come[name], gone[name] = add.Rows, remove.Rows
		balance += add.Rows - remove.Rows
		if m.Kind == Data && t.Remove.Count > 0 {
			return broken("I11", "kind %s takes files of table %q away", m.Kind, name)
		}
		if (m.Kind == Compact || m.Kind == Rewrite) && add.Rows != remove.Rows {
			return broken("I15", "kind %s: %d rows of table %q become %d", m.Kind, remove.Rows, name, add.Rows)
		}
	}
	switch m.Kind {
	case Data, Replace:
		if r := m.Batch.Rows; balance != r.Written+r.Dead+r.Late-r.Replaced {
			return broken("I14", "files with %d more rows for %d records written, late and dead, and %d replaced", balance, r.Written+r.Dead+r.Late, r.Replaced)
		}
	case Replay:
		main, dead := m.Config.Table, m.Config.Dead
		if l := m.Letters; come[main]-gone[main] != l.Replayed || gone[dead]-come[dead] != l.Replayed+l.Discarded || balance != -l.Discarded {
			return broken("I14", "%d letters replayed and %d discarded: %d rows more and %d letters fewer, %d in all tables",
				l.Replayed, l.Discarded, come[main]-gone[main], gone[dead]-come[dead], balance)
		}
	}
	return "", ""
}
