// Command events writes sample events into a directory, as examples and trials
// use them.
//
// Duty: make the same files for the same arguments.
//
// Invariants: an existing file is never changed.
//
// It never needs a network.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"batcher/localdev"
	"batcher/object/filestore"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "events:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: events DIRECTORY FILES RECORDS")
	}
	files, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	records, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	dir, err := filestore.New(args[0])
	if err != nil {
		return err
	}
	n, err := localdev.Seed(context.Background(), dir, localdev.SeedOptions{Objects: files, Records: records, Seed: 1})
	if err != nil {
		return err
	}
	fmt.Printf("%d events in %d files under %s\n", n, files, args[0])
	return nil
}
