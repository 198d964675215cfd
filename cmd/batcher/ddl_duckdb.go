package main

import (
	"context"
	"fmt"
	"strings"

	"batcher/config"
	"batcher/schema"
)

const duckdbEngine = "duckdb"

// duckdbScript opens the tables of their Delta logs as views.
func duckdbScript(s *script) string {
	s.rename(asItIs)
	var b strings.Builder
	s.begin(&b)
	if s.pinned == nil {
		remark(&b, "Later batches are seen as they are published.")
	} else {
		remark(&b, "All of them stay as they were then, whatever is committed later.")
	}
	b.WriteString("INSTALL delta; LOAD delta;\n")
	b.WriteString(s.duckdbSecret())
	for _, t := range s.tables {
		if t.version < 0 {
			s.missing(&b, t)
			t.duckdbEmpty(&b)
			continue
		}
		version := ""
		if s.pinned != nil {
			version = fmt.Sprintf(", version => %d", t.version)
		}
		t.duckdbView(&b, fmt.Sprintf("delta_scan(%s%s)", literal(duckdbFolder(s.store, t.name)), version))
	}
	s.duckdbEnd(&b)
	return b.String()
}

// plainScript opens exactly the files that the chain names as views.
func (r *rooms) plainScript(ctx context.Context, s *script) (string, error) {
	s.rename(asItIs)
	var b strings.Builder
	s.begin(&b)
	remark(&b, "The list of files is fixed here: run this command again to see later batches.")
	b.WriteString(s.duckdbSecret())
	for _, t := range s.tables {
		if err := r.plainView(ctx, &b, s, t); err != nil {
			return "", err
		}
	}
	s.duckdbEnd(&b)
	return b.String(), nil
}

// plainView writes the view of one table over its live files.
func (r *rooms) plainView(ctx context.Context, b *strings.Builder, s *script, t opened) error {
	live, err := r.log.LoadLive(ctx, t.table.Live)
	if err != nil {
		return err
	}
	id := s.at.Manifest.Config
	if split := id.PartitionBy(); len(split) > 0 && t.name == id.Table {
		remark(b, "Each file of %s has the rows of one partition, by columns that stand in it: %s.", t.name, strings.Join(split, ", "))
	}
	if len(live) == 0 {
		t.duckdbEmpty(b)
		return nil
	}
	variable := underscored(t.as) + "_files"
	fmt.Fprintf(b, "SET VARIABLE %s = [\n", variable)
	for i := range live {
		comma := ","
		if i == len(live)-1 {
			comma = ""
		}
		fmt.Fprintf(b, "  %s%s\n", literal(r.uri(live[i].Key)), comma)
	}
	b.WriteString("];\n")
	t.duckdbView(b, fmt.Sprintf("read_parquet(getvariable('%s'), union_by_name = true)", variable))
	return nil
}

// duckdbView writes the view of a table. It is temporary, because it reads what only
// this session has.
func (t opened) duckdbView(b *strings.Builder, from string) {
	fmt.Fprintf(b, "CREATE OR REPLACE TEMP VIEW %s AS SELECT * FROM %s;\n", ident(t.as), from)
}

// duckdbEnd ends a script with the view of newest rows. It prints nothing: what is
// asked after it in a pipe has the output for itself.
func (s *script) duckdbEnd(b *strings.Builder) {
	main := ident(s.tables[0].as)
	if n := s.newest; n != nil {
		query := n.qualified(b, ident, main)
		fmt.Fprintf(b, "CREATE OR REPLACE TEMP VIEW %s AS %s;\n", ident(n.as), query)
	}
}

// duckdbFolder is the address of a table for delta_scan, which takes that of a bucket
// as a URL and a local one as a path.
func duckdbFolder(at config.Location, table string) string {
	if at.IsS3() {
		return urlFolder(at, table)
	}
	return at.Dir + "/" + table
}

// duckdbSecret is the statement that tells DuckDB how to reach the bucket. Keys come
// from the credential chain of the session and never stand in a script.
func (s *script) duckdbSecret() string {
	if !s.store.IsS3() {
		return ""
	}
	var b strings.Builder
	b.WriteString("INSTALL httpfs; LOAD httpfs; INSTALL aws; LOAD aws;\n")
	remark(&b, "Keys come from the AWS credential chain of this session. Without one: KEY_ID '…', SECRET '…' in the place of PROVIDER.")
	fmt.Fprintf(&b, "CREATE OR REPLACE SECRET batcher (TYPE s3, PROVIDER credential_chain, SCOPE %s", literal("s3://"+s.store.Bucket+"/"))
	a := s.bucket
	if a.profile != "" {
		fmt.Fprintf(&b, ", CHAIN 'config;sso', PROFILE %s", literal(a.profile))
	}
	if a.region != "" {
		fmt.Fprintf(&b, ", REGION %s", literal(a.region))
	}
	if a.host != "" {
		fmt.Fprintf(&b, ", ENDPOINT %s, USE_SSL %t", literal(a.host), a.scheme == "https")
	}
	if a.pathStyle {
		b.WriteString(", URL_STYLE 'path'")
	}
	b.WriteString(");\n")
	return b.String()
}

// duckdbEmpty writes the view of a table without files: no rows, with the columns of a
// table that has some, so that no query of the script's user fails on it.
func (t opened) duckdbEmpty(b *strings.Builder) {
	var columns []string
	for _, f := range t.schema.Fields {
		columns = append(columns, "NULL::"+duckType(f.Type)+" AS "+ident(f.Name))
	}
	fmt.Fprintf(b, "CREATE OR REPLACE TEMP VIEW %s AS SELECT %s WHERE false;\n", ident(t.as), strings.Join(columns, ", "))
}

// asItIs is the name of a table in an engine that takes any.
func asItIs(name string) string { return name }

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
