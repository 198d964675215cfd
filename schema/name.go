package schema

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A column name is at most so long. Redshift, SQL Server and the partitions of
// Hive take 128 characters, Glue and Athena 255 bytes.
const (
	maxName      = 128 // characters
	maxNameBytes = 255
	maxLooked    = 1024 // characters of a key that make its name
)

// Naming is how keys of the input become column names.
type Naming uint8

const (
	// Lower turns eventTime into eventtime.
	Lower Naming = iota
	// Snake turns eventTime into event_time and HTTPStatus into http_status.
	Snake
)

// IsName says whether s can be a column name: letters of any script, none of them
// upper case where ASCII has it, digits, marks and "_", no digit or mark in front,
// at most 128 characters and 255 bytes. No reader of Parquet or Delta tables gives
// such a name a meaning of its own.
func IsName(s string) bool {
	if s == "" || !utf8.ValidString(s) || cutName(s) != s {
		return false
	}
	for i, r := range s {
		if !isNameRune(r) || r >= 'A' && r <= 'Z' || i == 0 && (unicode.IsNumber(r) || isMark(r)) {
			return false
		}
	}
	return true
}

// isNameRune says whether a character stays in a name.
func isNameRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || isMark(r)
}

// isPlainKey says whether a key has nothing that its name has not, but for case.
func isPlainKey(key string) bool {
	if isMadeUp(key) {
		return false
	}
	key = KeyText(key)
	for i, r := range key {
		if !isNameRune(r) || i == 0 && (unicode.IsNumber(r) || isMark(r)) {
			return false
		}
	}
	return key != "" && cutName(key) == key
}

// isMark says whether a character belongs to the letter in front of it. Those that
// enclose it or choose its picture are signs.
func isMark(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Mc) && !unicode.Is(unicode.Variation_Selector, r)
}

// Plain returns the name that key has when no sibling claims it too: its letters,
// digits and marks in normal form C and lower case, any other character as "_", a
// "_" in front of a leading digit, cut to 128 characters and 255 bytes. Marks
// behind a "_" for a sign belong to the sign. It depends on nothing but the key.
func (n Naming) Plain(key string) string {
	key = KeyText(key)
	runes := []rune(norm.NFC.String(cutTo(key, maxLooked, len(key))))
	var b strings.Builder
	letter := false // a mark may follow
	for i, r := range runes {
		switch {
		case isMark(r) || unicode.Is(unicode.Variation_Selector, r):
			if letter && isMark(r) {
				b.WriteRune(r)
			}
			continue
		case !isNameRune(r):
			letter = false
			b.WriteByte('_')
			continue
		case b.Len() == 0 && unicode.IsNumber(r), n == Snake && startsWord(runes, i):
			b.WriteByte('_')
		}
		letter = r != '_'
		b.WriteRune(unicode.ToLower(r))
	}
	if b.Len() == 0 {
		return "_"
	}
	return cutName(norm.NFC.String(b.String()))
}

// Earlier returns the name that tables of earlier programs have for a key, whose
// letters outside of ASCII became their code points. A published column keeps it.
func (n Naming) Earlier(key string) string {
	var b strings.Builder
	for _, r := range key {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "u%04x", r)
		}
	}
	return n.Plain(b.String())
}

// cutName cuts a name to the length that a name may have.
func cutName(name string) string { return cutTo(name, maxName, maxNameBytes) }

func cutTo(name string, runes, size int) string {
	if len(name) <= min(runes, size) {
		return name
	}
	for i := range name {
		if _, width := utf8.DecodeRuneInString(name[i:]); runes == 0 || i+width > size {
			return name[:i]
		}
		runes--
	}
	return name
}

// startsWord says whether the upper-case letter at i begins a word: after a
// lower-case letter or a digit, or as the last capital before a lower-case one.
func startsWord(key []rune, i int) bool {
	if i == 0 || !unicode.IsUpper(key[i]) {
		return false
	}
	prev := key[i-1]
	if unicode.IsLower(prev) || unicode.IsDigit(prev) {
		return true
	}
	return unicode.IsUpper(prev) && i+1 < len(key) && unicode.IsLower(key[i+1])
}

// Names holds names that are taken, as readers compare them: those that differ in
// case alone are one.
type Names map[string]bool

// Take adds a name.
func (n Names) Take(name string) { n[asCompared(name)] = true }

// Has says whether a name is taken.
func (n Names) Has(name string) bool { return n[asCompared(name)] }

// Unique returns name, or name with the lowest number from 2 behind it that is not
// taken, and takes it.
func (n Names) Unique(name string) string {
	unique := name
	for i := 2; n.Has(unique); i++ {
		suffix := fmt.Sprintf("_%d", i)
		unique = cutTo(name, maxName-len(suffix), maxNameBytes-len(suffix)) + suffix
	}
	n.Take(unique)
	return unique
}

// asCompared is a name as a reader that does not know case compares it: by upper
// case, as Java does, to which ı and i are one, and by lower case.
func asCompared(name string) string {
	return strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, name)
}

// named gives every field without one a name that is not taken, and sorts by it.
// Pinned fields come first; of others those whose key is their own name, so that of
// id and Id the former keeps it; keys that were made up come last.
func named(fields []Field, taken Names, naming Naming, pinned map[string]*Pinned) {
	rank := func(f *Field) int {
		rank := 0
		if pinned[f.Key] == nil {
			rank = 2
		}
		switch {
		case isMadeUp(f.Key):
			rank += 2
		case naming.Plain(f.Key) != f.Key:
			rank++
		}
		return rank
	}
	for _, f := range fields {
		if f.Name != "" {
			taken.Take(f.Name)
		}
	}
	for pass := range 5 {
		for i := range fields {
			f := &fields[i]
			if f.Name != "" || rank(f) != pass {
				continue
			}
			f.Name = taken.Unique(naming.unmade(f.Key, taken))
		}
	}
	slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
}

// unmade is the name of a key when no sibling claims it too. One that was made up
// gets another number instead of a second one.
func (n Naming) unmade(key string, taken Names) string {
	name := n.Plain(key)
	if text, _, _ := strings.Cut(key, madeUp); isMadeUp(key) && text != "" && taken.Has(name) {
		return n.Plain(text)
	}
	return name
}
