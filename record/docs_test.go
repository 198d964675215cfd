package record_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what was seen into docs/FORMATS.md")

// holdDoc demands that the part of docs/FORMATS.md between the marks of a name
// is what a test saw; -update writes it.
func holdDoc(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join("..", "docs", "FORMATS.md")
	text := read(t, path)
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->\n"
	before, rest, found := strings.Cut(text, begin)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("docs/FORMATS.md has no part %q", name)
	}
	if got == want {
		return
	}
	if !*update {
		t.Errorf("docs/FORMATS.md says of %s something else than was seen (go test ./record -update writes it):\n%s", name, want)
		return
	}
	if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
