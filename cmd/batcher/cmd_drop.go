package main

import "github.com/urfave/cli/v2"

func (s *shell) dropCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "drop",
		Usage: "delete a pipeline: its chain, its tables and all that they hold",
		Flags: []cli.Flag{confirmFlag("delete instead of listing")},
	}, func(c *cli.Context) (action, error) {
		return body(s.verbs.Drop, confirmation{c.Bool("confirm")}), noArguments(c)
	})
}
