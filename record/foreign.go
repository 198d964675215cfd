package record

import (
	"bytes"
	"path"
	"strings"
)

// foreign are beginnings of what is packed and cannot be read.
var foreign = map[string]string{
	"\xfd7zXZ\x00": "xz", "PK\x03\x04": "zip", "PK\x05\x06": "zip", "PK\x07\x08": "zip", "7z\xbc\xaf\x27\x1c": "7z", "\x1f\x9d": "compress",
	"\x5d\x00\x00":     "lzma",
	"\x02\x21\x4c\x18": "lz4 in its legacy form", "LZIP\x01": "lzip", "\x89LZO\x00\r\n\x1a\n": "lzop", "Rar!\x1a\x07": "rar",
}

const notRead = " is not a compression that is read here: use gzip, zstd, bzip2, lz4 or snappy"

// unreadable says why the object of a name cannot be read, from its first stored bytes;
// "" if nothing is known against it.
func unreadable(name string, head []byte) string {
	for magic, kind := range foreign {
		if !bytes.HasPrefix(head, []byte(magic)) {
			continue
		}
		if ending := strings.ToLower(path.Ext(name)); kind == "zip" && (strings.HasPrefix(ending, ".xls") || ending == ".ods") {
			return "a workbook (" + ending + ") is not read here: export its sheets as CSV"
		}
		return kind + notRead
	}
	return ""
}

// binaries are beginnings of well known files without text, and the cure where there
// is one.
var binaries = []struct{ magic, what string }{
	{"\x1f\x8b", "gzip inside of another compression: unpack it once"},
	{"\x28\xb5\x2f\xfd", "zstd inside of another compression: unpack it once"},
	{"BZh", "bzip2 inside of another compression: unpack it once"},
	{"\x04\x22\x4d\x18", "lz4 inside of another compression: unpack it once"},
	{"\x78\x9c", "zlib, which is read under the endings .zz, .zlib and .deflate"},
	{"\x78\xda", "zlib, which is read under the endings .zz, .zlib and .deflate"},
	{"ORC", "an ORC file: write it as Parquet"},
	{"ARROW1", "an Arrow file: write it as Parquet"},
	{"FEA1", "a Feather file: write it as Parquet"},
	{"SEQ", "a Hadoop sequence file"},
	{"SQLite format 3\x00", "an SQLite database: export its tables"},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old workbook or other office document: export its sheets as CSV"},
	{"%PDF-", "a PDF"},
	{"\x89PNG", "an image"},
	{"\xff\xd8\xff", "an image"},
	{"\x89HDF\r\n\x1a\n", "an HDF5 file: write it as Parquet"},
	{"\x93NUMPY", "a NumPy array: write it as Parquet"},
	{"age-encryption.org/v1\n", "encrypted by age: decrypt it first"},
}

// binaryKind says what data is that is no text, as the end of a reason; "" if it is
// nothing well known.
func binaryKind(head []byte) string {
	for _, b := range binaries {
		if bytes.HasPrefix(head, []byte(b.magic)) {
			return ": " + b.what
		}
	}
	if reason := unreadable("", head); reason != "" {
		return ": " + strings.TrimSuffix(reason, notRead) + " inside of another compression: unpack it once"
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return ": a tar archive: unpack it"
	}
	return ""
}
