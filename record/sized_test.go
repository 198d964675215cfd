package record_test

import (
	"context"
	"crypto/sha256"
	"io"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
)

// threeRows is a Parquet file with 0, 1 and 2 in a column a, and where its pages end.
var threeRows, threeRowsPages = unbase64("UEFSMRUAFTwVPCwVBhUAFQYVBgAAAgAAAAYBAAAAAAAAAAABAAAAAAAAAAIAAAAAAAAAFQIZLDUAGA1kdWNrZGJfc2NoZW1hFQIAFQQl" +
	"AhgBYSUkABYGGRwZHCYAHBUEGRUAGRgBYRUAFgYWXhZeJgg8GAgCAAAAAAAAABgIAAAAAAAAAAAWACgIAgAAAAAAAAAYCAAAAAAAAAAAEREAAAAWXhYGJggWXgAoKER1Y2tEQi" +
	"B2ZXJzaW9uIHYxLjUuNSAoYnVpbGQgZDhjZGFhMzNmZCkZHBwAAACnAAAAUEFSMQ=="), 51

// sized is a reader with random access that counts how it is read.
type sized struct {
	*strings.Reader
	at, read int
}

func (s *sized) ReadAt(p []byte, off int64) (int, error) {
	s.at++
	return s.Reader.ReadAt(p, off)
}

func (s *sized) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.read += n
	return n, err
}

// TestASmallParquetFileIsReadOnce counts the bytes that go through the reader's
// stream, and the pieces that are read beside it.
func TestASmallParquetFileIsReadOnce(t *testing.T) {
	padded := func(size int) string {
		return threeRows[:threeRowsPages] + strings.Repeat("\x00", size-len(threeRows)) + threeRows[threeRowsPages:]
	}
	for name, c := range map[string]struct {
		body   string
		pieces bool
	}{
		"small":           {threeRows, false},
		"8 MiB":           {padded(8 << 20), false},
		"more than 8 MiB": {padded(8<<20 + 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			in := &sized{Reader: strings.NewReader(c.body)}
			out := &outcome{}
			d := record.NewDecoder(out.collect(t, record.Options{Format: record.Format{Kind: record.Parquet}, Table: schema.New()}))
			got, err := d.Decode(context.Background(), record.Object{Source: "o"}, in)
			if err == nil {
				err = d.Flush()
			}
			if err != nil || got.Records != 3 || users(out) != "{\"a\":0}\n{\"a\":1}\n{\"a\":2}" {
				t.Fatalf("%+v, %v: %s", got, err, users(out))
			}
			if sum := sha256.Sum256([]byte(c.body)); string(got.Content[:]) != string(sum[:16]) {
				t.Errorf("hash %x, want %x", got.Content, sum[:16])
			}
			if in.read != len(c.body) || (in.at > 0) != c.pieces {
				t.Errorf("%d of %d bytes went through, and %d pieces", in.read, len(c.body), in.at)
			}
			if rest, _ := io.Copy(io.Discard, in); rest > 0 {
				t.Errorf("%d bytes were left", rest)
			}
		})
	}
}
