package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"batcher/compact"
)

// compactOptions say what is merged.
type compactOptions struct {
	Table    string          // one of the pipeline's; empty: all
	Classes  compact.Classes // whether files of unlike sizes are kept apart
	Deadline time.Duration   // no group begins that would not be done by then; 0: none
	DryRun   bool            // say what would be merged
}

func (s *shell) compactCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "compact",
		Usage: "merge small data files into large ones, while runs go on",
		Description: "Files of like size and the same partition are merged when there are eight of them, or\n" +
			"enough for a file of parquet.target_file_bytes; so a row is written again few times in its\n" +
			"life. Rows keep their ids; readers of older snapshots find the old files until expire and\n" +
			"gc remove them.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "table", Usage: "merge files of one `TABLE` (default: all of the pipeline)"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "all", Usage: "merge all small files of a partition, from two on, whatever their sizes"},
			&cli.DurationFlag{DefaultText: "none", Name: "deadline", Usage: "be done within `DURATION`; the rest waits for another time"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "dry-run", Usage: "say what would be merged"},
		},
	}, func(c *cli.Context) (action, error) {
		o := compactOptions{Table: c.String("table"), Deadline: c.Duration("deadline"), DryRun: c.Bool("dry-run")}
		if c.Bool("all") {
			o.Classes = compact.AllSizes
		}
		if o.Deadline < 0 || c.IsSet("deadline") && o.Deadline == 0 {
			return nil, usageError("", "--deadline %s: wants a duration like 10m", o.Deadline)
		}
		return body(s.verbs.Compact, o), noArguments(c)
	})
}
