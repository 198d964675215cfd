// Package lambda lets AWS Lambda start runs.
//
// Duty: turn each invocation into one call of a Runner: pass on the time that
// is left, answer with the run's report, and give each way to fail a type of
// its own, so that retries, Step Functions and destinations can tell them apart.
//
// Invariants:
//   - any event is a wake-up: its bytes are bounded and never looked at, because
//     what there is to do stands in the source and the chain, not in the event;
//   - a re-delivered event, or several at a time, need nothing from this
//     package: one run commits a range, the others find it committed and report
//     "already" or "empty" (the commit protocol, not a lock, sees to that);
//   - a run that fails is always a failed invocation, and its type ends in the
//     exit code that the command line would have ended with;
//   - a run is told to have its last commit done before Lambda's own deadline,
//     and is interrupted before that deadline rather than frozen at it.
//
// It never parses events, never retries (Lambda does), never keeps anything from
// one invocation to the next, and imports no other room.
package lambda

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// EventLimitBytes is the largest event that wakes a run: what Lambda itself
// allows for a synchronous invocation. More is refused as wrong usage.
const EventLimitBytes = 6 << 20

// The reserve is what is kept of an invocation's time for what follows the last
// commit: a tenth of the time that was given, at most reserveMost.
const (
	reserveShare = 10
	reserveMost  = 10 * time.Second
)

// Runner does one run. deadline is when the last commit has to be done; it is
// zero if there is none. ctx ends somewhat later, when half of the reserve is
// used up. report is the run's JSON report, with or without an error; code is
// the exit code that the command line would end with; err says why it is not 0.
//
// A Runner leaves nothing running behind: Lambda freezes the process between
// invocations. It must be safe for concurrent use where the function is set up
// to take several invocations per process.
type Runner func(ctx context.Context, deadline time.Time) (report json.RawMessage, code int, err error)

// InRuntime says whether this process was started by Lambda: whether the
// environment (NAME=value, see os.Environ) names a runtime API.
func InRuntime(environ []string) bool {
	const name = runtimeAPI + "="
	for _, entry := range environ {
		if len(entry) > len(name) && entry[:len(name)] == name {
			return true
		}
	}
	return false
}

// Start serves invocations until the process ends. It does not return: when the
// runtime API goes away, or after a panic was reported, it ends the process with
// code 1, and Lambda starts a new one. It is for main alone.
func Start(run Runner) { serve(run, os.Stdout, os.Stderr) }

// Handler returns the function that handles one invocation: the report, or an
// *Error with the report and the reason.
func Handler(run Runner) func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
		if len(event) > EventLimitBytes {
			return nil, &Error{Code: codeUsage, Err: fmt.Errorf("event of %d bytes, more than the %d allowed", len(event), EventLimitBytes)}
		}
		ctx, deadline, cancel := budget(ctx, time.Now())
		defer cancel()
		report, code, err := protect(ctx, run, deadline)
		if code == 0 && err == nil {
			return report, nil
		}
		return nil, failure(report, code, err)
	}
}

// budget divides the time that an invocation has left at now: the run is to be
// done at deadline, is interrupted halfway between deadline and Lambda's own,
// and the rest is for the answer. Without a deadline there is nothing to divide.
func budget(ctx context.Context, now time.Time) (context.Context, time.Time, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return ctx, time.Time{}, func() {}
	}
	reserve := min(end.Sub(now)/reserveShare, reserveMost)
	inner, cancel := context.WithDeadline(ctx, end.Add(-reserve/2))
	return inner, end.Add(-reserve), cancel
}

// protect calls run and turns a panic of it into code 1 with an error that
// keeps the stack. A panic of a goroutine that run started still ends the
// process.
func protect(ctx context.Context, run Runner, deadline time.Time) (report json.RawMessage, code int, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			report, code, err = nil, codeBug, &panicError{thrown, debug.Stack()}
		}
	}()
	return run(ctx, deadline)
}
