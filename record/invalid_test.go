package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"

	"batcher/record"
	"batcher/schema"
)

// withBytes is a table with a published column of bytes.
func withBytes() *schema.Schema {
	s := schema.New()
	s.LastID++
	s.Fields = append(s.Fields, schema.Field{ID: s.LastID, Name: "b", Key: "b", Type: schema.Type{Kind: schema.Bytes}})
	return s
}

func TestD12_InvalidUTF8FollowsThePolicy(t *testing.T) {
	const body = "{\"b\":\"x\xffy\",\"t\":\"ok\"}\n{\"b\":\"z\",\"t\":\"a\xc3\"}\n{\"b\":\"\",\"t\":\"fine\"}\n"
	for _, c := range []struct {
		policy record.Policy
		rows   []string
		dead   int
	}{
		{record.Reject, []string{`"t":"fine"`}, 2},
		{"", []string{`"t":"fine"`}, 2},
		{record.Replace, []string{`"t":"ok"`, `"t":"a\uFFFD"`, `"t":"fine"`}, 0},
		{record.Keep, []string{`"t":"ok"`, `"t":"fine"`}, 1},
	} {
		opt := record.Options{Table: withBytes(), Format: record.Format{Kind: record.NDJSON, Invalid: c.policy}}
		out := decode(t, opt, input{"o", body})
		if len(out.rows) != len(c.rows) || len(out.dead) != c.dead {
			t.Fatalf("%q: %d rows %v, %d dead", c.policy, len(out.rows), out.rows, len(out.dead))
		}
		for i, want := range c.rows {
			if !strings.Contains(out.rows[i], strings.ReplaceAll(want, "\\uFFFD", "\uFFFD")) {
				t.Errorf("%q: row %d is %s, want %s in it", c.policy, i, out.rows[i], want)
			}
		}
		for _, d := range out.dead {
			if d.Code != "invalid_utf8" || !bytes.ContainsAny(d.Raw, "\xff\xc3") {
				t.Errorf("%q: dead letter %+v", c.policy, d)
			}
		}
	}
}

func TestReplacedTextStaysAsReceivedWhereItIsNoRecord(t *testing.T) {
	opt := record.Options{Format: record.Format{Kind: record.NDJSON, Invalid: record.Replace}}
	out := decode(t, opt, input{"o", "{\"a\":\"\xff\"\n"})
	if len(out.dead) != 1 || string(out.dead[0].Raw) != "{\"a\":\"\xff\"" || out.dead[0].Code != "syntax" {
		t.Fatalf("got %+v", out.dead)
	}
}

// bzipped is one record by the bzip2 command.
const bzipped = "BZh91AY&SY\xba\xc6M\xdb\x00\x00\x03Y\x80\x00\x10\x10\x00 \x10 \x00\x00\x0a \x00\x22\x03e\x08`\x11J\x1f\x17rE8P\x90\xba\xc6M\xdb"

func TestFurtherContainers(t *testing.T) {
	var sn bytes.Buffer
	w := snappy.NewBufferedWriter(&sn)
	if _, err := w.Write([]byte("{\"a\":1}\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kind, body, broken string }{
		{kind: "snappy", body: sn.String()},
		{kind: "bzip2", body: bzipped},
		{kind: "bzip2", body: bzipped[:len(bzipped)-4], broken: "truncated bzip2"},
		{kind: "bzip2", body: bzipped[:12] + "x" + bzipped[13:], broken: "damaged bzip2"},
		{kind: "snappy", body: sn.String()[:sn.Len()-3], broken: "damaged snappy"},
		{kind: "snappy", body: sn.String()[:sn.Len()-1] + "x", broken: "damaged snappy"},
		{body: "\xfd7zXZ\x00\x00\x04", broken: "xz is not a compression that is read here: use gzip, zstd, bzip2, lz4 or snappy"},
		{body: "PK\x03\x04\x14\x00", broken: "zip is not a compression that is read here: use gzip, zstd, bzip2, lz4 or snappy"},
	} {
		t.Run(fmt.Sprint(c.kind, c.broken), func(t *testing.T) {
			opt := record.Options{Format: ndjson}
			out, err := try(t, opt, input{"o", c.body})
			if c.broken != "" {
				var broken *record.BrokenError
				if !errors.As(err, &broken) || broken.Reason != c.broken {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil || len(out.rows) != 1 || out.results[0].Container != c.kind {
				t.Fatalf("got %v, %+v", err, out)
			}
		})
	}
}
