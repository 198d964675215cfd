package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"batcher/manifest"
)

// engines are those that scripts are written for.
var engines = []string{duckdbEngine, "athena", "spark", "trino", "clickhouse"}

// ddlOptions say for which engine a script is written.
type ddlOptions struct {
	Engine      string        // one of engines
	NoExtension bool          // plain read_parquet instead of an extension
	At          *manifest.Seq // nil: the head
	LatestBy    string        // column of a view with the newest row of each value; "": none
}

func (s *shell) ddlCommand() *cli.Command {
	return s.command(cli.Command{
		Name:      "ddl",
		Usage:     "write a script that opens the tables in an engine",
		ArgsUsage: strings.Join(engines, "|"),
		Flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "no-extension", Usage: "duckdb: plain read_parquet; a directory needs no extension then, a bucket httpfs"},
			atSeqFlag(),
			&cli.StringFlag{Name: "latest-by", Usage: "also a view with the newest row of each value of `COLUMN`"},
		},
	}, func(c *cli.Context) (action, error) {
		given, err := arguments(c, 1, 1)
		if err != nil {
			return nil, err
		}
		engine := given[0]
		switch {
		case !slices.Contains(engines, engine):
			return nil, usageError("engines: "+strings.Join(engines, ", "), "unknown engine %q", engine)
		case engine != duckdbEngine && c.Bool("no-extension"):
			return nil, usageError("", "--no-extension is for duckdb, not for %s", engine)
		}
		at, err := atFlag(c)
		return body(s.verbs.DDL, ddlOptions{Engine: engine, NoExtension: c.Bool("no-extension"), At: at, LatestBy: c.String("latest-by")}), err
	})
}
