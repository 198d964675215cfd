// Package sim explores every order in which processes can reach a store, and
// every fault on the way, while the processes run their real code.
//
// Duty: run processes as coroutines that stop at each store call; walk all
// states that any choice of who goes on next, and of what goes wrong, can lead
// to; check each of them; recover from each of them; and print the way to a
// failure as a schedule that can be replayed.
//
// What a process does must follow from the answers that it got. So its whole
// behaviour is a tree: a node is a list of answers, and holds the next call. Real
// code runs once for each node; all orders of the processes are then walked over
// these trees, without running anything again. A state is the content of the
// store, the writes still on their way, the node of each process and the number
// of faults left; states that are equal are merged, exactly and not by hash.
//
// A crash is a process that never goes on. Every reachable state is recovered
// from as if all processes were dead, and every other process is also explored
// while one rests for ever: so any number of crashes, before and after each call,
// is part of every exploration and costs no fault.
//
// Invariants: the store is linearizable; no process starts a goroutine that calls
// it; a process that does not repeat itself when it gets the same answers is
// reported and never explored in part.
//
// It never reads a clock, never draws randomness that is not a function of a
// process's name and never changes what a process is told but by a named fault.
package sim

import (
	"fmt"
	"strings"
)

// Fault is what happens to one store call.
type Fault uint8

// The faults. Lands is a step of the network, not of the process: the oldest
// write of the process that is still on its way arrives, under its condition.
const (
	OK         Fault = iota // the call takes effect and is answered
	AnswerLost              // it takes effect; the caller is told ErrUnknown
	NotApplied              // it never takes effect; the caller is told ErrUnknown
	Conflict                // a Put settles nothing and says so: ErrConflict
	Denied                  // a Put is refused: ErrDenied
	Delayed                 // a write is on its way; the caller gave up: ErrUnknown
	Lands                   // a delayed write arrives
)

var faultNames = [...]string{"OK", "AnswerLost", "NotApplied", "Conflict", "Denied", "Delayed", "Lands"}

// String is the name of the constant.
func (f Fault) String() string { return faultNames[f] }

// Step is one move: a process makes its next call, or a delayed write lands.
type Step struct {
	Process string
	Fault   Fault
}

// Schedule is a way through the states, from the start.
type Schedule []Step

// String is the schedule as a Go literal.
func (s Schedule) String() string {
	var b strings.Builder
	b.WriteString("sim.Schedule{")
	for i, step := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "{%q, sim.%s}", step.Process, step.Fault)
	}
	return b.String() + "}"
}

// FailureError is a state that a check refuses, and the way to it. Steps of the
// recovering process come last.
type FailureError struct {
	Schedule Schedule
	Calls    []string // what each step asked for
	Cause    error
}

// Error tells the cause and the schedule.
func (f *FailureError) Error() string {
	return fmt.Sprintf("%v\nschedule: %s\n  %s", f.Cause, f.Schedule, strings.Join(f.Calls, "\n  "))
}

// Unwrap is the cause.
func (f *FailureError) Unwrap() error { return f.Cause }
