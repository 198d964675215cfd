package schema

import (
	"encoding/json"
	"errors"
	"strings"
)

// Place names a place of a record by the keys of the input, from the top down.
// As text the steps stand behind dots, "[]" means every element of a list, and a
// key with a dot, a bracket or a quote in it is written as a JSON string:
// detail.price, items[].price, labels."app.kubernetes.io/name".
type Place []Step

// Step is one step down: to the value of a key, or to the elements of a list.
type Step struct {
	Key     string // "" in a step to the elements
	Element bool
}

var errPlace = errors.New(`wants a field like price, detail.price or items[].price; a key with a dot in it is quoted: labels."a.b"`)

// ParsePlace reads the text form. It refuses an empty text, empty keys and
// places that begin with "[]". Its errors do not repeat the text.
func ParsePlace(text string) (Place, error) {
	var p Place
	for rest := text; ; rest = rest[1:] {
		key, after, ok := cutKey(rest)
		if !ok {
			return nil, errPlace
		}
		p = append(p, Step{Key: key})
		for rest = after; strings.HasPrefix(rest, "[]"); rest = rest[2:] {
			p = append(p, Step{Element: true})
		}
		if rest == "" {
			break
		}
		if rest[0] != '.' {
			return nil, errPlace
		}
	}
	if len(p) > MaxNesting {
		return nil, errors.New("is nested too deep")
	}
	return p, nil
}

// cutKey takes a key, plain or quoted, off the beginning of text.
func cutKey(text string) (key, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, `.["`)
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:], end > 0
	}
	end := 1
	for end < len(text) && text[end] != '"' {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(text) || json.Unmarshal([]byte(text[:end+1]), &key) != nil {
		return "", "", false
	}
	return key, text[end+1:], key != ""
}

// String is the text form.
func (p Place) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.Element:
			b.WriteString("[]")
			continue
		case i > 0:
			b.WriteByte('.')
		}
		b.WriteString(keyText(s.Key, `.["`))
	}
	return b.String()
}

// keyText is a key as it stands in a text where the characters of special mean
// something else: plain, or as a JSON string.
func keyText(key, special string) string {
	if key != "" && !strings.ContainsAny(key, special) {
		return key
	}
	return quote(key)
}
