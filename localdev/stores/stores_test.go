package stores_test

import (
	"os"
	"strings"
	"testing"

	"batcher/localdev"
	"batcher/localdev/stores"
)

// TestTheDocumentHasARowForEveryStore holds docs/STORES.md to the list, and to verdicts
// that are right: whoever changes either makes the table again.
func TestTheDocumentHasARowForEveryStore(t *testing.T) {
	text, err := os.ReadFile("../../docs/STORES.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range stores.Targets() {
		verdict := "| 0 of 20 | 0 of 20 | 69 ×20 |"
		if target.Fit {
			verdict = "| 20 of 20 | 20 of 20 | 0 ×20 |"
		}
		row := "| " + target.Name + " | " + target.Version + " " + verdict
		if !strings.Contains(string(text), "\n"+row) {
			t.Errorf("docs/STORES.md has no row that begins with %q: make stores writes it", row)
		}
	}
}

// TestVerdicts is one round on each bucket of MinIO, and on those of Versity when
// proving. The stores that must be refused need Java or Python: make stores has them.
func TestVerdicts(t *testing.T) {
	program, err := stores.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range stores.Targets() {
		if !target.Fit || !localdev.Proving() && !strings.HasPrefix(target.Name, "MinIO") {
			continue
		}
		row, err := stores.Survey(t.Context(), program, target, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !row.Right() {
			t.Errorf("%s: not the verdicts that it must get: %+v", target.Name, row)
		}
		localdev.Figure("stores: "+target.Name, strings.TrimSpace(strings.SplitN(stores.Table([]stores.Row{row}), "\n", 3)[2]))
	}
}
