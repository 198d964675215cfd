package main

import (
	"time"

	"github.com/urfave/cli/v2"
)

// statusOptions say when a status is a failure.
type statusOptions struct {
	MaxLag *time.Duration // exit 4 when the lag is above; nil: never
}

func (s *shell) statusCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "status",
		Usage: "show head, progress and lag",
		Flags: []cli.Flag{&cli.DurationFlag{DefaultText: "none", Name: "max-lag", Usage: "exit 4 when the lag is above `DURATION`"}},
	}, func(c *cli.Context) (action, error) {
		var o statusOptions
		if c.IsSet("max-lag") {
			lag := c.Duration("max-lag")
			if lag < 0 {
				return nil, usageError("", "--max-lag %s: wants a duration like 15m", lag)
			}
			o.MaxLag = &lag
		}
		return body(s.verbs.Status, o), noArguments(c)
	})
}
