package main

import "github.com/urfave/cli/v2"

// gcOptions say whether garbage is only listed.
type gcOptions struct {
	Confirm bool // delete; otherwise list
}

func (s *shell) gcCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "gc",
		Usage: "list what no retained manifest refers to, and delete it with --confirm",
		Flags: []cli.Flag{&cli.BoolFlag{DisableDefaultText: true, Name: "confirm", Usage: "delete instead of listing"}},
	}, func(c *cli.Context) (action, error) {
		return body(s.verbs.GC, gcOptions{Confirm: c.Bool("confirm")}), noArguments(c)
	})
}
