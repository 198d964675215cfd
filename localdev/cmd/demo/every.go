package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// stopTimeout is how long a program may take to end once it was told to.
const stopTimeout = 30 * time.Second

// everyCommand runs a program at an interval until ctx ends. A run that fails is
// said so and followed by the next one, which is what exit codes 71 and 75 ask for
// and what a demonstration can afford for the others.
func everyCommand(ctx context.Context, interval string, program []string) error {
	pause, err := time.ParseDuration(interval)
	if err != nil || pause <= 0 {
		return fmt.Errorf("interval %q: wants a duration like 30s", interval)
	}
	every(ctx, pause, func() {
		if err := call(ctx, program); err != nil {
			fmt.Fprintf(os.Stderr, "demo: %s: %v\n", program[0], err)
		}
	})
	return nil
}

// every calls f at once and then at the interval, one call at a time, until ctx
// ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		f()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// call runs a program to its end. When ctx ends, the program is asked to end
// between two batches.
func call(ctx context.Context, program []string) error {
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	return cmd.Run()
}
