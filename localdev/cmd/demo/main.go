// Command demo is what the services of docker-compose.yml need and images
// without a shell lack.
//
// Duty: say whether an address answers (probe), and fill a bucket with sample data
// (seed).
//
// Invariants: each command does one thing and ends with 0 only if it was done;
// the same seed gives the same objects, byte for byte.
//
// It never ships: schedules, health checks and buckets of a real installation
// are its platform's.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

var errUsage = errors.New(`usage: demo probe URL
       demo seed ENDPOINT BUCKET PREFIX FILES RECORDS`)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

// run does what the arguments say.
func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "probe":
		return probe(ctx, args[1])
	case len(args) == 6 && args[0] == "seed":
		return seedCommand(ctx, args[1:], os.Stdout)
	}
	return errUsage
}
