package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// completions are what each shell is to offer for a line, and what it is not to.
var completions = []struct{ line, offers, not string }{
	{"batcher ru", "run", "rewind"},
	{"batcher doctor", "doctor", "dlq"},
	{"batcher run --max-b", "--max-batches", "--memory"},
	{"batcher run -o j", "json", "text"},
	{"batcher ddl spa", "spark", "trino"},
	{"batcher -c pipe", "pipeline.yaml", "plan"},
	{"batcher init lo", "looks/", "log"},
	{"batcher schema wid", "widen", "diff"},
}

// TestCompletionInRealShells asks bash, zsh and fish themselves, as Tab does.
func TestCompletionInRealShells(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "looks"), 0o700); err != nil {
		t.Fatal(err)
	}
	for shell, ask := range map[string]func(t *testing.T, dir, line string) string{"bash": askBash, "zsh": askZsh, "fish": askFish} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("NOT TESTED: completion in %s, which is not installed (apt-get install %s)", shell, shell)
			}
			p := play(verbs{}, "completion", shell)
			if err := os.WriteFile(filepath.Join(dir, shell), []byte(p.stdout), 0o600); p.code != 0 || err != nil {
				t.Fatal(p.code, err)
			}
			for _, c := range completions {
				got := ask(t, dir, c.line)
				words := strings.FieldsFunc(got, func(r rune) bool { return strings.ContainsRune(" \t\r\n", r) })
				if !slices.Contains(words, c.offers) && !slices.Contains(words, strings.TrimSuffix(c.offers, "/")) || slices.Contains(words, c.not) {
					t.Errorf("%s<Tab>: %q", c.line, got)
				}
				for _, trouble := range []string{"unrecognized", "error", "not found"} {
					if strings.Contains(got, trouble) {
						t.Errorf("%s<Tab>: %q", c.line, got)
					}
				}
			}
		})
	}
}

// inShell runs a script in a shell, and returns all that it prints.
func inShell(t *testing.T, dir, shell string, args ...string) string {
	t.Helper()
	cmd := exec.Command(shell, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "TERM=xterm")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", shell, err, out)
	}
	return string(out)
}

func askBash(t *testing.T, dir, line string) string {
	return inShell(t, dir, "bash", "--norc", "-c", `source ./bash; COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _batcher; printf '%s\n' "${COMPREPLY[@]}"`, "bash", line)
}

func askFish(t *testing.T, dir, line string) string {
	return inShell(t, dir, "fish", "--no-config", "-c", `source ./fish; complete -C $argv[1] | string replace -r '\t.*' ''; true`, line)
}

// askZsh types a line and Tab into an interactive zsh, and prints the line that it makes
// of them.
func askZsh(t *testing.T, dir, line string) string {
	return inShell(t, dir, "zsh", "-f", "-c", `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PROMPT=; unsetopt zle_bracketed_paste; autoload -U compinit && compinit -D -u; source ./zsh; print REA''DY"
zpty -r z seen '*READY*'

zpty -w z 'finish() { print -r -- " LI""NE $BUFFER EN""D"; BUFFER=; zle accept-line }; zle -N finish; bindkey "^X" finish; print SE''T'
zpty -r z seen '*SET*'
zpty -n -w z "$1"$'\t\C-X'
zpty -r -t z rest
sleep 0.1
zpty -r z seen '*LINE*END*'
print -r -- "${${seen##*LINE }%% END*}"
print -r -- "${(M)seen:#*unrecognized*}"
zpty -d z
`, "zsh", line)
}
