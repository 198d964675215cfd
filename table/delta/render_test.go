package delta_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"batcher/manifest"
	"batcher/schema"
	"batcher/segment"
	"batcher/table/delta"
)

var update = flag.Bool("update", false, "write golden files anew")

func column(id int32, name string, kind schema.Kind, parts ...schema.Field) schema.Field {
	return schema.Field{ID: id, Name: name, Type: schema.Type{Kind: kind, Fields: parts}}
}

// wide has a column of every type.
func wide() *schema.Schema {
	dec := column(21, "dec", schema.Decimal)
	dec.Type.Precision, dec.Type.Scale = 9, 2
	return &schema.Schema{LastID: 40, Fields: append(schema.Reserved(),
		column(17, "b", schema.Bool), column(18, "i32", schema.Int32), column(19, "i64", schema.Int64), column(20, "f", schema.Float64), dec,
		column(22, "s", schema.String), column(23, "j", schema.JSON), column(24, "raw", schema.Bytes), column(25, "ts_day", schema.Date),
		column(26, "ts", schema.Timestamp),
		column(27, "o", schema.Struct, column(28, "x", schema.Int64), column(29, "p", schema.Struct, column(30, "y", schema.String))),
		column(31, "l", schema.List, column(32, "element", schema.Struct, column(33, "z", schema.Int64))),
		column(34, "m", schema.Map, column(35, "key", schema.String), column(36, "value", schema.List, column(37, "element", schema.Float64))),
	)}
}

// stat is the statistics of one column.
func stat(id int32, nulls int64, bounds ...string) manifest.ColumnStats {
	c := manifest.ColumnStats{ID: id, Nulls: nulls}
	if len(bounds) > 0 {
		c.Min = json.RawMessage(bounds[0])
	}
	if len(bounds) > 1 {
		c.Max = json.RawMessage(bounds[1])
	}
	return c
}

// dataFile is the n-th file of an attempt.
func dataFile(attempt byte, n int, columns ...manifest.ColumnStats) manifest.File {
	return manifest.File{Key: manifest.DataFile("events", 3, manifest.Attempt{attempt}, n), Size: int64(1000 + n), Rows: int64(10 * (n + 1)), Columns: columns}
}

// change is one to version v of the table, made by manifest 7.
func change(t testing.TB, kind manifest.Kind, v int64, before, after *schema.Schema, add, remove []manifest.File) delta.Change {
	t.Helper()
	ref := func(s *schema.Schema) manifest.SchemaRef {
		r, err := manifest.NewSchemaRef(s, segment.NewPack(""))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	return delta.Change{
		Table: "events",
		Manifest: &manifest.Manifest{
			Pipeline: "events-00112233445566778899aabbccddeeff", Seq: 7, Kind: kind, Config: manifest.Config{Table: "events"},
			Tables:    map[string]manifest.Table{"events": {Schema: ref(after), Version: v, LastSeq: 7, Add: segment.Of(add), Remove: segment.Of(remove)}},
			Writer:    manifest.Writer{Version: "1.2.3"},
			CreatedAt: time.Date(2026, 11, 30, 8, 0, 0, 123_000_000, time.UTC),
		},
		SHA256: manifest.SHA256{0xab, 0xcd}, Before: manifest.Table{Version: v - 1, Schema: ref(before)}, Schema: after,
		Origin: delta.Origin{Pipeline: "events-00112233445566778899aabbccddeeff", CreatedAt: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)},
	}
}

// split makes the table one that is split by columns.
func split(c delta.Change, columns string) delta.Change {
	c.Manifest.Config.Split = columns
	return c
}

// part gives a file partition values.
func part(f manifest.File, values map[string]string) manifest.File {
	f.Part = values
	return f
}

// commits are the cases of commit files.
func commits(t testing.TB) map[string]delta.Change {
	whole, small := wide(), schema.New()
	full := dataFile(1, 0,
		stat(1, 0, `"a"`, `"b"`), stat(2, 0, `0`, `9`), stat(3, 10), stat(17, 2), stat(18, 0, `-2147483648`, `2147483647`), stat(19, 1, `-9223372036854775808`, `9007199254740993`),
		stat(20, 0), stat(21, 0, `-1.10`, `9999999.99`), stat(22, 0, `"é<\"'\\"`), stat(23, 3), stat(24, 4), stat(25, 0, `"0001-01-01"`, `"2026-11-30"`),
		stat(26, 0, `"1969-12-31T23:59:59.999Z"`, `"2026-11-30T08:00:00.124Z"`), stat(28, 0, `1`, `2`), stat(30, 5, `"deep"`, `"deeper"`), stat(99, 1, `1`, `2`))
	return map[string]delta.Change{
		"first":       change(t, manifest.Data, 0, small, whole, []manifest.File{dataFile(1, 1), full}, nil),
		"append":      change(t, manifest.Data, 12, small, small, []manifest.File{dataFile(2, 0, stat(1, 0, `"x"`, `"x"`), stat(17, 0, `1`, `2`))}, nil),
		"new-column":  change(t, manifest.Data, 13, small, whole, []manifest.File{dataFile(3, 0)}, nil),
		"schema-only": change(t, manifest.Data, 14, small, whole, nil, nil),
		"compact":     change(t, manifest.Compact, 15, whole, whole, []manifest.File{dataFile(4, 0)}, []manifest.File{dataFile(3, 0), dataFile(2, 0)}),
		"replay":      change(t, manifest.Replay, 16, whole, whole, []manifest.File{dataFile(5, 0)}, nil),
		"replace":     change(t, manifest.Replace, 17, whole, whole, []manifest.File{dataFile(6, 0)}, []manifest.File{dataFile(5, 0)}),
		"rewrite":     change(t, manifest.Rewrite, 18, whole, small, []manifest.File{dataFile(7, 0)}, []manifest.File{dataFile(6, 0), dataFile(4, 0)}),
		"rewind":      change(t, manifest.Rewind, 19, small, whole, []manifest.File{dataFile(4, 0), dataFile(6, 0)}, []manifest.File{dataFile(7, 0)}),
		"partitions": split(change(t, manifest.Replace, 0, small, whole,
			[]manifest.File{part(dataFile(1, 0, stat(22, 0, `"x"`, `"x"`), stat(25, 0, `"2026-11-30"`, `"2026-11-30"`), stat(18, 0, `1`, `2`)), map[string]string{"ts_day": "2026-11-30", "s": "x/ é=%"}), part(dataFile(1, 1), map[string]string{"s": ""})},
			[]manifest.File{part(dataFile(2, 0), map[string]string{"ts_day": "0001-01-01", "s": "y"})}), "ts_day,s"),
	}
}

func TestD25_RenderCommit_Goldens(t *testing.T) {
	for name, c := range commits(t) {
		t.Run(name, func(t *testing.T) {
			got, err := delta.RenderCommit(c)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "commit", name+".json")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestRenderCommit_HasOneForm gives the files in other orders.
func TestRenderCommit_HasOneForm(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for name, c := range commits(t) {
		want, err := delta.RenderCommit(c)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			for _, list := range [][]manifest.File{c.Manifest.Tables["events"].Add.Items, c.Manifest.Tables["events"].Remove.Items} {
				random.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
			}
			if got, err := delta.RenderCommit(c); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s: other bytes, %v", name, err)
			}
		}
	}
}

func TestRenderCommit_Refuses(t *testing.T) {
	s := schema.New()
	away := dataFile(1, 0)
	away.Key = "other/data/x.parquet"
	notLoaded := change(t, manifest.Data, 1, s, s, nil, nil)
	table := notLoaded.Manifest.Tables["events"]
	table.Add.Count = 3
	notLoaded.Manifest.Tables["events"] = table
	other := change(t, manifest.Data, 1, s, s, nil, nil)
	other.Manifest.Seq = 8
	for name, c := range map[string]struct {
		change delta.Change
		want   string
	}{
		"a file of another table":      {change(t, manifest.Data, 1, s, s, []manifest.File{away}, nil), "does not lie in the folder"},
		"removed from another table":   {change(t, manifest.Replace, 1, s, s, nil, []manifest.File{away}), "does not lie in the folder"},
		"a list that stands elsewhere": {notLoaded, "not loaded"},
		"another manifest's version":   {other, "did not make version"},
		"no column to split by":        {split(change(t, manifest.Data, 0, s, s, nil, nil), "kind"), "has no column kind"},
	} {
		if got, err := delta.RenderCommit(c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, %v, want %q", name, got, err, c.want)
		}
	}
}

// TestD26_RenderCheckpoint holds what Trino and Athena stumbled over: indexes of
// columns, and a hint that speaks of parts.
func TestD26_RenderCheckpoint(t *testing.T) {
	c := split(change(t, manifest.Data, 20, wide(), wide(), nil, nil), "ts_day,s,i32,i64")
	s := delta.Snapshot{Table: "events", Manifest: c.Manifest, Schema: c.Schema, Origin: c.Origin}
	for i := range 100 {
		s.Live = append(s.Live, part(dataFile(byte(i), i, stat(17, 0)), map[string]string{"ts_day": "2026-11-30", "s": fmt.Sprint(i), "i32": "1", "i64": "2"}))
	}
	file, hint, err := delta.RenderCheckpoint(s)
	if err != nil {
		t.Fatal(err)
	}
	if want := (delta.Hint{Version: 20, Size: 103, Bytes: int64(len(file)), Files: 100}); hint != want {
		t.Errorf("hint %+v, want %+v", hint, want)
	}
	for range 5 {
		slices.Reverse(s.Live)
		if again, _, err := delta.RenderCheckpoint(s); err != nil || !bytes.Equal(again, file) {
			t.Fatalf("other bytes, %v", err)
		}
	}
	read, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if read.NumRows() != 103 {
		t.Errorf("%d rows", read.NumRows())
	}
	for _, g := range read.Metadata().RowGroups {
		for _, c := range g.Columns {
			if c.ColumnIndexOffset != 0 || c.OffsetIndexOffset != 0 || c.ColumnIndexLength != 0 || c.OffsetIndexLength != 0 {
				t.Errorf("column %v has an index", c.MetaData.PathInSchema)
			}
		}
	}
}
