package main

import "github.com/urfave/cli/v2"

// initOptions say where a first pipeline file comes from. It is written to the
// path of -c, which must not exist.
type initOptions struct {
	Path string // input to look at; "" for none
}

func (s *shell) initCommand() *cli.Command {
	return s.command(cli.Command{
		Name:      "init",
		Usage:     "write a commented pipeline file from a sample of the input",
		ArgsUsage: "[PATH]",
	}, func(c *cli.Context) (action, error) {
		if _, err := arguments(c, 0, 1); err != nil {
			return nil, err
		}
		return body(s.verbs.Init, initOptions{Path: c.Args().First()}), nil
	})
}
