package main

import (
	"time"

	"github.com/urfave/cli/v2"
)

// expireOptions say which snapshots are given up.
type expireOptions struct {
	confirmation
	Keep time.Duration // snapshots younger than this are retained
}

func (s *shell) expireCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "expire",
		Usage: "stop retaining old snapshots, so that gc may delete what only they need",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "keep", Value: 30 * 24 * time.Hour, Usage: "retain snapshots younger than `DURATION`"},
			confirmFlag("expire instead of saying what it would do"),
		},
	}, func(c *cli.Context) (action, error) {
		keep := c.Duration("keep")
		if keep < 0 {
			return nil, usageError("", "--keep %s: wants a duration like 720h", keep)
		}
		return body(s.verbs.Expire, expireOptions{confirmation{c.Bool("confirm")}, keep}), noArguments(c)
	})
}
