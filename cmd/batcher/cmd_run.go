package main

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v2"
)

// runOptions narrow one run.
type runOptions struct {
	planOptions
	AcceptBad   bool // commit batches over their bad-record budget
	FailOnEmpty bool // nothing to do is exit 3
	// Every is the pause between the starts of two runs of one process; 0: run once.
	Every time.Duration
}

func (s *shell) runCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "run",
		Usage: "drain what is there, batch by batch, each batch whole or not at all",
		Flags: append(planFlags(),
			&cli.BoolFlag{DisableDefaultText: true, Name: "accept-bad", Usage: "commit a batch over its bad-record budget, this once"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "fail-on-empty", Usage: "exit 3 when there is nothing to do"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "dry-run", Usage: "the same as batcher plan"},
			&cli.DurationFlag{DefaultText: "once", Name: "every", Usage: "run again every `DURATION`, until SIGTERM or a failure that no repetition cures"},
		),
	}, func(c *cli.Context) (action, error) {
		plan, err := parsePlan(c)
		if err != nil {
			return nil, err
		}
		o := runOptions{planOptions: plan, AcceptBad: c.Bool("accept-bad"), FailOnEmpty: c.Bool("fail-on-empty")}
		if o.Every, err = positiveDuration(c, "every"); err != nil {
			return nil, err
		}
		switch {
		case c.Bool("dry-run") && o.Every > 0:
			return nil, usageError("", "--every and --dry-run exclude each other")
		case c.Bool("dry-run"):
			return body(s.verbs.Plan, plan), nil
		case o.Every > 0:
			return s.repeat(o), o.repeatable()
		}
		return s.runAndReport(o), nil
	})
}

// runAndReport runs and prints the report, whether the run failed, panicked or
// succeeded. In JSON that is exactly one line.
func (s *shell) runAndReport(o runOptions) action {
	return func(ctx context.Context, c *call) error {
		s.reported = true
		c.Progress.Begin()
		var r report
		err := protect(func() (err error) {
			r, err = s.verbs.Run(ctx, c, o)
			return err
		})
		err = interrupted(ctx, err)
		if err == nil && o.FailOnEmpty && r.Outcome == outcomeEmpty {
			err = &exitError{Code: exitEmpty, Err: errors.New("nothing to do")}
		}
		if err != nil {
			r = r.failed(err)
		}
		c.Progress.Clear()
		return errors.Join(err, c.printReport(r, err))
	}
}

// printReport prints the report to stdout. For people, a run that failed before
// it did anything has no report: the error says it all. With -q a run that found
// nothing to do has none either, and others have one line, and one for each trouble.
func (c *call) printReport(r report, failure error) error {
	switch {
	case c.Output == outputText && failure != nil && r.Batches == 0:
		return nil
	case c.Output == outputText && (c.Quiet || c.Repeats && r.idles()):
		return printTo(c.Stdout, r.brief())
	case c.Output == outputText:
		return printTo(c.Stdout, r.text())
	}
	line, err := r.line()
	if err != nil {
		return err
	}
	return printTo(c.Stdout, line)
}
