package main

import "github.com/urfave/cli/v2"

// doctorOptions is empty: doctor probes everything.
type doctorOptions struct{}

func (s *shell) doctorCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "doctor",
		Usage: "probe live whether the store and the source can do what they must",
	}, func(c *cli.Context) (action, error) {
		return body(s.verbs.Doctor, doctorOptions{}), noArguments(c)
	})
}
