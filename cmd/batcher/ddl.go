package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"batcher/manifest"
	"batcher/schema"
)

// latest writes the view with the newest row of each value of a column. Which batch
// brought a row does not stand in it, and compaction mixes the files of batches, so
// newest is told from the row alone: by event time where the pipeline has one, and by
// the record's id between equals and where it has none.
func (r *rooms) latest(ctx context.Context, b *strings.Builder, at manifest.Snapshot, column string) error {
	table := string(r.cfg.Table)
	s, err := r.log.LoadSchema(ctx, at.Manifest.Tables[table].Schema)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(s.Fields, func(f schema.Field) bool { return f.Name == column }) {
		return usageError("batcher schema show lists the columns", "--latest-by: table %s has no column %q", table, column)
	}
	order, newest := "_source DESC, _offset DESC", "the largest _source, then the largest _offset"
	if at := r.eventColumn(s); at != "" {
		order, newest = at+" DESC NULLS LAST, "+order, "the largest "+at+", then "+newest
	}
	fmt.Fprintf(b, "-- The newest row is the one with %s.\n", newest)
	fmt.Fprintf(b, "CREATE OR REPLACE TEMP VIEW %s AS SELECT * FROM %s QUALIFY row_number() OVER (PARTITION BY %s ORDER BY %s) = 1;\n",
		ident(table+"_latest"), ident(table), ident(column), order)
	return nil
}

// eventColumn is the event time in SQL, or "" where the pipeline has none or no batch
// brought one yet.
func (r *rooms) eventColumn(s *schema.Schema) string {
	if r.cfg.EventTime == nil {
		return ""
	}
	var path []string
	fields := s.Fields
	for _, step := range r.cfg.EventTime.Field.Place {
		i := slices.IndexFunc(fields, func(f schema.Field) bool { return f.Key == step.Key })
		if i < 0 || step.Element {
			return ""
		}
		path = append(path, ident(fields[i].Name))
		if t := fields[i].Type; t.Kind == schema.Struct {
			fields = t.Fields
		} else {
			fields = nil
		}
	}
	return strings.Join(path, ".")
}

// emptyView writes the view of a table without files: no rows, with the columns of a
// table that has some, so that no query of the script's user fails on it.
func (r *rooms) emptyView(ctx context.Context, b *strings.Builder, t manifest.Table, name string) error {
	s, err := r.log.LoadSchema(ctx, t.Schema)
	if err != nil {
		return err
	}
	columns := []string{"NULL::VARCHAR AS _id"}
	for _, f := range s.Fields {
		columns = append(columns, "NULL::"+duckType(f.Type)+" AS "+ident(f.Name))
	}
	fmt.Fprintf(b, "CREATE OR REPLACE TEMP VIEW %s AS SELECT %s WHERE false;\n", ident(name), strings.Join(columns, ", "))
	return nil
}

// duckTypes are what DuckDB makes of the flat kinds when it reads them from a file.
var duckTypes = map[schema.Kind]string{
	schema.Bool: "BOOLEAN", schema.Int32: "INTEGER", schema.Int64: "BIGINT", schema.Float64: "DOUBLE",
	schema.String: "VARCHAR", schema.JSON: "VARCHAR", schema.Bytes: "BLOB", schema.Date: "DATE", schema.Timestamp: "TIMESTAMPTZ",
}

// duckType is a type in the SQL of DuckDB.
func duckType(t schema.Type) string {
	switch t.Kind {
	case schema.Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case schema.List:
		return duckType(t.Fields[0].Type) + "[]"
	case schema.Map:
		return fmt.Sprintf("MAP(%s, %s)", duckType(t.Fields[0].Type), duckType(t.Fields[1].Type))
	case schema.Struct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = ident(f.Name) + " " + duckType(f.Type)
		}
		return "STRUCT(" + strings.Join(parts, ", ") + ")"
	}
	return duckTypes[t.Kind]
}
