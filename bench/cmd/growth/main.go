// Command growth lets one pipeline commit many batches and measures what a run, a
// compaction and a look at the table cost as its history grows.
//
// Duty: play batches of one small object each, a compaction every so many of them,
// expiries and collections as an operator would schedule them, on a store in memory
// that counts requests and bytes; measure at chosen lengths; print a table and a plot.
//
// Invariants: every batch is an invocation of its own that knows nothing of those
// before it; what is measured is what the program's rooms do, with nothing left out
// but the network.
//
// It never measures the listing of a source: what lies there is the user's choice,
// so the source here keeps little.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
)

// settings are the flags.
type settings struct {
	marks []int // batches after which is measured
	doc   string
	plot  string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := start(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	w := newWorld()
	var rows []row
	for _, mark := range s.marks {
		if err := w.grow(ctx, mark); err != nil {
			return err
		}
		r, err := w.measure(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%d batches: %v\n", mark, r.costs)
		rows = append(rows, r)
	}
	return s.publish(rows)
}

func parse(args []string) (*settings, error) {
	s := &settings{}
	f := flag.NewFlagSet("growth", flag.ContinueOnError)
	marks := f.String("at", "10,200,1000,10000,100000", "measure after so many `batches`, rising")
	f.StringVar(&s.doc, "doc", "", "put the table into the marked place of the `file`")
	f.StringVar(&s.plot, "plot", "", "draw the requests into the SVG `file`")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	last := 0
	for _, text := range strings.Split(*marks, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n <= last {
			return nil, fmt.Errorf("-at %s: wants rising numbers", *marks)
		}
		s.marks, last = append(s.marks, n), n
	}
	return s, nil
}
