package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"batcher/source"
)

// gapPolicy says what to do when records of the source are gone.
type gapPolicy string

const (
	gapFail gapPolicy = "fail" // exit 66
	gapSkip gapPolicy = "skip" // record the gap in the manifest and go on
)

// planOptions decide what a run reads.
type planOptions struct {
	MaxBatches int           // 0: no bound
	Deadline   time.Duration // from the start of the run; 0: none
	Range      string        // file of explicit ranges, "-" for stdin; "": plan
	Shard      source.Shard
	OnGap      gapPolicy
}

func (s *shell) planCommand() *cli.Command {
	return s.command(cli.Command{
		Name:        "plan",
		Usage:       "say what a run would read and write; changes nothing",
		Description: "Takes the flags of run that say what is read. --deadline makes no difference: how long a batch takes shows when it runs.",
		Flags:       planFlags(),
	}, func(c *cli.Context) (action, error) {
		o, err := parsePlan(c)
		return body(s.verbs.Plan, o), err
	})
}

func planFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{DefaultText: "no bound", Name: "max-batches", Usage: "end after `N` batches"},
		&cli.DurationFlag{DefaultText: "none", Name: "deadline", Usage: "end in time: the last commit is done within `DURATION`"},
		&cli.StringFlag{Name: "range", Usage: "read exactly the ranges in `FILE`, JSON from show -o json (- for stdin)"},
		shardIndexFlag(),
		&cli.StringFlag{Name: "on-gap", Value: string(gapFail), Usage: "`POLICY` when records of the source are gone: fail, or skip and record it"},
	}
}

func parsePlan(c *cli.Context) (o planOptions, err error) {
	if err := noArguments(c); err != nil {
		return o, err
	}
	if o.MaxBatches, err = atLeast(c, "max-batches", 1); err != nil {
		return o, err
	}
	if o.Deadline, err = positiveDuration(c, "deadline"); err != nil {
		return o, err
	}
	if o.Shard, err = shardFlag(c); err != nil {
		return o, err
	}
	o.Range, o.OnGap = c.String("range"), gapPolicy(c.String("on-gap"))
	if c.IsSet("range") && o.Range == "" {
		return o, usageError("", "--range: wants a file")
	}
	if o.Range != "" && c.IsSet("shard") {
		return o, usageError("", "--range and --shard exclude each other")
	}
	return o, oneOf("on-gap", string(o.OnGap), string(gapFail), string(gapSkip))
}
