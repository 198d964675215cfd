package config_test

import (
	"strings"
	"testing"

	"batcher/config"
)

// TestColumnNames: the names of columns are those of the tables, in any script; a table
// that an earlier program named is still split by its column.
func TestColumnNames(t *testing.T) {
	file := func(name, partition string) string {
		return minimal + "schema: {columns: [{path: Größe, type: int64}, {path: x, type: string, name: \"" + name + "\"}]}\npartition_by: [{column: \"" + partition + "\"}]\n"
	}
	for _, c := range []struct {
		name, partition string
		ok              bool
	}{
		{"land", "größe", true}, {"land", "gru00f6u00dfe", true}, {"länder", "länder", true}, {"国", "国", true},
		{"Länder", "größe", false}, {"la\u0308nder", "größe", false}, {"a b", "größe", false}, {"😀", "größe", false}, {"1a", "größe", false},
		{strings.Repeat("国", 85), "größe", true}, {strings.Repeat("国", 86), "größe", false}, {"land", "grösse", false},
	} {
		_, err := config.Parse("/etc/p.yaml", []byte(file(c.name, c.partition)), config.Options{})
		if (err == nil) != c.ok {
			t.Errorf("%s, split by %s: %v", c.name, c.partition, err)
		}
	}
}
