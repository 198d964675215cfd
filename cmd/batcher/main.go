// Command batcher turns files of events into Parquet tables on object storage,
// one bounded batch at a time, with an exactly-once effect.
//
// Duty: read the command line and the pipeline file, choose the vendors, call
// the rooms, print results to stdout and everything else to stderr, and end with
// the documented exit code.
//
// Invariants: flags may stand before or after arguments; a failure ends in
// exactly one exit code of the table in exit.go, with "batcher: …" and, where
// somebody can act, "hint: …" on stderr; run -o json prints exactly one line on
// stdout, failed or not; the first SIGINT or SIGTERM ends the program between
// batches, the second at once.
//
// It never holds behaviour that a room could hold, and no other package chooses
// a vendor.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // zones of times where the machine has no database of them

	"batcher/lambda"
)

func main() {
	collectEarly(os.Environ())
	limits{}.orDefault(os.DirFS("/"), os.Environ()).apply()
	if lambda.InRuntime(os.Environ()) {
		lambda.Start(lambdaRunner(process{Stdin: os.Stdin, Stdout: os.Stderr, Stderr: os.Stderr, Environ: os.Environ()}, wired()))
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args, process{
		Stdin:    os.Stdin,
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Environ:  os.Environ(),
		Signals:  signals,
		Kill:     os.Exit,
		Limit:    limits.apply,
		Terminal: isTerminal(os.Stderr),
		Results:  isTerminal(os.Stdout),
		Width:    widthOf(os.Stderr),
	}, wired()))
}

// process is what the program takes from the process it runs in.
type process struct {
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Environ  []string         // NAME=value
	Signals  <-chan os.Signal // interrupts; the second one kills
	Kill     func(code int)   // ends the process at once
	Limit    func(limits)     // bounds what the process takes of the machine
	Terminal bool             // Stderr is a terminal
	Results  bool             // Stdout is a terminal
	Width    func() int       // of Stderr, where it is a terminal
}

// run is the program: it returns the exit code. args[0] is the program's name.
func run(args []string, proc process, v verbs) int {
	ctx, stop := watchSignals(context.Background(), proc.Signals, proc.Kill)
	defer stop()
	s := newShell(proc, v)
	err := protect(func() error { return s.execute(ctx, args) })
	return conclude(proc.Stderr, s.colors, interrupted(ctx, err))
}
