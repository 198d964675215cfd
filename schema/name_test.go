package schema_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"batcher/schema"
)

func TestPlainNames(t *testing.T) {
	for _, c := range []struct{ key, lower, snake string }{
		{"id", "id", "id"}, {"eventTime", "eventtime", "event_time"}, {"HTTPStatusCode", "httpstatuscode", "http_status_code"},
		{"userID", "userid", "user_id"}, {"ec2Instance", "ec2instance", "ec2_instance"}, {"Already_Snake", "already_snake", "already_snake"},
		{"a-b.c d", "a_b_c_d", "a_b_c_d"}, {"1st", "_1st", "_1st"}, {"", "_", "_"}, {"a\x00b", "a_b", "a_b"},
		{"größe", "größe", "größe"}, {"Größe", "größe", "größe"}, {"Gro\u0308ße", "größe", "größe"}, {"StraßeNr", "straßenr", "straße_nr"},
		{"Straße Nr.", "straße_nr_", "straße_nr_"}, {"€/Stück", "__stück", "__stück"}, {"naïveCafé", "naïvecafé", "naïve_café"},
		{"日", "日", "日"}, {"名前", "名前", "名前"}, {"顧客ID", "顧客id", "顧客id"}, {"العنوان", "العنوان", "العنوان"}, {"שם מלא", "שם_מלא", "שם_מלא"},
		{"हिन्दी", "हिन्दी", "हिन्दी"}, {"ภาษาไทย", "ภาษาไทย", "ภาษาไทย"}, {"ПолноеИмя", "полноеимя", "полное_имя"}, {"ΟΔΟΣ", "οδοσ", "οδοσ"},
		{"نام\u200cخانوادگی", "نام_خانوادگی", "نام_خانوادگی"}, {"\u200fid", "_id", "_id"},
		{"İl", "il", "il"}, {"ılık", "ılık", "ılık"}, {"STRASSE", "strasse", "strasse"}, {"ＩＤ", "ｉｄ", "ｉｄ"}, {"\u212aelvin", "kelvin", "kelvin"},
		{"m²", "m²", "m²"}, {"٣ab", "_٣ab", "_٣ab"}, {"Ⅷ", "_ⅷ", "_ⅷ"},
		{"😀", "_", "_"}, {"❤\ufe0f", "_", "_"}, {"❤\ufe0f x", "__x", "__x"}, {"1\ufe0f\u20e3", "_1_", "_1_"}, {"$%&", "___", "___"}, {"\u0301a", "a", "a"},
		{strings.Repeat("x", 200), strings.Repeat("x", 128), strings.Repeat("x", 128)},
		{strings.Repeat("ü", 300), strings.Repeat("ü", 127), strings.Repeat("ü", 127)},
		{strings.Repeat("名", 300), strings.Repeat("名", 85), strings.Repeat("名", 85)},
		{strings.Repeat("x", 1<<20), strings.Repeat("x", 128), strings.Repeat("x", 128)},
	} {
		if got := schema.Lower.Plain(c.key); got != c.lower || !schema.IsName(got) {
			t.Errorf("lower %q: got %q, want %q", c.key, got, c.lower)
		}
		if got := schema.Snake.Plain(c.key); got != c.snake || !schema.IsName(got) {
			t.Errorf("snake %q: got %q, want %q", c.key, got, c.snake)
		}
	}
	for key, want := range map[string]string{"größe": "gru00f6u00dfe", "日": "u65e5", "😀": "u1f600", "Id": "id"} {
		if got := schema.Lower.Earlier(key); got != want {
			t.Errorf("earlier %q: got %q, want %q", key, got, want)
		}
	}
}

func TestIsName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "_": true, "_1": true, "größe": true, "名前": true, "": false, "1a": false, "A": false, "a b": false, "a;b": false, "a=b": false,
		"a\n": false, "😀": false, "\u0301a": false, "a\xff": false, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false, strings.Repeat("名", 86): false,
	} {
		if schema.IsName(name) != want {
			t.Errorf("%q: %v, want %v", name, !want, want)
		}
	}
}

// TestNames_ThatReadersTakeForOneAreToldApart: Java compares i with ı by their
// upper case, and all three sigmas.
func TestNames_ThatReadersTakeForOneAreToldApart(t *testing.T) {
	taken := schema.Names{}
	long := strings.Repeat("名", 85)
	for _, c := range [][2]string{{"id", "id"}, {"ıd", "ıd_2"}, {"σ", "σ"}, {"ς", "ς_2"}, {"_", "_"}, {"_", "__2"}, {"_", "__3"}, {long, long}, {long, long[:252] + "_2"}} {
		if got := taken.Unique(c[0]); got != c[1] || !schema.IsName(got) {
			t.Errorf("%s: got %s, want %s", c[0], got, c[1])
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, seed := range [][2]string{{"eventTime", "event time"}, {"Größe", "GRÖSSE"}, {"❤\ufe0f", "\u0301"}, {"1\ufe0f\u20e3", "İ"}, {"ſ", "S"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, n := range []schema.Naming{schema.Lower, schema.Snake} {
			x, taken := n.Plain(a), schema.Names{}
			taken.Take(x)
			y := taken.Unique(n.Plain(b))
			if !schema.IsName(x) || !schema.IsName(y) || strings.EqualFold(x, y) {
				t.Fatalf("%q and %q became %q and %q", a, b, x, y)
			}
			if again := n.Plain(x); again != x {
				t.Fatalf("%q became %q, then %q", a, x, again)
			}
			if !utf8.ValidString(x) {
				t.Fatalf("%q became %q", a, x)
			}
		}
	})
}
