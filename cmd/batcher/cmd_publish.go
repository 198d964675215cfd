package main

import "github.com/urfave/cli/v2"

// publishOptions say what is published.
type publishOptions struct {
	Rebuild bool // have tables with foreign commits go on behind these
	Confirm bool // otherwise a rebuild only says what it would do
}

func (s *shell) publishCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "publish",
		Usage: "bring the Delta Lake tables up to the head of the chain",
		Description: "Every run does so by itself where the pipeline file says publish: [delta]. A table into which\n" +
			"somebody else has committed is left as it is; --rebuild puts a version behind theirs that\n" +
			"restores it, and what they changed is undone.",
		Flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "rebuild", Usage: "restore the tables that have foreign commits"},
			confirmFlag("restore them instead of saying what would be done"),
		},
	}, func(c *cli.Context) (action, error) {
		return body(s.verbs.Publish, publishOptions{c.Bool("rebuild"), c.Bool("confirm")}), noArguments(c)
	})
}
