package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/pierrec/lz4/v4"

	"batcher/record"
	"batcher/schema"
)

// sizedBlock is a block of Hadoop: what it holds, then its parts, each after its size.
func sizedBlock(holds int, parts ...[]byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(holds))
	for _, p := range parts {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(p))), p...)
	}
	return out
}

// packings are one text in every compression that has no magic number, or a rare one.
func packings(t *testing.T, text string) map[string][]byte {
	t.Helper()
	half := len(text) / 2
	first, second := snappy.Encode(nil, []byte(text[:half])), snappy.Encode(nil, []byte(text[half:]))
	out := map[string][]byte{
		"raw.ndjson.snappy":    snappy.Encode(nil, []byte(text)),
		"raw.ndjson.SZ":        snappy.Encode(nil, []byte(text)),
		"hadoop.ndjson.snappy": sizedBlock(len(text), first, second),
		"blocks.ndjson.snappy": append(sizedBlock(half, first), sizedBlock(len(text)-half, second)...),
		"xerial.ndjson":        append(append([]byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"), sizedBlock(len(first), first)[:4]...), append(first, sizedBlock(len(second), second)[:4+0]...)...),
	}
	xerial := []byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
	for _, p := range [][]byte{first, second} {
		xerial = append(binary.BigEndian.AppendUint32(xerial, uint32(len(p))), p...)
	}
	out["xerial.ndjson"] = xerial
	var zl, fl, lz bytes.Buffer
	zw := zlib.NewWriter(&zl)
	fw, _ := flate.NewWriter(&fl, 6)
	for range 2 { // two frames
		lw := lz4.NewWriter(&lz)
		_, err1 := lw.Write([]byte(text[:half]))
		if lz.Len() > 0 || err1 != nil {
			_, err1 = lw.Write(nil)
		}
		if err := errors.Join(err1, lw.Close()); err != nil {
			t.Fatal(err)
		}
	}
	_, err1 := zw.Write([]byte(text))
	_, err2 := fw.Write([]byte(text))
	if err := errors.Join(err1, err2, zw.Close(), fw.Close()); err != nil {
		t.Fatal(err)
	}
	out["z.ndjson.zz"], out["z.ndjson.deflate"], out["raw.ndjson.deflate"] = zl.Bytes(), zl.Bytes(), fl.Bytes()
	out["frames.ndjson"] = lz.Bytes()
	block := make([]byte, lz4.CompressBlockBound(len(text)))
	var c lz4.Compressor
	n, err := c.CompressBlock([]byte(text), block)
	if err != nil {
		t.Fatal(err)
	}
	out["hadoop.ndjson.lz4"] = sizedBlock(len(text), block[:n])
	return out
}

// TestPackings reads a text out of each compression, and finds each one broken that
// is cut off anywhere or goes on.
func TestPackings(t *testing.T) {
	line := "{\"a\":1,\"text\":\"the same words again and again\"}\n"
	text := strings.Repeat(line, 20)
	for name, body := range packings(t, text) {
		out := decode(t, record.Options{}, input{name, string(body)})
		if len(out.rows) != 20 || len(out.dead) > 0 {
			t.Errorf("%s: %d rows, %d dead letters", name, len(out.rows), len(out.dead))
		}
		for n := 2; n < len(body); n++ {
			rows, broken := cut(t, name, body[:n])
			if broken == nil && rows >= 20 || broken == nil && !wholeBlocks(name) {
				t.Errorf("%s of %d bytes, cut off at %d: %d rows and not broken", name, len(body), n, rows)
			}
		}
		if _, broken := cut(t, name, append(bytes.Clone(body), "garbage"...)); broken == nil {
			t.Errorf("%s and garbage: not broken", name)
		}
	}
}

// wholeBlocks says whether the form of a compression does not tell where it ends: cut
// off between two of its blocks it is whole.
func wholeBlocks(name string) bool {
	return strings.HasPrefix(name, "blocks") || strings.HasPrefix(name, "xerial") || strings.HasPrefix(name, "frames")
}

// cut reads an object, and says how many rows it has or why it is broken.
func cut(t *testing.T, name string, body []byte) (rows int64, broken *record.BrokenError) {
	t.Helper()
	d := record.NewDecoder(record.Options{Table: schema.New()})
	res, err := d.Decode(t.Context(), record.Object{Source: name}, bytes.NewReader(body))
	if errors.As(err, &broken) {
		return 0, broken
	}
	if err != nil {
		t.Fatal(err)
	}
	return res.Records, nil
}

// TestWhatABlockClaimsTakesNoRoom has blocks that claim to hold more than they do.
func TestWhatABlockClaimsTakesNoRoom(t *testing.T) {
	small := snappy.Encode(nil, []byte("{}\n"))
	for name, body := range map[string][]byte{
		"raw.snappy":    append(binary.AppendUvarint(nil, 1<<31), small[1:]...),
		"hadoop.snappy": sizedBlock(1<<30-1, small),
		"x.snappy":      append([]byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01\x3f\xff\xff\xff"), small...),
	} {
		before := heap()
		if _, broken := cut(t, name, body); broken == nil {
			t.Errorf("%s is not broken", name)
		}
		if grown := heap() - before; grown > 8<<20 {
			t.Errorf("%s: %d MiB", name, grown>>20)
		}
	}
	for _, name := range []string{"o.br", "o.json.br"} {
		if _, broken := cut(t, name, []byte("\x8b\x06\x80{\"a\":1,\"b\":2}\n\x03")); broken == nil || !strings.HasPrefix(broken.Reason, "brotli is not") {
			t.Errorf("%s: %v", name, broken)
		}
	}
	for _, name := range []string{"o.json.br", "o.json.snappy", "o.json.deflate", "o.json.lz4"} {
		if rows, broken := cut(t, name, []byte("{\"a\":1,\"b\":2}\n{\"a\":2}\n")); broken != nil || rows != 2 {
			t.Errorf("%s that is plain: %d rows, %v", name, rows, broken)
		}
	}
}
