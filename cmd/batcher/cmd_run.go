package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"
)

// runOptions narrow one run.
type runOptions struct {
	planOptions
	AcceptBad   bool // commit batches over their bad-record budget
	FailOnEmpty bool // nothing to do is exit 3
}

func (s *shell) runCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "run",
		Usage: "drain what is there, batch by batch, each batch whole or not at all",
		Flags: append(planFlags(),
			&cli.BoolFlag{DisableDefaultText: true, Name: "accept-bad", Usage: "commit a batch over its bad-record budget, this once"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "fail-on-empty", Usage: "exit 3 when there is nothing to do"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "dry-run", Usage: "the same as batcher plan"},
		),
	}, func(c *cli.Context) (action, error) {
		plan, err := parsePlan(c)
		if c.Bool("dry-run") {
			return body(s.verbs.Plan, plan), err
		}
		return s.runAndReport(runOptions{plan, c.Bool("accept-bad"), c.Bool("fail-on-empty")}), err
	})
}

// runAndReport runs and prints the report, whether the run failed, panicked or
// succeeded. In JSON that is exactly one line.
func (s *shell) runAndReport(o runOptions) action {
	return func(ctx context.Context, c *call) error {
		s.reported = true
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
// it did anything has no report: the error says it all.
func (c *call) printReport(r report, failure error) error {
	if c.Output == outputText {
		if failure != nil && r.Batches == 0 {
			return nil
		}
		return printTo(c.Stdout, r.text())
	}
	line, err := r.line()
	if err != nil {
		return err
	}
	return printTo(c.Stdout, line)
}
