package main

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
)

// outputForm is how results are printed.
type outputForm string

const (
	outputText outputForm = "text"
	outputJSON outputForm = "json"
)

// globals are the flags that every verb takes.
type globals struct {
	Config   string     // path or s3:// address of the pipeline file
	Output   outputForm // of results
	Log      logOptions
	Color    string   // auto, always or never
	Memory   int64    // soft limit in bytes; 0: none
	Threads  int      // that may run Go code at a time; 0: one per core
	Set      []string // key.path=value, in order
	Progress bool     // a progress line is wanted
	Repeats  bool     // the verb is run again and again: a round that did nothing is no news
	Quiet    bool     // -q: what happened and what went wrong, nothing else
}

// globalFlags returns fresh flags: urfave/cli keeps state in them.
func globalFlags() []cli.Flag {
	const category = "Flags of every verb"
	return []cli.Flag{
		&cli.StringFlag{Category: category, Name: "config", Aliases: []string{"c"}, Value: "pipeline.yaml", Usage: "pipeline `FILE`, also s3://…"},
		&cli.StringFlag{Category: category, Name: "output", Aliases: []string{"o"}, Value: string(outputText), Usage: "`FORM` of results: text or json"},
		&cli.StringFlag{Category: category, Name: "log-format", Value: "text", Usage: "`FORM` of logs: text or json"},
		&cli.StringFlag{Category: category, Name: "log-level", Usage: "`LEVEL` of logs: debug, info, warn or error (default: info)"},
		&cli.BoolFlag{DisableDefaultText: true, Category: category, Name: "verbose", Aliases: []string{"v"}, Usage: "log in detail, like --log-level debug"},
		&cli.BoolFlag{DisableDefaultText: true, Category: category, Name: "quiet", Aliases: []string{"q"}, Usage: "log errors only, no progress, and no report of a run that found nothing to do"},
		&cli.StringFlag{Category: category, Name: "color", Value: "auto", Usage: "`WHEN` to color words for people: auto (on a terminal, unless NO_COLOR is set), always or never"},
		&cli.StringFlag{Category: category, Name: "memory", DefaultText: "four fifths of what the container or function may have", Usage: "soft limit on memory, `SIZE` like 256MiB: above it garbage is collected harder; a run that needs more still gets it"},
		&cli.IntFlag{Category: category, Name: "threads", DefaultText: "one per core", Usage: "`NUMBER` of threads that work at a time"},
		&cli.StringSliceFlag{Category: category, Name: "set", Usage: "override a key of the pipeline file: `KEY=VALUE`, e.g. batch.max_bytes=1GiB; repeatable"},
	}
}

// parseGlobals reads and checks the global flags.
func parseGlobals(c *cli.Context, proc process) (globals, error) {
	g := globals{
		Config: c.String("config"),
		Output: outputForm(c.String("output")),
		Color:  c.String("color"),
		Set:    c.StringSlice("set"),
		Quiet:  c.Bool("quiet"),
	}
	if err := oneOf("output", string(g.Output), string(outputText), string(outputJSON)); err != nil {
		return g, err
	}
	if err := oneOf("color", g.Color, "auto", "always", "never"); err != nil {
		return g, err
	}
	if c.IsSet("threads") {
		if g.Threads = c.Int("threads"); g.Threads < 1 {
			return g, usageError("", "--threads %d: at least 1", g.Threads)
		}
	}
	if c.IsSet("memory") {
		size, err := parseMemory(c.String("memory"))
		if err != nil {
			return g, err
		}
		g.Memory = size
	}
	log, err := parseLogOptions(c)
	g.Log = log
	g.Progress = proc.Terminal && proc.Width != nil && !c.Bool("quiet") && log.Format == "text"
	return g, err
}

// limits are what the flags say about this process; zeros say nothing.
func (g globals) limits() limits { return limits{g.Threads, g.Memory} }

// limits bound what the process takes of the machine.
type limits struct {
	threads int
	memory  int64
}

// apply sets the limits for the whole process. What is not limited stays as the
// runtime and its environment (GOMAXPROCS, GOMEMLIMIT) have it.
func (l limits) apply() {
	if l.threads > 0 {
		runtime.GOMAXPROCS(l.threads)
	}
	if l.memory > 0 {
		debug.SetMemoryLimit(l.memory)
	}
}

// oneOf checks a flag that takes one of a few words.
func oneOf(flag, value string, words ...string) error {
	for _, w := range words {
		if value == w {
			return nil
		}
	}
	return usageError("", "--%s %q: wants %s", flag, value, strings.Join(words, ", "))
}

// parseMemory reads a size like 256MiB, at least 16MiB.
func parseMemory(text string) (int64, error) {
	const least = 16 << 20
	units := map[string]int64{"MiB": 1 << 20, "GiB": 1 << 30, "MB": 1e6, "GB": 1e9}
	digits := strings.TrimRight(text, "MGiB")
	n, err := strconv.ParseInt(digits, 10, 32)
	unit := units[text[len(digits):]]
	if err != nil || unit == 0 || n*unit < least {
		return 0, usageError("", "--memory %q: wants a size like 256MiB, at least 16MiB", text)
	}
	return n * unit, nil
}
