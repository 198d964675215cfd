package config

import (
	"errors"
	"fmt"
	"regexp"
)

// The characters of a CSV dialect are single bytes of ASCII: parsers of CSV look
// for them in bytes. Letters, digits and line breaks would make no dialect.

// Delimiter stands between the fields of a line: one character, or auto.
type Delimiter string

var delimiterPattern = regexp.MustCompile(`^(auto|\\t|[\x01-\x09\x0b\x0c\x0e-!#-/:-@\[-` + "`" + `{-~])$`)

func (*Delimiter) wants() string { return `auto or one character like ";" or "\t"` }
func (d *Delimiter) parse(text string) error {
	if !delimiterPattern.MatchString(text) {
		return errors.New(`wants auto or one character of ASCII that is no letter, digit, quote or line break, like ";" or "\t"`)
	}
	if *d = Delimiter(text); text == `\t` {
		*d = "\t"
	}
	return nil
}

// mark is one character of ASCII punctuation, or nothing.
var markPattern = regexp.MustCompile(`^[!-/:-@\[-` + "`" + `{-~]?$`)

func parseMark(text string) (string, error) {
	if !markPattern.MatchString(text) {
		return "", errors.New(`wants one character of ASCII punctuation, or "" for none`)
	}
	return text, nil
}

// Header says whether the first line of an object names its columns.
type Header string

// The headers.
const (
	HeaderAuto  Header = "auto" // as the first lines show
	HeaderTrue  Header = "true"
	HeaderFalse Header = "false"
)

func (*Header) wants() string { return "auto, true or false" }
func (h *Header) parse(text string) error {
	word, err := parseAuto(text)
	*h = Header(word)
	return err
}

// Trailing says whether a delimiter at the end of a row means nothing: no cell
// follows it.
type Trailing string

// The meanings.
const (
	TrailingAuto  Trailing = "auto" // as the first lines show
	TrailingTrue  Trailing = "true"
	TrailingFalse Trailing = "false"
)

func (*Trailing) wants() string { return "auto, true or false" }
func (t *Trailing) parse(text string) error {
	word, err := parseAuto(text)
	*t = Trailing(word)
	return err
}

func parseAuto(text string) (string, error) {
	switch text {
	case "auto", "true", "false":
		return text, nil
	}
	return "", errors.New("wants auto, true or false")
}

// Quote stands around fields; "" if quotes mean nothing.
type Quote string

func (*Quote) wants() string { return `one character, or "" for none` }
func (q *Quote) parse(text string) error {
	mark, err := parseMark(text)
	*q = Quote(mark)
	return err
}

// Escape stands before a quote inside of quotes; "" if the quote is doubled.
type Escape string

func (*Escape) wants() string { return `one character, or "" for none` }
func (e *Escape) parse(text string) error {
	mark, err := parseMark(text)
	*e = Escape(mark)
	return err
}

// Comment begins a line that is no record; "" if none does.
type Comment string

func (*Comment) wants() string { return `one character, or "" for none` }
func (c *Comment) parse(text string) error {
	mark, err := parseMark(text)
	*c = Comment(mark)
	return err
}

// clash names two characters of the dialect that are the same, or "". A quote
// may escape itself: that is what doubling it means.
func (c CSV) clash() string {
	marks := []struct{ name, is string }{
		{"delimiter", string(c.Delimiter)}, {"quote", string(c.Quote)}, {"escape", string(c.Escape)}, {"comment", string(c.Comment)},
	}
	for i, a := range marks {
		for _, b := range marks[i+1:] {
			if a.is != "" && a.is == b.is && (a.name != "quote" || b.name != "escape") {
				return fmt.Sprintf("%s must not be the %s too", b.name, a.name)
			}
		}
	}
	return ""
}
