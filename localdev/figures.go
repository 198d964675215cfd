package localdev

import (
	"fmt"
	"os"
	"strings"
)

// Figure notes a figure that a test measured or counted, for those who read the
// outcome of the tests: one line "name: value" at the end of the file that the
// variable BATCHER_FIGURES names. Without the variable it does nothing. Several
// processes may write to one file. A file that cannot be written is a panic,
// since a figure that is missing looks like a test that did not run.
func Figure(name string, value any) {
	path := os.Getenv("BATCHER_FIGURES")
	if path == "" {
		return
	}
	if err := appendLine(path, fmt.Sprintf("%s: %v", name, value)); err != nil {
		panic(fmt.Sprintf("note the figure %s: %v", name, err))
	}
}

// appendLine writes a line with one call, which files opened to append keep in
// one piece.
func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(strings.ReplaceAll(line, "\n", " ") + "\n"); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Skip skips a test so that it is heard: go test says nothing of skips, so the
// reason also stands among the figures.
func Skip(t interface {
	Helper()
	Name() string
	Skip(args ...any)
}, reason string) {
	t.Helper()
	Figure("SKIPPED "+t.Name(), reason)
	t.Skip("SKIPPED: " + reason)
}
