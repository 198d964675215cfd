package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"batcher/bench"
)

// deltaTable is the rival in merging small files.
const deltaTable = "deltalake"

// smallInput is how many bytes of flat events come to a Parquet file of 1 MB.
const smallInput = 8_700_000

// compaction compares how small files are merged: batcher's chain, and the same
// files as the Delta table that batcher publishes.
type compaction struct {
	settings
	tools *tools
	files int
	dir   string // with the lake; kept
}

// compareCompact is the mode "compact".
func compareCompact(ctx context.Context, args []string) error {
	c := &compaction{}
	f := flag.NewFlagSet("compact", flag.ContinueOnError)
	f.IntVar(&c.pairs, "pairs", 3, "runs of each program, after one that does not count")
	f.IntVar(&c.files, "files", 1000, "files of 1 MB")
	f.Uint64Var(&c.seed, "seed", 42, "what the events are drawn from")
	f.StringVar(&c.dir, "dir", "", "`folder` for inputs and files, which is kept and used again; default: one that is deleted")
	f.StringVar(&c.doc, "doc", "", "put the table into the marked place of the `file`")
	if err := f.Parse(args); err != nil {
		return err
	}
	if c.pairs < 1 || c.files < 2 {
		return fmt.Errorf("-pairs %d -files %d: at least 1 and 2", c.pairs, c.files)
	}
	work, err := os.MkdirTemp("", "batcher-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if c.dir == "" {
		c.dir = work
	}
	if c.tools, err = installTools(ctx); err != nil {
		return err
	}
	if c.tools.batcher, err = build(ctx, work); err != nil {
		return err
	}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	r, err := c.measure(ctx)
	if err != nil {
		return err
	}
	out := &results{settings: &c.settings, machine: machine(ctx), rows: []*row{r}}
	return out.publish("compact")
}

// prepare makes the small files, a batch for each, unless they are there.
func (c *compaction) prepare(ctx context.Context) error {
	if _, err := os.Stat(c.path("lake")); err == nil {
		return nil
	}
	if err := os.MkdirAll(c.path("in"), 0o755); err != nil {
		return err
	}
	for i := range c.files {
		if err := generate(bench.Flat, c.seed+uint64(i), smallInput, c.path(fmt.Sprintf("in/%06d.ndjson", i))); err != nil {
			return err
		}
	}
	text := "pipeline: bench\nstore: ./lake\nsource: {files: {path: " + c.path("in") + ", settle: 0s}}\nbatch: {max_objects: 1}\ncompact: {after_run: 0}\n"
	if err := os.WriteFile(c.path("pipeline.yaml"), []byte(text), 0o644); err != nil {
		return err
	}
	_, err := measure(ctx, command{args: []string{c.tools.batcher, "run", "--quiet"}, dir: c.dir})
	return err
}

func (c *compaction) path(name string) string { return filepath.Join(c.dir, name) }

// measure lets both merge in turn, each in a fresh copy of the lake.
func (c *compaction) measure(ctx context.Context) (*row, error) {
	r := &row{workload: &workload{name: "merge"}, programs: []program{{name: ours}, {name: deltaTable}}}
	for i := range c.pairs + 1 {
		for k := range r.programs {
			u, err := c.run(ctx, k)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.programs[k].name, err)
			}
			if i > 0 {
				r.programs[k].runs = append(r.programs[k].runs, u)
			}
		}
		if i == 0 {
			if err := c.describe(ctx, r); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// run merges in a copy of the lake.
func (c *compaction) run(ctx context.Context, k int) (usage, error) {
	dir := c.path([]string{"ours", "theirs"}[k])
	if err := os.RemoveAll(dir); err != nil {
		return usage{}, err
	}
	if err := os.CopyFS(filepath.Join(dir, "lake"), os.DirFS(c.path("lake"))); err != nil {
		return usage{}, err
	}
	if k == 0 {
		return measure(ctx, command{args: []string{c.tools.batcher, "--config", c.path("pipeline.yaml"), "--set", "store=" + filepath.Join(dir, "lake"), "compact"}, dir: dir})
	}
	script := fmt.Sprintf("import deltalake; deltalake.DeltaTable('%s').optimize.compact()", filepath.Join(dir, "lake", "bench"))
	return measure(ctx, command{args: []string{c.tools.python, "-c", script}})
}

// describe looks at what stands in both tables after the merge, and compares the sums
// of the hashes of all rows, over every column.
func (c *compaction) describe(ctx context.Context, r *row) error {
	var lists [2]string
	for k, dir := range []string{"ours", "theirs"} {
		script := fmt.Sprintf("import deltalake; print('\\n'.join(deltalake.DeltaTable('%s').file_uris()))", c.path(dir+"/lake/bench"))
		text, err := output(exec.CommandContext(ctx, c.tools.python, "-c", script))
		if err != nil {
			return err
		}
		lists[k] = "['" + strings.Join(strings.Fields(string(text)), "', '") + "']"
		var found []struct{ Size, Groups, Rows int64 }
		err = c.tools.query(ctx, fmt.Sprintf(`SELECT (SELECT sum(octet_length(content))::BIGINT FROM read_blob(%[1]s)) AS size,
			(SELECT max(row_group_num_rows) FROM parquet_metadata(%[1]s)) AS groups, (SELECT count(*) FROM read_parquet(%[1]s)) AS rows`, lists[k]), &found)
		if err != nil {
			return err
		}
		r.programs[k].size, r.programs[k].groups, r.records = found[0].Size, found[0].Groups, found[0].Rows
	}
	r.bytes = int64(c.files) * 1_000_000
	var sums []struct{ Rows, Sum string }
	err := c.tools.query(ctx, fmt.Sprintf(`SELECT count(*)::VARCHAR AS rows, sum(hash(t))::VARCHAR AS sum FROM read_parquet(%s) t
		UNION ALL SELECT count(*)::VARCHAR, sum(hash(t))::VARCHAR FROM read_parquet(%s) t`, lists[0], lists[1]), &sums)
	if err != nil {
		return err
	}
	if sums[0] != sums[1] {
		return fmt.Errorf("batcher's rows come to %v, the other's to %v", sums[0], sums[1])
	}
	return nil
}
