package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"batcher/config"
)

// validateOptions say how far validation goes.
type validateOptions struct {
	Offline bool // do not try to reach store and source
}

func (s *shell) validateCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "validate",
		Usage: "check the pipeline file, and that store and source can be reached",
		Flags: []cli.Flag{&cli.BoolFlag{DisableDefaultText: true, Name: "offline", Usage: "check the file only"}},
	}, func(c *cli.Context) (action, error) {
		o := validateOptions{Offline: c.Bool("offline")}
		return func(ctx context.Context, called *call) error { return validate(ctx, called, o) }, noArguments(c)
	})
}

func validate(ctx context.Context, c *call, o validateOptions) error {
	p, err := c.Pipeline(ctx)
	if err != nil {
		return err
	}
	if !o.Offline {
		if err := c.verbs.Reach(ctx, p); err != nil {
			return fmt.Errorf("reach store and source: %w", err)
		}
	}
	if c.Output == outputText {
		return printTo(c.Stdout, fmt.Sprintf("%s: valid: pipeline %s, %s → %s, table %s\n", c.Config, p.Name, p.Source.Files.Path, p.Store, p.Table))
	}
	return printJSON(c, validated(p))
}

// validated is the JSON form of a valid file.
func validated(p *config.Pipeline) any {
	return struct {
		Valid    bool   `json:"valid"`
		Pipeline string `json:"pipeline"`
		Source   string `json:"source"`
		Store    string `json:"store"`
		Table    string `json:"table"`
		Hash     string `json:"hash"` // of the settings that decide what is written
	}{true, string(p.Name), p.Source.Files.Path.String(), p.Store.String(), string(p.Table), p.Hash()}
}
