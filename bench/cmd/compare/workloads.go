package main

import (
	"fmt"
	"os"
	"path/filepath"

	"batcher/bench"
)

// workload is one input, and who reads it.
type workload struct {
	name     string
	shape    bench.Shape
	sample   string // folder of real events that are repeated, instead of a shape
	ending   string // of the input's name
	settings string // more of the pipeline file
	size     int64  // bytes before compression
	threads  int    // 0: as many as each program takes by itself
	pairs    int
	seed     uint64
	rivals   []rival
}

// rival is a program that makes Parquet of the same input.
type rival struct {
	name    string
	command func(t *tools, in input) command
}

// input is what a command is made for.
type input struct {
	file    string // the input
	out     string // the Parquet file to write
	threads int
}

// command is a process to start.
type command struct {
	args []string
	env  []string
	dir  string
}

// The rivals, and batcher as the first.
const (
	ours       = "batcher"
	plainDuck  = "DuckDB"
	idDuck     = "DuckDB with ids"
	textDuck   = "DuckDB, UUIDs as text"
	plainPolar = "Polars"
)

// duck makes DuckDB convert; extra is written behind the star that selects all
// columns, option behind the input's name.
func duck(name, extra, option string) rival {
	return rival{name, func(t *tools, in input) command {
		reader := "read_json_auto"
		if filepath.Ext(in.file) == ".csv" {
			reader = "read_csv"
		}
		sql := fmt.Sprintf("COPY (SELECT *%s FROM %s('%s'%s)) TO '%s' (FORMAT parquet, COMPRESSION zstd)", extra, reader, in.file, option, in.out)
		if in.threads > 0 {
			sql = fmt.Sprintf("SET threads = %d; %s", in.threads, sql)
		}
		return command{args: []string{t.duckdb, "-init", os.DevNull, "-c", sql}}
	}}
}

// polars streams, as its manual advises for files that may not fit into memory.
func polars() rival {
	return rival{plainPolar, func(t *tools, in input) command {
		reader := "scan_ndjson"
		if filepath.Ext(in.file) == ".csv" {
			reader = "scan_csv"
		}
		script := fmt.Sprintf("import polars; polars.%s('%s').sink_parquet('%s', compression='zstd')", reader, in.file, in.out)
		c := command{args: []string{t.python, "-c", script}}
		if in.threads > 0 {
			c.env = []string{fmt.Sprintf("POLARS_MAX_THREADS=%d", in.threads)}
		}
		return c
	}}
}

// workloads are all inputs.
func workloads(s *settings) []workload {
	size, large := s.megabyte*1_000_000, s.large*1_000_000
	plain, ids := duck(plainDuck, "", ""), duck(idDuck, ", row_number() OVER () AS record_number", ", filename = true")
	text := duck(textDuck, " REPLACE (event_id::VARCHAR AS event_id)", "") // as batcher and Polars store it
	list := []workload{
		{name: "flat", shape: bench.Flat, ending: ".ndjson", size: size, rivals: []rival{plain, text, ids, polars()}},
		{name: "nested", shape: bench.Nested, ending: ".ndjson", size: size, rivals: []rival{plain, ids, polars()}},
		{name: "flat, one core", shape: bench.Flat, ending: ".ndjson", size: size, threads: 1, rivals: []rival{plain, polars()}},
		{name: "nested, one core", shape: bench.Nested, ending: ".ndjson", size: size, threads: 1, rivals: []rival{plain, polars()}},
		{name: "flat, gzip", shape: bench.Flat, ending: ".ndjson.gz", size: size, rivals: []rival{plain, polars()}},
		{name: "flat, zstd", shape: bench.Flat, ending: ".ndjson.zst", size: size, rivals: []rival{plain, polars()}},
		{name: "nested, gzip", shape: bench.Nested, ending: ".ndjson.gz", size: size, rivals: []rival{plain}},
		{name: "nested, zstd", shape: bench.Nested, ending: ".ndjson.zst", size: size, rivals: []rival{plain}},
		{name: "CSV", shape: bench.CSV, ending: ".csv", size: size, rivals: []rival{plain, polars()}},
		{name: "flat, small", shape: bench.Flat, ending: ".ndjson", size: 500_000, rivals: []rival{plain, polars()}},
	}
	if samples := os.Getenv("BATCHER_SAMPLES"); samples != "" {
		folder := filepath.Join(samples, "github-events-ndjson")
		// As DuckDB does, no object is kept as text.
		list = append(list, workload{name: "GitHub events, repeated", sample: folder, ending: ".ndjson", size: size,
			settings: "schema: {nested: {max_depth: 10, max_leaves: 2000, min_records: 1}}\n", rivals: []rival{plain}})
	} else {
		fmt.Fprintln(os.Stderr, "BATCHER_SAMPLES is not set: no real events are measured")
	}
	for i := range list {
		list[i].pairs = s.pairs
	}
	if large > 0 {
		pairs := min(s.pairs, 3)
		list = append(list,
			workload{name: "flat, large", shape: bench.Flat, ending: ".ndjson", size: large, rivals: []rival{plain}, pairs: pairs},
			workload{name: "nested, large", shape: bench.Nested, ending: ".ndjson", size: large, rivals: []rival{plain}, pairs: pairs})
	}
	for i := range list {
		list[i].seed = s.seed
	}
	return list
}
