package datafile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"batcher/column"
	"batcher/datafile"
	"batcher/localdev"
	"batcher/schema"
)

// wide has columns of each way in which a chunk can stand in a file: texts with a
// dictionary and without, short and long, numbers with bounds and without, lists.
func wide() *schema.Schema {
	return table(
		field(1, "_source", schema.String),
		field(2, "_offset", schema.Int64),
		field(17, "id", schema.String),
		field(18, "long", schema.String),
		field(19, "few", schema.String),
		field(20, "f", schema.Float64),
		field(21, "b", schema.Bool),
		field(22, "none", schema.Int64),
		field(23, "list", schema.List, field(24, "element", schema.Int64)),
		field(25, "j", schema.JSON),
		money(26, "cents", 9, 2),
		money(27, "paid", 18, 4),
		money(28, "owed", 38, 4),
	)
}

// wideRows are rows of one source.
func wideRows(rnd *rand.Rand, source string, count int) []row {
	rows := make([]row, count)
	for i := range rows {
		r := row{"_source": source, "_offset": int64(i) * 400, "id": fmt.Sprintf("%016x", rnd.Uint64()), "few": fmt.Sprint("kind ", rnd.IntN(9)),
			"f": rnd.NormFloat64(), "b": rnd.IntN(2) == 0, "j": `{"n":` + strconv.Itoa(rnd.IntN(1e6)) + `}`,
			"cents": decimal(rnd.Int64N(2e9-1) - 1e9 + 1), "paid": decimal(rnd.Int64N(2e18-1) - 1e18 + 1), "owed": decimal(rnd.Int64() - rnd.Int64())}
		if rnd.IntN(3) > 0 {
			r["long"] = fmt.Sprintf("%016x%s", rnd.Uint64(), strings.Repeat("-", 64))
		}
		if i == 0 && source == "in/0" {
			r["f"] = math.NaN()
		}
		if rnd.IntN(4) > 0 {
			r["list"] = []any{int64(i), nil, rnd.Int64()}[:rnd.IntN(4)]
		}
		rows[i] = r
	}
	return rows
}

// copied copies files one behind another.
func copied(t testing.TB, opts datafile.Options, s *schema.Schema, files ...[]byte) ([]byte, []string) {
	t.Helper()
	var b bytes.Buffer
	w := datafile.NewWriter(&b, opts)
	for _, file := range files {
		r, err := datafile.Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		if !opts.Copies(r, s) {
			t.Fatal("the file is not one that is copied")
		}
		if err := w.Copy(r, s); err != nil {
			t.Fatal(err)
		}
	}
	f, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if f.Size != int64(b.Len()) {
		t.Errorf("size %d of %d", f.Size, b.Len())
	}
	var stats []string
	for _, c := range f.Columns {
		stats = append(stats, fmt.Sprintf("%d: %d nulls, %s to %s", c.ID, c.Nulls, c.Min, c.Max))
	}
	return b.Bytes(), stats
}

// TestCopiedFilesAreAsIfTheirRowsHadBeenWritten copies files of unlike sizes and
// layouts, and holds rows and statistics against those of the rows written at once,
// which see every value. Files with small pages make all ways meet in one file.
func TestCopiedFilesAreAsIfTheirRowsHadBeenWritten(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 4))
	for _, c := range []struct {
		name   string
		schema *schema.Schema
		rows   []int // of each file
		opts   datafile.Options
		least  int // rows of each row group but the last
	}{
		{"small pages", wide(), []int{1, 500, 1, 3000}, datafile.Options{}, datafile.DefaultRowGroupRows},
		{"large pages", wide(), []int{9000, 12_000, 10, 9000}, datafile.Options{}, datafile.DefaultRowGroupRows},
		{"full groups end at the target", wide(), []int{9000, 9000, 9000, 9000}, datafile.Options{RowGroupRows: 15_000}, 15_000},
		{"snappy", wide(), []int{100, 9000}, datafile.Options{Compression: datafile.Snappy}, datafile.DefaultRowGroupRows},
		{"uncompressed", wide(), []int{9000, 100}, datafile.Options{Compression: datafile.Uncompressed}, datafile.DefaultRowGroupRows},
		{"every type", every(), []int{6, 6, 60}, datafile.Options{}, datafile.DefaultRowGroupRows},
		{"a file without rows", every(), []int{0, 6, 0}, datafile.Options{}, datafile.DefaultRowGroupRows},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []row
			var files [][]byte
			for i, n := range c.rows {
				rows := make([]row, n)
				for k, templates := 0, everyRow(); k < n; k++ {
					rows[k] = templates[k%len(templates)]
				}
				if len(c.schema.Fields) == len(wide().Fields) {
					rows = wideRows(rnd, fmt.Sprintf("in/%d", i), n)
				}
				opts := c.opts
				if i%2 > 0 {
					opts.RowGroupRows = max(1, n-rnd.IntN(n/2+1))
				}
				file, _ := write(t, opts, shred(c.schema, rows))
				all, files = append(all, rows...), append(files, file)
			}
			got, stats := copied(t, c.opts, c.schema, files...)
			again, _ := copied(t, c.opts, c.schema, files...)
			if !bytes.Equal(got, again) {
				t.Error("the same files gave other bytes")
			}
			whole := shred(c.schema, all)
			if lines := read(t, got, c.schema); !slices.Equal(lines, texts(whole)) {
				t.Errorf("%d rows are not the %d that were copied", len(lines), len(all))
			}
			_, f := write(t, c.opts, whole)
			for i, x := range f.Columns {
				if want := fmt.Sprintf("%d: %d nulls, %s to %s", x.ID, x.Nulls, x.Min, x.Max); stats[i] != want {
					t.Errorf("statistics %s; want %s", stats[i], want)
				}
			}
			groups := query(t, "SELECT DISTINCT row_group_id, row_group_num_rows AS n FROM parquet_metadata(getvariable('f0')) ORDER BY 1", got)
			for i, g := range groups {
				n, err := strconv.Atoi(fmt.Sprint(g["n"]))
				if err != nil || i < len(groups)-1 && n < c.least || n >= 2*c.least {
					t.Errorf("row group %d of %d has %d rows, %v", i, len(groups), n, err)
				}
			}
		})
	}
}

// narrow is a table whose rows are quickly made.
var narrow = table(field(1, "_source", schema.String), field(2, "_offset", schema.Int64), field(17, "id", schema.String))

// narrowFile has rows of one source.
func narrowFile(t testing.TB, source string, rows int) ([]byte, *column.Block) {
	list := make([]row, rows)
	for i := range list {
		list[i] = row{"_source": source, "_offset": int64(i), "id": fmt.Sprintf("%s %08x", source, i*7919)}
	}
	b := shred(narrow, list)
	file, _ := write(t, datafile.Options{}, b)
	return file, b
}

// TestALargeRowGroupIsCopiedByteForByte finds the bytes of a large row group in the
// copy, between groups of small ones, and has DuckDB count rows and bounds anew.
func TestALargeRowGroupIsCopiedByteForByte(t *testing.T) {
	small, first := narrowFile(t, "a", 10)
	large, second := narrowFile(t, "b", 110_000)
	last, third := narrowFile(t, "c", 10)
	got, _ := copied(t, datafile.Options{}, narrow, small, large, last)
	if !slices.Equal(read(t, got, narrow), texts(first, second, third)) {
		t.Error("rows are not those that were copied")
	}
	footer := len(large) - 8 - int(uint32(large[len(large)-8])|uint32(large[len(large)-7])<<8)
	if !bytes.Contains(got, large[4:footer]) {
		t.Error("the row group does not stand in the copy as it stood")
	}
	var counts []string
	for _, x := range query(t, `SELECT row_group_num_rows AS n, stats_min_value AS lo, stats_max_value AS hi, stats_null_count AS nulls
		FROM parquet_metadata(getvariable('f0')) WHERE path_in_schema = '_offset' ORDER BY row_group_id`, got) {
		counts = append(counts, fmt.Sprint(x["n"], " ", x["lo"], " ", x["hi"], " ", x["nulls"]))
	}
	if want := []string{"10 0 9 0", "110000 0 109999 0", "10 0 9 0"}; !slices.Equal(counts, want) {
		t.Errorf("row groups %v, want %v", counts, want)
	}
	found := query(t, `SELECT count(*) AS n, count(DISTINCT id) AS ids, (SELECT count(*) FROM f0 WHERE _source = 'b' AND _offset >= 100000) AS some FROM f0`, got)
	if n, _ := found[0]["n"].(json.Number); n != "110020" || fmt.Sprint(found[0]["ids"]) != "110020" || fmt.Sprint(found[0]["some"]) != "10000" {
		t.Errorf("DuckDB counts %v", found)
	}
	localdev.Figure("bytes of a copied row group", footer-4)
}

// TestADamagedPageIsNotCopied flips a bit of every so many bytes of all pages, in a
// file that is copied whole and in one whose rows join others.
func TestADamagedPageIsNotCopied(t *testing.T) {
	for _, rows := range []int{10, 9000, 110_000} {
		file, _ := narrowFile(t, "a", rows)
		footer := len(file) - 8 - int(uint32(file[len(file)-8])|uint32(file[len(file)-7])<<8)
		want, _ := copied(t, datafile.Options{}, narrow, file)
		flips := 0
		for at := 4; at < footer; at += max(1, footer/200) {
			damaged := slices.Clone(file)
			damaged[at] ^= 1 << (at % 8)
			r := open(t, damaged)
			var b bytes.Buffer
			w := datafile.NewWriter(&b, datafile.Options{})
			err := w.Copy(r, narrow)
			if err == nil {
				_, err = w.Close()
			}
			if err == nil && bytes.Equal(b.Bytes(), want) {
				continue // the flip says the same in other words
			}
			if flips++; !errors.Is(err, datafile.ErrDamaged) {
				if err == nil && slices.Equal(read(t, b.Bytes(), narrow), read(t, file, narrow)) {
					continue
				}
				t.Fatalf("%d rows: a flip at byte %d of %d: %v", rows, at, footer, err)
			}
		}
		if flips == 0 {
			t.Error("no flip changed anything")
		}
	}
}

// TestOnlyFilesThatAreAlikeAreCopied asks of files that are nearly so.
func TestOnlyFilesThatAreAlikeAreCopied(t *testing.T) {
	file, _ := narrowFile(t, "a", 10)
	r := open(t, file)
	change := func(f func(*schema.Schema)) *schema.Schema {
		s := narrow.Clone()
		f(s)
		return s
	}
	for _, c := range []struct {
		name   string
		opts   datafile.Options
		schema *schema.Schema
		want   bool
	}{
		{"the same", datafile.Options{}, narrow, true},
		{"a key that files do not know", datafile.Options{}, change(func(s *schema.Schema) { s.Fields[2].Key = "other" }), true},
		{"texts that are JSON", datafile.Options{}, change(func(s *schema.Schema) { s.Fields[2].Type.Kind = schema.JSON }), true},
		{"other row groups", datafile.Options{RowGroupRows: 1}, narrow, true},
		{"another codec", datafile.Options{Compression: datafile.Snappy}, narrow, false},
		{"no such codec", datafile.Options{Compression: "lz4"}, narrow, false},
		{"another name", datafile.Options{}, change(func(s *schema.Schema) { s.Fields[2].Name = "other" }), false},
		{"another id", datafile.Options{}, change(func(s *schema.Schema) { s.Fields[2].ID = 18 }), false},
		{"another type", datafile.Options{}, change(func(s *schema.Schema) { s.Fields[2].Type.Kind = schema.Bytes }), false},
		{"another order", datafile.Options{}, change(func(s *schema.Schema) { s.Fields[1], s.Fields[2] = s.Fields[2], s.Fields[1] }), false},
		{"a column more", datafile.Options{}, change(func(s *schema.Schema) { s.Fields = append(s.Fields, field(18, "more", schema.Bool)) }), false},
		{"a column less", datafile.Options{}, change(func(s *schema.Schema) { s.Fields = s.Fields[:2] }), false},
	} {
		if got := c.opts.Copies(r, c.schema); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		w := datafile.NewWriter(&bytes.Buffer{}, c.opts)
		if err := w.Copy(r, c.schema); (err == nil) != c.want {
			t.Errorf("%s: copy answers %v", c.name, err)
		}
	}
}

// TestBlocksAndCopiesMix writes rows before, between and behind files, the last with
// a column more.
func TestBlocksAndCopiesMix(t *testing.T) {
	file, rows := narrowFile(t, "a", 9000)
	wider := narrow.Clone()
	wider.Fields = append(wider.Fields, field(18, "more", schema.Bool))
	more := shred(wider, []row{{"_source": "d", "_offset": int64(1), "more": true}})
	var b bytes.Buffer
	w := datafile.NewWriter(&b, datafile.Options{RowGroupRows: 20_000})
	err := errors.Join(w.Write(rows), w.Copy(open(t, file), narrow), w.Write(rows), w.Copy(open(t, file), narrow), w.Write(more))
	f, closed := w.Close()
	if err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	want := append(texts(rows, rows, rows, rows), texts(more)...)
	for i := range want[:len(want)-1] {
		want[i] = strings.TrimSuffix(want[i], "}") + `,"more":null}`
	}
	if got := read(t, b.Bytes(), wider); !slices.Equal(got, want) || f.Rows != int64(len(want)) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	if n := f.Columns[3].Nulls; n != 36_000 {
		t.Errorf("%d nulls in the new column", n)
	}
}
