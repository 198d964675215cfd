package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// varying is what two recordings of a session differ in, and what stands for it.
var varying = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`\b(in|for) [0-9.]+(µs|ms|s)\b`), "$1 DURATION"},
	{regexp.MustCompile(`\b[0-9a-f]{32}\b|/[0-9a-f]{6}…`), "ID"},
	{regexp.MustCompile(`by \S+ \(batcher \S+, attempt`), "by HOST (batcher VERSION, attempt"},
	{regexp.MustCompile(`\S*/first-hour\b`), "/home/ada/shop"},
	{regexp.MustCompile(`[0-9.]+ (B|KiB) in `), "SIZE in "},
	{regexp.MustCompile(`file, [0-9.]+ (B|KiB)|files, [0-9.]+ (B|KiB)`), "file SIZE"},
	{regexp.MustCompile(` +\n`), "\n"},
}

// TestTheFirstHour plays the commands of docs/FIRST_HOUR.md and holds their output to it.
// With -update it writes the page anew.
func TestTheFirstHour(t *testing.T) {
	const page = "../../docs/FIRST_HOUR.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, nil, "")
	dir := filepath.Join(t.TempDir(), "first-hour")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(w.path, filepath.Join(bin, "batcher")); err != nil {
		t.Fatal(err)
	}
	var played strings.Builder
	commands, inside := 0, false
	for line := range strings.Lines(string(text)) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console\n"
			played.WriteString(line)
		case !inside:
			played.WriteString(line)
		case isCommand:
			commands++
			played.WriteString(line)
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir, cmd.Env = dir, slices.Concat(w.env, []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "TZ=UTC"})
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v", strings.TrimSpace(command), err)
			}
			played.Write(out)
		}
	}
	if commands < 15 {
		t.Errorf("only %d commands are on the page", commands)
	}
	got, want := steady(played.String()), steady(string(text))
	if *update {
		page, text := page, strings.ReplaceAll(played.String(), dir, "/home/ada/shop")
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("the session is another than docs/FIRST_HOUR.md says (-update writes it anew):\n%s", differing(want, got))
	}
}

// steady puts words in the place of what varies.
func steady(text string) string {
	for _, v := range varying {
		text = v.is.ReplaceAllString(text, v.as)
	}
	return text
}

// differing lists the lines in which two texts differ.
func differing(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	var out strings.Builder
	for i := range max(len(a), len(b)) {
		x, y := "", ""
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			out.WriteString("- " + x + "\n+ " + y + "\n")
		}
	}
	return out.String()
}
