package main

import (
	"github.com/urfave/cli/v2"

	"batcher/manifest"
)

// verifyOptions say how much is proved.
type verifyOptions struct {
	Source bool         // re-read the source and compare row by row
	Deep   bool         // re-hash every object
	Since  manifest.Seq // first manifest to prove
}

func (s *shell) verifyCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "verify",
		Usage: "prove the invariants of the chain and its tables",
		Flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "source", Usage: "read the source again and compare row by row"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "deep", Usage: "read and hash every object"},
			&cli.StringFlag{Name: "since", Usage: "begin with manifest `SEQ` (default: 0, the whole chain)"},
		},
	}, func(c *cli.Context) (action, error) {
		o := verifyOptions{Source: c.Bool("source"), Deep: c.Bool("deep")}
		if c.IsSet("since") {
			seq, err := parseSeq("--since", c.String("since"))
			if err != nil {
				return nil, err
			}
			o.Since = seq
		}
		return body(s.verbs.Verify, o), noArguments(c)
	})
}
