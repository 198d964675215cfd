package record_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"batcher/record"
	"batcher/schema"
)

// ndjson is the format of most tests.
var ndjson = record.Format{Kind: record.NDJSON}

func gzipped(t testing.TB, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		w := gzip.NewWriter(&b)
		if _, err := io.WriteString(w, p); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func zstded(t testing.TB, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		w, err := zstd.NewWriter(&b, zstd.WithEncoderCRC(true), zstd.WithZeroFrames(true))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, p); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// cut ends in the middle of a record, so that members do not end with lines.
var halves = []string{"{\"a\":1}\n{\"a\"", ":2}\n", "", "{\"a\":3}"}

func TestD9_ContainersAreKnownByContent(t *testing.T) {
	plain := strings.Join(halves, "")
	want := "{\"a\":1}\n{\"a\":2}\n{\"a\":3}"
	for name, c := range map[string]struct{ body, kind string }{
		"plain":              {plain, "plain"},
		"gzip":               {gzipped(t, plain), "gzip"},
		"D9_gzip members":    {gzipped(t, halves...), "gzip"},
		"gzip and zeros":     {gzipped(t, halves...) + strings.Repeat("\x00", 100000), "gzip"},
		"zstd":               {zstded(t, plain), "zstd"},
		"zstd frames":        {zstded(t, halves...), "zstd"},
		"zstd after a skip":  {"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstded(t, plain), "zstd"},
		"gzip, mark inside":  {gzipped(t, "\ufeff"+plain), "gzip"},
		"many small members": {gzipped(t, strings.SplitAfter(plain, "")...), "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			out := decode(t, record.Options{}, input{"o", c.body})
			r := out.results[0]
			sum := sha256.Sum256([]byte(c.body))
			if users(out) != want || r.Container != c.kind || !r.Last || !bytes.Equal(r.Content[:], sum[:16]) {
				t.Errorf("rows %s, result %+v", users(out), r)
			}
		})
	}
}

func TestD17_EmptyContainers(t *testing.T) {
	for name, body := range map[string]string{"gzip": gzipped(t, ""), "zstd": zstded(t, "")} {
		out := decode(t, record.Options{}, input{"o", body})
		if r := out.results[0]; r.Records != 0 || !r.Last || r.To != 0 || r.Container != name {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestBrokenContainers(t *testing.T) {
	lines := strings.Repeat("{\"a\":1}\n", 100000)
	gz, zs := gzipped(t, lines), zstded(t, lines)
	for name, c := range map[string]struct{ body, reason string }{
		"truncated gzip":        {gz[:len(gz)-1], "truncated gzip"},
		"half a gzip":           {gz[:len(gz)/2], "truncated gzip"},
		"half a gzip header":    {gz[:5], "truncated gzip"},
		"gzip checksum":         {gz[:len(gz)-8] + "\xff\xff\xff\xff" + gz[len(gz)-4:], "damaged gzip"},
		"gzip length":           {gz[:len(gz)-4] + "\xff\xff\xff\xff", "damaged gzip"},
		"gzip and garbage":      {gz + "garbage", "damaged gzip"},
		"gzip, zeros, garbage":  {gz + "\x00\x00g", "damaged gzip"},
		"gzip and half a gzip":  {gz + gz[:20], "truncated gzip"},
		"gzip and one byte":     {gz + gz[:1], "truncated gzip"},
		"truncated zstd":        {zs[:len(zs)-1], "truncated zstd"},
		"zstd checksum":         {zs[:len(zs)-1] + "\xff", "damaged zstd"},
		"zstd and garbage":      {zs + "garbage", "damaged zstd"},
		"D15_utf32 BE":          {"\x00\x00\xfe\xff\x00\x00\x00{", "UTF-32 text: convert it to UTF-8"},
		"utf16 without a mark":  {"{\x00}\x00", "binary data, not text"},
		"binary in gzip":        {gzipped(t, "PAR1\x15\x00\x15"), "binary data, not text"},
		"D30_bomb":              {gzipped(t, strings.Repeat("\n", 20<<20)), "too large: more than 1000 decoded bytes for each stored byte, counted from 4194304 on (source.files.limits.ratio)"},
		"D30_bomb behind a row": {gzipped(t, "{}\n"+strings.Repeat("\n", 20<<20)), "too large: more than 1000 decoded bytes for each stored byte, counted from 4194304 on (source.files.limits.ratio)"},
	} {
		for limit := range 2 {
			t.Run(fmt.Sprint(name, "/limit ", limit), func(t *testing.T) {
				d := record.NewDecoder(record.Options{Format: ndjson, Table: schema.New(), Limits: record.Limits{RatioFrom: 4 << 20}})
				o := record.Object{Source: "o", MaxRecords: int64(limit)}
				_, err := d.Decode(context.Background(), o, strings.NewReader(c.body))
				var broken *record.BrokenError
				if !errors.As(err, &broken) || broken.Reason != c.reason {
					t.Fatalf("got %v, want %s", err, c.reason)
				}
			})
		}
	}
}

// TestAWindowOfZstdHasABound has frames whose references reach back as far as their
// window does, so that it is really needed.
func TestAWindowOfZstdHasABound(t *testing.T) {
	far := func(size int) string { // a little less than size
		seed := rand.New(rand.NewPCG(1, uint64(size)))
		var text strings.Builder
		for text.Len() < size-1000 {
			fmt.Fprintf(&text, "{\"a\":\"%016x%016x\"}\n", seed.Uint64(), seed.Uint64())
		}
		return text.String()
	}
	all := far(32 << 20)
	skipped := "\x5f\x2a\x4d\x18\x04\x00\x00\x00abcd"
	good := zstded(t, "{\"a\":1}\n")
	for name, c := range map[string]struct {
		body   string
		reason string // "" is none
		rows   int64
	}{
		"all of 32 MiB is used":                     {window(t, 32<<20, all), "", 2 * int64(strings.Count(all, "\n"))},
		"64 MiB":                                    {window(t, 64<<20, far(1<<20)), "too large: zstd with a window of 67108864 bytes, more than 33554432 (source.files.limits.window_bytes)", 0},
		"128 MiB, as --long has it":                 {window(t, 128<<20, far(1<<20)), "too large: zstd with a window of 134217728 bytes, more than 33554432 (source.files.limits.window_bytes)", 0},
		"64 MiB after a skipped frame":              {skipped + window(t, 64<<20, far(1<<20)), "too large: zstd with a window of 67108864 bytes, more than 33554432 (source.files.limits.window_bytes)", 0},
		"64 MiB after another frame":                {good + window(t, 64<<20, far(1<<20)), "too large: zstd with a window of more than 33554432 (source.files.limits.window_bytes)", 0},
		"one segment of 1 TiB":                      {"\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x01\x00\x00\x01\x00\x00", "too large: zstd with a window of 1099511627776 bytes, more than 33554432 (source.files.limits.window_bytes)", 0},
		"skipped frames and nothing":                {skipped + skipped, "", 0},
		"a skipped frame that is cut":               {skipped[:6], "truncated zstd", 0},
		"skipped frames longer than the look ahead": {strings.Repeat(skipped, 10_000) + good, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := record.NewDecoder(record.Options{Format: ndjson, Table: schema.New()})
			got, err := d.Decode(context.Background(), record.Object{Source: "o"}, strings.NewReader(c.body))
			var broken *record.BrokenError
			switch {
			case c.reason == "" && (err != nil || got.Records != c.rows):
				t.Errorf("%d rows, want %d, %v", got.Records, c.rows, err)
			case c.reason != "" && (!errors.As(err, &broken) || broken.Reason != c.reason):
				t.Errorf("got %v, want %s", err, c.reason)
			}
		})
	}
}

// TestAWiderWindowOfZstdIsAllowed reads what is too large by default.
func TestAWiderWindowOfZstdIsAllowed(t *testing.T) {
	lines := "{\"a\":1}\n{\"a\":2}\n"
	for name, c := range map[string]struct {
		body string
		rows int64
	}{"first": {window(t, 64<<20, lines), 4}, "second": {zstded(t, lines) + window(t, 64<<20, lines), 6}} {
		d := record.NewDecoder(record.Options{Format: ndjson, Table: schema.New(), Limits: record.Limits{MaxWindow: 64 << 20}})
		got, err := d.Decode(context.Background(), record.Object{Source: "o"}, strings.NewReader(c.body))
		if err != nil || got.Records != c.rows {
			t.Errorf("%s: %d records, want %d, %v", name, got.Records, c.rows, err)
		}
	}
}

func TestD30_SizeCap(t *testing.T) {
	d := record.NewDecoder(record.Options{Format: ndjson, Table: schema.New(), Limits: record.Limits{MaxDecoded: 100}})
	_, err := d.Decode(context.Background(), record.Object{Source: "o"}, strings.NewReader(strings.Repeat("{}\n", 100)))
	var broken *record.BrokenError
	if !errors.As(err, &broken) {
		t.Fatalf("got %v", err)
	}
}

// TestAFailingStoreBreaksNoObject lets the store fail anywhere: the error is the
// store's, never a verdict about the object.
func TestAFailingStoreBreaksNoObject(t *testing.T) {
	lost := errors.New("connection lost")
	lines := strings.Repeat("{\"a\":1}\n", 30)
	for name, body := range map[string]string{"plain": lines, "gzip": gzipped(t, lines, lines), "zstd": zstded(t, lines, lines)} {
		for n := range len(body) {
			d := record.NewDecoder(record.Options{Format: ndjson, Table: schema.New()})
			r := io.MultiReader(strings.NewReader(body[:n]), iotest.ErrReader(lost))
			_, err := d.Decode(context.Background(), record.Object{Source: "o"}, r)
			var broken *record.BrokenError
			if !errors.Is(err, lost) || errors.As(err, &broken) {
				t.Fatalf("%s cut at %d: %v", name, n, err)
			}
		}
	}
}

func TestCancelledContextStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	d := record.NewDecoder(record.Options{Format: ndjson, Table: schema.New()})
	_, err := d.Decode(ctx, record.Object{Source: "o"}, strings.NewReader("{}"))
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestReadersOfAnySizeGiveTheSame(t *testing.T) {
	lines := strings.Repeat("{\"a\":1,\"b\":\"text\"}\n", 200)
	want := decode(t, record.Options{}, input{"o", lines})
	for name, body := range map[string]string{"plain": lines, "gzip": gzipped(t, lines, lines[:0]), "zstd": zstded(t, lines)} {
		for kind, wrap := range map[string]func(io.Reader) io.Reader{"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "data and end": iotest.DataErrReader} {
			out := &outcome{}
			d := record.NewDecoder(out.collect(t, record.Options{Table: schema.New()}))
			res, err := d.Decode(context.Background(), record.Object{Source: "o"}, wrap(strings.NewReader(body)))
			if err == nil {
				err = d.Flush()
			}
			if err != nil || res.IDSum != want.results[0].IDSum || strings.Join(out.rows, "") != strings.Join(want.rows, "") {
				t.Errorf("%s, %s: %d rows, %v", name, kind, len(out.rows), err)
			}
		}
	}
}
