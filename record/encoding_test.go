package record_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
)

// encoded are options for lines of text in an encoding.
func encoded(name string) record.Options {
	return record.Options{Format: record.Format{Kind: record.Lines, Encoding: name}}
}

func TestD15_Encodings(t *testing.T) {
	const text = "aé\n\U0001d11e\nz"
	for name, c := range map[string]struct{ encoding, body, lines string }{
		"utf-8":                         {"", text, "0 aé|4 \U0001d11e|9 z"},
		"utf-8 with mark":               {"", "\ufeff" + text, "3 aé|7 \U0001d11e|12 z"},
		"declared":                      {"UTF-8", "\ufeff" + text, "3 aé|7 \U0001d11e|12 z"},
		"utf-16le with mark":            {"", written("\ufeff"+text, "utf-16le"), "2 aé|8 \U0001d11e|14 z"},
		"utf-16be with mark":            {"", written("\ufeff"+text, "utf-16be"), "2 aé|8 \U0001d11e|14 z"},
		"utf-16le declared":             {"utf-16le", written(text, "utf-16le"), "0 aé|6 \U0001d11e|12 z"},
		"utf-16be declared":             {"utf-16be", written(text, "utf-16be"), "0 aé|6 \U0001d11e|12 z"},
		"utf-16 declared":               {"utf-16", written(text, "utf-16le"), "0 aé|6 \U0001d11e|12 z"},
		"mark goes before declared":     {"utf-16le", written("\ufeff"+text, "utf-16be"), "2 aé|8 \U0001d11e|14 z"},
		"utf-16 mark, utf-8 declared":   {"utf-8", written("\ufeff"+text, "utf-16be"), "2 aé|8 \U0001d11e|14 z"},
		"utf-8 mark, latin1 declared":   {"latin1", "\ufeff" + text, "3 aé|7 \U0001d11e|12 z"},
		"latin1":                        {"latin1", "a\xe9\n\xff\nz", "0 aé|3 ÿ|5 z"},
		"iso-8859-1":                    {"ISO-8859-1", "a\xe9\n\xa4\nz", "0 aé|3 ¤|5 z"},
		"iso-8859-15":                   {"iso-8859-15", "a\xe9\n\xa4\nz", "0 aé|3 €|5 z"},
		"windows-1252":                  {"windows-1252", "a\xe9\n\x80\nz", "0 aé|3 €|5 z"},
		"windows-1251":                  {"windows-1251", "\xff\n\xcf\nz", "0 я|2 П|4 z"},
		"koi8-r":                        {"koi8-r", "\xd1\nz", "0 я|2 z"},
		"U+FFFD is a letter":            {"", written("\ufeffa\ufffd\nz", "utf-16le"), "2 a\ufffd|8 z"},
		"CRLF":                          {"", written("\ufeffa\r\n\r\nz\r\n", "utf-16le"), "2 a|12 z"},
		"a byte that looks like a line": {"", written("\ufeffĊ਀\nz", "utf-16le"), "2 Ċ਀|8 z"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, body := range []string{c.body, gzipped(t, c.body)} {
				out := decode(t, encoded(c.encoding), input{"o", body})
				var got []string
				rows, _ := offsets(t, out)
				for i, pos := range rows {
					line := strings.TrimSuffix(strings.TrimPrefix(user(out.rows[i]), `{"line":"`), `"}`)
					got = append(got, fmt.Sprintf("%d %s", pos, line))
				}
				if strings.Join(got, "|") != c.lines || len(out.dead) > 0 || int(out.results[0].To) != len(c.body) {
					t.Errorf("got %s, want %s; dead %v, %+v", strings.Join(got, "|"), c.lines, letters(out), out.results[0])
				}
			}
		})
	}
}

// TestD12_InvalidInOtherEncodings says that what is no letter is never read as
// one: the record is a dead letter at its place in the object.
func TestD12_InvalidInOtherEncodings(t *testing.T) {
	for name, c := range map[string]struct {
		encoding, body string
		pos            int64
		rows, length   int
	}{
		"low surrogate":            {"utf-16le", "a\x00\n\x00\x00\xdcb\x00\n\x00c\x00", 4, 2, 2},
		"high surrogate":           {"utf-16be", "\x00a\x00\n\xd8\x00\x00b\x00\n\x00c", 4, 2, 2},
		"two high surrogates":      {"utf-16be", "\x00a\x00\n\xd8\x00\xd8\x34\xdd\x1e\x00\n\x00c", 4, 2, 5},
		"high surrogate, newline":  {"utf-16be", "\x00a\x00\n\xd8\x00\x00\n\x00c", 4, 2, 1},
		"high surrogate, the end":  {"utf-16be", "\x00a\x00\n\xd8\x00", 4, 1, 1},
		"odd byte":                 {"utf-16le", "a\x00\n\x00b\x00\n\x00c", 8, 2, 1},
		"odd byte behind a letter": {"utf-16le", "a\x00\n\x00b\x00\n", 4, 1, 2},
		"only half":                {"utf-16le", "a", 0, 0, 1},
		"no letter":                {"windows-1257", "a\n\xa1\nb", 2, 2, 1},
		"utf-8":                    {"", "a\nx\xffy\nb", 2, 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			opt := encoded(c.encoding)
			out := decode(t, opt, input{"o", c.body})
			if len(out.rows) != c.rows || codes(out) != "utf8/invalid_utf8" || out.dead[0].Offset != c.pos || out.dead[0].Length != int64(c.length) {
				t.Fatalf("rows %s, dead %v", users(out), letters(out))
			}
			if res := out.results[0]; int(res.To) != len(c.body) || int(res.Bytes) != len(c.body) || !res.Last {
				t.Errorf("%+v of %d bytes", res, len(c.body))
			}
			opt.Format.Invalid = record.Replace
			if out = decode(t, opt, input{"o", c.body}); len(out.rows) != c.rows+1 || out.notes.Replaced != 1 || !strings.Contains(users(out), "\ufffd") {
				t.Errorf("replaced: rows %s, dead %v, %d", users(out), letters(out), out.notes.Replaced)
			}
			opt.Format.Invalid = record.Keep // but what was received is not there to be kept
			opt.Table = published(t, field(17, "line", `"bytes"`))
			want := c.rows
			if c.encoding == "" {
				want++
			}
			if out = decode(t, opt, input{"o", c.body}); len(out.rows) != want || len(out.rows)+len(out.dead) != c.rows+1 {
				t.Errorf("kept: rows %s, dead %v", users(out), letters(out))
			}
		})
	}
}

// TestEncodingsThatAreNotRead are refused as a whole: nothing is guessed.
func TestEncodingsThatAreNotRead(t *testing.T) {
	for name, c := range map[string]struct{ body, reason string }{
		"utf-32be":             {"\x00\x00\xfe\xff\x00\x00\x00a", "UTF-32 text: convert it to UTF-8"},
		"utf-32le":             {"\xff\xfe\x00\x00a\x00\x00\x00", "UTF-32 text: convert it to UTF-8"},
		"utf-16 without mark":  {"a\x00\n\x00", "binary data, not text"},
		"zero":                 {"a\n\x00\n", "binary data, not text"},
		"zero in utf-16":       {"\xff\xfea\x00\x00\x00", "binary data, not text"},
		"zero behind the head": {strings.Repeat("line\n", 20000) + "a\x00\n", ""},
	} {
		for _, kind := range []record.Kind{record.Auto, record.NDJSON, record.JSON, record.CSV, record.Lines} {
			_, err := try(t, record.Options{Format: record.Format{Kind: kind}, Table: schema.New()}, input{"o", c.body})
			var broken *record.BrokenError
			if c.reason == "" && err != nil || c.reason != "" && (!errors.As(err, &broken) || broken.Reason != c.reason) {
				t.Errorf("%s as %s: got %v, want %s", name, kind, err, c.reason)
			}
		}
	}
}

func TestNamesOfEncodings(t *testing.T) {
	for _, name := range []string{"", "utf-8", "UTF8", "utf-16", "utf-16le", "UTF-16BE", "latin1", "iso-8859-1", "ISO-8859-15", "windows-1250", "windows-1252", "koi8-r", "cp437", "macintosh", "us-ascii"} {
		if err := record.ParseEncoding(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"utf-7", "utf-32", "shift_jis", "gbk", "big5", "euc-jp", "x", " "} {
		if err := record.ParseEncoding(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
	d := record.NewDecoder(record.Options{Format: record.Format{Kind: record.Lines, Encoding: "gbk"}, Table: schema.New()})
	_, err := d.Decode(context.Background(), record.Object{Source: "o"}, strings.NewReader("a"))
	var broken *record.BrokenError
	if err == nil || errors.As(err, &broken) {
		t.Errorf("got %v", err)
	}
}
