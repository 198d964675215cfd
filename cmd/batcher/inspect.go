package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"batcher/manifest"
	"batcher/schema"
)

// printJSON prints a value as one line of JSON.
func printJSON(c *call, v any) error {
	line, err := jsonLine(v)
	if err != nil {
		return err
	}
	return printTo(c.Stdout, line)
}

// jsonLine is a value as a line of JSON, for programs and not for web pages: < and > stay.
func jsonLine(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.String(), err
}

// listed is a list that is [] in JSON when it is empty.
func listed[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// historyRow is one manifest of a list.
type historyRow struct {
	Seq       manifest.Seq  `json:"seq"`
	Kind      manifest.Kind `json:"kind"`
	CreatedAt time.Time     `json:"created_at"`
	BatchID   string        `json:"batch_id,omitempty"`
	Attempt   string        `json:"attempt"`
	Objects   int64         `json:"objects"`
	Read      int64         `json:"read"`
	Written   int64         `json:"written"`
	Dead      int64         `json:"dead"`
	Files     int64         `json:"files"`
	Host      string        `json:"host"`
	Version   string        `json:"version"`
	Added     []string      `json:"added,omitempty"` // columns of the main table that came with it, "name type" each
}

// history is the verb history.
func history(ctx context.Context, c *call, o historyOptions) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	s, err := r.chain(ctx)
	if isA[*notYetError](err) {
		return c.notYet(err, []historyRow{})
	}
	if err != nil {
		return err
	}
	var rows []historyRow
	for {
		row, now := historyOf(s.Manifest), s.Manifest
		if now.Seq > 0 {
			if s, err = r.log.Slot(ctx, now.Seq-1); err != nil {
				return err
			}
			if row.Added, err = r.appeared(ctx, s.Manifest, now); err != nil {
				return err
			}
		}
		rows = append(rows, row)
		if now.Seq == 0 || o.Limit > 0 && len(rows) == o.Limit {
			break
		}
	}
	if c.Output == outputJSON {
		return printJSON(c, rows)
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SEQ\tKIND\tCREATED\tOBJECTS\tREAD\tWRITTEN\tDEAD\tFILES\tBATCH\tNEW COLUMNS")
	for _, h := range rows {
		fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", h.Seq, h.Kind, h.CreatedAt.Format(time.RFC3339),
			h.Objects, h.Read, h.Written, h.Dead, h.Files, h.BatchID, fewOf(h.Added))
	}
	_ = w.Flush() // into memory
	return printTo(c.Stdout, c.Colors.heading(b.String()))
}

func historyOf(m *manifest.Manifest) historyRow {
	h := historyRow{Seq: m.Seq, Kind: m.Kind, CreatedAt: m.CreatedAt, Attempt: m.Attempt.String(), Host: m.Writer.Host, Version: m.Writer.Version}
	if b := m.Batch; b != nil {
		h.BatchID, h.Objects, h.Read, h.Written, h.Dead = b.ID.String(), b.Objects, b.Rows.Read, b.Rows.Written, b.Rows.Dead
	}
	for _, t := range m.Tables {
		h.Files += t.Add.Count
	}
	return h
}

// fileRow is one live file.
type fileRow struct {
	URI     string          `json:"uri"`
	Table   string          `json:"table"`
	Seq     manifest.Seq    `json:"seq"`
	BatchID string          `json:"batch_id"`
	Rows    int64           `json:"rows"`
	Bytes   int64           `json:"bytes"`
	SHA256  manifest.SHA256 `json:"sha256"`
	Columns []fileColumn    `json:"columns"`
	// Part is the value of each column that splits the table, null where the manifest
	// has none; the whole of it is absent where no column does.
	Part map[string]*string `json:"partition,omitempty"`
}

// fileColumn is what a file says of one of its columns.
type fileColumn struct {
	Name string `json:"name"` // of the column, or of a field below it: head.at
	manifest.ColumnStats
}

// listFiles is the verb files.
func listFiles(ctx context.Context, c *call, o filesOptions) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	s, err := r.at(ctx, o.At)
	if isA[*notYetError](err) && o.At == nil {
		if c.Output == outputText {
			c.Logger.Warn(err.Error())
			return nil
		}
		return printJSON(c, []fileRow{})
	}
	if err != nil {
		return err
	}
	name, t, err := r.table(s, o.Table)
	if err != nil {
		return err
	}
	live, err := r.log.LoadLive(ctx, t.Live)
	if err != nil {
		return err
	}
	if c.Output == outputText {
		var b strings.Builder
		for i := range live {
			b.WriteString(r.uri(live[i].Key) + "\n")
		}
		return printTo(c.Stdout, b.String())
	}
	rows, err := r.fileRows(ctx, s, name, live)
	if err != nil {
		return err
	}
	return printJSON(c, rows)
}

// fileRows says what the manifests know of live files of a table.
func (r *rooms) fileRows(ctx context.Context, s manifest.Snapshot, table string, live []manifest.File) ([]fileRow, error) {
	columns, err := r.log.LoadSchema(ctx, s.Manifest.Tables[table].Schema)
	if err != nil {
		return nil, err
	}
	names, batches := leafNames(columns), map[manifest.Seq]string{}
	rows := make([]fileRow, len(live))
	for i, f := range live {
		if _, known := batches[f.Seq]; !known {
			m, err := r.log.Slot(ctx, f.Seq)
			if err != nil {
				return nil, err
			}
			batches[f.Seq] = historyOf(m.Manifest).BatchID
		}
		rows[i] = fileRow{URI: r.uri(f.Key), Table: table, Seq: f.Seq, BatchID: batches[f.Seq], Rows: f.Rows, Bytes: f.Size, SHA256: f.SHA256, Columns: make([]fileColumn, len(f.Columns))}
		for j, c := range f.Columns {
			rows[i].Columns[j] = fileColumn{names[c.ID], c}
		}
		if id := s.Manifest.Config; table == id.Table {
			rows[i].Part = partition(id.PartitionBy(), f)
		}
	}
	return rows, nil
}

// leafNames are the names of the fields that hold values, by their ids.
func leafNames(s *schema.Schema) map[int32]string {
	names := map[int32]string{}
	for _, leaf := range s.Leaves() {
		names[leaf.Field.ID] = strings.Join(leaf.Path, ".")
	}
	return names
}

// partition gives a file's value for each of the columns, nil for null.
func partition(columns []string, f manifest.File) map[string]*string {
	part := make(map[string]*string, len(columns))
	for _, column := range columns {
		part[column] = nil
		if value, there := f.Part[column]; there {
			part[column] = &value
		}
	}
	return part
}
