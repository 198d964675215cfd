package main

import (
	"github.com/urfave/cli/v2"

	"batcher/manifest"
)

// showOptions name one manifest.
type showOptions struct {
	Seq manifest.Seq
	Raw bool // the bytes as they are stored
}

func (s *shell) showCommand() *cli.Command {
	return s.command(cli.Command{
		Name:      "show",
		Usage:     "show what one manifest did",
		ArgsUsage: "SEQ",
		Description: "SEQ is a number, head (also latest and -1), or -2 for the one before the head, and so on.\n" +
			"-o json prints all of it, with its lists in place; its ranges can be handed to run --range.",
		Flags: []cli.Flag{&cli.BoolFlag{DisableDefaultText: true, Name: "raw", Usage: "print the bytes as they are stored"}},
	}, func(c *cli.Context) (action, error) {
		given, err := arguments(c, 1, 1)
		if err != nil {
			return nil, err
		}
		seq, err := parseSeq("SEQ", given[0])
		return body(s.verbs.Show, showOptions{seq, c.Bool("raw")}), err
	})
}
