// Command stores writes down what doctor and first runs make of S3 stores: see package
// localdev/stores.
//
// Duty: survey each store and put the table into the document.
//
// Invariants: the exit code is 0 only if every store was there and every verdict right;
// what was started is stopped.
//
// It never changes the document outside of the marked place.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"batcher/localdev"
	"batcher/localdev/stores"
)

// wanted is how many rounds the document has.
const wanted = 20

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stores:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("stores", flag.ContinueOnError)
	doc := flags.String("doc", "", "put the table into the marked place of the `file`")
	only := flags.String("only", "", "survey only the stores whose names contain the `text`")
	rounds := flags.Int("rounds", wanted, "`times` that each store is examined and a pipeline is begun on it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "batcher-stores-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := stores.Build(ctx, dir)
	if err != nil {
		return err
	}
	var rows []stores.Row
	var wrong error
	for _, t := range stores.Targets() {
		if !strings.Contains(t.Name, *only) {
			continue
		}
		row, err := stores.Survey(ctx, program, t, *rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		if !row.Right() {
			wrong = errors.Join(wrong, fmt.Errorf("%s: not the verdicts it must get: %q", t.Name, row.Strange))
		}
		rows = append(rows, row)
		fmt.Print(stores.Table([]stores.Row{row}))
	}
	if *doc != "" && (*only != "" || *rounds != wanted) {
		fmt.Printf("%s stays as it is: it has all stores, %d rounds each\n", *doc, wanted)
		return wrong
	}
	if *doc != "" {
		text := fmt.Sprintf("Written by `make stores` on %s, %d rounds each.\n\n%s", time.Now().UTC().Format(time.DateOnly), *rounds, stores.Table(rows))
		return errors.Join(wrong, localdev.PutSection(*doc, "stores", text))
	}
	return wrong
}
