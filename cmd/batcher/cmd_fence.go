package main

import "github.com/urfave/cli/v2"

// confirmation says whether a verb that changes the chain may do so.
type confirmation struct {
	Confirm bool // otherwise it says what it would do
}

func confirmFlag(usage string) cli.Flag {
	return &cli.BoolFlag{DisableDefaultText: true, Name: "confirm", Usage: usage}
}

func (s *shell) fenceCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "fence",
		Usage: "make every attempt that is in flight unable to commit",
		Flags: []cli.Flag{confirmFlag("append the fence instead of saying what it would do")},
	}, func(c *cli.Context) (action, error) {
		return body(s.verbs.Fence, confirmation{c.Bool("confirm")}), noArguments(c)
	})
}
