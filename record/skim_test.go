package record

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzSkimmer feeds text whole and in two and more pieces: the value ends at the
// same place, and what is valid JSON ends where it ends.
func FuzzSkimmer(f *testing.F) {
	for _, seed := range []string{
		`{"a":"}\"","b":[1,"]"]}{"a":1}`, `"\\\"x"y`, `[[[]]]`, `12,3`, `true`, `{"a":"` + strings.Repeat(`\\`, 20) + `"}`, "{\"\x02\":[\x02]}", `{"a`, `]`,
	} {
		f.Add(seed, uint(3), uint(7))
	}
	f.Fuzz(func(t *testing.T, text string, first, size uint) {
		if text == "" {
			return
		}
		var whole skimmer
		end, done := whole.feed([]byte(text))
		if end == 0 && !whole.scalar || end != whole.length || done != (end < len(text)) && end < len(text) {
			t.Fatalf("%q ends at %d, %v", text, end, done)
		}
		var pieces skimmer
		at, stopped := 0, false
		for n := 1 + int(first%64); at < len(text) && !stopped; n = 1 + int(size%64) {
			var k int
			k, stopped = pieces.feed([]byte(text[at:min(len(text), at+n)]))
			at += k
		}
		if at != end || stopped != done || pieces.length != whole.length || pieces.open() != whole.open() {
			t.Fatalf("%q ends at %d, %v; in pieces at %d, %v", text, end, done, at, stopped)
		}
		if json.Valid([]byte(text)) && text[0] > ' ' && strings.TrimRight(text, " \t\r\n") != text[:end] {
			t.Fatalf("%q ends at %d", text, end)
		}
	})
}
