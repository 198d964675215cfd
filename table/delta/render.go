package delta

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"batcher/manifest"
	"batcher/schema"
	"batcher/segment"
)

// Version is the number of a version of a Delta table, dense from 0. It is the
// Version of a manifest.Table; -1 stands for a table that nothing was written to.
type Version int64

// Change is what one manifest did to one table, with all that the Delta commit of
// the version says.
type Change struct {
	Table    string
	Manifest *manifest.Manifest // that made the version; Add and Remove of the table are loaded
	SHA256   manifest.SHA256    // of the manifest's bytes
	Before   manifest.Table     // the table one manifest earlier
	Schema   *schema.Schema     // of the table after the manifest
	Origin   Origin
	// Live and Foreign are there for a manifest that publishes the table anew: every
	// live file, and the paths of the files that must go unless they are live.
	Live    []manifest.File
	Foreign []string
}

// Origin is what a table keeps of the chain's first manifest, also when the
// pipeline is adopted under another id.
type Origin struct {
	Pipeline  string // id
	CreatedAt time.Time
}

// RenderCommit gives the bytes of a commit file of the Delta log: one action a
// line. Lines stand in a fixed order, commitInfo and txn first so that who wrote a
// version is seen from its first bytes; files are sorted by path.
func RenderCommit(c Change) ([]byte, error) {
	t := c.Manifest.Tables[c.Table]
	if !t.Add.Loaded() || !t.Remove.Loaded() || t.LastSeq != c.Manifest.Seq {
		return nil, fmt.Errorf("manifest %d did not make version %d of %s, or its files are not loaded", int64(c.Manifest.Seq), t.Version, c.Table)
	}
	view := newView(c.Table, c.Manifest, c.Schema)
	actions := []action{{CommitInfo: info(c)}, {Txn: view.txn()}}
	if t.Version == 0 {
		actions = append(actions, action{Protocol: &protocol{MinReader: 1, MinWriter: 2}})
	}
	anew := c.Manifest.Kind == manifest.Republish
	if t.Version == 0 || anew || t.Schema.SHA256 != c.Before.Schema.SHA256 {
		meta, err := view.metaData(c.Origin)
		if err != nil {
			return nil, err
		}
		actions = append(actions, action{MetaData: meta})
	}
	change := c.Manifest.Kind != manifest.Compact // a compaction changes files and no rows
	come := t.Add.Items
	if anew {
		come = c.Live
	}
	for _, f := range sorted(come) {
		a, err := view.add(f)
		if err != nil {
			return nil, err
		}
		a.DataChange = change
		actions = append(actions, action{Add: a})
	}
	for _, f := range sorted(t.Remove.Items) {
		r, err := view.remove(f)
		if err != nil {
			return nil, err
		}
		r.DataChange = change
		actions = append(actions, action{Remove: r})
	}
	for _, path := range gone(c.Foreign, actions) {
		actions = append(actions, action{Remove: &remove{Path: path, Deleted: view.millis(), DataChange: true}})
	}
	return encode(actions)
}

// gone returns the paths that no action adds, in order and each once.
func gone(paths []string, actions []action) []string {
	added := map[string]bool{}
	for _, a := range actions {
		if a.Add != nil {
			added[a.Add.Path] = true
		}
	}
	out := slices.DeleteFunc(slices.Sorted(slices.Values(paths)), func(path string) bool { return added[path] })
	return slices.Compact(out)
}

// encode writes one action a line.
func encode(actions []action) ([]byte, error) {
	var out []byte
	for i := range actions {
		line, err := json.Marshal(actions[i])
		if err != nil {
			return nil, err
		}
		out = append(append(out, line...), '\n')
	}
	return out, nil
}

// info says who made the version and what of.
func info(c Change) *commitInfo {
	operation := "WRITE"
	switch c.Manifest.Kind {
	case manifest.Compact:
		operation = "OPTIMIZE"
	case manifest.Rewind, manifest.Republish:
		operation = "RESTORE"
	}
	t := c.Manifest.Tables[c.Table]
	return &commitInfo{
		Timestamp: c.Manifest.CreatedAt.UnixMilli(), Operation: operation,
		Parameters: map[string]string{"kind": string(c.Manifest.Kind)},
		Blind:      c.Manifest.Kind == manifest.Data && t.Remove.Count == 0,
		Engine:     engine(c.Manifest),
		Batcher:    &batcherInfo{c.Manifest.Seq, c.SHA256},
	}
}

// engine names the batcher that made a manifest.
func engine(m *manifest.Manifest) string { return strings.TrimSpace("batcher " + m.Writer.Version) }

// view is a table as one manifest leaves it.
type view struct {
	table      string
	manifest   *manifest.Manifest
	schema     *schema.Schema
	partitions []string
	leaves     map[int32][]string // paths of the leaves that may have statistics
}

func newView(table string, m *manifest.Manifest, s *schema.Schema) view {
	v := view{table: table, manifest: m, schema: s, partitions: []string{}, leaves: map[int32][]string{}}
	if table == m.Config.Table {
		v.partitions = append(v.partitions, m.Config.PartitionBy()...)
	}
	for _, l := range s.Leaves() {
		if l.MaxRep == 0 && !slices.Contains(v.partitions, l.Path[0]) {
			v.leaves[l.Field.ID] = l.Path
		}
	}
	return v
}

func (v view) millis() int64 { return v.manifest.CreatedAt.UnixMilli() }

// application is the name of a pipeline among the writers of a Delta table.
func application(pipeline string) string { return "batcher:" + pipeline }

// txn says which manifest the table accounts for.
func (v view) txn() *txn {
	return &txn{App: application(v.manifest.Pipeline), Version: int64(v.manifest.Seq), Updated: v.millis()}
}

// metaData describes the table. Its id and time are those of the origin, because
// readers take a table with another id for another table.
func (v view) metaData(o Origin) (*metaData, error) {
	text, err := schemaString(v.schema)
	if err != nil {
		return nil, err
	}
	for _, name := range v.partitions {
		if !slices.ContainsFunc(v.schema.Fields, func(f schema.Field) bool { return f.Name == name }) {
			return nil, fmt.Errorf("table %s has no column %s, which splits it", v.table, name)
		}
	}
	return &metaData{
		ID: tableID(o.Pipeline, v.table), Name: v.table,
		Format: fileFormat{Provider: "parquet", Options: map[string]string{}},
		Schema: text, PartitionColumns: v.partitions,
		// Nobody but us cleans the log (see Clean) or deletes files: a VACUUM that names
		// no period finds nothing that is old enough.
		Configuration: map[string]string{
			"delta.enableExpiredLogCleanup":      "false",
			"delta.deletedFileRetentionDuration": "interval 36500 days",
		},
		CreatedTime: o.CreatedAt.UnixMilli(),
	}, nil
}

// tableID derives the UUID of a table (version 8 of RFC 9562: by a hash of our own).
func tableID(pipeline, table string) string {
	sum := sha256.Sum256([]byte(pipeline + "\x00" + table))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// path is where a file lies below the table's folder. Keys of data files have no
// character that would have to be escaped.
func (v view) path(f *manifest.File) (string, error) {
	path, ok := strings.CutPrefix(f.Key, v.table+"/")
	if !ok {
		return "", fmt.Errorf("file %s does not lie in the folder of table %s", f.Key, v.table)
	}
	return path, nil
}

// values are the partition values of a file. Delta has one form for null and the
// empty string and readers take both for null, so both are written as null.
func (v view) values(f *manifest.File) map[string]*string {
	values := make(map[string]*string, len(v.partitions))
	for _, name := range v.partitions {
		values[name] = nil
		if text := f.Part[name]; text != "" {
			values[name] = &text
		}
	}
	return values
}

func (v view) add(f *manifest.File) (*add, error) {
	path, err := v.path(f)
	if err != nil {
		return nil, err
	}
	stats, err := v.stats(f)
	return &add{Path: path, Values: v.values(f), Size: f.Size, Modified: v.millis(), Stats: &stats}, err
}

func (v view) remove(f *manifest.File) (*remove, error) {
	path, err := v.path(f)
	return &remove{Path: path, Deleted: v.millis(), Extended: true, Values: v.values(f), Size: f.Size}, err
}

// sorted returns the files in the order of their keys.
func sorted(files []manifest.File) []*manifest.File {
	out := make([]*manifest.File, len(files))
	for i := range files {
		out[i] = &files[i]
	}
	slices.SortFunc(out, func(a, b *manifest.File) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// statistics are the stats of a file: one JSON text inside of another.
type statistics struct {
	Records int64          `json:"numRecords"`
	Min     map[string]any `json:"minValues"`
	Max     map[string]any `json:"maxValues"`
	Nulls   map[string]any `json:"nullCount"`
}

// stats gives the statistics of a file, which stand in its manifest in Delta's own
// form: see manifest.ColumnStats. Columns of structs nest.
func (v view) stats(f *manifest.File) (string, error) {
	s := statistics{f.Rows, map[string]any{}, map[string]any{}, map[string]any{}}
	for _, c := range f.Columns {
		path, ok := v.leaves[c.ID]
		if !ok {
			continue
		}
		put(s.Nulls, path, c.Nulls)
		if len(c.Min) > 0 {
			put(s.Min, path, c.Min)
		}
		if len(c.Max) > 0 {
			put(s.Max, path, c.Max)
		}
	}
	b, err := json.Marshal(s)
	return string(b), err
}

// put sets a value at a path.
func put(at map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		next, ok := at[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[name] = next
		}
		at = next
	}
	at[path[len(path)-1]] = value
}

// Hint is what stands in _last_checkpoint: which checkpoint readers begin with. It
// has no parts, because some readers then look for a checkpoint in parts.
type Hint struct {
	Version Version `json:"version"`
	Size    int64   `json:"size"`          // actions in the checkpoint
	Bytes   int64   `json:"sizeInBytes"`   // of its file
	Files   int64   `json:"numOfAddFiles"` // adds in it
}

// encode gives the bytes of the hint.
func (h Hint) encode() ([]byte, error) {
	b, err := segment.EncodeObject(h)
	return bytes.TrimSuffix(b, []byte("\n")), err
}
