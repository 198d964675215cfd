package interop

import (
	"encoding/json"
	"strings"
)

// ColumnOf declares a column as in a pipeline file.
func ColumnOf(name, kind string) Column { return column(name, kind) }

// Judge judges the answer of a reader, as its script prints it.
func Judge(r Reader, c Case, text string) (Outcome, error) {
	var a answer
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&a)
	return c.judge(r, a), err
}
