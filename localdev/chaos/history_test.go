package chaos

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"
)

// TestHistoriesOfAWriteOnceRegister holds the model to histories that a store
// may and may not show. Each operation is from, to, what and the status.
func TestHistoriesOfAWriteOnceRegister(t *testing.T) {
	type op struct {
		from, to int
		put      string // "" is a GET
		got      string // of a GET
		status   int
	}
	for _, c := range []struct {
		name  string
		ops   []op
		legal bool
	}{
		{"one writer", []op{{0, 1, "", "", 404}, {2, 3, "a", "", 200}, {4, 5, "", "a", 200}, {6, 7, "b", "", 412}}, true},
		{"a race with one winner", []op{{0, 9, "a", "", 200}, {1, 8, "b", "", 412}, {2, 7, "", "", 404}, {10, 11, "", "a", 200}}, true},
		{"a read beside the write sees either", []op{{0, 9, "a", "", 200}, {1, 2, "", "a", 200}, {1, 2, "", "", 404}}, true},
		{"no answer, and it happened later", []op{{0, 1, "a", "", 0}, {2, 3, "", "", 404}, {4, 5, "", "a", 200}}, true},
		{"no answer, and it never happened", []op{{0, 1, "a", "", 500}, {2, 3, "b", "", 200}, {4, 5, "", "b", 200}}, true},
		{"a conflict settles nothing", []op{{0, 1, "a", "", 409}, {2, 3, "a", "", 200}}, true},
		{"two winners", []op{{0, 9, "a", "", 200}, {1, 8, "b", "", 200}}, false},
		{"refused by nobody", []op{{0, 1, "a", "", 412}, {2, 3, "", "", 404}}, false},
		{"refused before it was there", []op{{0, 1, "a", "", 412}, {2, 3, "b", "", 200}}, false},
		{"overwritten", []op{{0, 1, "a", "", 200}, {2, 3, "", "b", 200}}, false},
		{"vanished", []op{{0, 1, "a", "", 200}, {2, 3, "", "", 404}}, false},
		{"stale read", []op{{0, 1, "a", "", 200}, {2, 3, "", "a", 200}, {4, 5, "", "", 404}}, false},
		{"a conflict that stored", []op{{0, 1, "a", "", 409}, {2, 3, "", "a", 200}}, false},
		{"out of nothing", []op{{0, 1, "", "a", 200}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h history
			begun := time.Now()
			for _, o := range c.ops {
				h.add(slotAsked{"slot", o.put != "", sha256.Sum256([]byte(o.put))}, slotAnswered{o.status, sha256.Sum256([]byte(o.got))},
					begun.Add(time.Duration(o.from)), begun.Add(time.Duration(o.to)))
			}
			n, err := h.check(t.Context())
			if n != len(c.ops) || c.legal != (err == nil) || err != nil && !errors.Is(err, ErrNotLinearizable) {
				t.Errorf("%d operations: %v, want legal: %v", n, err, c.legal)
			}
		})
	}
}
