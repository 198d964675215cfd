package main

import "github.com/urfave/cli/v2"

// headOptions say how much of a table is shown.
type headOptions struct {
	Table string // "": the main table
	Rows  int    // at most
}

func (s *shell) headCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "head",
		Usage: "show the first rows of a table",
		Flags: []cli.Flag{&cli.IntFlag{Name: "n", Value: 10, Usage: "`ROWS` to show"}, tableFlag()},
	}, func(c *cli.Context) (action, error) {
		rows, err := atLeast(c, "n", 1)
		if err != nil {
			return nil, err
		}
		return body(s.verbs.Head, headOptions{Table: c.String("table"), Rows: rows}), noArguments(c)
	})
}
