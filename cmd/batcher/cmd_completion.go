package main

import (
	"context"
	"fmt"
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

// verbNames lists the verbs, and flagNames the flags of one as they are typed.
func verbNames(app *cli.App) []string {
	var names []string
	for _, verb := range app.Commands {
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
	case "ddl":
		return engines
	case "help":
		return verbNames(app)
	}
	return nil
}

func bashCompletion(app *cli.App) string {
	var b strings.Builder
	b.WriteString("_batcher() {\n  local cur=\"${COMP_WORDS[COMP_CWORD]}\" verb=\"\" word\n" +
		"  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case \"$word\" in\n" +
		fmt.Sprintf("      %s) verb=\"$word\"; break ;;\n", strings.Join(verbNames(app), "|")) +
		"    esac\n  done\n  case \"$verb\" in\n" +
		fmt.Sprintf("    \"\") COMPREPLY=($(compgen -W %q -- \"$cur\")) ;;\n", strings.Join(verbNames(app), " ")))
	for _, verb := range app.Commands {
		words := append(flagNames(verb), verbArguments(app, verb.Name)...)
		fmt.Fprintf(&b, "    %s) COMPREPLY=($(compgen -W %q -- \"$cur\")) ;;\n", verb.Name, strings.Join(words, " "))
	}
	b.WriteString("  esac\n}\ncomplete -o bashdefault -o default -F _batcher batcher\n")
	return b.String()
}

// zshCompletion runs the function for bash in zsh's emulation of it.
func zshCompletion(app *cli.App) string {
	return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" + bashCompletion(app)
}

func fishCompletion(app *cli.App) string {
	var b strings.Builder
	all := strings.Join(verbNames(app), " ")
	for _, verb := range app.Commands {
		fmt.Fprintf(&b, "complete -c batcher -n 'not __fish_seen_subcommand_from %s' -f -a %s -d %s\n", all, verb.Name, quoteFish(verb.Usage))
		seen := "__fish_seen_subcommand_from " + verb.Name
		for _, name := range flagNames(verb) {
			fmt.Fprintf(&b, "complete -c batcher -n '%s' -l %s\n", seen, strings.TrimPrefix(name, "--"))
		}
		if words := verbArguments(app, verb.Name); len(words) > 0 {
			fmt.Fprintf(&b, "complete -c batcher -n '%s' -f -a '%s'\n", seen, strings.Join(words, " "))
		}
	}
	return b.String()
}

func quoteFish(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
