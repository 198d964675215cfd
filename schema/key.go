package schema

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A key of a field is the key of the input, or one of two forms that no text of a
// header has, because a byte 0 is in them:
//
//	a␀2, ␀3   made up: the second cell of a header that says a, the third that says nothing
//	a_2␀      the text a_2 of a header, which reads like a name that was made up
//
// Earlier programs made the keys a_2 and column_3 up. Columns that they published
// keep them.
const madeUp = "\x00"

// MadeUpKey is the key of the nth cell of a header with that text or, if the text is
// empty, of its nth cell.
func MadeUpKey(text string, n int) string { return fmt.Sprint(text, madeUp, n) }

// GivenKey is the key of a text in a header: the text, marked if a key that an
// earlier program made up could read like it.
func GivenKey(text string) string {
	digits := strings.TrimRight(text, "0123456789")
	if len(digits) < len(text) && strings.HasSuffix(digits, "_") && len(text) > 2 {
		return text + madeUp
	}
	return text
}

// CellOf returns the text of a header's cell whose key was made up, and which one of
// those with that text it is; of cells without a text, which one of all.
func CellOf(key string) (text, n string, ok bool) {
	text, n, _ = strings.Cut(key, madeUp)
	return text, n, isMadeUp(key)
}

// isMadeUp says whether no text of the input has this key.
func isMadeUp(key string) bool {
	at := strings.Index(key, madeUp)
	return at >= 0 && at < len(key)-1
}

// KeyText is a key for people. Made-up ones are spelled as names: a_2, column_3.
func KeyText(key string) string {
	text, n, marked := strings.Cut(key, madeUp)
	switch {
	case !marked || n == "":
		return text
	case text == "":
		return "column_" + n
	}
	return text + "_" + n
}

// Fold returns the form that keys have in common which differ in normal form and in
// case alone, by Unicode's simple case folding: ß is not ss, ı is not i.
func Fold(key string) string {
	plain := true
	for i := 0; plain && i < len(key); i++ {
		c := key[i]
		plain = c < utf8.RuneSelf && (c < 'A' || c > 'Z') && c != 0
	}
	if plain {
		return key
	}
	text, n, marked := strings.Cut(key, madeUp)
	text = norm.NFC.String(strings.Map(foldRune, norm.NFC.String(text)))
	if marked && n != "" {
		return text + madeUp + n
	}
	return text
}

// foldRune is the least of the letters that differ from r in case alone, or the
// lower-case one of ASCII.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	least := r
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		if o >= 'a' && o <= 'z' {
			return o
		}
		least = min(least, o)
	}
	return least
}

// IndexOf returns the index of the field that has a key: its own, else the first that
// differs from it in case alone, or -1.
func IndexOf(fields []Field, key string) int {
	if i := slices.IndexFunc(fields, func(f Field) bool { return f.Key == key && key != "" }); i >= 0 {
		return i
	}
	fold := Fold(key)
	return slices.IndexFunc(fields, func(f Field) bool { return f.Key != "" && Fold(f.Key) == fold })
}
