package schema_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"batcher/schema"
)

func TestFold(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"id", "ID", true}, {"Name", "nAME", true}, {"eventTime", "eventtime", true}, {"Größe", "GRO\u0308ßE", true}, {"\u212aelvin", "Kelvin", true},
		{"ΟΔΟΣ", "οδος", true}, {"ſ", "S", true}, {"ẖ", "H\u0331", true}, {"ПРИВЕТ", "привет", true}, {"Å", "\u212b", true}, {"ｉｄ", "ＩＤ", true},
		{"straße", "STRASSE", false}, {"İl", "il", false}, {"ıl", "il", false}, {"ｉｄ", "id", false}, {"id", "id ", false}, {"m²", "m2", false},
		{"a_2", schema.MadeUpKey("a", 2), false}, {"a_2", schema.GivenKey("A_2"), true}, {schema.MadeUpKey("A", 2), schema.MadeUpKey("a", 2), true},
		{schema.MadeUpKey("a", 3), schema.MadeUpKey("a", 2), false}, {"", schema.MadeUpKey("", 2), false},
	} {
		if got := schema.Fold(c.a) == schema.Fold(c.b); got != c.same {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
	}
}

func TestKeyText(t *testing.T) {
	for key, want := range map[string]string{
		"a": "a", "": "", schema.MadeUpKey("a", 2): "a_2", schema.MadeUpKey("", 3): "column_3", schema.GivenKey("a_2"): "a_2", schema.GivenKey("a"): "a", schema.GivenKey("_1"): "_1",
	} {
		if got := schema.KeyText(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
	if schema.GivenKey("a_2") == "a_2" || schema.GivenKey("column_11") == "column_11" || schema.GivenKey("a2") != "a2" || schema.GivenKey("a_2b") != "a_2b" {
		t.Error("what reads like a name that was made up is not told apart")
	}
}

// FuzzFold compares with the standard library's comparison. In normal form C both
// see the same letters, but for those whose mark has a case of its own.
func FuzzFold(f *testing.F) {
	for _, seed := range [][2]string{{"Größe", "GRÖSSE"}, {"Name", "nAME"}, {"\u212a", "k"}, {"Σ", "ς"}, {"H\u0331", "ẖ"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a+b) || strings.ContainsAny(a+b, "\x00\u0345") {
			return
		}
		fold := schema.Fold(a)
		if again := schema.Fold(fold); again != fold {
			t.Errorf("%q became %q, then %q", a, fold, again)
		}
		if upper := strings.ToUpper(a); strings.EqualFold(a, upper) && schema.Fold(upper) != schema.Fold(a) && norm.NFC.IsNormalString(a) && norm.NFC.IsNormalString(upper) {
			t.Errorf("%q and %q are told apart", a, upper)
		}
		if norm.NFC.IsNormalString(a) && norm.NFC.IsNormalString(b) && strings.EqualFold(a, b) && fold != schema.Fold(b) {
			t.Errorf("%q and %q are told apart", a, b)
		}
		if fold == schema.Fold(b) && !strings.EqualFold(norm.NFD.String(a), norm.NFD.String(b)) {
			t.Errorf("%q and %q are one", a, b)
		}
	})
}
