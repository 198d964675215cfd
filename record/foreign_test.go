package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"

	"batcher/record"
	"batcher/schema"
)

// lz4ed is a text as one frame.
func lz4ed(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	_, err := w.Write([]byte(text))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestWhatIsNotReadIsNamed gives objects of kinds that are not read: each says what it is.
func TestWhatIsNotReadIsNamed(t *testing.T) {
	text := "{\"a\":1}\n"
	rest := "\x01\x02 and the rest\x00"
	tar := "a.ndjson" + strings.Repeat("\x00", 249) + "ustar\x0000" + strings.Repeat("\x00", 248) + text
	for name, c := range map[string]struct{ body, reason string }{
		"legacy.lz4":       {"\x02\x21\x4c\x18\x05\x00\x00\x00" + rest, "lz4 in its legacy form is not a compression that is read here"},
		"legacy":           {"\x02\x21\x4c\x18\x05\x00\x00\x00" + rest, "lz4 in its legacy form is not"},
		"a.csv.lzo":        {"\x89LZO\x00\r\n\x1a\n" + rest, "lzop is not"},
		"a.csv.lzma":       {"\x5d\x00\x00\x80\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00" + rest, "lzma is not"},
		"a.csv.lz":         {"LZIP\x01" + rest, "lzip is not"},
		"a.rar":            {"Rar!\x1a\x07\x01\x00" + rest, "rar is not"},
		"empty.zip":        {"PK\x05\x06" + strings.Repeat("\x00", 18), "zip is not"},
		"a.csv":            {"PK\x03\x04" + rest, "zip is not"},
		"Book1.XLSX":       {"PK\x03\x04" + rest, "a workbook (.xlsx) is not read here: export its sheets as CSV"},
		"old.xls":          {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + rest, "an old workbook"},
		"a.tar":            {tar, "a tar archive: unpack it"},
		"a.tgz":            {gzipped(t, tar), "a tar archive: unpack it"},
		"a.ndjson.gz.gz":   {gzipped(t, gzipped(t, text)), "gzip inside of another compression: unpack it once"},
		"a.ndjson.zst.gz":  {gzipped(t, zstded(t, text)), "zstd inside of another compression"},
		"a.ndjson.lz4.zst": {zstded(t, lz4ed(t, text)), "lz4 inside of another compression"},
		"a.xz.gz":          {gzipped(t, "\xfd7zXZ\x00"+rest), "xz inside of another compression"},
		"part-0000":        {"ORC" + rest, "an ORC file"},
		"a.feather":        {"ARROW1\x00\x00" + rest, "an Arrow file"},
		"a.db":             {"SQLite format 3\x00" + rest, "an SQLite database"},
		"a.z":              {"\x78\x9c" + rest, "zlib, which is read under the endings .zz"},
		"a.pdf":            {"%PDF-1.7\n" + rest, "a PDF"},
		"unknown":          {"\x13\x37" + rest, "binary data, not text"},
	} {
		if _, broken := cut(t, name, []byte(c.body)); broken == nil || !strings.Contains(broken.Reason, c.reason) || broken.TooLarge {
			t.Errorf("%s: %v, want %q", name, broken, c.reason)
		}
	}
}

// TestPackedAtTheEdges reads what writers leave in rare cases, and plain text under the
// name of a compression.
func TestPackedAtTheEdges(t *testing.T) {
	csv := "1,2,3\n4,5,6\n7,8,9\n"
	skip := "\x5a\x2a\x4d\x18\x05\x00\x00\x00hello"
	block := snappy.Encode(nil, []byte(csv))
	hadoop := string(sizedBlock(len(csv), block))
	for name, c := range map[string]struct {
		body string
		rows int64
	}{
		"plain.csv.snappy":     {csv, 3},
		"plain.csv.lz4":        {csv, 3},
		"plain.csv.deflate":    {csv, 3},
		"plain.csv.br":         {csv, 3},
		"short.csv.snappy":     {string(block), 3}, // its first 8 bytes could be small sizes
		"few.csv.sz":           {string(snappy.Encode(nil, []byte("1,2\n"))), 1},
		"nothing.snappy":       {"", 0},
		"nothing.csv.snappy":   {"\x00\x00\x00\x00", 0}, // as Hadoop writes it
		"nothing.csv.lz4":      {"\x00\x00\x00\x00", 0},
		"raw.snappy":           {"\x00", 0},
		"merged.csv.snappy":    {"\x00\x00\x00\x00" + hadoop + "\x00\x00\x00\x00", 3}, // hdfs dfs -getmerge of parts, some empty
		"frames.csv.lz4":       {lz4ed(t, csv) + skip + lz4ed(t, csv) + skip, 6},
		"skipped.csv.zst":      {skip + zstded(t, csv) + skip, 3},
		"nothing.ndjson.gz":    {gzipped(t, ""), 0},
		"no bytes.ndjson.gz":   {"", 0},
		"padded.ndjson.gz":     {gzipped(t, "{\"a\":1}\n") + strings.Repeat("\x00", 1000), 1},
		"members.ndjson.gz":    {gzipped(t, "", "{\"a\":1}\n", "", "{\"a\":2}\n", ""), 2},
		"only skipped.csv.zst": {skip, 0},
		"only skipped.csv.lz4": {skip, 0},
		"skipped first.csv":    {skip + skip + lz4ed(t, csv) + skip + lz4ed(t, csv), 6},
		"skipped far.csv.lz4":  {strings.Repeat(skip, 10_000) + lz4ed(t, csv), 3},
	} {
		d := record.NewDecoder(record.Options{Table: schema.New(), Format: record.Format{CSV: record.Dialect{Header: record.Numbered}}})
		res, err := d.Decode(t.Context(), record.Object{Source: name}, strings.NewReader(c.body))
		if err != nil || res.Records != c.rows {
			t.Errorf("%s: %d records, %v, want %d", name, res.Records, err, c.rows)
		}
	}
	for name, body := range map[string]string{
		"garbage.lz4": lz4ed(t, csv) + "garbage", "half a skipped frame.lz4": lz4ed(t, csv) + skip[:10],
		"cut.csv.snappy": "\x00\x00\x00\x00" + hadoop[:20], "odd.snappy": "\x00\x00\x00\x00\x00",
		"padded and more.gz": gzipped(t, csv) + "\x00\x00" + gzipped(t, csv),
	} {
		if _, broken := cut(t, name, []byte(body)); broken == nil {
			t.Errorf("%s is not broken", name)
		}
	}
}

// FuzzPacked reads anything under the names of compressions: it is rows or broken, the
// same when read again and in pieces, and takes no room for what is only claimed.
func FuzzPacked(f *testing.F) {
	names := []string{"a.csv.snappy", "a.ndjson.lz4", "a.deflate", "a.csv.zz", "a.br", "a", "a.ndjson.gz"}
	text := "1,2\n{\"a\":1}\n{\"a\":2}\n"
	block := snappy.Encode(nil, []byte(text))
	for i := range names {
		for _, body := range []string{text, string(block), string(sizedBlock(len(text), block)), lz4ed(f, text), "\x78\x9c\x03\x00\x00\x00\x00\x01",
			"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01" + string(binary.BigEndian.AppendUint32(nil, uint32(len(block)))) + string(block), "\x00\x00\x00\x00"} {
			f.Add(uint8(i), []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		name := names[int(which)%len(names)]
		limits := record.Limits{MaxRatio: 100, RatioFrom: 1 << 20, MaxPageBytes: 1 << 20, MaxDecoded: 8 << 20}
		read := func(in *strings.Reader, piece int) (record.Result, string) {
			d := record.NewDecoder(record.Options{Table: schema.New(), Limits: limits})
			res, err := d.Decode(t.Context(), record.Object{Source: name}, &pieces{in, piece})
			var broken *record.BrokenError
			switch {
			case errors.As(err, &broken):
				return record.Result{}, broken.Reason
			case errors.Is(err, record.ErrRestart):
				return record.Result{}, "restart"
			case err != nil:
				t.Fatal(err)
			}
			return res, ""
		}
		whole, why := read(strings.NewReader(string(body)), 1<<20)
		again, whyAgain := read(strings.NewReader(string(body)), 7)
		if why != whyAgain || whole.Records != again.Records || whole.Container != again.Container {
			t.Fatalf("%s: %d records %q %q, in pieces %d %q %q", name, whole.Records, whole.Container, why, again.Records, again.Container, whyAgain)
		}
	})
}

// pieces reads a few bytes at a time.
type pieces struct {
	in   *strings.Reader
	most int
}

func (p *pieces) Read(b []byte) (int, error) { return p.in.Read(b[:min(len(b), p.most)]) }
