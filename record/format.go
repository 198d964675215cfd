package record

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// Kind is how the records of an object are laid out.
type Kind string

// The kinds of format.
const (
	Auto    Kind = "auto"    // by name and content, object by object
	NDJSON  Kind = "ndjson"  // one JSON object a line
	JSON    Kind = "json"    // one JSON document, an array of records, or values one after another
	CSV     Kind = "csv"     // rows of cells under a header
	Lines   Kind = "lines"   // one record a line of text, in the column "line"
	Parquet Kind = "parquet" // rows of a Parquet file
	Avro    Kind = "avro"    // an Avro object container
)

// Format says how objects are read. The zero value is Auto with its defaults.
type Format struct {
	Kind     Kind     // "" is Auto
	Unnest   []string // keys that lead from an envelope to the array of its records; none: records stand by themselves
	CSV      Dialect
	Encoding string // of text: a name that ParseEncoding knows; "" is UTF-8, or UTF-16 under its byte order mark
	Invalid  Policy // what is done with text that is not in its encoding
}

// Policy says what becomes of a record with invalid UTF-8.
type Policy string

// The policies.
const (
	Reject  Policy = "reject"  // it becomes a dead letter; also ""
	Replace Policy = "replace" // what is invalid becomes U+FFFD
	Keep    Policy = "bytes"   // columns of type bytes take it as it is; elsewhere, and in text of another encoding, it is rejected
)

// packings are endings of names that say how an object is compressed.
var packings = []string{".gz", ".gzip", ".zst", ".zstd", ".bz2", ".sz", ".snappy", ".lz4", ".deflate", ".zz", ".zlib", ".br"}

// Packed says whether an object's name says that it is compressed.
func Packed(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(packings, func(p string) bool { return strings.HasSuffix(name, p) })
}

// extension returns the ending of an object's name that tells its format: in
// lower case, behind which the ones that tell its compression are cut off.
func extension(name string) string {
	name = strings.ToLower(path.Base(name))
	for _, p := range packings {
		name = strings.TrimSuffix(name, p)
	}
	return path.Ext(name)
}

// of returns the kind of one object from its name and the head of its decoded
// text, which was converted to UTF-8. What the bytes say beyond doubt goes
// before the name: a Parquet file, an Avro container. JSON under a name that
// says nothing is known by its first letter; any other text is lines.
func (f Format) of(name string, head []byte) Kind {
	if f.Kind != Auto && f.Kind != "" {
		return f.Kind
	}
	switch {
	case bytes.HasPrefix(head, parquetMagic), bytes.HasPrefix(head, encryptedMagic):
		return Parquet
	case bytes.HasPrefix(head, avroMagic):
		return Avro
	}
	switch extension(name) {
	case ".csv", ".tsv", ".tab", ".psv":
		return CSV
	case ".ndjson", ".jsonl":
		return f.lined(head)
	case ".parquet":
		return Parquet
	case ".avro":
		return Avro
	case ".json", ".geojson":
		return f.document(head)
	}
	if t := bytes.TrimLeft(head, " \t\r\n"); len(t) == 0 || t[0] == '{' || looksLikeArray(t) {
		return f.document(head)
	}
	return Lines
}

// looksLikeArray says whether text begins as an array of objects or arrays does;
// many a log line begins with a bracket too.
func looksLikeArray(t []byte) bool {
	if t[0] != '[' {
		return false
	}
	t = bytes.TrimLeft(t[1:], " \t\r\n")
	return len(t) > 0 && (t[0] == '{' || t[0] == '[' || t[0] == ']')
}

// lined is the kind of what a name calls JSON by lines. The name is believed
// unless the head shows otherwise: several values on the first line, or a first
// value that goes over several lines, of which none is a whole object. With an
// envelope to unpack the values are read as they come.
func (f Format) lined(head []byte) Kind {
	if len(f.Unnest) > 0 {
		return JSON
	}
	head = bytes.TrimLeft(head, " \t\r\n")
	line, _, _ := bytes.Cut(head, []byte{endOfLine(head, NoQuote)})
	if n, whole := values(line); whole && n == 1 {
		return NDJSON
	} else if whole {
		return f.document(head)
	}
	var v skimmer
	if end, done := v.feed(head); done && !v.scalar && end > len(line) {
		return f.document(head)
	}
	return NDJSON
}

// values counts the objects and arrays of which a line consists and says whether
// nothing else stands there.
func values(line []byte) (n int, whole bool) {
	for line = bytes.Trim(line, " \t\r"); len(line) > 0; n++ {
		var v skimmer
		end, done := v.feed(line)
		if !done || v.scalar || line[0] == '"' {
			return n, false
		}
		line = bytes.TrimLeft(line[end:], " \t")
	}
	return n, n > 0
}

// document tells one JSON document, an array or several values on one line from
// lines of JSON, of which most hold one whole object each. In a document that
// goes over several lines a whole object never makes a line of its own as often
// as not: a line with a comma or a bracket stands between two.
func (f Format) document(head []byte) Kind {
	if len(f.Unnest) > 0 {
		return JSON
	}
	object := false // the first line begins like one
	lines, whole := 0, 0
	for line := range bytes.Lines(head) {
		text := bytes.Trim(line, " \t\r\n")
		if len(text) == 0 {
			continue
		}
		n, all := values(text)
		if lines == 0 {
			if text[0] == '[' || all && n > 1 {
				return JSON
			}
			object = text[0] == '{'
		}
		if all && n == 1 && text[0] == '{' {
			whole++
		} else if len(head) >= headBytes && line[len(line)-1] != '\n' {
			break // it goes on out of sight
		}
		lines++
	}
	if object && (lines == 0 || 2*whole < lines) {
		return JSON
	}
	return NDJSON
}
