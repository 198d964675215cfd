package main

import (
	"github.com/urfave/cli/v2"

	"batcher/manifest"
)

// rewindOptions name the snapshot to restore.
type rewindOptions struct {
	confirmation
	Seq manifest.Seq
}

func (s *shell) rewindCommand() *cli.Command {
	return s.command(cli.Command{
		Name:      "rewind",
		Usage:     "restore tables and progress as they were after a manifest",
		ArgsUsage: "SEQ",
		Flags:     []cli.Flag{confirmFlag("rewind instead of saying what it would do")},
	}, func(c *cli.Context) (action, error) {
		given, err := arguments(c, 1, 1)
		if err != nil {
			return nil, err
		}
		seq, err := parseSeq("SEQ", given[0])
		return body(s.verbs.Rewind, rewindOptions{confirmation{c.Bool("confirm")}, seq}), err
	})
}
