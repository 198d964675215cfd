package delta

import (
	"strings"
	"testing"

	"batcher/manifest"
)

func TestParseAuthor(t *testing.T) {
	const (
		info = `{"commitInfo":{"engineInfo":"e","batcher":{"seq":7,"sha256":"` + "0100000000000000000000000000000000000000000000000000000000000000" + `"}}}` + "\n"
		txn  = `{"txn":{"appId":"batcher:p","version":7}}` + "\n"
	)
	ours := author{Ours: true, App: "batcher:p", Seq: 7, SHA256: manifest.SHA256{1}, Engine: "e"}
	for name, c := range map[string]struct {
		text string
		want author
	}{
		"ours":                 {info + txn, ours},
		"the other way round":  {txn + info, ours},
		"with a torn end":      {info + txn + `{"add":{"pa`, ours},
		"with actions between": {info + `{"protocol":{}}` + "\n" + `{"new":{}}` + "\n" + txn, ours},
		"no txn":               {info, author{Engine: "e"}},
		"no commitInfo":        {txn, author{App: "batcher:p"}},
		"a hash of our own":    {strings.Replace(info, `"0100`, `"01`, 1) + txn, author{}},
		"others":               {`{"commitInfo":{"engineInfo":"e"}}` + "\n" + txn, author{App: "batcher:p", Engine: "e"}},
		"a second commitInfo":  {`{"commitInfo":{"engineInfo":"e"}}` + "\n" + info + txn, author{App: "batcher:p", Engine: "e"}},
		"parameters of theirs": {`{"commitInfo":{"engineInfo":"e","operationParameters":{"a":1,"b":null}}}`, author{Engine: "e"}},
		"nothing":              {"", author{}},
		"no JSON":              {"<html>", author{}},
	} {
		if got := parseAuthor([]byte(c.text)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func FuzzParseAuthor(f *testing.F) {
	f.Add([]byte(`{"commitInfo":{"batcher":{"seq":7,"sha256":""}}}`))
	f.Add([]byte("{\"txn\":{\"appId\":\"a\"}}\n{\"commitInfo\":null}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if who := parseAuthor(b); who.Ours && who.App == "" {
			t.Fatalf("%+v", who)
		}
		if paths, reason := parseForeign(b); reason != "" && paths != nil {
			t.Fatalf("%q, %s", paths, reason)
		}
		if h, ok := parseHint(b); ok == (h.Version < 0) {
			t.Fatalf("%+v, %t", h, ok)
		}
	})
}
