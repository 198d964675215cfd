package main

import "github.com/urfave/cli/v2"

// initOptions say where a first pipeline file comes from. It is written to the
// path of -c, which must not exist.
type initOptions struct {
	Path   string // input to look at; "" for none
	Name   string // of the pipeline; "": events
	Store  string // "": ./lake
	Format string // of the input; "": as the objects are
}

func (s *shell) initCommand() *cli.Command {
	return s.command(cli.Command{
		Name:      "init",
		Usage:     "write a pipeline file with what a sample of the input shows",
		ArgsUsage: "[PATH]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "`NAME` of the pipeline (default: events)"},
			&cli.StringFlag{Name: "store", Usage: "`PLACE` of chain and tables: a directory, or s3://bucket/prefix (default: ./lake)"},
			&cli.StringFlag{Name: "format", Usage: "`FORMAT` of the input: ndjson, json, csv, parquet, avro or lines (default: as the objects are)"},
		},
	}, func(c *cli.Context) (action, error) {
		if _, err := arguments(c, 0, 1); err != nil {
			return nil, err
		}
		return body(s.verbs.Init, initOptions{Path: c.Args().First(), Name: c.String("name"), Store: c.String("store"), Format: c.String("format")}), nil
	})
}
