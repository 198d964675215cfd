package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// interruption is the cause of a context that a signal cancelled.
type interruption struct{ signal os.Signal }

func (i *interruption) Error() string { return fmt.Sprintf("interrupted (%s)", i.signal) }

// code is 128 and the number of the signal: 130 or 143.
func (i *interruption) code() int {
	if s, ok := i.signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 130
}

// watchSignals returns a context that the first signal cancels. The second one
// ends the process by kill: every step of a run may be cut anywhere. stop ends
// the watch.
func watchSignals(parent context.Context, signals <-chan os.Signal, kill func(int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	done := make(chan struct{})
	go func() {
		for count := 0; ; count++ {
			select {
			case <-done:
				return
			case s := <-signals:
				i := &interruption{s}
				if count > 0 {
					kill(i.code())
					return
				}
				cancel(i)
			}
		}
	}()
	return ctx, func() {
		close(done)
		cancel(nil)
	}
}

// interrupted gives an error that a signal brought about its exit code. Other
// failures stay what they are, and so does a success in spite of the signal.
func interrupted(ctx context.Context, err error) error {
	var i *interruption
	if err == nil || !errors.As(context.Cause(ctx), &i) || !errors.Is(err, context.Canceled) {
		return err
	}
	return &exitError{Code: i.code(), Err: i, Hint: "whole batches are committed or nothing; run again"}
}
