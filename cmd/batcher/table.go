package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"batcher/column"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/schema"
)

// head is the verb head: the first rows of a table, as JSON lines.
func head(ctx context.Context, c *call, o headOptions) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	s, err := r.chain(ctx)
	if err != nil {
		return err
	}
	_, t, err := r.table(s, o.Table)
	if err != nil {
		return err
	}
	want, err := r.log.LoadSchema(ctx, t.Schema)
	if err != nil {
		return err
	}
	live, err := r.log.LoadLive(ctx, t.Live)
	if err != nil {
		return err
	}
	left := o.Rows
	for i := 0; i < len(live) && left > 0; i++ {
		if left, err = r.printRows(ctx, c, live[i], want, left); err != nil {
			return fmt.Errorf("%s: %w", r.uri(live[i].Key), err)
		}
	}
	return nil
}

// printRows prints up to n rows of a file and returns how many are left.
func (r *rooms) printRows(ctx context.Context, c *call, f manifest.File, want *schema.Schema, n int) (int, error) {
	file, err := datafile.Open(object.NewReaderAt(ctx, r.store, f.Key), f.Size)
	if err != nil {
		return n, err
	}
	var line []byte
	for b, err := range file.Blocks(want) {
		if err != nil {
			return n, err
		}
		rows := column.NewCursor(b)
		for n > 0 && rows.Next() {
			line = append(rows.AppendJSON(line[:0]), '\n')
			if err := printTo(c.Stdout, string(line)); err != nil {
				return n, err
			}
			n--
		}
		if n == 0 {
			break
		}
	}
	return n, nil
}

// ddl is the verb ddl: a script for DuckDB that makes a view of each table, through
// its Delta log or over exactly the files that the chain names.
func ddl(ctx context.Context, c *call, o ddlOptions) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	if !o.NoExtension && r.delta == nil {
		return &exitError{Code: exitUsage, Err: errors.New("the pipeline file publishes no Delta tables, which delta_scan reads"),
			Hint: "add --no-extension: read_parquet over the files that the chain names; or publish: [delta]"}
	}
	s, err := r.at(ctx, o.At)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "-- Tables of pipeline %s as of manifest %d.\n", r.cfg.Name, s.Manifest.Seq)
	if o.NoExtension {
		b.WriteString("-- The list of files is fixed here: run this command again to see later batches.\n")
	} else {
		b.WriteString("INSTALL delta; LOAD delta;\n")
	}
	if r.cfg.Store.IsS3() {
		endpoint := cmp.Or(string(r.cfg.S3.Endpoint), variable(c.Environ, "AWS_ENDPOINT_URL_S3"), variable(c.Environ, "AWS_ENDPOINT_URL"))
		b.WriteString(secret(endpoint, cmp.Or(r.cfg.S3.Region, variable(c.Environ, "AWS_REGION"))))
	}
	for _, name := range []string{string(r.cfg.Table), string(r.cfg.DeadLetters.Table)} {
		if err := r.view(ctx, &b, s, name, o); err != nil {
			return err
		}
	}
	if o.LatestBy != "" {
		if err := r.latest(ctx, &b, s, o.LatestBy); err != nil {
			return err
		}
	}
	fmt.Fprintf(&b, "SELECT count(*) AS rows FROM %s;\n", ident(string(r.cfg.Table)))
	return printTo(c.Stdout, b.String())
}

// view writes the statements for one table.
func (r *rooms) view(ctx context.Context, b *strings.Builder, s manifest.Snapshot, name string, o ddlOptions) error {
	_, t, err := r.table(s, name)
	if err != nil {
		return err
	}
	if !o.NoExtension && t.Version >= 0 {
		version := ""
		if o.At != nil {
			version = fmt.Sprintf(", version => %d", t.Version)
		}
		fmt.Fprintf(b, "CREATE OR REPLACE TEMP VIEW %s AS SELECT _source || ':' || _offset AS _id, * FROM delta_scan(%s%s);\n",
			ident(name), literal(r.uri(name)), version)
		return nil
	}
	live, err := r.log.LoadLive(ctx, t.Live)
	if err != nil {
		return err
	}
	if split := s.Manifest.Config.PartitionBy(); len(split) > 0 && name == s.Manifest.Config.Table {
		fmt.Fprintf(b, "-- Each file of %s has the rows of one partition, by columns that stand in it: %s.\n", name, strings.Join(split, ", "))
	}
	if len(live) == 0 {
		return r.emptyView(ctx, b, t, name)
	}
	variable := strings.ReplaceAll(name, "-", "_") + "_files"
	fmt.Fprintf(b, "SET VARIABLE %s = [\n", variable)
	for i := range live {
		comma := ","
		if i == len(live)-1 {
			comma = ""
		}
		fmt.Fprintf(b, "  %s%s\n", literal(r.uri(live[i].Key)), comma)
	}
	b.WriteString("];\n")
	fmt.Fprintf(b, "CREATE OR REPLACE TEMP VIEW %s AS SELECT _source || ':' || _offset AS _id, * FROM read_parquet(getvariable('%s'), union_by_name = true);\n", ident(name), variable)
	return nil
}

// secret is the statement that tells DuckDB how to reach the bucket; keys come
// from the environment's credential chain and never stand in the script.
func secret(endpoint, region string) string {
	var opts strings.Builder
	if region != "" {
		fmt.Fprintf(&opts, ", REGION %s", literal(region))
	}
	if rest, plain := strings.CutPrefix(endpoint, "http://"); plain {
		fmt.Fprintf(&opts, ", ENDPOINT %s, URL_STYLE 'path', USE_SSL false", literal(rest))
	} else if rest, tls := strings.CutPrefix(endpoint, "https://"); tls {
		fmt.Fprintf(&opts, ", ENDPOINT %s, URL_STYLE 'path'", literal(rest))
	}
	return "INSTALL httpfs; LOAD httpfs; INSTALL aws; LOAD aws;\nCREATE OR REPLACE SECRET batcher (TYPE s3, PROVIDER credential_chain" + opts.String() + ");\n"
}

func ident(s string) string   { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
