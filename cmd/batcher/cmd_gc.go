package main

import (
	"time"

	"github.com/urfave/cli/v2"
)

// gcOptions say how far garbage is collected, and whether it is only listed.
type gcOptions struct {
	Confirm bool          // delete; otherwise list
	Keep    time.Duration // the floor is the newest manifest older than this
}

// gcKeep is how long an invocation is given by default: none lives that long.
const gcKeep = 7 * 24 * time.Hour

func (s *shell) gcCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "gc",
		Usage: "list what no retained manifest refers to, and delete it with --confirm",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "keep", Value: gcKeep, Usage: "attempts that began within `DURATION` may still commit"},
			confirmFlag("delete instead of listing"),
		},
	}, func(c *cli.Context) (action, error) {
		keep := c.Duration("keep")
		if keep < 0 {
			return nil, usageError("", "--keep %s: wants a duration like 168h", keep)
		}
		return body(s.verbs.GC, gcOptions{c.Bool("confirm"), keep}), noArguments(c)
	})
}
