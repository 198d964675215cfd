package record_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"batcher/localdev"
	"batcher/record"
)

// typesLikeDuckDB is the kind of ours that means the same as a type of DuckDB.
var typesLikeDuckDB = map[string]string{
	"BIGINT": "int64", "DOUBLE": "float64", "VARCHAR": "string", "BOOLEAN": "bool", "DATE": "date", "TIMESTAMP WITH TIME ZONE": "timestamp",
}

// whyOtherwise says of a type of DuckDB and a kind of ours why they differ. The test
// fails for a pair that is not here.
var whyOtherwise = map[string]string{
	"TIMESTAMP | string":                "without a zone it is no instant: declare `zone`",
	"DATE | string":                     "`02/01/2024`, `1/1/19`, `2000.01.01`: which is the day is a guess: declare `format`",
	"TIME | string":                     "there is no type for a time of day",
	"TIMESTAMP WITH TIME ZONE | string": "`EST` names no offset; two formats in one column, one without a zone",
	"VARCHAR | int64":                   "`NULL` and `null` among numbers are null",
	"VARCHAR | float64":                 "the same, and `11.6 `: blanks after a number do not count",
	"BOOLEAN | string":                  "one cell, `f`: a letter",
	"DOUBLE | decimal":                  "`82544000000000707.52` is no double",
}

// typedOtherwise counts the columns of one type of DuckDB that have another one here.
type typedOtherwise struct {
	columns int
	example string
}

// TestTypesOfSamplesBesideDuckDB compares the types that are guessed for the columns
// of the real CSV files with those that DuckDB's sniffer finds, wherever both read the
// same rows under the same name.
func TestTypesOfSamplesBesideDuckDB(t *testing.T) {
	files, columns, otherwise, text := 0, 0, 0, 0
	found := map[string]*typedOtherwise{}
	for _, f := range truths(t) {
		if f.Format != "csv" || f.DuckDB.CSV.Error != "" {
			continue
		}
		format, ok := declared[f.key]
		if !ok {
			format = record.Format{Kind: record.Auto}
		}
		s := look(t, f, record.Options{Format: format})
		if s.broken != nil || len(s.dead) > 0 || int64(len(s.rows)) != f.DuckDB.CSV.Count {
			continue
		}
		files++
		ours := s.byKey()
		for _, key := range slices.Sorted(maps.Keys(f.DuckDB.CSV.Columns)) {
			theirs := f.DuckDB.CSV.Columns[key].Type
			c, ok := ours[key]
			if !ok {
				continue // of another name, or nothing but null
			}
			columns++
			kind := c.Type.Kind.String()
			if typesLikeDuckDB[theirs] == kind {
				continue
			}
			otherwise++
			if kind == "string" {
				text++
			}
			pair := theirs + " | " + kind
			if found[pair] == nil {
				found[pair] = &typedOtherwise{example: f.key + " " + key}
			}
			found[pair].columns++
			t.Logf("%s %s: %s, %s", f.key, key, theirs, c.Type)
		}
	}
	var b strings.Builder
	b.WriteString("| DuckDB | batcher | columns | why |\n|---|---|---:|---|\n")
	for _, pair := range slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		return cmp.Or(found[b].columns-found[a].columns, strings.Compare(a, b))
	}) {
		why, ok := whyOtherwise[pair]
		if !ok {
			t.Errorf("%d columns are %s, such as %s: nobody has said why", found[pair].columns, pair, found[pair].example)
		}
		fmt.Fprintf(&b, "| %s | %d | %s |\n", pair, found[pair].columns, why)
	}
	holdDoc(t, "types", b.String())
	localdev.Figure("types of CSV beside DuckDB", fmt.Sprintf("%d of %d columns of %d files are typed otherwise, %d of them are text here", otherwise, columns, files, text))
}
