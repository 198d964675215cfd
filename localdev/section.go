package localdev

import (
	"fmt"
	"os"
	"strings"
)

// PutSection puts text between the marks of a name in a document, which are comments on
// lines of their own: what a command measured is written by the command. A document
// without the marks is an error and stays as it is.
func PutSection(file, name, text string) error {
	body, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := fmt.Sprintf("<!-- %s: begin -->\n", name), fmt.Sprintf("<!-- %s: end -->\n", name)
	head, rest, begun := strings.Cut(string(body), begin)
	_, tail, ended := strings.Cut(rest, end)
	if !begun || !ended {
		return fmt.Errorf("%s has no place between %q and %q", file, begin, end)
	}
	return os.WriteFile(file, []byte(head+begin+text+end+tail), 0o644)
}
