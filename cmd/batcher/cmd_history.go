package main

import "github.com/urfave/cli/v2"

// historyOptions bound a list of manifests.
type historyOptions struct {
	Limit int // newest manifests to list; 0: all
}

func (s *shell) historyCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "history",
		Usage: "list the chain, newest first",
		Flags: []cli.Flag{&cli.IntFlag{Name: "n", Value: 20, Usage: "the newest `N` manifests; 0 for all"}},
	}, func(c *cli.Context) (action, error) {
		limit, err := atLeast(c, "n", 0)
		if err != nil {
			return nil, err
		}
		return body(s.verbs.History, historyOptions{Limit: limit}), noArguments(c)
	})
}
