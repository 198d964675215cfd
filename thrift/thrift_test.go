package thrift_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	vendor "github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"batcher/thrift"
)

// footer is a small one with lists, structures and optional parts.
func footer(t testing.TB) []byte {
	t.Helper()
	meta := format.FileMetaData{
		Version: 1, NumRows: 3,
		Schema: []format.SchemaElement{{Name: "root", NumChildren: vendor.New[int32](1)}, {Name: "a", Type: vendor.New(format.Int64)}},
		RowGroups: []format.RowGroup{{NumRows: 3, Columns: []format.ColumnChunk{{MetaData: format.ColumnMetaData{
			PathInSchema: []string{"a"}, NumValues: 3, Encoding: []format.Encoding{format.Plain},
		}}}}},
	}
	var b bytes.Buffer
	var protocol vendor.CompactProtocol
	if err := vendor.NewEncoder(protocol.NewWriter(&b)).Encode(&meta); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDecode(t *testing.T) {
	b := footer(t)
	var meta format.FileMetaData
	size, err := thrift.Decode(append(bytes.Clone(b), "more"...), &meta)
	if err != nil || size != len(b) || meta.NumRows != 3 || meta.Schema[1].Name != "a" {
		t.Errorf("%d of %d bytes, %+v, %v", size, len(b), meta, err)
	}
	for cut := range b {
		var meta format.FileMetaData
		if _, err := thrift.Decode(b[:cut], &meta); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

// TestLies holds lengths that would make the library allocate without bound.
func TestLies(t *testing.T) {
	for _, c := range []struct{ name, bytes, want string }{
		{"list of 2^31 structures", "\x29\xfc\xff\xff\xff\xff\x07", "list of 2147483647 elements"},
		{"string of 2^31 bytes", "\x28\xff\xff\xff\xff\x07", "bytes where"},
		{"list of small structures", "\x29\xfc\x80\x80\x40" + strings.Repeat("\x00", 1<<20), "structures in lists"},
		{"number without end", "\x15" + strings.Repeat("\xff", 11), "not a variable-length integer"},
		{"nesting without end", strings.Repeat("\x1c", 1000), "nested deeper"},
		{"unknown type", "\x1f", "type 15"},
	} {
		var meta format.FileMetaData
		if _, err := thrift.Decode([]byte(c.bytes), &meta); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(footer(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		var meta format.FileMetaData
		if size, err := thrift.Decode(b, &meta); err == nil && size > len(b) {
			t.Fatalf("%d of %d bytes", size, len(b))
		}
		var header format.PageHeader
		_, _ = thrift.Decode(b, &header)
	})
}
