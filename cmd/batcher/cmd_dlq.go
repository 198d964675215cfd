package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"batcher/dlq"
)

// dlqOptions say what is done to which letters.
type dlqOptions struct {
	Action  string     // one of dlqActions
	Filter  dlq.Filter // which
	File    string     // replay: letters, perhaps edited; "-" is stdin, "" none
	Confirm bool       // discard: do it
	DryRun  bool       // replay: do not
}

// dlqActions are the words that follow the verb.
var dlqActions = []string{"discard", "export", "list", "replay", "retry", "show"}

// shownLetters is how many letters show prints unless it is told.
const shownLetters = 10

func (s *shell) dlqCommand() *cli.Command {
	return s.command(cli.Command{
		Name:      "dlq",
		Usage:     "list, show, export, replay, retry or discard dead letters and quarantined objects",
		ArgsUsage: strings.Join(dlqActions, "|") + " [FILE | ID…]",
		Description: "list            counts by stage and code, and quarantined objects\n" +
			"show [ID…]      letters with their text; an ID is _source:_offset\n" +
			"export [ID…]    letters as lines of JSON, to be edited and replayed\n" +
			"replay [FILE]   makes rows of letters, with their ids: of those in FILE (- is stdin), as edited\n" +
			"                (raw, or an object under record), or as they are of those that the flags choose\n" +
			"retry [ID…]     reads quarantined objects again, as they are now\n" +
			"discard [ID…]   drops letters for good, with --confirm",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "id", Usage: "the letter `ID`, _source:_offset; repeatable"},
			&cli.StringSliceFlag{Name: "stage", Usage: "letters of this `STAGE`; repeatable"},
			&cli.StringSliceFlag{Name: "code", Usage: "letters with this `CODE`; repeatable"},
			&cli.StringSliceFlag{Name: "object", Usage: "letters of this `SOURCE`, or of all below a folder that ends in /; repeatable"},
			&cli.IntFlag{Name: "limit", DefaultText: "all; show: 10", Usage: "the first `NUMBER` of them"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "all", Usage: "discard: all letters, no other flag chooses"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "dry-run", Usage: "replay: say what would become of the letters"},
			confirmFlag("discard instead of saying what it would do"),
		},
	}, func(c *cli.Context) (action, error) {
		o, err := parseDLQ(c)
		return body(s.verbs.DLQ, o), err
	})
}

// parseDLQ reads the command line of dlq.
func parseDLQ(c *cli.Context) (dlqOptions, error) {
	given, err := arguments(c, 1, c.NArg())
	if err != nil {
		return dlqOptions{}, err
	}
	o := dlqOptions{Action: given[0], Confirm: c.Bool("confirm"), DryRun: c.Bool("dry-run")}
	given = given[1:]
	if !slices.Contains(dlqActions, o.Action) {
		return o, usageError("usage: batcher dlq "+c.Command.ArgsUsage, "unknown action %q of dlq", o.Action)
	}
	o.Filter = dlq.Filter{Stages: c.StringSlice("stage"), Codes: c.StringSlice("code"), Sources: c.StringSlice("object")}
	ids := c.StringSlice("id")
	switch {
	case o.Action == "replay" && len(given) > 1, o.Action == "list" && len(given) > 0:
		return o, usageError("", "dlq %s: too many arguments, found %q", o.Action, given[len(given)-1])
	case o.Action == "replay" && len(given) == 1:
		o.File = given[0]
	default:
		ids = append(ids, given...)
	}
	for _, text := range ids {
		id, err := dlq.ParseID(text)
		if err != nil {
			return o, usageError("batcher dlq export prints the letters with their ids", "%w", err)
		}
		o.Filter.IDs = append(o.Filter.IDs, id)
	}
	limit, err := atLeast(c, "limit", 1)
	if err != nil {
		return o, err
	}
	o.Filter.Limit = int64(limit)
	return o, o.check(c)
}

// check refuses flags that mean nothing, or too much, for an action.
func (o *dlqOptions) check(c *cli.Context) error {
	for _, f := range []struct{ flag, action string }{{"confirm", "discard"}, {"all", "discard"}, {"dry-run", "replay"}} {
		if c.Bool(f.flag) && o.Action != f.action {
			return usageError("", "--%s is for dlq %s", f.flag, f.action)
		}
	}
	chosen := !o.Filter.Empty()
	switch {
	case o.Action == "replay" && o.File != "" && chosen:
		return usageError("", "dlq replay: a file says itself which letters it means; no flag chooses among them")
	case o.Action == "discard" && !chosen && !c.Bool("all"):
		return usageError("--all discards all", "dlq discard: wants to be told which letters")
	case o.Action == "discard" && chosen && c.Bool("all"):
		return usageError("", "dlq discard: --all and what chooses some exclude each other")
	case o.Action == "discard" && o.Filter.Limit > 0 && c.Bool("confirm"):
		return usageError("name the letters with --id", "dlq discard: with --limit it would discard others when it is run again after an unknown outcome")
	case o.Action == "retry" && len(o.Filter.Stages)+len(o.Filter.Codes) > 0:
		return usageError("", "dlq retry: quarantined objects have one stage and one code; choose by ID or --object")
	}
	if o.Action == "show" && o.Filter.Limit == 0 && len(o.Filter.IDs) == 0 {
		o.Filter.Limit = shownLetters
	}
	return nil
}
