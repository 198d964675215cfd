// Command readers has all engines read what batcher publishes, and writes down what
// they made of it: see package interop.
//
// Duty: make the tables in a folder and on a MinIO, ask each reader, print the matrix
// and put it into the document.
//
// Invariants: the exit code is 0 only if every reader was there and all that it read
// was equal, or differed as it is known to; what was started is stopped.
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
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"batcher/interop"
	"batcher/localdev"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "readers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("readers", flag.ContinueOnError)
	doc := flags.String("doc", "", "put the matrix into the marked place of the `file`")
	only := flags.String("only", "", "ask only the readers whose names contain the `text`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "batcher-readers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server, err := localdev.StartMinIO(ctx, localdev.Options{Buckets: []string{"lake"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	outcomes, failed := ask(ctx, dir, *only, []interop.Place{{Name: "folder", Root: filepath.Join(dir, "lake")}, {Name: "MinIO", Root: "s3://lake/tables", Server: server}})
	if len(outcomes) == 0 {
		return errors.Join(failed, errors.New("nothing was read"))
	}
	text := fmt.Sprintf("Written by `make interop` on %s.\n\n%s", time.Now().UTC().Format(time.DateOnly), interop.Matrix(outcomes))
	fmt.Print(text)
	if *doc != "" {
		return errors.Join(failed, localdev.PutSection(*doc, "readers", text))
	}
	return failed
}

// ask has the readers read the tables of all places. The error joins those of all
// readers, and what differs.
func ask(ctx context.Context, dir, only string, places []interop.Place) ([]interop.Outcome, error) {
	program, err := interop.Build(ctx, dir)
	if err != nil {
		return nil, err
	}
	cases := map[string][]interop.Case{}
	for _, place := range places {
		if cases[place.Name], err = interop.Tell(ctx, program, filepath.Join(dir, place.Name), place); err != nil {
			return nil, err
		}
	}
	var all []interop.Outcome
	var failed []error
	for _, r := range append(interop.Quick(), interop.Slow()...) {
		if !strings.Contains(r.Name, only) {
			continue
		}
		for _, place := range places {
			fmt.Fprintf(os.Stderr, "%s reads what is in %s\n", r.Name, place.Name)
			outcomes, err := interop.Read(ctx, r, place, cases[place.Name])
			all, failed = append(all, outcomes...), append(failed, err)
			for _, o := range outcomes {
				if o.Problem != "" {
					failed = append(failed, fmt.Errorf("%s, %s, %s: %s", o.Reader, o.Place, o.Case, o.Problem))
				}
			}
		}
	}
	return all, errors.Join(failed...)
}
