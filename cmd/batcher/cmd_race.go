package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"batcher/object"
)

// The race of processes that doctor starts.
const (
	raceVerb      = "doctor-racer" // hidden: only doctor starts it
	raceProcesses = 16
	raceKeys      = 20
	raceDelay     = 500 * time.Millisecond // until all have started
)

// racer names one process of the race.
type racer struct {
	Prefix string
	Who    string
	Start  time.Time
}

func (s *shell) raceCommand() *cli.Command {
	return s.command(cli.Command{Name: raceVerb, Hidden: true, ArgsUsage: "PREFIX WHO START"}, func(c *cli.Context) (action, error) {
		given, err := arguments(c, 3, 3)
		if err != nil {
			return nil, err
		}
		start, err := strconv.ParseInt(given[2], 10, 64)
		if err != nil {
			return nil, usageError("", "start %q: wants nanoseconds", given[2])
		}
		o := racer{given[0], given[1], time.Unix(0, start)}
		return func(ctx context.Context, c *call) error { return race(ctx, c, o) }, nil
	})
}

// race tries to create every key, and prints a line for each that it won.
func race(ctx context.Context, c *call, o racer) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	if err := (wallClock{}).Sleep(ctx, time.Until(o.Start)); err != nil {
		return err
	}
	for key := range raceKeys {
		_, err := r.store.Put(ctx, fmt.Sprintf("%s%d", o.Prefix, key), []byte(o.Who), object.IfAbsent)
		switch {
		case err == nil:
			if err := printTo(c.Stdout, fmt.Sprintf("%d\n", key)); err != nil {
				return err
			}
		case !errors.Is(err, object.ErrExists) && !errors.Is(err, object.ErrConflict):
			return err
		}
	}
	return nil
}

// launchRace starts the racers with the same pipeline file and counts the
// winners of each key.
func (c *call) launchRace(ctx context.Context, prefix string) ([]int, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	start := strconv.FormatInt(time.Now().Add(raceDelay).UnixNano(), 10)
	winners, failures := make([]int, raceKeys), make([]error, raceProcesses)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range raceProcesses {
		wg.Go(func() {
			args := []string{raceVerb, prefix, strconv.Itoa(i), start, "-c", c.Config, "-q"}
			for _, set := range c.Set {
				args = append(args, "--set", set)
			}
			cmd := exec.CommandContext(ctx, program, args...)
			cmd.Env = c.Environ
			out, err := cmd.Output()
			if err != nil {
				failures[i] = fmt.Errorf("racer %d: %w: %w", i, object.ErrUnknown, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for _, line := range strings.Fields(string(out)) {
				if key, err := strconv.Atoi(line); err == nil && key >= 0 && key < raceKeys {
					winners[key]++
				}
			}
		})
	}
	wg.Wait()
	return winners, errors.Join(failures...)
}
