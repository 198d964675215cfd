package source

import (
	"regexp"
	"strings"
)

// The name of an object is what _source says of its records. It is the object's
// key, but for two cases in which a mark stands behind the key: the second and
// later contents of a key that are consumed beside the first (append), and every
// content of a key that itself looks as if it had a mark. So a name tells its key,
// see KeyOf, whatever keys there are.

// markForm is the form of a mark: "#" and 16 lower-case hex digits.
var markForm = regexp.MustCompile(`#[0-9a-f]{16}$`)

// markSize is the length of a mark in bytes.
const markSize = 17

// Marked says whether a text ends in the form of a mark.
func Marked(s string) bool {
	return len(s) >= markSize && s[len(s)-markSize] == '#' && markForm.MatchString(s)
}

// Mark puts the first 16 hex digits of a hash behind a key.
func Mark(key string, h Hash) string { return key + "#" + h.String()[:markSize-1] }

// KeyOf returns the key of the object that a name, a value of _source, stands for.
func KeyOf(name string) string {
	if Marked(name) {
		return name[:strings.LastIndexByte(name, '#')]
	}
	return name
}

// LastName is not before any name of the key in the order of their bytes, and the
// key itself is not behind any.
func LastName(key string) string { return key + "#ffffffffffffffff" }

// Source returns the name of the range's object.
func (r *Range) Source() string {
	if r.Name != "" {
		return r.Name
	}
	return r.Key
}
