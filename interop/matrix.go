package interop

import (
	"fmt"
	"slices"
	"strings"
)

// Matrix is a table in Markdown of what readers made of cases, with notes below it.
func Matrix(outcomes []Outcome) string {
	var cases []string
	var notes []string
	for _, o := range outcomes {
		if !slices.Contains(cases, o.Case) {
			cases = append(cases, o.Case)
		}
	}
	var b strings.Builder
	b.WriteString("| reader | version | tables in |")
	for _, c := range cases {
		fmt.Fprintf(&b, " %s |", c)
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(cases)) + "\n")
	for i, o := range outcomes {
		if i > 0 && sameRun(o, outcomes[i-1]) {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s |", o.Reader, o.Version, o.Place)
		for _, c := range cases {
			fmt.Fprintf(&b, " %s |", cell(outcomes, o, c, &notes))
		}
		b.WriteByte('\n')
	}
	if len(notes) > 0 {
		b.WriteByte('\n')
	}
	for i, note := range notes {
		fmt.Fprintf(&b, "%d. %s\n", i+1, note)
	}
	return b.String()
}

func sameRun(a, b Outcome) bool { return a.Reader == b.Reader && a.Place == b.Place }

// cell says how a reader's run went in one case; what there is to say more is a note.
func cell(outcomes []Outcome, run Outcome, name string, notes *[]string) string {
	i := slices.IndexFunc(outcomes, func(o Outcome) bool { return sameRun(o, run) && o.Case == name })
	if i < 0 {
		return "–"
	}
	o := outcomes[i]
	word, text := "differs", o.Known
	switch {
	case o.Problem != "":
		word, text = "WRONG", o.Problem
	case o.Known == "":
		return "equal"
	}
	text = o.Reader + ": " + strings.Join(strings.Fields(text), " ")
	at := slices.Index(*notes, text)
	if at < 0 {
		at = len(*notes)
		*notes = append(*notes, text)
	}
	return fmt.Sprintf("%s (%d)", word, at+1)
}
