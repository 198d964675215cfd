package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// action is what a verb does once its command line is understood.
type action func(ctx context.Context, c *call) error

// shell is the command line around the verbs.
type shell struct {
	proc     process
	verbs    verbs
	app      *cli.App
	reported bool     // a run printed its report
	printed  *printed // stdout
	colors   palette  // of errors
}

func newShell(proc process, v verbs) *shell {
	out := &printed{Writer: proc.Stdout}
	proc.Stdout = out
	s := &shell{proc: proc, verbs: v, printed: out, colors: proc.colored("auto", proc.Terminal)}
	s.app = &cli.App{
		Name:                      "batcher",
		HelpName:                  "batcher",
		Usage:                     "turn files of events into Parquet tables on object storage, exactly once",
		UsageText:                 "batcher VERB [flags] [arguments]",
		Description:               "Flags may stand before or after arguments; -- ends them. Settings: flag, then --set,\nthen BATCHER_… in the environment, then the pipeline file.",
		Reader:                    proc.Stdin,
		Writer:                    proc.Stdout,
		ErrWriter:                 proc.Stderr,
		HideHelpCommand:           true,
		HideVersion:               true,
		DisableSliceFlagSeparator: true,
		Flags:                     globalFlags(),
		Commands: []*cli.Command{
			s.initCommand(), s.validateCommand(), s.planCommand(), s.runCommand(),
			s.statusCommand(), s.historyCommand(), s.showCommand(), s.filesCommand(), s.headCommand(), s.ddlCommand(),
			s.verifyCommand(), s.doctorCommand(), s.schemaCommand(), s.dlqCommand(), s.compactCommand(), s.publishCommand(), s.gcCommand(),
			s.fenceCommand(), s.rewindCommand(), s.expireCommand(), s.adoptCommand(), s.dropCommand(),
			s.versionCommand(), s.completionCommand(), s.helpCommand(),
		},
		// Errors are returned, never printed or exited on by the library.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   wrongUsage,
	}
	return s
}

// execute runs one command line; args[0] is the program's name. Where JSON
// was asked for, a run that fails before it begins has a report too, and any other verb
// that fails before it printed a result prints why.
func (s *shell) execute(ctx context.Context, args []string) error {
	arranged, err := arrange(s.app, args)
	if err == nil {
		err = s.app.RunContext(ctx, arranged)
	}
	if err == nil || s.reported {
		return err
	}
	verb, wants := wantsJSON(s.app, args[1:])
	if !wants || s.printed.any {
		return err
	}
	failed := report{}.failed(err)
	if verb == "run" {
		line, lineErr := failed.line()
		if lineErr == nil {
			lineErr = printTo(s.proc.Stdout, line)
		}
		return errors.Join(err, lineErr)
	}
	return errors.Join(err, printJSON(&call{process: s.proc}, failure{failed.Error}))
}

// failure is what a verb prints as JSON that failed before it had a result. The report of
// a run has the same member.
type failure struct {
	Error *reportError `json:"error"`
}

// printed is stdout that knows whether anything was printed.
type printed struct {
	io.Writer
	any bool
}

// Write writes b.
func (p *printed) Write(b []byte) (int, error) {
	p.any = p.any || len(b) > 0
	return p.Writer.Write(b)
}

// wrongUsage is what the library calls when a flag's value does not fit.
func wrongUsage(c *cli.Context, err error, _ bool) error {
	found := wrongValue.FindStringSubmatch(err.Error())
	if found == nil || c.Command == nil {
		return usageError(helpHint, "%w", err)
	}
	wants := "another value"
	for _, f := range c.Command.Flags {
		if slices.Contains(f.Names(), found[2]) {
			wants = wantsOf(f)
		}
	}
	return usageError("", "%s %s: wants %s", dashed(found[2]), found[1], wants)
}

// wrongValue is how package flag says that a flag's value does not fit.
var wrongValue = regexp.MustCompile(`^invalid (?:boolean )?value ("(?:.*)") for (?:flag )?-([^: ]+): `)

// wantsOf says what a flag takes.
func wantsOf(f cli.Flag) string {
	switch f.(type) {
	case *cli.DurationFlag:
		return "a duration like 90s, 15m or 24h"
	case *cli.IntFlag:
		return "a whole number"
	case *cli.BoolFlag:
		return "no value, true or false"
	}
	return "another value"
}

// command completes a verb: global flags, and an action that parses the command
// line into what is then done.
func (s *shell) command(c cli.Command, parse func(*cli.Context) (action, error)) *cli.Command {
	c.Flags = append(c.Flags, globalFlags()...)
	if lines := examples[c.Name]; len(lines) > 0 {
		c.Description = strings.TrimLeft(c.Description+"\n\nFor example:\n  "+strings.Join(lines, "\n  "), "\n")
	}
	c.HideHelpCommand = true
	c.OnUsageError = wrongUsage
	c.Action = func(cc *cli.Context) error {
		g, err := parseGlobals(cc, s.proc)
		if err != nil {
			return err
		}
		act, err := parse(cc)
		if err != nil {
			return err
		}
		s.proc.Limit(g.limits())
		called := s.newCall(g)
		defer called.Progress.Clear()
		return act(cc.Context, called)
	}
	return &c
}

// call is one verb being run: its global flags and its streams.
type call struct {
	globals
	process
	// Progress owns stderr: logs and messages go through it, results to Stdout.
	Progress *progress
	Colors   palette // of results
	Errors   palette // of what goes to stderr
	Logger   *slog.Logger
	verbs    verbs
}

func (s *shell) newCall(g globals) *call {
	c := &call{globals: g, process: s.proc, verbs: s.verbs}
	var width func() int
	if g.Progress {
		width = s.proc.Width
	}
	c.Progress = newProgress(s.proc.Stderr, width, time.Now)
	c.Colors, c.Errors = s.proc.colored(g.Color, s.proc.Results), s.proc.colored(g.Color, s.proc.Terminal)
	s.colors = c.Errors
	c.Stderr = c.Progress
	if width != nil {
		c.Stdout = results{s.proc.Stdout, c.Progress}
	}
	c.Logger = newLogger(c.Stderr, g.Log)
	return c
}

// results is stdout where the line of progress may stand on the same terminal: what is
// printed takes it away.
type results struct {
	io.Writer
	progress *progress
}

// Write takes the line away and writes b.
func (r results) Write(b []byte) (int, error) {
	r.progress.Clear()
	return r.Writer.Write(b)
}

// noArguments refuses arguments.
func noArguments(c *cli.Context) error {
	_, err := arguments(c, 0, 0)
	return err
}

// arguments returns the arguments of a verb that takes from least to most.
func arguments(c *cli.Context, least, most int) ([]string, error) {
	given := c.Args().Slice()
	switch {
	case len(given) < least:
		return nil, usageError("usage: batcher "+c.Command.Name+" "+c.Command.ArgsUsage, "%s: too few arguments", c.Command.Name)
	case len(given) > most && most == 0:
		return nil, usageError("", "%s takes no arguments, found %q", c.Command.Name, given[0])
	case len(given) > most:
		return nil, usageError("usage: batcher "+c.Command.Name+" "+c.Command.ArgsUsage, "%s: too many arguments, found %q", c.Command.Name, given[most])
	}
	return given, nil
}

// printTo writes a result and returns the failure as temporary: a full disk or a
// reader that went away is no bug.
func printTo(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return &exitError{Code: exitTemporary, Err: err, Hint: "the result could not be written"}
	}
	return nil
}
