package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// The pauses of run --every.
const (
	// mostPatience bounds the pause after failures, in pauses.
	mostPatience = 10
	// jitter is the part of a pause that chance adds or takes away, so that many
	// processes do not ask the same store at the same moment.
	jitter = 0.1
)

// repeat runs, waits and runs again, until a signal ends it between batches or a run
// fails in a way that no repetition cures. Each run opens everything anew: it reads the
// pipeline file and finds the head as a process of its own would.
func (s *shell) repeat(o runOptions) action {
	once := s.runAndReport(o)
	return func(ctx context.Context, c *call) error {
		c.Repeats = true
		waited := ""
		for failures := 0; ; {
			begun := time.Now()
			err := once(ctx, c)
			switch {
			case err == nil:
				failures, waited = 0, ""
			case ctx.Err() == nil && waits(nil)(err): // one bad object holds up no other
				if failures = 0; err.Error() != waited {
					waited = err.Error()
					conclude(c.Stderr, c.Errors, err)
				}
			case ctx.Err() != nil || !curedByTime(err):
				return err
			default:
				failures++
			}
			pause := pauseAfter(o.Every, failures, rand.Float64())
			if failures > 0 {
				c.tell(err, pause)
			} else {
				pause -= time.Since(begun) // the pause is from start to start
			}
			if err := (wallClock{}).Sleep(ctx, max(pause, 0)); err != nil {
				return interrupted(ctx, err)
			}
		}
	}
}

// curedByTime says whether a scheduler ought to run again: the codes that say so in the
// table.
func curedByTime(err error) bool {
	code := classify(err).Code
	return code == exitSuperseded || code == exitTemporary
}

// pauseAfter is how long to wait after so many failures in a row: twice as long each
// time, ten times as long at most. chance is from [0, 1).
func pauseAfter(every time.Duration, failures int, chance float64) time.Duration {
	factor := 1.0
	for range min(failures, mostPatience) {
		factor *= 2
	}
	return time.Duration(float64(every) * min(factor, mostPatience) * (1 + jitter*(2*chance-1)))
}

// tell prints a failure after which the program goes on.
func (c *call) tell(err error, pause time.Duration) {
	conclude(c.Stderr, c.Errors, err)
	if c.Log.Level <= slog.LevelWarn {
		fmt.Fprintf(c.Stderr, "batcher: runs again in %s\n", pause.Round(100*time.Millisecond))
	}
}

// repeatable refuses flags of run that make no sense in a loop.
func (o runOptions) repeatable() error {
	for _, f := range []struct {
		given bool
		flag  string
		why   string
	}{
		{o.Range != "", "--range", "the second round would find it committed"},
		{o.AcceptBad, "--accept-bad", "it is meant for one batch that somebody has looked at"},
		{o.FailOnEmpty, "--fail-on-empty", "most rounds are empty"},
	} {
		if o.Every > 0 && f.given {
			return usageError("", "--every and %s exclude each other: %s", f.flag, f.why)
		}
	}
	return nil
}
