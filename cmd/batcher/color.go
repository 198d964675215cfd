package main

import "strings"

// palette colours words for people, or leaves them as they are.
type palette bool

// Colours, as terminals know them.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
)

// in gives a text a colour.
func (p palette) in(color, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// heading makes the first line of a table bold: colours inside of it would count as
// characters of its columns.
func (p palette) heading(table string) string {
	first, rest, found := strings.Cut(table, "\n")
	if !found {
		return table
	}
	return p.in(bold, first) + "\n" + rest
}

// colored says whether what goes to a stream is coloured: as --color says, and by itself
// on a terminal that is not dumb, unless NO_COLOR is set (no-color.org).
func (p process) colored(when string, terminal bool) palette {
	switch when {
	case "always":
		return true
	case "never":
		return false
	}
	return palette(terminal && variable(p.Environ, "NO_COLOR") == "" && variable(p.Environ, "TERM") != "dumb")
}
