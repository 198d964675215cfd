// Command compare runs batcher, DuckDB and Polars in turn over the same inputs,
// whole processes from start to end, and says what each needed.
//
// Duty: make the inputs, prove that all programs write the same content, measure
// them pair by pair, and print medians, ratios and a plot.
//
// Invariants: nothing is measured before the contents were found equal; the runs
// of the programs alternate, so that what else the machine does strikes all; each
// ratio is the median of the ratios of runs that followed each other.
//
// It never measures what batcher does only once in the life of a pipeline: the
// chain and the probe of the store exist before, as they do for every run but the
// first. It never keeps inputs or outputs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"

	"batcher/bench"
)

// settings are the flags.
type settings struct {
	pairs    int
	megabyte int64 // of an ordinary input
	large    int64 // of the input that memory is looked at with, in megabytes; 0: none
	seed     uint64
	only     *regexp.Regexp
	doc      string
	plot     string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := start(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// start makes an input, as a process of its own, or compares: how files are merged if
// that is asked for, else how they are made. The memory of the
// process that starts others is the least that the system reports of these.
func start(ctx context.Context, args []string) error {
	if len(args) == 5 && args[0] == "generate" {
		seed, err := strconv.ParseUint(args[2], 10, 64)
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(args[3], 10, 64)
		if err != nil {
			return err
		}
		return generate(bench.Shape(args[1]), seed, size, args[4])
	}
	if len(args) > 0 && args[0] == "compact" {
		return compareCompact(ctx, args[1:])
	}
	s, err := parse(args)
	if err != nil {
		return err
	}
	return compare(ctx, s)
}

func parse(args []string) (*settings, error) {
	s := &settings{}
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.IntVar(&s.pairs, "pairs", 7, "runs of each program for each input, after one that does not count")
	f.Int64Var(&s.megabyte, "mb", 200, "megabytes of an ordinary input")
	f.Int64Var(&s.large, "large", 2000, "megabytes of the input that memory is looked at with; 0: none")
	f.Uint64Var(&s.seed, "seed", 42, "what the events are drawn from")
	only := f.String("only", "", "measure only inputs whose name matches the `pattern`")
	f.StringVar(&s.doc, "doc", "", "put the tables into the marked place of the `file`")
	f.StringVar(&s.plot, "plot", "", "draw the times into the SVG `file`")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if s.pairs < 1 {
		return nil, fmt.Errorf("-pairs %d: at least 1", s.pairs)
	}
	var err error
	s.only, err = regexp.Compile(*only)
	return s, err
}

// compare measures all workloads.
func compare(ctx context.Context, s *settings) error {
	t, err := installTools(ctx)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "batcher-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if t.batcher, err = build(ctx, work); err != nil {
		return err
	}
	out := &results{settings: s, machine: machine(ctx)}
	for _, w := range workloads(s) {
		if !s.only.MatchString(w.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s …\n", w.name)
		dir := filepath.Join(work, "case")
		r, err := w.measure(ctx, t, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		out.rows = append(out.rows, r)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return out.publish("bench")
}
