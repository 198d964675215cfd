package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// arity says whether a flag takes a value.
type arity bool

const (
	switchFlag arity = false // -q
	valueFlag  arity = true  // -o json
)

// arrange puts a command line into the one order that urfave/cli understands:
// program, verb, flags, "--", arguments. Flags may stand anywhere, also before
// the verb; "--" ends them; "-" alone is an argument. A line that asks for help
// has nothing else: the library would take an argument for a verb of its own. It
// refuses unknown verbs and flags, with the nearest known one as a hint.
func arrange(app *cli.App, args []string) ([]string, error) {
	verb, rest, err := splitVerb(app, args[1:])
	if err != nil {
		return nil, err
	}
	flags, arguments, err := separate(verb, rest)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(flags, asksForHelp) {
		return []string{args[0], verb.Name, "--help"}, nil
	}
	arranged := append([]string{args[0], verb.Name}, flags...)
	return append(append(arranged, "--"), arguments...), nil
}

// asksForHelp says whether a word is -h or --help.
func asksForHelp(word string) bool {
	name, hasValue := flagName(word)
	return isFlag(word) && !hasValue && (name == "h" || name == "help")
}

// splitVerb finds the verb, the first argument that is neither a flag nor the
// value of one, and returns the line without it. A line that only asks for help
// or for the version has that verb.
func splitVerb(app *cli.App, line []string) (*cli.Command, []string, error) {
	known := everyFlag(app)
	for i := 0; i < len(line); i++ {
		word := line[i]
		switch {
		case asksForHelp(word):
			if !slices.ContainsFunc(line[i+1:], func(w string) bool { return app.Command(w) != nil }) {
				return app.Command("help"), nil, nil
			}
		case word == "--version":
			return app.Command("version"), nil, nil
		case word == "--":
			return nil, nil, usageError(helpHint, "no verb before --")
		case isFlag(word):
			name, hasValue := flagName(word)
			takes, ok := known[name]
			if !ok {
				return nil, nil, unknownFlag(app.Flags, word)
			}
			if takes == valueFlag && !hasValue {
				i++
			}
		default:
			verb := app.Command(word)
			if verb == nil {
				return nil, nil, usageError(suggestVerb(app, word), "unknown verb %q", word)
			}
			return verb, slices.Delete(slices.Clone(line), i, i+1), nil
		}
	}
	return nil, nil, usageError(helpHint, "no verb given")
}

const helpHint = "batcher --help lists the verbs"

// separate splits the line of a verb into flags with their values and
// arguments.
func separate(verb *cli.Command, line []string) (flags, arguments []string, err error) {
	known := arities(verb.Flags)
	for i := 0; i < len(line); i++ {
		word := line[i]
		if word == "--" {
			return flags, append(arguments, line[i+1:]...), nil
		}
		if !isFlag(word) {
			arguments = append(arguments, word)
			continue
		}
		name, hasValue := flagName(word)
		takes, ok := known[name]
		switch {
		case !ok:
			return nil, nil, unknownFlag(verb.Flags, word)
		case takes == valueFlag && !hasValue && i+1 == len(line):
			return nil, nil, usageError("", "%s needs a value", word)
		case takes == valueFlag && !hasValue:
			i++
			word += "=" + line[i]
		}
		flags = append(flags, word)
	}
	return flags, arguments, nil
}

// wantsJSON says whether a line, right or wrong, asks for results as JSON, and of which
// verb. What cannot be known is taken for a switch.
func wantsJSON(app *cli.App, line []string) (verb string, wants bool) {
	known := everyFlag(app)
	form, dry := "", false
	for i := 0; i < len(line) && line[i] != "--"; i++ {
		word := line[i]
		if !isFlag(word) {
			verb = cmp.Or(verb, word)
			continue
		}
		name, hasValue := flagName(word)
		_, value, _ := strings.Cut(word, "=")
		if known[name] == valueFlag && !hasValue && i+1 < len(line) {
			i++
			value = line[i]
		}
		switch name {
		case "o", "output":
			form = value
		case "dry-run":
			dry = true
		}
	}
	if verb == "run" && dry {
		verb = "plan"
	}
	return verb, form == string(outputJSON)
}

// isFlag says whether a word is a flag; -2 is the number of a manifest.
func isFlag(word string) bool {
	return len(word) > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9')
}

// flagName is the name in -n, --name and --name=value, and whether a value is
// attached to it.
func flagName(word string) (name string, hasValue bool) {
	name, _, hasValue = strings.Cut(word, "=")
	return strings.TrimPrefix(strings.TrimPrefix(name, "-"), "-"), hasValue
}

// arities maps every name of the flags, help included, to its arity.
func arities(flags []cli.Flag) map[string]arity {
	known := map[string]arity{"help": switchFlag, "h": switchFlag}
	for _, f := range flags {
		doc, ok := f.(cli.DocGenerationFlag)
		for _, name := range f.Names() {
			known[name] = arity(ok && doc.TakesValue())
		}
	}
	return known
}

// everyFlag maps the flags of all verbs: a name has the same arity everywhere.
func everyFlag(app *cli.App) map[string]arity {
	known := arities(app.Flags)
	for _, verb := range app.Commands {
		for name, a := range arities(verb.Flags) {
			known[name] = a
		}
	}
	return known
}

func unknownFlag(flags []cli.Flag, word string) error {
	name, _ := flagName(word)
	hint := helpHint
	if near := cli.SuggestFlag(flags, name, false); near != "" && alike(name, strings.TrimLeft(near, "-")) {
		hint = "did you mean " + near + "?"
	}
	return usageError(hint, "unknown flag %s", strings.SplitN(word, "=", 2)[0])
}

func suggestVerb(app *cli.App, word string) string {
	near := strings.TrimSuffix(strings.TrimPrefix(cli.SuggestCommand(app.Commands, word), `Did you mean "`), `"?`)
	if app.Command(near) != nil && alike(word, near) {
		return "did you mean batcher " + near + "?"
	}
	return helpHint
}

// alike says whether two names share a beginning or most of their letters, so
// that a suggestion is worth making: the library always has one.
func alike(a, b string) bool {
	shared := 0
	for _, r := range a {
		if strings.ContainsRune(b, r) {
			shared++
		}
	}
	return 2*shared > max(len(a), len(b))
}
