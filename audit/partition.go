package audit

import (
	"maps"
	"strings"

	"batcher/column"
	"batcher/manifest"
	"batcher/schema"
)

// splitting returns the ids of the columns that split a table.
func (w *walk) splitting(table string, s *schema.Schema) (ids []int32) {
	if table != w.Table {
		return nil
	}
	for _, name := range w.head.Manifest.Config.PartitionBy() {
		for _, f := range s.Fields {
			if f.Name == name {
				ids = append(ids, f.ID)
			}
		}
	}
	return ids
}

// partition returns what holds the rows of a file to its partition: a reader
// that asks for another one would never see a row that lies in the wrong file.
func (w *walk) partition(seq manifest.Seq, f manifest.File) func(*column.Block) {
	columns := w.head.Manifest.Config.PartitionBy()
	if len(columns) == 0 || !strings.HasPrefix(f.Key, w.Table+"/") {
		return func(*column.Block) {}
	}
	reported := false
	return func(b *column.Block) {
		vectors := make([]*column.Vector, len(columns))
		for i, name := range columns {
			if vectors[i] = b.Column(name); vectors[i] == nil {
				return // it was not asked for
			}
		}
		keys, last := column.NewKeys(vectors), ""
		for range b.Rows {
			key := keys.Next()
			if string(key) == last || reported {
				continue
			}
			last = string(key)
			is := map[string]string{}
			for i, v := range keys.Split(key) {
				if text, ok := column.PartitionText(vectors[i].Kind, v); ok {
					is[columns[i]] = text
				}
			}
			if reported = !maps.Equal(is, f.Part); reported {
				w.violation("I21", seq, "%s has a row of partition %v, the manifest says %v", f.Key, is, f.Part)
			}
		}
	}
}
