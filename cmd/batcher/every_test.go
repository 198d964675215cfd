package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"batcher/object"
	"batcher/pipeline"
)

// repeated plays run with more flags in a bubble, and tells when each round began. The
// round returns what it is told; a signal comes after the last of them.
func repeated(t *testing.T, outcomes []error, args ...string) (starts []time.Duration, p played) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		signals := make(chan os.Signal, 1)
		begun := time.Now()
		v := verbs{Run: func(context.Context, *call, runOptions) (report, error) {
			starts = append(starts, time.Since(begun))
			time.Sleep(time.Second)
			if len(starts) > len(outcomes) {
				signals <- syscall.SIGTERM
				return report{Outcome: outcomeEmpty}, nil
			}
			if err := outcomes[len(starts)-1]; err != nil {
				return report{}, err
			}
			return report{Outcome: outcomeEmpty, Progress: reportProgress{Objects: 1}}, nil
		}}
		p = playWith(process{Signals: signals, Kill: func(int) {}}, v, append([]string{"run"}, args...)...)
	})
	return starts, p
}

func TestEveryRunsFromStartToStartUntilASignal(t *testing.T) {
	starts, p := repeated(t, make([]error, 50), "--every", "30s")
	if p.code != exitTerminated || len(starts) != 51 || p.stdout != "" {
		t.Fatalf("exit %d, %d rounds, stdout %q, stderr %q", p.code, len(starts), p.stdout, p.stderr)
	}
	for i := 1; i < len(starts); i++ {
		if gap := starts[i] - starts[i-1]; gap < 27*time.Second || gap > 33*time.Second {
			t.Errorf("round %d begins %s after the one before", i, gap)
		}
	}
	if mean := starts[50] / 50; mean < 29*time.Second || mean > 31*time.Second {
		t.Errorf("rounds begin every %s in the mean", mean)
	}
	if _, p := repeated(t, make([]error, 3), "--every", "30s", "-o", "json"); strings.Count(p.stdout, "\n") != 4 {
		t.Errorf("four rounds printed %q", p.stdout)
	}
}

func TestEveryIsPatientAfterFailures(t *testing.T) {
	down := fmt.Errorf("get x: %w", object.ErrUnknown)
	starts, p := repeated(t, []error{down, down, down, down, down, down, nil}, "--every", "10s")
	if p.code != exitTerminated || len(starts) != 8 {
		t.Fatalf("exit %d, %d rounds: %s", p.code, len(starts), p.stderr)
	}
	for i, want := range []time.Duration{21, 41, 81, 101, 101, 101, 10} {
		gap := starts[i+1] - starts[i]
		if most := want * time.Second * 12 / 100; gap < want*time.Second-most || gap > want*time.Second+most {
			t.Errorf("round %d begins %s after the one before, want about %ds", i+1, gap, want)
		}
	}
	if n := strings.Count(p.stderr, "batcher: get x: "); n != 6 {
		t.Errorf("%d of 6 failures are told: %s", n, p.stderr)
	}
}

func TestEveryEndsWhereNoRepetitionHelps(t *testing.T) {
	for _, code := range []int{exitUsage, exitBadRecords, exitGap, exitUnavailable, exitDamaged, exitDenied, exitConfig} {
		if starts, p := repeated(t, []error{nil, &exitError{Code: code, Err: errors.New("x")}}, "--every", "1m"); p.code != code || len(starts) != 2 {
			t.Errorf("%d: exit %d after %d rounds", code, p.code, len(starts))
		}
	}
	for _, code := range []int{exitSuperseded, exitTemporary} {
		if starts, p := repeated(t, []error{&exitError{Code: code, Err: errors.New("x")}}, "--every", "1m"); p.code != exitTerminated || len(starts) != 2 {
			t.Errorf("%d: exit %d after %d rounds", code, p.code, len(starts))
		}
	}
	for _, line := range []string{"--range r.json", "--accept-bad", "--fail-on-empty", "--dry-run"} {
		if p := play(verbs{}, append([]string{"run", "--every", "1m"}, strings.Fields(line)...)...); p.code != exitUsage {
			t.Errorf("--every %s: exit %d", line, p.code)
		}
	}
}

func TestASignalEndsThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 1)
		rounds := 0
		v := verbs{Run: func(context.Context, *call, runOptions) (report, error) {
			rounds++
			time.AfterFunc(5*time.Second, func() { signals <- os.Interrupt })
			return report{Outcome: outcomeEmpty}, nil
		}}
		begun := time.Now()
		p := playWith(process{Signals: signals, Kill: func(int) {}}, v, "run", "--every", "10m")
		if p.code != exitInterrupted || rounds != 1 || time.Since(begun) != 5*time.Second {
			t.Errorf("exit %d after %d rounds and %s", p.code, rounds, time.Since(begun))
		}
	})
}

// TestEveryGoesOnBesideObjectsThatWait neither ends nor slows down, and names them once.
func TestEveryGoesOnBesideObjectsThatWait(t *testing.T) {
	waiting := &pipeline.WaitingError{Objects: []pipeline.Unreadable{{Key: "a", Cause: "archived"}}}
	starts, p := repeated(t, []error{waiting, waiting, waiting, nil, waiting}, "--every", "30s")
	if p.code != exitTerminated || len(starts) != 6 || strings.Count(p.stderr, `"a": archived`) != 2 {
		t.Fatalf("exit %d, %d rounds: %s", p.code, len(starts), p.stderr)
	}
	for i := 1; i < len(starts); i++ {
		if gap := starts[i] - starts[i-1]; gap < 27*time.Second || gap > 33*time.Second {
			t.Errorf("round %d begins %s after the one before", i, gap)
		}
	}
}
