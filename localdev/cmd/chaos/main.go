// Command chaos tortures batcher on a real store on this machine and proves
// afterwards that nothing was lost: see package chaos.
//
// Duty: start the store, let the torture run, print the figures, stop all.
//
// Invariants: the exit code is 0 only if the proof was complete; what was
// started is stopped, also on SIGINT and SIGTERM.
//
// It never touches a store that it did not start, but for the verb collect,
// with which the torture runs it: that is one gc on the store of the AWS
// variables.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"batcher/commit"
	"batcher/localdev"
	"batcher/localdev/chaos"
	"batcher/object"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	os.Exit(code(err))
}

// code tells the torture, which runs collect, what to think of an error. The
// codes are those of batcher.
func code(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, commit.ErrDamaged):
		return 70
	case errors.Is(err, commit.ErrNoChain):
		return 66
	case errors.As(err, new(*commit.SupersededError)):
		return 71
	case errors.Is(err, commit.ErrUnresolved), errors.Is(err, object.ErrUnknown), errors.Is(err, object.ErrConflict):
		return 75
	}
	return 1
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "collect" {
		return collect(ctx, args[1:])
	}
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	kills := flags.Int("kills", 100, "processes to kill")
	writers := flags.Int("writers", 4, "processes at a time")
	store := flags.String("store", "minio", "minio or versitygw")
	seed := flags.Uint64("seed", 0, "of every choice; 0: of the clock")
	limit := flags.Duration("limit", 30*time.Minute, "the torture must have ended by then")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	return torture(ctx, *store, chaos.Options{
		Kills: *kills, Writers: *writers, Seed: *seed, Limit: *limit,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
}

func torture(ctx context.Context, store string, o chaos.Options) (err error) {
	start, known := map[string]func(context.Context, localdev.Options) (*localdev.Server, error){
		"minio": localdev.StartMinIO, "versitygw": localdev.StartVersity,
	}[store]
	if !known {
		return fmt.Errorf("store %q: wants minio or versitygw", store)
	}
	fmt.Printf("store %s, seed %d\n", store, o.Seed)
	if o.Folder, err = os.MkdirTemp("", "batcher-chaos-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Folder)) }()
	if o.Programs, err = chaos.Build(ctx, o.Folder); err != nil {
		return err
	}
	if o.Server, err = start(ctx, localdev.Options{Buckets: chaos.Buckets()}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Server.Stop()) }()
	figures, err := chaos.Run(ctx, o)
	fmt.Println(figures)
	return err
}

// collect is one gc: BUCKET PREFIX PIPELINE KEEP.
func collect(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("usage: chaos collect BUCKET PREFIX PIPELINE KEEP")
	}
	keep, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	report, err := chaos.Collect(ctx, args[0], args[1], args[2], keep)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}
