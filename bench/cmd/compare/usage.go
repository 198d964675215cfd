package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// usage is what one process needed.
type usage struct {
	wall, cpu time.Duration
	peak      float64 // MiB of memory at most
}

// errUnknown is what a system without such figures gives.
var errUnknown = errors.New("this system does not say what a process needed")

// measure runs a command to its end.
func measure(ctx context.Context, c command) (usage, error) {
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	begun := time.Now()
	if _, err := output(cmd); err != nil {
		return usage{}, err
	}
	wall := time.Since(begun)
	r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return usage{}, errUnknown
	}
	unit := 1024.0 // Linux counts KiB, macOS bytes
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	return usage{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), float64(r.Maxrss) * unit / (1 << 20)}, nil
}

// median of some figures, by what f says of each.
func median[T any, V cmp.Ordered](all []T, f func(T) V) V {
	var values []V
	for _, x := range all {
		values = append(values, f(x))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
