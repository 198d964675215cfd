package chaos

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"batcher/commit"
	"batcher/compact"
	"batcher/manifest"
	"batcher/object/retry"
	"batcher/object/s3store"
)

// Programs are the real ones.
type Programs struct {
	Batcher string
	Collect string // the command of this package, which has the verb collect
}

// Build builds the programs into a folder. The working directory is somewhere in
// the module.
func Build(ctx context.Context, folder string) (Programs, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", folder+string(filepath.Separator), "batcher/cmd/batcher", "batcher/localdev/cmd/chaos")
	if out, err := cmd.CombinedOutput(); err != nil {
		return Programs{}, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return Programs{filepath.Join(folder, "batcher"), filepath.Join(folder, "chaos")}, nil
}

// implausible is the share of garbage at which gc refuses. Killed processes
// leave more than is plausible elsewhere.
const implausible = 0.99

// Collect is one gc with any retention: what "batcher gc --confirm" does, but
// with keep where that has seven days. It reaches the store through the AWS
// variables of its process.
func Collect(ctx context.Context, bucket, prefix, pipeline string, keep time.Duration) (compact.GCReport, error) {
	policy := retry.Default()
	s3, err := s3store.New(ctx, s3store.Config{Bucket: bucket, Prefix: prefix, Retry: retry.Loop(policy, retry.System())})
	if err != nil {
		return compact.GCReport{}, err
	}
	store := retry.New(s3, policy, retry.System())
	logger := slog.New(slog.DiscardHandler)
	log := commit.New(commit.Options{
		Store: store, Pipeline: pipeline, Clock: wallClock{}, Logger: logger,
		Writer: manifest.Writer{Version: "chaos", Host: "local", PID: os.Getpid()},
	})
	gc := &compact.GC{Log: log, Store: store, Now: time.Now, Logger: logger}
	return gc.Run(ctx, compact.GCOptions{Mode: compact.Confirm, Keep: keep, MaxShare: implausible})
}

// wallClock is the time of this machine.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) Sleep(ctx context.Context, d time.Duration) error {
	return retry.System().Sleep(ctx, d)
}
