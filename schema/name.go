package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxName is the longest column name in bytes.
const maxName = 128

// Naming is how keys of the input become column names.
type Naming uint8

const (
	// Lower turns eventTime into eventtime.
	Lower Naming = iota
	// Snake turns eventTime into event_time and HTTPStatus into http_status.
	Snake
)

// IsName says whether s is a column name: ^[a-z_][a-z0-9_]{0,127}$.
func IsName(s string) bool {
	if s == "" || len(s) > maxName || (s[0] >= '0' && s[0] <= '9') {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return true
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_'
}

// Plain returns the name that key has when no sibling claims it too: ASCII
// letters in lower case, any other ASCII character than digits and "_" as "_",
// any other character as "u" and its code point in hex, a "_" in front of a
// leading digit, cut to 128 bytes. It depends on nothing but the key.
func (n Naming) Plain(key string) string {
	var b strings.Builder
	for i, r := range key {
		switch {
		case r >= 'A' && r <= 'Z':
			if n == Snake && startsWord(key, i) {
				b.WriteByte('_')
			}
			b.WriteByte(byte(r) + 'a' - 'A')
		case r < utf8.RuneSelf && isNameByte(byte(r)):
			b.WriteByte(byte(r))
		case r < utf8.RuneSelf:
			b.WriteByte('_')
		default:
			fmt.Fprintf(&b, "u%04x", r)
		}
		if b.Len() > maxName {
			break
		}
	}
	name := b.String()
	if name == "" || (name[0] >= '0' && name[0] <= '9') {
		name = "_" + name
	}
	return name[:min(len(name), maxName)]
}

// startsWord says whether the upper-case letter at i begins a word: after a
// lower-case letter or a digit, or as the last capital before a lower-case one.
func startsWord(key string, i int) bool {
	if i == 0 {
		return false
	}
	prev := key[i-1]
	if prev >= 'a' && prev <= 'z' || prev >= '0' && prev <= '9' {
		return true
	}
	return prev >= 'A' && prev <= 'Z' && i+1 < len(key) && key[i+1] >= 'a' && key[i+1] <= 'z'
}

// Unique returns name, or name with the lowest number from 2 behind it that
// taken does not hold.
func Unique(name string, taken map[string]bool) string {
	if !taken[name] {
		return name
	}
	for i := 2; ; i++ {
		suffix := fmt.Sprintf("_%d", i)
		candidate := name[:min(len(name), maxName-len(suffix))] + suffix
		if !taken[candidate] {
			return candidate
		}
	}
}
