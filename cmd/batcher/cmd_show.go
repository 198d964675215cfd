package main

import (
	"github.com/urfave/cli/v2"

	"batcher/manifest"
)

// showOptions name one manifest.
type showOptions struct {
	Seq manifest.Seq
}

func (s *shell) showCommand() *cli.Command {
	return s.command(cli.Command{
		Name:      "show",
		Usage:     "show one manifest",
		ArgsUsage: "SEQ",
	}, func(c *cli.Context) (action, error) {
		given, err := arguments(c, 1, 1)
		if err != nil {
			return nil, err
		}
		seq, err := parseSeq("SEQ", given[0])
		return body(s.verbs.Show, showOptions{Seq: seq}), err
	})
}
