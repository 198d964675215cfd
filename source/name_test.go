package source_test

import (
	"testing"

	"batcher/source"
)

func TestANameTellsItsKey(t *testing.T) {
	h := source.Hash{0xab, 0xcd, 0xef, 1, 2, 3, 4, 5, 6, 7, 8}
	for _, key := range []string{"a.json", "", "#", "a#b", "a#0123456789abcde", "a#0123456789ABCDEF", "a#0123456789abcdef", "a#0123456789abcdef#0123456789abcdef", "ü#", "a#0123456789abcdef\n"} {
		marked := source.Mark(key, h)
		if !source.Marked(marked) || source.KeyOf(marked) != key {
			t.Errorf("%q stands for %q, want %q", marked, source.KeyOf(marked), key)
		}
		if !source.Marked(key) && source.KeyOf(key) != key {
			t.Errorf("%q stands for %q", key, source.KeyOf(key))
		}
	}
	if got := source.Mark("a", h); got != "a#abcdef0102030405" {
		t.Errorf("mark %q", got)
	}
}

func TestARangeIsNamedAfterItsKeyUnlessItSaysOtherwise(t *testing.T) {
	for _, r := range []source.Range{{Key: "a"}, {Key: "b", Name: "a"}} {
		if r.Source() != "a" {
			t.Errorf("%+v is named %q", r, r.Source())
		}
	}
}
