package main

import (
	"context"

	"github.com/urfave/cli/v2"
)

func (s *shell) helpCommand() *cli.Command {
	return s.command(cli.Command{
		Name:      "help",
		Usage:     "print the help of a verb",
		ArgsUsage: "[VERB]",
	}, func(c *cli.Context) (action, error) {
		given, err := arguments(c, 0, 1)
		if err != nil {
			return nil, err
		}
		if len(given) == 0 {
			return func(context.Context, *call) error { return cli.ShowAppHelp(c) }, nil
		}
		if s.app.Command(given[0]) == nil {
			return nil, usageError(suggestVerb(s.app, given[0]), "unknown verb %q", given[0])
		}
		return func(context.Context, *call) error { return s.app.Run([]string{s.app.Name, given[0], "--help"}) }, nil
	})
}
