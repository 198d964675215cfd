package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"batcher/manifest"
	"batcher/schema"
)

// schemaOptions say what is asked of a table's columns.
type schemaOptions struct {
	confirmation
	Action string // one of schemaActions
	Table  string // "" is the main table
	At     *manifest.Seq
	Column schema.Column // widen
	Type   schema.Type   // widen
}

// schemaActions are the words that follow the verb.
var schemaActions = []string{"show", "diff", "infer", "widen"}

func (s *shell) schemaCommand() *cli.Command {
	return s.command(cli.Command{
		Name:      "schema",
		Usage:     "show the columns of a table, what would change them, and give one a wider type",
		ArgsUsage: strings.Join(schemaActions, "|") + " [COLUMN TYPE]",
		Description: "show               published columns with ids and types\n" +
			"diff               what the next batch would add, and which of its values would not fit\n" +
			"infer              the columns of a sample spread over the whole input, as if nothing was published\n" +
			"widen COLUMN TYPE  writes the table again with another type for a column (price, actor.id,\n" +
			"                   items[].price) and puts rescued values back, in one manifest, with --confirm",
		Flags: []cli.Flag{
			tableFlag(), atSeqFlag(),
			confirmFlag("widen instead of saying what it would do"),
		},
	}, func(c *cli.Context) (action, error) {
		o, err := parseSchema(c)
		return body(s.verbs.Schema, o), err
	})
}

// parseSchema reads the command line of schema.
func parseSchema(c *cli.Context) (schemaOptions, error) {
	given, err := arguments(c, 1, 3)
	if err != nil {
		return schemaOptions{}, err
	}
	o := schemaOptions{confirmation: confirmation{c.Bool("confirm")}, Action: given[0], Table: c.String("table")}
	usage := "usage: batcher schema " + c.Command.ArgsUsage
	switch {
	case !slices.Contains(schemaActions, o.Action):
		return o, usageError(usage, "unknown action %q of schema", o.Action)
	case o.Action == "widen" && len(given) != 3:
		return o, usageError("batcher schema widen price float64", "schema widen wants a column and a type")
	case o.Action != "widen" && len(given) > 1:
		return o, usageError(usage, "schema %s: too many arguments, found %q", o.Action, given[1])
	}
	if err := o.check(c); err != nil {
		return o, err
	}
	if o.At, err = atFlag(c); err != nil || o.Action != "widen" {
		return o, err
	}
	o.Column = schema.Column(given[1])
	if o.Type, err = parseType(given[2]); err != nil {
		return o, usageError("", "type %q: %w", given[2], err)
	}
	return o, nil
}

// check refuses flags that mean nothing for an action.
func (o *schemaOptions) check(c *cli.Context) error {
	for _, f := range []struct {
		flag    string
		actions []string
	}{{"table", []string{"show", "widen"}}, {"at", []string{"show"}}, {"confirm", []string{"widen"}}} {
		if c.IsSet(f.flag) && !slices.Contains(f.actions, o.Action) {
			return usageError("", "--%s is for schema %s", f.flag, strings.Join(f.actions, " and schema "))
		}
	}
	return nil
}

// parseType reads a type; double is what most call float64.
func parseType(text string) (schema.Type, error) {
	if text == "double" {
		text = "float64"
	}
	return schema.ParseType(text)
}
