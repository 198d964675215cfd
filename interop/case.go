package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"batcher/schema"
)

// Case is a table as of one version, and what stands in it.
type Case struct {
	Name       string
	Table      string   // folder, or URI
	Version    *int64   // nil: the last
	Files      []string // of the version, for readers that know nothing of Delta
	Columns    []Column // all that readers have to show, but where Partial
	Partial    bool     // readers are asked for Columns alone
	Partitions []string // columns of which Delta knows no empty string
	Key        string   // column that names a row
	Rows       []Row
	Filters    []Filter
}

// Filter is a condition on one column.
type Filter struct {
	Column string `json:"column"`
	Op     string `json:"op"`    // = < <= > >= null
	Kind   string `json:"kind"`  // type of the column
	Value  string `json:"value"` // as the truth has it; of null nothing
}

// answers is what a script prints.
type answers struct {
	Version string
	Tables  []answer
}

// answer is what a reader finds in one table.
type answer struct {
	Rows  []map[string]any
	Keys  [][]any // of the rows that each filter finds
	Error string
}

// judge compares an answer with the truth.
func (c Case) judge(r Reader, a answer) Outcome {
	o := Outcome{Reader: r.Name, Case: c.Name, Rows: len(c.Rows), Filters: len(c.Filters)}
	if a.Error != "" {
		o.Problem = "cannot read it: " + a.Error
		return o
	}
	same := func(_ schema.Type, v any) any { return v }
	found, err := c.canonical(a.Rows, same)
	if err != nil {
		o.Problem = err.Error()
		return o
	}
	truth := c.truth(r, same)
	o.Problem = differ(truth, found)
	if o.Problem != "" && r.Quirk != nil {
		truth, o.Known = c.truth(r, r.Quirk), r.Known
		o.Problem = differ(truth, found)
	}
	lost := false
	for i, f := range c.Filters {
		want, got := c.matching(truth, f), keysOf(a.Keys, i)
		switch problem := differ(want, got); {
		case problem == "" || o.Problem != "":
		case r.Loses != nil && r.Loses(c, f) && within(got, want):
			lost = true
		default:
			o.Problem = fmt.Sprintf("where %s %s %s: %s", f.Column, f.Op, f.Value, problem)
		}
	}
	if lost {
		o.Known = strings.TrimPrefix(o.Known+"; "+r.Lost, "; ")
	}
	return o
}

// within says whether all of a is in b.
func within(a, b []any) bool {
	return !slices.ContainsFunc(a, func(v any) bool { return !slices.Contains(b, v) })
}

// truth are the rows that a reader has to find, in canonical form.
func (c Case) truth(r Reader, change func(schema.Type, any) any) []map[string]any {
	rows := make([]map[string]any, len(c.Rows))
	for i, row := range c.Rows {
		rows[i] = map[string]any{}
		for _, column := range c.Columns {
			v := told(column.Type, row[column.Name])
			if r.Delta && !r.Empty && v == "" && slices.Contains(c.Partitions, column.Name) {
				v = nil
			}
			rows[i][column.Name] = v
		}
	}
	out, err := c.canonical(rows, change)
	if err != nil {
		panic(fmt.Sprintf("the truth of %s: %v", c.Name, err))
	}
	return out
}

// canonical gives rows the canonical form, and refuses other columns than the case has.
func (c Case) canonical(rows []map[string]any, change func(schema.Type, any) any) ([]map[string]any, error) {
	out := make([]map[string]any, len(rows))
	for i, row := range rows {
		if len(row) != len(c.Columns) {
			return nil, fmt.Errorf("columns %v", slices.Sorted(maps.Keys(row)))
		}
		out[i] = map[string]any{}
		for _, column := range c.Columns {
			v, ok := row[column.Name]
			if !ok {
				return nil, fmt.Errorf("column %s is missing", column.Name)
			}
			var err error
			if out[i][column.Name], err = canonical(column.Type, v, change); err != nil {
				return nil, fmt.Errorf("column %s: %w", column.Name, err)
			}
		}
	}
	return out, nil
}

// matching are the keys of the rows that a filter has to find.
func (c Case) matching(truth []map[string]any, f Filter) []any {
	t := column(f.Column, f.Kind).Type
	var value any
	if f.Op != "null" {
		var err error
		if value, err = flat(t, valueOf(t, f.Value)); err != nil {
			panic(fmt.Sprintf("filter %v: %v", f, err))
		}
	}
	keys := []any{}
	for _, row := range truth {
		if f.finds(t, row[f.Column], value) {
			keys = append(keys, row[c.Key])
		}
	}
	return keys
}

// valueOf is the value of a filter as readers tell values.
func valueOf(t schema.Type, text string) any {
	switch t.Kind {
	case schema.Bool:
		return text == "true"
	case schema.Int32, schema.Int64, schema.Float64:
		return json.Number(text)
	}
	return text
}

func (f Filter) finds(t schema.Type, found, value any) bool {
	if f.Op == "null" || found == nil {
		return f.Op == "null" && found == nil
	}
	order := compare(t, found, value)
	return strings.Contains(f.Op, "=") && order == 0 || strings.Contains(f.Op, "<") && order < 0 || strings.Contains(f.Op, ">") && order > 0
}

// keysOf are the keys that a filter found, in the form that the truth has: integers
// as text.
func keysOf(all [][]any, i int) []any {
	if i >= len(all) {
		return nil
	}
	out := make([]any, len(all[i]))
	for k, key := range all[i] {
		out[k] = fmt.Sprint(key)
	}
	return out
}

// differ says how two bags of values differ; "" if they do not.
func differ[T any](want, got []T) string {
	left, right := lines(want), lines(got)
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			return fmt.Sprintf("found %s, want %s", excerpt(right[i], left[i]), excerpt(left[i], right[i]))
		}
	}
	if len(left) != len(right) {
		return fmt.Sprintf("found %d rows, want %d", len(right), len(left))
	}
	return ""
}

// lines are values as JSON, sorted.
func lines[T any](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		body, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		out[i] = string(body)
	}
	slices.Sort(out)
	return out
}

// excerpt is what stands in a around the first place where b differs.
func excerpt(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return strings.ToValidUTF8(a[max(0, at-60):min(len(a), at+60)], "")
}
