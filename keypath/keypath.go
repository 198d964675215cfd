// Package keypath reads values from the keys of objects: dt=2024-01-01/DE/a.csv.
//
// Duty: compile a pattern once, and take a key apart by it.
//
// Invariants: a key follows a pattern as a whole or not at all; the same key and pattern
// give the same values anywhere.
//
// It never knows what type a value has.
package keypath

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Pattern is a compiled pattern. It is safe for concurrent use.
type Pattern struct {
	text   string
	re     *regexp.Regexp
	fields []Field
}

// Field is a value that a pattern names, as it is written there.
type Field struct {
	Name   string // {Name}, {Name:Type} or {Name:Type:Format}
	Type   string // "" if none was given
	Format string // of a date or a time; "" if none was given
	hive   bool   // it follows "name=", as Hive and Spark write folders of partitions
}

// Value is what a key says of a field.
type Value struct {
	Text string
	Null bool
}

// hiveNull is how Hive and Spark name the partition of null.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// pieces are what a pattern is made of: **/ at its head or after a slash, **, * and
// {fields}; all else is itself.
var pieces = regexp.MustCompile(`\*\*/|\*\*|\*|\{[^{}/]*\}|[{}]`)

// Compile reads a pattern: {name}, {name:type} and {name:type:format} are values, which
// lie between two slashes, as does what * matches; ** matches any text, and **/
// also for none. A value is as short as can be.
func Compile(text string) (*Pattern, error) {
	p := &Pattern{text: text}
	var re strings.Builder
	re.WriteString(`(?s)\A`)
	names := map[string]bool{}
	at := 0
	for _, m := range pieces.FindAllStringIndex(text, -1) {
		re.WriteString(regexp.QuoteMeta(text[at:m[0]]))
		piece := text[m[0]:m[1]]
		switch {
		case piece == "**/" && (m[0] == 0 || text[m[0]-1] == '/'):
			re.WriteString(`(?:.*/)?`)
		case piece == "**/":
			re.WriteString(`.*/`)
		case piece == "**":
			re.WriteString(`.*`)
		case piece == "*":
			re.WriteString(`[^/]*`)
		case len(piece) < 2:
			return nil, errors.New("has a { or } that is no part of a {name}")
		default:
			if m[0] == at && strings.HasSuffix(text[:at], "}") {
				return nil, errors.New("must have something between two values")
			}
			f := fieldOf(piece[1 : len(piece)-1])
			f.hive = m[0] > 0 && text[m[0]-1] == '='
			if names[f.Name] {
				return nil, fmt.Errorf("names {%s} twice", f.Name)
			}
			names[f.Name] = true
			p.fields = append(p.fields, f)
			re.WriteString(`([^/]*?)`)
		}
		at = m[1]
	}
	re.WriteString(regexp.QuoteMeta(text[at:]) + `\z`)
	if len(p.fields) == 0 {
		return nil, errors.New("names no value: wants a {name} in it")
	}
	var err error
	p.re, err = regexp.Compile(re.String())
	return p, err
}

func fieldOf(text string) Field {
	var f Field
	f.Name, text, _ = strings.Cut(text, ":")
	f.Type, f.Format, _ = strings.Cut(text, ":")
	return f
}

// String is the pattern as it was given.
func (p *Pattern) String() string { return p.text }

// Fields are the values that the pattern names, in their order.
func (p *Pattern) Fields() []Field { return p.fields }

// Match takes a key apart: a value for each field. It returns false for a key that does
// not follow the pattern, and for one with a value that is no UTF-8. An empty value and
// that of Hive's default partition are null; after "name=" what is %-encoded is decoded.
func (p *Pattern) Match(key string) ([]Value, bool) {
	m := p.re.FindStringSubmatch(key)
	if m == nil {
		return nil, false
	}
	values := make([]Value, len(p.fields))
	for i, text := range m[1:] {
		switch {
		case text == "" || p.fields[i].hive && text == hiveNull:
			values[i].Null = true
			continue
		case p.fields[i].hive:
			text = unescaped(text)
		}
		if !utf8.ValidString(text) {
			return nil, false
		}
		values[i].Text = text
	}
	return values, true
}

// unescaped decodes %XX, and leaves a % that no such code follows, as Hive does.
func unescaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
