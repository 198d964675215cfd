package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// shells that completion knows.
var shells = map[string]func(*cli.App) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}

func (s *shell) completionCommand() *cli.Command {
	return s.command(cli.Command{
		Name:        "completion",
		Usage:       "print the completion script of a shell",
		ArgsUsage:   "bash|zsh|fish",
		Description: "bash:  source <(batcher completion bash)\nzsh:   source <(batcher completion zsh)\nfish:  batcher completion fish | source",
	}, func(c *cli.Context) (action, error) {
		given, err := arguments(c, 1, 1)
		if err != nil {
			return nil, err
		}
		script, ok := shells[given[0]]
		if !ok {
			return nil, usageError("shells: bash, zsh, fish", "unknown shell %q", given[0])
		}
		return func(_ context.Context, called *call) error { return printTo(called.Stdout, script(s.app)) }, nil
	})
}

// visible are the verbs that a person types.
func visible(app *cli.App) []*cli.Command {
	return slices.DeleteFunc(slices.Clone(app.Commands), func(verb *cli.Command) bool { return verb.Hidden })
}

// verbNames lists the verbs, and flagNames the flags of one as they are typed.
func verbNames(app *cli.App) []string {
	var names []string
	for _, verb := range visible(app) {
		names = append(names, verb.Name)
	}
	return names
}

func flagNames(verb *cli.Command) []string {
	names := []string{"--help"}
	for _, f := range verb.Flags {
		for _, name := range f.Names() {
			if len(name) > 1 && name != "help" {
				names = append(names, "--"+name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// verbArguments are the words that a verb takes as its argument, if they are
// known beforehand.
func verbArguments(app *cli.App, verb string) []string {
	switch verb {
	case "completion":
		return []string{"bash", "fish", "zsh"}
	case "dlq":
		return dlqActions
	case "schema":
		return schemaActions
	case "ddl":
		return engines
	case "show", "rewind":
		return seqNames
	case "help":
		return verbNames(app)
	}
	return nil
}

// flagWords are the words that a flag takes, if they are known beforehand.
var flagWords = map[string][]string{
	"output": {"json", "text"}, "o": {"json", "text"}, "log-format": {"json", "text"},
	"log-level": {"debug", "error", "info", "warn"}, "color": {"always", "auto", "never"}, "on-gap": {"fail", "skip"},
}

// fileFlags are those that take a file, and fileVerbs the verbs.
var (
	fileFlags = []string{"config", "c", "range"}
	fileVerbs = []string{"init"}
)

// bashCompletion completes the value of the flag before the cursor, else flags where a -
// was typed, else what the verb takes; where that are files it offers nothing, and the
// shell does.
func bashCompletion(app *cli.App) string {
	var b strings.Builder
	all := strings.Join(verbNames(app), " ")
	b.WriteString("_batcher() {\n  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" verb=\"\" word words=\"\"\n" +
		"  COMPREPLY=()\n  case \"$prev\" in\n")
	for _, name := range slices.Sorted(maps.Keys(flagWords)) {
		fmt.Fprintf(&b, "    %s) COMPREPLY=($(compgen -W %q -- \"$cur\")); return ;;\n", dashed(name), strings.Join(flagWords[name], " "))
	}
	for _, name := range fileFlags {
		fmt.Fprintf(&b, "    %s) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", dashed(name))
	}
	b.WriteString("  esac\n  for word in \"${COMP_WORDS[@]:1:$((COMP_CWORD-1))}\"; do\n    case \"$word\" in\n" +
		fmt.Sprintf("      %s) verb=\"$word\"; break ;;\n", strings.ReplaceAll(all, " ", "|")) +
		"    esac\n  done\n  case \"$verb\" in\n" +
		fmt.Sprintf("    \"\") words=%q ;;\n", all))
	for _, verb := range visible(app) {
		words := verbArguments(app, verb.Name)
		fmt.Fprintf(&b, "    %s) words=%q; [[ \"$cur\" == -* ]] && words=%q ;;\n", verb.Name, strings.Join(words, " "), strings.Join(flagNames(verb), " "))
	}
	fmt.Fprintf(&b, "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"+
		"  case \"$verb\" in %s) [[ \"$cur\" == -* ]] || COMPREPLY=($(compgen -f -- \"$cur\")) ;; esac\n}\n", strings.Join(fileVerbs, "|"))
	b.WriteString("complete -o filenames -F _batcher batcher\n")
	return b.String()
}

// zshCompletion runs the function for bash in zsh's emulation of it.
func zshCompletion(app *cli.App) string {
	return "(( $+functions[compdef] )) || { autoload -U +X compinit && compinit; }\nautoload -U +X bashcompinit && bashcompinit\n" + bashCompletion(app)
}

func fishCompletion(app *cli.App) string {
	var b strings.Builder
	all := strings.Join(verbNames(app), " ")
	b.WriteString("complete -c batcher -f\n")
	for _, flag := range app.Flags {
		fmt.Fprintf(&b, "complete -c batcher%s\n", fishFlag(flag))
	}
	global := arities(app.Flags)
	for _, verb := range visible(app) {
		fmt.Fprintf(&b, "complete -c batcher -n 'not __fish_seen_subcommand_from %s' -f -a %s -d %s\n", all, verb.Name, quoteFish(verb.Usage))
		seen := "__fish_seen_subcommand_from " + verb.Name
		for _, flag := range verb.Flags {
			if _, everywhere := global[flag.Names()[0]]; everywhere {
				continue
			}
			fmt.Fprintf(&b, "complete -c batcher -n '%s'%s\n", seen, fishFlag(flag))
		}
		if words := verbArguments(app, verb.Name); len(words) > 0 {
			fmt.Fprintf(&b, "complete -c batcher -n '%s' -f -a '%s'\n", seen, strings.Join(words, " "))
		}
		if slices.Contains(fileVerbs, verb.Name) {
			fmt.Fprintf(&b, "complete -c batcher -n '%s' -F\n", seen)
		}
	}
	return b.String()
}

// fishFlag is how fish is told of a flag: its names, and what it takes.
func fishFlag(flag cli.Flag) string {
	var b strings.Builder
	takes := ""
	doc, ok := flag.(cli.DocGenerationFlag)
	for _, name := range flag.Names() {
		letter := " -l "
		if len(name) == 1 {
			letter = " -s "
		}
		b.WriteString(letter + name)
		switch {
		case len(flagWords[name]) > 0:
			takes = " -x -a " + quoteFish(strings.Join(flagWords[name], " "))
		case slices.Contains(fileFlags, name):
			takes = " -r -F"
		case takes == "" && ok && doc.TakesValue():
			takes = " -x"
		}
	}
	if ok {
		usage := strings.ReplaceAll(doc.GetUsage(), "`", "")
		b.WriteString(" -d " + quoteFish(usage))
	}
	return b.String() + takes
}

func quoteFish(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
