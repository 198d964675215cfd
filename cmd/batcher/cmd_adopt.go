package main

import "github.com/urfave/cli/v2"

// adoptOptions say what is adopted.
type adoptOptions struct {
	confirmation
	Source bool // the source at its new place, not the store
}

func (s *shell) adoptCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "adopt",
		Usage: "take over a store that was copied to a new root, or a source that has moved",
		Flags: []cli.Flag{
			confirmFlag("adopt instead of saying what it would do"),
			&cli.BoolFlag{DisableDefaultText: true, Name: "source", Usage: "the objects of the source are now where source.files.path says: know them again, by key and content"},
		},
	}, func(c *cli.Context) (action, error) {
		return body(s.verbs.Adopt, adoptOptions{confirmation{c.Bool("confirm")}, c.Bool("source")}), noArguments(c)
	})
}
