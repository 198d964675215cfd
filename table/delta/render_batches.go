package delta

import (
	"iter"
	"time"

	"batcher/column"
	"batcher/manifest"
	"batcher/schema"
	"batcher/source"
)

// BatchesTable is the name of the table that tells what each manifest of a pipeline
// did.
func BatchesTable(pipeline string) string { return pipeline + "_batches" }

// The columns of the table of batches, in the order of their fields. Field ids follow
// those of reserved columns, which the table does not have.
const (
	seqColumn = iota
	kindColumn
	committedColumn
	batchColumn
	attemptColumn
	baseColumn
	generationColumn
	rewindColumn
	writerColumn
	factColumn
	tableColumn
	pathColumn
	sourceColumn
	startColumn
	endColumn
	rowsColumn
	sizeColumn
	readColumn
	deadColumn
	lateColumn
	duplicateColumn
	replacedColumn
	discardedColumn
	etagColumn
	modifiedColumn
	completeColumn
	reasonColumn
)

// BatchesSchema returns the columns of the table of batches. docs/DELTA.md says what
// each means. They are the same in every table of this version of batcher.
func BatchesSchema() *schema.Schema {
	s := &schema.Schema{LastID: schema.LastReserved}
	for _, c := range []struct {
		name string
		kind schema.Kind
	}{
		seqColumn: {"seq", schema.Int64}, kindColumn: {"kind", schema.String}, committedColumn: {"committed_at", schema.Timestamp},
		batchColumn: {"batch_id", schema.String}, attemptColumn: {"attempt", schema.String}, baseColumn: {"base", schema.Int64},
		generationColumn: {"generation", schema.Int64}, rewindColumn: {"rewind_to", schema.Int64}, writerColumn: {"writer_version", schema.String},
		factColumn: {"fact", schema.String}, tableColumn: {"table_name", schema.String}, pathColumn: {"path", schema.String}, sourceColumn: {"source", schema.String},
		startColumn: {"range_start", schema.Int64}, endColumn: {"range_end", schema.Int64},
		rowsColumn: {"row_count", schema.Int64}, sizeColumn: {"size_bytes", schema.Int64},
		readColumn: {"read_count", schema.Int64}, deadColumn: {"dead_count", schema.Int64}, lateColumn: {"late_count", schema.Int64},
		duplicateColumn: {"duplicate_count", schema.Int64}, replacedColumn: {"replaced_count", schema.Int64},
		discardedColumn: {"discarded_count", schema.Int64},
		etagColumn:      {"etag", schema.String}, modifiedColumn: {"modified_at", schema.Timestamp}, completeColumn: {"complete", schema.Bool},
		reasonColumn: {"reason", schema.String},
	} {
		s.LastID++
		s.Fields = append(s.Fields, schema.Field{ID: s.LastID, Name: c.name, Type: schema.Type{Kind: c.kind}})
	}
	return s
}

// lists are the long lists of a manifest, item by item, wherever they stand.
type lists struct {
	ranges   iter.Seq2[source.Range, error]
	touched  iter.Seq2[manifest.Touched, error]
	replaced iter.Seq2[manifest.Replaced, error]
	tables   []changed // in the order of their names
}

// changed is what a manifest did to the files of one table.
type changed struct {
	table       string
	add, remove iter.Seq2[manifest.File, error]
}

// factRows is how many rows a block of facts has at most.
const factRows = 4096

// facts makes the rows of the table of batches, a block at a time. Column by column
// it takes what a fact says; what a fact does not say is null.
type facts struct {
	write   func(*column.Block) error
	schema  *schema.Schema
	columns []*column.Filler
	row     int // that is being filled in
}

// writeFacts gives the rows of one manifest, in blocks that write must not keep. Every
// manifest begins with a row that says what it is; then come what it gave up and read
// of the source, and what it did to the files of each table.
func writeFacts(m *manifest.Manifest, l lists, write func(*column.Block) error) error {
	f := &facts{write: write, schema: BatchesSchema()}
	for _, leaf := range f.schema.Leaves() {
		f.columns = append(f.columns, column.NewFiller(leaf))
	}
	if err := f.about(m); err != nil {
		return err
	}
	for i := range m.Gaps {
		g := &m.Gaps[i]
		f.text(pathColumn, g.Key)
		f.number(startColumn, g.From)
		f.text(reasonColumn, g.Reason)
		if err := f.end(m, "gap"); err != nil {
			return err
		}
	}
	if m.Batch != nil {
		if err := f.consumed(m, l); err != nil {
			return err
		}
	}
	for _, t := range l.tables {
		if err := f.files(m, "added", t.table, t.add); err != nil {
			return err
		}
		if err := f.files(m, "removed", t.table, t.remove); err != nil {
			return err
		}
	}
	return f.flush()
}

// about makes the row that every manifest has.
func (f *facts) about(m *manifest.Manifest) error {
	if b := m.Batch; b != nil {
		f.number(rowsColumn, b.Rows.Written)
		f.number(sizeColumn, b.Bytes)
		f.number(readColumn, b.Rows.Read)
		f.number(deadColumn, b.Rows.Dead)
		f.number(lateColumn, b.Rows.Late)
		f.number(duplicateColumn, b.Rows.Duplicate)
		f.number(replacedColumn, b.Rows.Replaced)
	}
	if l := m.Letters; l != nil {
		f.number(rowsColumn, l.Replayed)
		f.number(discardedColumn, l.Discarded)
	}
	if m.RewindTo != nil {
		f.number(rewindColumn, int64(*m.RewindTo))
	}
	if m.Republish != nil {
		f.text(tableColumn, m.Republish.Table)
	}
	return f.end(m, "batch")
}

// consumed makes the rows of what a batch took from the source.
func (f *facts) consumed(m *manifest.Manifest, l lists) error {
	for r, err := range l.ranges {
		if err != nil {
			return err
		}
		f.text(sourceColumn, r.Source())
		f.number(startColumn, int64(r.From))
		f.number(endColumn, int64(r.To))
		f.number(rowsColumn, r.Records)
		complete := uint8(0)
		if r.Last {
			complete = 1
		}
		f.columns[completeColumn].Bool(f.row, 0, complete)
		f.text(reasonColumn, r.Broken)
		f.object(r.Key, r.ETag, r.Size, r.Modified)
		if err := f.end(m, "consumed"); err != nil {
			return err
		}
	}
	for t, err := range l.touched {
		if err != nil {
			return err
		}
		f.object(t.Key, t.ETag, t.Size, t.Modified)
		if err := f.end(m, "touched"); err != nil {
			return err
		}
	}
	for r, err := range l.replaced {
		if err != nil {
			return err
		}
		f.text(pathColumn, r.Key)
		f.number(rowsColumn, r.Rows)
		if err := f.end(m, "replaced"); err != nil {
			return err
		}
	}
	return nil
}

// files makes the rows of a list of files.
func (f *facts) files(m *manifest.Manifest, fact, table string, list iter.Seq2[manifest.File, error]) error {
	for file, err := range list {
		if err != nil {
			return err
		}
		f.text(tableColumn, table)
		f.text(pathColumn, file.Key)
		f.number(rowsColumn, file.Rows)
		f.number(sizeColumn, file.Size)
		if err := f.end(m, fact); err != nil {
			return err
		}
	}
	return nil
}

// object says which object of the source a row is about, as it was then.
func (f *facts) object(key, etag string, size int64, modified time.Time) {
	f.text(pathColumn, key)
	f.number(sizeColumn, size)
	f.text(etagColumn, etag)
	if !modified.IsZero() {
		f.number(modifiedColumn, modified.UnixMicro())
	}
}

// text sets a column of the row; "" is null.
func (f *facts) text(c int, s string) {
	if s != "" {
		f.columns[c].Bytes(f.row, 0, []byte(s))
	}
}

// number sets a column of the row.
func (f *facts) number(c int, n int64) { f.columns[c].Int64(f.row, 0, n) }

// end ends the row with what all rows of a manifest have.
func (f *facts) end(m *manifest.Manifest, fact string) error {
	f.text(factColumn, fact)
	f.number(seqColumn, int64(m.Seq))
	f.text(kindColumn, string(m.Kind))
	f.number(committedColumn, m.CreatedAt.UnixMicro())
	if m.Batch != nil {
		f.text(batchColumn, m.Batch.ID.String())
	}
	f.text(attemptColumn, m.Attempt.String())
	f.number(baseColumn, int64(m.Base))
	f.number(generationColumn, int64(m.Generation))
	f.text(writerColumn, m.Writer.Version)
	if f.row++; f.row < factRows {
		return nil
	}
	return f.flush()
}

// flush writes the rows that are there.
func (f *facts) flush() error {
	if f.row == 0 {
		return nil
	}
	b := &column.Block{Schema: f.schema, Rows: f.row}
	for _, c := range f.columns {
		c.Pad(f.row)
		b.Columns = append(b.Columns, &c.Vector)
	}
	err := f.write(b)
	for _, c := range f.columns {
		c.Reset()
	}
	f.row = 0
	return err
}
