package localdev_test

import (
	"os"
	"path/filepath"
	"testing"

	"batcher/localdev"
)

func TestPutSectionReplacesWhatIsBetweenTheMarks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	const page = "a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n<!-- y: begin -->\nstays\n<!-- y: end -->\n"
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := localdev.PutSection(file, "z", "new\n"); err == nil {
		t.Error("a place that is not there was found")
	}
	if err := localdev.PutSection(file, "x", "new\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if want := "a\n<!-- x: begin -->\nnew\n<!-- x: end -->\nb\n<!-- y: begin -->\nstays\n<!-- y: end -->\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}
