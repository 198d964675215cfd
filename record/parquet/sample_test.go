package parquet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"batcher/localdev"
	"batcher/record/parquet"
	"batcher/record/typed"
)

// truth is what DuckDB found in a file.
type truth struct {
	Format string
	DuckDB struct {
		Read struct {
			Error   string
			Count   int
			Columns map[string]columnTruth
		} `json:"read_parquet"`
	} `json:"duckdb"`
}

type columnTruth struct {
	Type     string
	Nulls    int
	Min, Max *string
}

// handJudged are the files about which DuckDB's answer is not ours: how many
// rows we read of those that it cannot read (-1: none), and why.
var handJudged = map[string]struct {
	rows int
	why  string
}{
	"byte_stream_split.parquet":                      {100, "integers in an encoding that DuckDB knows for floats alone"},
	"BYTE_STREAM_SPLIT__int64.parquet":               {1000, "integers in an encoding that DuckDB knows for floats alone"},
	"BYTE_STREAM_SPLIT__uuid.parquet":                {1000, "UUIDs in an encoding that DuckDB knows for floats alone"},
	"byte_stream_split_extended.gzip.parquet":        {200, "integers in an encoding that DuckDB knows for floats alone"},
	"invalid_utf8_dictionary.parquet":                {2, "the container is whole; the text of its records is judged later"},
	"empty__input.parquet":                           {0, "no columns and no rows"},
	"parquet_column_num_values_mismatch.parquet":     {-1, "the column says that it has fewer values than the row group has rows"},
	"ARROW-RS-GH-6229-LEVELS.parquet":                {-1, "more values in the page than in the column"},
	"ARROW-GH-45185.parquet":                         {-1, "the first entry claims to go on with a row"},
	"rle-dict-uncompressed-corrupt-checksum.parquet": {-1, "a page does not have its checksum"},
}

// samples calls do for each sample file with what is known about it.
func samples(t *testing.T, do func(name string, body []byte, known truth)) {
	t.Helper()
	root := os.Getenv("BATCHER_SAMPLES")
	if root == "" {
		localdev.Skip(t, "BATCHER_SAMPLES is not set to the folder of samples: real Parquet files are not read")
	}
	for _, folder := range []string{
		"parquet-testing", "duckdb-parquet", "iceberg-parquet-encodings", "pinot-parquet", "telegraf-parquet", "polars-foods",
		"singer-mapped", "parquet-bad", "duckdb-parquet-bad", "parquet-encrypted", "parquet-fuzz", "parquet-variant",
	} {
		text, err := os.ReadFile(filepath.Join(root, folder, "truth.json"))
		if err != nil {
			t.Fatal(err)
		}
		var all struct{ Files map[string]truth }
		if err := json.Unmarshal(text, &all); err != nil || len(all.Files) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(all.Files), err)
		}
		for name, known := range all.Files {
			if known.Format != "parquet" {
				continue
			}
			body, err := os.ReadFile(filepath.Join(root, folder, name))
			if err != nil {
				t.Fatal(err)
			}
			do(name, body, known)
		}
	}
}

// readAll returns the records of a file.
func readAll(body []byte, limits parquet.Limits) ([][]byte, error) {
	rd, err := parquet.NewReader(bytes.NewReader(body), int64(len(body)), limits)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for {
		rec, err := rd.Next(nil)
		if err == io.EOF && int64(len(out)) == rd.Rows() {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if err := typed.Check(rec, 512); err != nil {
			return out, fmt.Errorf("%w: %x", err, rec)
		}
		out = append(out, rec)
	}
}

// TestSamples reads real files and holds them against what DuckDB says. No
// file, however bad, may take memory out of proportion.
func TestSamples(t *testing.T) {
	var files, refused, records, columns int
	most := uint64(0)
	samples(t, func(name string, body []byte, known truth) {
		files++
		want := known.DuckDB.Read.Count
		if known.DuckDB.Read.Error != "" {
			want = -1
		}
		if judged, ok := handJudged[name]; ok {
			want = judged.rows
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := readAll(body, parquet.Limits{})
		runtime.ReadMemStats(&after)
		if want < 0 {
			refused++
			var broken *typed.Error
			if !errors.As(err, &broken) {
				t.Errorf("%s: %d rows, %v, want a refusal", name, len(got), err)
			}
			most = max(most, after.TotalAlloc-before.TotalAlloc)
			return
		}
		if err != nil || len(got) != want {
			t.Errorf("%s: %d rows of %d, %v", name, len(got), want, err)
			return
		}
		records += len(got)
		columns += checkColumns(t, name, got, known.DuckDB.Read.Columns)
		checkSkip(t, name, body, got)
	})
	if most > 16<<20 {
		t.Errorf("%d bytes were allocated for a bad file", most)
	}
	localdev.Figure("record/parquet: sample files read", files-refused)
	localdev.Figure("record/parquet: sample files refused", refused)
	localdev.Figure("record/parquet: most bytes allocated for a refused file", most)
	localdev.Figure("record/parquet: sample records", records)
	localdev.Figure("record/parquet: sample columns with DuckDB's nulls, min and max", columns)
}

// checkColumns compares the top-level columns with what DuckDB says of them.
func checkColumns(t *testing.T, name string, records [][]byte, want map[string]columnTruth) int {
	t.Helper()
	columns := map[string][]typed.Value{}
	for _, rec := range records {
		c := typed.NewCursor(rec)
		v, _ := c.Next()
		for in := c.Inside(v); !in.Done(); {
			key, _ := in.Key()
			v, _ := in.Next()
			columns[string(key)] = append(columns[string(key)], v)
		}
	}
	checked := 0
	for column, w := range want {
		values, ok := columns[column]
		if !ok && len(records) > 0 {
			t.Errorf("%s: column %s is missing", name, column)
		}
		nulls, seen := 0, false
		var low, high string
		for _, v := range values {
			if v.Tag == typed.Null {
				nulls++
				continue
			}
			text, ok := plain(v, w.Type)
			if !ok {
				continue
			}
			if !seen || less(text, low, w.Type) {
				low = text
			}
			if !seen || less(high, text, w.Type) {
				high = text
			}
			seen = true
		}
		if nulls != w.Nulls {
			t.Errorf("%s: column %s: %d nulls, want %d", name, column, nulls, w.Nulls)
		}
		if w.Min != nil && seen && (!same(low, *w.Min, w.Type) || !same(high, *w.Max, w.Type)) {
			t.Errorf("%s: column %s %s: %q to %q, want %q to %q", name, column, w.Type, low, high, *w.Min, *w.Max)
		}
		checked++
	}
	return checked
}

// plain renders a scalar as DuckDB does, if it is one that is compared.
func plain(v typed.Value, kind string) (string, bool) {
	switch v.Tag {
	case typed.False:
		return "false", true
	case typed.True:
		return "true", true
	case typed.Int:
		return strconv.FormatInt(v.Int, 10), true
	case typed.Float:
		if kind == "FLOAT" {
			return strconv.FormatFloat(v.Float(), 'g', -1, 32), true
		}
		return strconv.FormatFloat(v.Float(), 'g', -1, 64), true
	case typed.String:
		if strings.HasPrefix(kind, "TIME") {
			return trimTime(string(v.Data)), true
		}
		return string(v.Data), true
	case typed.Number:
		return string(v.Data), true
	case typed.Decimal:
		text, _ := typed.AppendJSON(nil, append([]byte{byte(typed.Decimal), v.Scale}, v.Data...))
		return string(text), true
	case typed.Date:
		text, _ := typed.AppendJSON(nil, typed.AppendDate(nil, v.Int))
		return strings.Trim(string(text), `"`), true
	case typed.Timestamp:
		text, _ := typed.AppendJSON(nil, typed.AppendTimestamp(nil, v.Int, v.Nanos))
		return trimTime(strings.Trim(string(text), `"`)), true
	}
	return "", false
}

// trimTime brings times to one form: no T, no zone, no zeros at the end.
func trimTime(text string) string {
	text = strings.Replace(text, "T", " ", 1)
	text = strings.TrimSuffix(strings.TrimSuffix(text, "Z"), "+00")
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

func isNumeric(kind string) bool {
	return strings.Contains(kind, "INT") || strings.HasPrefix(kind, "DECIMAL") || kind == "FLOAT" || kind == "DOUBLE"
}

func less(a, b, kind string) bool {
	if !isNumeric(kind) {
		return a < b
	}
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	if okX && okY && kind != "DOUBLE" {
		return x.Cmp(y) < 0
	}
	f, g := float(a), float(b)
	return f < g || math.IsNaN(g) && !math.IsNaN(f) // NaN is above all to DuckDB
}

func float(text string) float64 {
	f, _ := strconv.ParseFloat(strings.Replace(text, "-nan", "nan", 1), 64)
	return f
}

func same(got, want, kind string) bool {
	if strings.HasPrefix(kind, "TIME") {
		return got == trimTime(want)
	}
	if cut, ok := strings.CutSuffix(want, "…"); ok {
		return strings.HasPrefix(got, cut)
	}
	return got == want || isNumeric(kind) && !less(got, want, kind) && !less(want, got, kind)
}

// checkSkip reads on from several ordinals.
func checkSkip(t *testing.T, name string, body []byte, records [][]byte) {
	t.Helper()
	for _, from := range []int{0, 1, len(records) / 2, len(records) - 1, len(records)} {
		if from < 0 || from > len(records) {
			continue
		}
		rd, err := parquet.NewReader(bytes.NewReader(body), int64(len(body)), parquet.Limits{})
		if err == nil {
			err = rd.Skip(int64(from))
		}
		if err != nil {
			t.Errorf("%s: skip %d: %v", name, from, err)
			continue
		}
		rec, err := rd.Next(nil)
		if from == len(records) {
			if err != io.EOF {
				t.Errorf("%s: behind the last record: %v", name, err)
			}
		} else if err != nil || !bytes.Equal(rec, records[from]) {
			t.Errorf("%s: record %d after Skip differs, %v", name, from, err)
		}
	}
}
