package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"batcher/manifest"
	"batcher/record"
	"batcher/schema"
)

// youngSeq is the last manifest up to which runs name pins that matched nothing. Later
// on a field that is rare is no news.
const youngSeq manifest.Seq = 10

// reportAdded is a column, or a field of a struct, that a run added.
type reportAdded struct {
	Column  string `json:"column"`
	Key     string `json:"key"`
	Type    string `json:"type"`
	Renamed string `json:"renamed,omitempty"` // why its name has a number
}

// addedBy lists what batches added to the main table.
func addedBy(notes []record.Notes) []reportAdded {
	var out []reportAdded
	for _, n := range notes {
		for _, a := range n.Added {
			out = append(out, reportAdded{a.Path, schema.KeyText(a.Key), a.Type.String(), renamed(a)})
		}
	}
	return out
}

// renamed says why the name of a column has a number, or "".
func renamed(a schema.Added) string {
	text, n, made := schema.CellOf(a.Key)
	switch {
	case !a.Second:
		return ""
	case made && text == "":
		return fmt.Sprintf("cell %s of a header is empty", n)
	case made:
		return fmt.Sprintf("a header says %q at least %s times", text, n)
	}
	return fmt.Sprintf("the name of key %q is another column's", schema.KeyText(a.Key))
}

// unmatched lists the pins of which no record of any batch had the field.
func unmatched(notes []record.Notes) []string {
	notes = slices.DeleteFunc(slices.Clone(notes), func(n record.Notes) bool { return n.Rows == 0 })
	if len(notes) == 0 {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(notes[0].Unmet), func(place string) bool {
		return slices.ContainsFunc(notes, func(n record.Notes) bool { return !slices.Contains(n.Unmet, place) })
	})
	slices.Sort(out)
	return out
}

// warnings say what was found out of objects that a person may know better.
func warnings(notes []record.Notes) (out []string) {
	var headless, above, alone, strange record.Guessed
	for _, n := range notes {
		for _, g := range []struct{ all, of *record.Guessed }{{&headless, &n.Headless}, {&above, &n.Above}, {&alone, &n.Alone}, {&strange, &n.Strange}} {
			if g.all.Objects == 0 {
				g.all.First = g.of.First
			}
			g.all.Objects += g.of.Objects
		}
	}
	for _, g := range []struct {
		record.Guessed
		what string
	}{
		{headless, "read as without a header: set source.files.csv.columns to name the columns, or header: true"},
		{above, "read without the lines above the header: set source.files.csv.skip_lines"},
		{strange, "with a first row of text that no other header or column has a name of: set source.files.csv.header: false if it is a record"},
		{alone, "with a header alone: set source.files.csv.header: false if it is a record"},
	} {
		if g.Objects > 0 {
			out = append(out, fmt.Sprintf("%s %s (%s)", many(g.Objects, "object"), g.what, g.First))
		}
	}
	for _, n := range notes {
		if e := n.Envelope; e != nil {
			return append(out, fmt.Sprintf("records look like envelopes: most of their text is in the list %s; source.files.unnest: %[1]s reads its %s", e.Place, many(e.Elements, "element")))
		}
	}
	return out
}

// maxNews bounds the new columns that the report for people names.
const maxNews = 8

// news are lines for people about columns that came, and pins that matched nothing.
func (r report) news() []string {
	var lines, names []string
	for _, a := range r.Added {
		if names = append(names, a.Column+" "+a.Type); a.Renamed != "" && len(lines) < maxNews {
			lines = append(lines, fmt.Sprintf("column %s: %s", printable(a.Column), printable(a.Renamed)))
		}
	}
	if len(names) > 0 {
		lines = append([]string{"new columns: " + fewOf(names)}, lines...)
	}
	for _, w := range r.Warnings {
		lines = append(lines, printable(w))
	}
	for _, place := range r.Unmatched {
		lines = append(lines, fmt.Sprintf("no record has the field %s: its column is null (schema.columns, event_time)", printable(place)))
	}
	return lines
}

// appeared lists the columns that a manifest has and the one before has not, "name
// type" each; of a struct that is new the struct alone.
func (r *rooms) appeared(ctx context.Context, before, now *manifest.Manifest) ([]string, error) {
	ref := now.Tables[string(r.cfg.Table)].Schema
	was := before.Tables[string(r.cfg.Table)].Schema
	if ref.LastID <= max(was.LastID, schema.LastReserved) {
		return nil, nil
	}
	s, err := r.log.LoadSchema(ctx, ref)
	if err != nil {
		return nil, err
	}
	var out []string
	above := ""
	for _, c := range columnsOf(s.Fields, "") {
		inside := above != "" && (strings.HasPrefix(c.Column, above+".") || strings.HasPrefix(c.Column, above+"["))
		if c.ID > max(was.LastID, schema.LastReserved) && !inside {
			out, above = append(out, c.Column+" "+c.Type), c.Column
		}
	}
	return out, nil
}

// fewOf is a list for a line: the first of many.
func fewOf(items []string) string {
	if len(items) <= maxNews {
		return printable(strings.Join(items, ", "))
	}
	return fmt.Sprintf("%s, … (%d)", printable(strings.Join(items[:maxNews], ", ")), len(items))
}
