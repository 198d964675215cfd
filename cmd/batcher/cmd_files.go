package main

import (
	"github.com/urfave/cli/v2"

	"batcher/manifest"
)

// filesOptions say whose files are listed, and as of when.
type filesOptions struct {
	Table string        // "": the main table
	At    *manifest.Seq // nil: the head
}

func (s *shell) filesCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "files",
		Usage: "list the Parquet files of a table, one URI a line",
		Flags: []cli.Flag{tableFlag(), atSeqFlag()},
	}, func(c *cli.Context) (action, error) {
		at, err := atFlag(c)
		if err != nil {
			return nil, err
		}
		return body(s.verbs.Files, filesOptions{Table: c.String("table"), At: at}), noArguments(c)
	})
}
