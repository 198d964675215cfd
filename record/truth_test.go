package record_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"batcher/localdev"
)

// samples returns the folder of real inputs, which is no part of the project.
func samples(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("BATCHER_SAMPLES")
	if dir == "" {
		localdev.Skip(t, "BATCHER_SAMPLES is not set to the folder of samples: real inputs are not read")
	}
	return dir
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// truth is what readers that share nothing with batcher say of one sample.
type truth struct {
	key  string // folder/file
	name string
	body string

	Format      string
	Compression string
	Records     int64
	Expected    string `json:"expected_by_source"`
	Tags        []string
	Text        struct {
		BOM       string
		ValidUTF8 bool  `json:"valid_utf8"`
		Blank     int64 `json:"blank_lines"`
		Lines     int64 `json:"lines_lf"`
	}
	Gzip, Zstd *struct {
		SHA256 string `json:"decompressed_sha256"`
		Error  string
	}
	JSON struct {
		Shape string
		Lines struct {
			Good int64 `json:"good_lines"`
			Bad  int64 `json:"bad_lines"`
		} `json:"ndjson_view"`
		Fields map[string]truthField
	}
	CSV struct {
		Delimiter string
		Strict    bool
		Rows      int64 `json:"rows_with_header"`
		Widths    map[string]int64
		First     []string `json:"first_row"`
	}
	Avro struct {
		Error  string `json:"read_error"`
		Fields map[string]truthField
	}
	DuckDB struct {
		CSV     duckTruth       `json:"read_csv_auto"`
		JSON    duckTruth       `json:"read_json_auto"`
		Parquet duckTruth       `json:"read_parquet"`
		Sniff   json.RawMessage // an object, or what it stumbled over
	}
}

// truthField is what Python saw under one key.
type truthField struct {
	Null, Missing int64
	Types         map[string]int64
	Min, Max      json.RawMessage
	MinString     *string `json:"min_string"`
	MaxString     *string `json:"max_string"`
}

// duckTruth is what DuckDB read.
type duckTruth struct {
	Error   string
	Count   int64
	Columns map[string]struct {
		Type     string
		Nulls    int64
		Min, Max *string
	}
}

// truths reads all of them, in the order of their keys.
func truths(t *testing.T) []*truth {
	t.Helper()
	dir := samples(t)
	paths, err := filepath.Glob(filepath.Join(dir, "*", "truth.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no truth.json below %s: %v", dir, err)
	}
	var all []*truth
	for _, path := range paths {
		var folder struct{ Files map[string]*truth }
		if err := json.Unmarshal([]byte(read(t, path)), &folder); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for name, f := range folder.Files {
			f.name, f.key = name, filepath.Base(filepath.Dir(path))+"/"+name
			f.body = read(t, filepath.Dir(path), name)
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *truth) int { return strings.Compare(a.key, b.key) })
	return all
}

// text returns the decompressed sample, which must be what the truth hashed.
func (f *truth) text(t *testing.T) string {
	t.Helper()
	var r io.Reader
	var err error
	var want string
	switch {
	case f.Gzip != nil:
		want = f.Gzip.SHA256
		r, err = gzip.NewReader(strings.NewReader(f.body))
	case f.Zstd != nil && f.Zstd.Error != "":
		return ""
	case f.Zstd != nil:
		want = f.Zstd.SHA256
		r, err = zstd.NewReader(strings.NewReader(f.body))
	default:
		return f.body
	}
	var b bytes.Buffer
	if err == nil {
		_, err = b.ReadFrom(r)
	}
	sum := sha256.Sum256(b.Bytes())
	if err == nil && hex.EncodeToString(sum[:]) != want {
		t.Fatalf("%s: decompressed text is not what the truth saw", f.key)
	}
	if err != nil {
		return "" // the decoder must say so
	}
	return b.String()
}
