package main

import "github.com/urfave/cli/v2"

func (s *shell) adoptCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "adopt",
		Usage: "give a store that was copied to a new root an id of its own",
		Flags: []cli.Flag{confirmFlag("adopt instead of saying what it would do")},
	}, func(c *cli.Context) (action, error) {
		return body(s.verbs.Adopt, confirmation{c.Bool("confirm")}), noArguments(c)
	})
}
