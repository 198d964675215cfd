package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// row is what a workload came to.
type row struct {
	*workload
	bytes    int64 // of the input as it is stored
	records  int64
	programs []program // batcher first
}

// program is what one program needed for a workload.
type program struct {
	name   string
	runs   []usage // without the first one
	size   int64   // of the Parquet it wrote
	groups int64   // rows of its largest row group
}

// stage is the folder in which a workload is measured.
type stage struct {
	*workload
	tools *tools
	dir   string
	input string
}

// measure makes the input, proves that all write the same, and lets all run in
// turn.
func (w *workload) measure(ctx context.Context, t *tools, dir string) (*row, error) {
	s := &stage{workload: w, tools: t, dir: dir, input: filepath.Join(dir, "in", "events"+w.ending)}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	r := &row{workload: w, programs: []program{{name: ours}}}
	info, err := os.Stat(s.input)
	if err != nil {
		return nil, err
	}
	r.bytes = info.Size()
	for _, v := range w.rivals {
		r.programs = append(r.programs, program{name: v.name})
	}
	for i := range w.pairs + 1 {
		for k := range r.programs {
			u, err := s.run(ctx, k)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.programs[k].name, err)
			}
			if i > 0 {
				r.programs[k].runs = append(r.programs[k].runs, u)
			}
		}
		if i > 0 {
			continue
		}
		if err := s.describe(ctx, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// prepare makes the input and a chain that waits for it. The chain begins with an empty
// object: a run that finds nothing begins none.
func (s *stage) prepare(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(s.input), 0o755); err != nil {
		return err
	}
	text := "pipeline: bench\nstore: ./lake\nsource: {files: {path: ./in, settle: 0s}}\n" + s.settings
	if err := os.WriteFile(filepath.Join(s.dir, "pipeline.yaml"), []byte(text), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.input), "begin.ndjson"), nil, 0o644); err != nil {
		return err
	}
	if _, err := measure(ctx, s.ours()); err != nil {
		return err
	}
	if err := os.Rename(s.path("lake"), s.path("chain")); err != nil {
		return err
	}
	return s.make(ctx, s.input)
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// ours is a run of batcher.
func (s *stage) ours() command {
	args := []string{s.tools.batcher, "run", "--quiet"}
	if s.threads > 0 {
		args = append(args, fmt.Sprintf("--threads=%d", s.threads))
	}
	return command{args: args, dir: s.dir}
}

// parquet is where a program writes.
func (s *stage) parquet(k int) string {
	if k == 0 {
		return s.path("lake/bench/data/**/*.parquet")
	}
	return s.path(fmt.Sprintf("rival%d.parquet", k))
}

// run lets one program do its work once.
func (s *stage) run(ctx context.Context, k int) (usage, error) {
	if k > 0 {
		return measure(ctx, s.rivals[k-1].command(s.tools, input{s.input, s.parquet(k), s.threads}))
	}
	if err := os.RemoveAll(s.path("lake")); err != nil {
		return usage{}, err
	}
	if err := os.CopyFS(s.path("lake"), os.DirFS(s.path("chain"))); err != nil {
		return usage{}, err
	}
	return measure(ctx, s.ours())
}

// describe looks at the files, and compares what they hold with what batcher
// wrote.
func (s *stage) describe(ctx context.Context, r *row) error {
	for k := range r.programs {
		var found []struct{ Size, Groups, Rows int64 }
		err := s.tools.query(ctx, fmt.Sprintf(`SELECT
			(SELECT sum(octet_length(content))::BIGINT FROM read_blob('%[1]s')) AS size,
			(SELECT max(row_group_num_rows) FROM parquet_metadata('%[1]s')) AS groups,
			(SELECT count(*) FROM '%[1]s') AS rows`, s.parquet(k)), &found)
		if err != nil {
			return err
		}
		r.programs[k].size, r.programs[k].groups = found[0].Size, found[0].Groups
		if k == 0 {
			r.records = found[0].Rows
			continue
		}
		if err := s.equal(ctx, k); err != nil {
			return fmt.Errorf("compare contents with %s: %w", r.programs[k].name, err)
		}
	}
	return nil
}

// equal takes the rows of two files from each other, both ways, in every column
// and every part of it. Types are those of DuckDB's file, to which values of
// batcher and Polars are cast: instants with and without zone, texts and UUIDs,
// objects that stand as their JSON text. It also makes sure that a missing row
// would be noticed.
func (s *stage) equal(ctx context.Context, k int) error {
	types, err := s.columns(ctx, 1)
	if err != nil {
		return err
	}
	var rows [2]string
	for i, program := range []int{0, k} {
		own, err := s.columns(ctx, program)
		if err != nil {
			return err
		}
		rows[i] = "SELECT " + casts(own, types) + " FROM '" + s.parquet(program) + "'"
	}
	var found []struct{ Ours, Theirs, Missed int64 }
	err = s.tools.query(ctx, fmt.Sprintf(`SET TimeZone = 'UTC'; SET memory_limit = '8GB'; SELECT
		(SELECT count(*) FROM (%[1]s EXCEPT ALL %[2]s)) AS ours,
		(SELECT count(*) FROM (%[2]s EXCEPT ALL %[1]s)) AS theirs,
		(SELECT count(*) FROM (%[1]s EXCEPT ALL (%[2]s OFFSET 1))) AS missed`, rows[0], rows[1]), &found)
	if err != nil {
		return err
	}
	if got := found[0]; got.Ours != 0 || got.Theirs != 0 || got.Missed != 1 {
		return fmt.Errorf("%d rows are batcher's alone, %d the other's; without one row %d are missed", got.Ours, got.Theirs, got.Missed)
	}
	return nil
}

// column is a column of a Parquet file, and its type in DuckDB.
type column struct{ Name, Type string }

// columns are those that hold the content of the input.
func (s *stage) columns(ctx context.Context, k int) ([]column, error) {
	var list []column
	err := s.tools.query(ctx, fmt.Sprintf(`SELECT column_name AS "name", column_type AS "type" FROM (DESCRIBE FROM '%s')
		WHERE column_name NOT IN ('filename', 'record_number', '_source', '_offset', '_rescued') ORDER BY 1`, s.parquet(k)), &list)
	return list, err
}

// casts selects the columns under the given types.
func casts(own, types []column) string {
	var list []string
	for _, c := range types {
		name := `"` + strings.ReplaceAll(c.Name, `"`, `""`) + `"`
		value := name
		isText := slices.Contains(own, column{c.Name, "VARCHAR"})
		if isText && (strings.HasPrefix(c.Type, "STRUCT") || strings.HasPrefix(c.Type, "MAP") || strings.HasSuffix(c.Type, "[]")) {
			value = "CAST(" + name + " AS JSON)"
		}
		list = append(list, "CAST("+value+" AS "+c.Type+") AS "+name)
	}
	return strings.Join(list, ", ")
}
