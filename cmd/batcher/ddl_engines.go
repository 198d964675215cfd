package main

import (
	"fmt"
	"strings"
)

// admits refuses what the engine cannot do, with what can.
func (s *script) admits(engine string) error {
	local := !s.store.IsS3()
	switch engine {
	case duckdbEngine:
		// Its delta extension (1.5.5) decodes such a name once too often.
		if strings.Contains(s.store.String(), "%") {
			return usageError("add --no-extension: read_parquet over the files that the chain names",
				"delta_scan of DuckDB cannot read a place with %% in its name: %s", s.store)
		}
	case "athena":
		switch {
		case local:
			return usageError("batcher ddl duckdb, spark and clickhouse read a directory", "Athena reads buckets, and the store is the directory %s", s.store)
		case !s.bucket.aws:
			return usageError("batcher ddl duckdb, spark, trino and clickhouse reach other services", "Athena reads buckets of AWS, and the store is at %s", s.bucket.endpoint())
		case s.pinned != nil:
			return usageError("batcher ddl duckdb, spark, trino and clickhouse have --at", "Athena reads a Delta table only as it is now: it has no time travel")
		}
	case "trino":
		if local {
			return usageError("batcher ddl duckdb, spark and clickhouse read a directory", "Trino reads buckets, and the store is the directory %s", s.store)
		}
	case "clickhouse":
		if !local && urlFolder(s.store, "") != s.store.String()+"/" {
			return usageError("batcher ddl duckdb, spark and trino reach it", "ClickHouse takes a bucket by its URL, which cannot hold %s", s.store)
		}
	}
	return nil
}

// athenaScript registers the tables with Glue, once.
func athenaScript(s *script) string {
	s.rename(underscored)
	var b strings.Builder
	s.begin(&b)
	remark(&b, "For engine version 3, which takes one statement at a time. They may be run again, and need not: nothing is to be run per commit, queries read the Delta log.")
	remark(&b, "Views, Lake Formation, and row and column filters need the schema in Glue, which knows nothing of a new column until it is refreshed:")
	remark(&b, "by a Glue crawler for Delta tables, or by DROP TABLE, which deletes no data of an external table, and this again.")
	fmt.Fprintf(&b, "CREATE DATABASE IF NOT EXISTS %s;\n", ticked(s.database()))
	for _, t := range s.tables {
		if t.version < 0 {
			s.missing(&b, t)
			continue
		}
		fmt.Fprintf(&b, "CREATE EXTERNAL TABLE IF NOT EXISTS %s.%s LOCATION %s TBLPROPERTIES ('table_type' = 'DELTA');\n",
			ticked(s.database()), ticked(t.as), slashed(folderURL("s3", s.store, t.name)+"/"))
	}
	s.keptView(&b, ident, ident(s.database())+".")
	return b.String()
}

// sparkScript makes tables, or views of what they were.
func sparkScript(s *script) string {
	s.renameKept(underscored)
	var b strings.Builder
	s.begin(&b)
	remark(&b, "The session needs Delta Lake for its version of Spark, for Spark 4.0:")
	s.sparkSettings(&b)
	temporary := ""
	for _, t := range s.tables {
		location := folderURL("s3a", s.store, t.name)
		if !s.store.IsS3() {
			location = "file://" + s.store.Dir + "/" + t.name
		}
		switch {
		case t.version < 0:
			s.missing(&b, t)
		case s.pinned == nil:
			fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s USING DELTA LOCATION %s;\n", ticked(t.as), slashed(location))
		default:
			temporary = "TEMPORARY "
			fmt.Fprintf(&b, "CREATE OR REPLACE TEMPORARY VIEW %s AS SELECT * FROM delta.%s VERSION AS OF %d;\n", ticked(t.as), ticked(location), t.version)
		}
	}
	if n, main := s.newest, s.tables[0]; n != nil && main.version >= 0 {
		query := n.ranked(&b, ticked, ticked(main.as), main.schema)
		fmt.Fprintf(&b, "CREATE OR REPLACE %sVIEW %s AS %s;\n", temporary, ticked(n.as), query)
	}
	return b.String()
}

// sparkSettings says how a session is started.
func (s *script) sparkSettings(b *strings.Builder) {
	packages := "io.delta:delta-spark_2.13:4.0.1"
	if s.store.IsS3() {
		packages += ",org.apache.hadoop:hadoop-aws:3.4.1"
	}
	remark(b, "  spark-sql --packages %s", packages)
	remark(b, "  --conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension")
	remark(b, "  --conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog")
	if !s.store.IsS3() {
		return
	}
	if s.bucket.host != "" {
		remark(b, "  --conf spark.hadoop.fs.s3a.endpoint=%s", s.bucket.endpoint())
	}
	if s.bucket.region != "" {
		remark(b, "  --conf spark.hadoop.fs.s3a.endpoint.region=%s", s.bucket.region)
	}
	if s.bucket.pathStyle {
		remark(b, "  --conf spark.hadoop.fs.s3a.path.style.access=true")
	}
	remark(b, "Keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the role of the machine.")
}

// trinoScript registers the tables in a catalog, or makes views of what they were.
func trinoScript(s *script) string {
	s.renameKept(underscored)
	var b strings.Builder
	s.begin(&b)
	remark(&b, "Needs a catalog named delta: connector.name=delta_lake, delta.register-table-procedure.enabled=true, its metastore, and the file system for S3 with")
	s.trinoSettings(&b)
	if s.pinned == nil {
		remark(&b, "It may be run again: the CALL of a table that is registered fails, and changes nothing.")
		fmt.Fprintf(&b, "CREATE SCHEMA IF NOT EXISTS delta.%s;\n", ident(s.database()))
	} else {
		remark(&b, "The tables themselves are registered by: batcher ddl trino")
	}
	for _, t := range s.tables {
		switch {
		case t.version < 0:
			s.missing(&b, t)
		case s.pinned == nil:
			fmt.Fprintf(&b, "CALL delta.system.register_table(schema_name => %s, table_name => %s, table_location => %s);\n",
				literal(s.database()), literal(t.as), literal(folderURL("s3", s.store, t.name)))
		default:
			fmt.Fprintf(&b, "CREATE OR REPLACE VIEW delta.%[1]s.%[2]s AS SELECT * FROM delta.%[1]s.%[3]s FOR VERSION AS OF %[4]d;\n",
				ident(s.database()), ident(t.as), ident(t.live), t.version)
		}
	}
	s.keptView(&b, ident, "delta."+ident(s.database())+".")
	return b.String()
}

// trinoSettings are those of the catalog that reach the bucket.
func (s *script) trinoSettings(b *strings.Builder) {
	var settings []string
	if s.bucket.region != "" {
		settings = append(settings, "s3.region="+s.bucket.region)
	}
	if s.bucket.host != "" {
		settings = append(settings, "s3.endpoint="+s.bucket.endpoint())
	}
	if s.bucket.pathStyle {
		settings = append(settings, "s3.path-style-access=true")
	}
	settings = append(settings, "the credentials of Trino's own configuration.")
	remark(b, "  %s", strings.Join(settings, ", "))
}

// keptView writes the view of the newest rows for Athena and Trino, in a schema.
func (s *script) keptView(b *strings.Builder, quote func(string) string, within string) {
	if n, main := s.newest, s.tables[0]; n != nil && main.version >= 0 {
		query := n.ranked(b, quote, within+quote(main.as), main.schema)
		fmt.Fprintf(b, "CREATE OR REPLACE VIEW %s AS %s;\n", within+quote(n.as), query)
	}
}

// clickhouseScript makes tables, or views of what they were.
func clickhouseScript(s *script) string {
	s.renameKept(asItIs)
	var b strings.Builder
	s.begin(&b)
	engine, function := "DeltaLake", "deltaLake"
	if s.store.IsS3() {
		remark(&b, "The server's own credentials reach the bucket (use_environment_credentials or <s3> in its configuration).")
		remark(&b, "Without any: add 'KEY', 'SECRET' behind each address.")
	} else {
		engine, function = "DeltaLakeLocal", "deltaLakeLocal"
		remark(&b, "The server reads directories below its user_files_path, clickhouse local and chDB those below the working directory.")
	}
	for _, t := range s.tables {
		address := slashed(s.store.Dir + "/" + t.name)
		if s.store.IsS3() {
			address = slashed(s.bucket.folder(s.store, t.name) + "/")
		}
		switch {
		case t.version < 0:
			s.missing(&b, t)
		case s.pinned == nil:
			fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s ENGINE = %s(%s);\n", ticked(t.as), engine, address)
		default:
			fmt.Fprintf(&b, "CREATE OR REPLACE VIEW %s AS SELECT * FROM %s(%s) SETTINGS delta_lake_snapshot_version = %d;\n", ticked(t.as), function, address, t.version)
		}
	}
	if n, main := s.newest, s.tables[0]; n != nil && main.version >= 0 {
		query := n.qualified(&b, ticked, ticked(main.as))
		fmt.Fprintf(&b, "CREATE OR REPLACE VIEW %s AS %s;\n", ticked(n.as), query)
	}
	return b.String()
}
