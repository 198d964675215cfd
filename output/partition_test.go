package output_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"batcher/column"
	"batcher/datafile"
	"batcher/localdev"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/memstore"
	"batcher/output"
	"batcher/schema"
)

// sales is a table that can be split.
var sales = &schema.Schema{LastID: 19, Fields: []schema.Field{
	{ID: 17, Name: "country", Type: schema.Type{Kind: schema.String}},
	{ID: 18, Name: "day", Type: schema.Type{Kind: schema.Date}},
	{ID: 19, Name: "n", Type: schema.Type{Kind: schema.Int64}},
}}

// sale is one row; nil is null.
type sale struct {
	country *string
	day     int32
	n       int64
}

func is(s string) *string { return &s }

// salesBlock holds rows.
func salesBlock(rows []sale) *column.Block {
	b := &column.Block{Schema: sales, Rows: len(rows)}
	for _, l := range sales.Leaves() {
		b.Columns = append(b.Columns, &column.Vector{Kind: l.Field.Type.Kind, MaxDef: 1})
	}
	c := b.Columns
	for _, r := range rows {
		if r.country == nil {
			c[0].Def = append(c[0].Def, 0)
		} else {
			c[0].Def = append(c[0].Def, 1)
			c[0].Values++
			c[0].Plain = append(binary.LittleEndian.AppendUint32(c[0].Plain, uint32(len(*r.country))), *r.country...)
		}
		c[1].Def, c[2].Def = append(c[1].Def, 1), append(c[2].Def, 1)
		c[1].Plain = binary.LittleEndian.AppendUint32(c[1].Plain, uint32(r.day))
		c[2].Plain = binary.LittleEndian.AppendUint64(c[2].Plain, uint64(r.n))
		c[1].Values, c[2].Values = c[1].Values+1, c[2].Values+1
	}
	return b
}

// partitioned begins a table that is split.
func partitioned(store object.Store, columns ...string) *output.Files {
	return output.New(output.Options{Store: store, Table: "t", Next: new(int), Bytes: 128 << 20, PartitionBy: columns, File: datafile.Options{Compression: datafile.Snappy}})
}

// rowsOf reads the rows of a file as JSON.
func rowsOf(t testing.TB, store object.Store, f manifest.File) []string {
	t.Helper()
	all, _, err := object.ReadAll(context.Background(), store, f.Key, object.GetOptions{}, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	r, err := datafile.Open(bytes.NewReader(all), int64(len(all)))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for b, err := range r.Blocks(r.Schema()) {
		if err != nil {
			t.Fatal(err)
		}
		for c := column.NewCursor(b); c.Next(); {
			rows = append(rows, string(c.AppendJSON(nil)))
		}
	}
	return rows
}

func TestPartitions_OneFileForEach(t *testing.T) {
	store, ctx := memstore.New(), context.Background()
	f := partitioned(store, "country", "day")
	long := strings.Repeat("x", 1025)
	blocks := [][]sale{
		{{is("DE"), 0, 1}, {is("FR"), 0, 2}, {is("DE"), 0, 3}, {is("DE"), 1, 4}},
		{{nil, 0, 5}, {is(""), 0, 6}, {is(long), 0, 7}, {is("DE"), -1, 8}, {is("DE"), 0, 9}},
	}
	for _, rows := range blocks {
		if err := f.Write(ctx, salesBlock(rows)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(ctx); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range f.Done() {
		var n []string
		for _, row := range rowsOf(t, store, file) {
			_, number, _ := strings.Cut(strings.TrimSuffix(row, "}"), `"n":`)
			n = append(n, number)
		}
		got = append(got, fmt.Sprintf("%v %d %s", file.Part, file.Rows, strings.Join(n, ",")))
	}
	want := []string{
		"map[day:1970-01-01] 2 5,7", // null, and what is too long to name a partition
		"map[country: day:1970-01-01] 1 6",
		"map[country:DE day:1969-12-31] 1 8",
		"map[country:DE day:1970-01-01] 3 1,3,9",
		"map[country:DE day:1970-01-02] 1 4",
		"map[country:FR day:1970-01-01] 1 2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestPartitions_ManyHoldMemoryAndFiles writes more than may wait to more
// partitions than may be open, twice.
func TestPartitions_ManyHoldMemoryAndFiles(t *testing.T) {
	for _, partitions := range []int{24, 100} {
		var first []manifest.File
		for range 2 {
			store, ctx := memstore.New(), context.Background()
			f := partitioned(store, "day")
			rng := rand.New(rand.NewPCG(7, uint64(partitions)))
			rows, decoded := 0, 0
			for range 80 {
				part := make([]sale, 0, 1000)
				for range cap(part) {
					part = append(part, sale{is(strings.Repeat(string(rune('a'+rng.IntN(26))), 1000)), int32(rng.IntN(partitions)), int64(rows)})
					rows++
				}
				b := salesBlock(part)
				decoded += column.Bytes(b)
				if err := f.Write(ctx, b); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.Close(ctx); err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, file := range f.Done() {
				for _, row := range rowsOf(t, store, file) {
					if !strings.Contains(row, `"day":"`+file.Part["day"]+`"`) {
						t.Fatalf("a row of another partition than %v: %s", file.Part, row[len(row)-60:])
					}
					seen[row[strings.LastIndexByte(row, ':'):]] = true
				}
			}
			if len(seen) != rows {
				t.Errorf("%d of %d rows", len(seen), rows)
			}
			if first == nil {
				first = f.Done()
				localdev.Figure(fmt.Sprintf("files of %d partitions from %d MiB", partitions, decoded>>20), len(first))
				if most := map[int]int{24: 24, 100: 500}[partitions]; len(first) > most {
					t.Errorf("%d files of %d partitions, want at most %d", len(first), partitions, most)
				}
			} else if fmt.Sprint(first) != fmt.Sprint(f.Done()) {
				t.Error("the same blocks gave other files")
			}
		}
	}
}

func TestPartitions_NewColumnsAndRefusals(t *testing.T) {
	store, ctx := memstore.New(), context.Background()
	f := partitioned(store, "country")
	if err := f.Write(ctx, salesBlock([]sale{{is("DE"), 0, 1}, {is("FR"), 0, 2}})); err != nil {
		t.Fatal(err)
	}
	wider := salesBlock([]sale{{is("DE"), 0, 3}})
	wider.Schema = sales.Clone()
	wider.Schema.LastID = 20
	wider.Schema.Fields = append(wider.Schema.Fields, schema.Field{ID: 20, Name: "more", Type: schema.Type{Kind: schema.Bool}})
	wider.Columns = append(wider.Columns, &column.Vector{Kind: schema.Bool, MaxDef: 1, Def: []byte{1}, Plain: []byte{1}, Values: 1})
	if err := f.Write(ctx, wider); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(ctx); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(append(rowsOf(t, store, f.Done()[0]), rowsOf(t, store, f.Done()[1])...), "\n")
	want := `{"country":"DE","day":"1970-01-01","n":1,"more":null}` + "\n" + `{"country":"DE","day":"1970-01-01","n":3,"more":true}` + "\n" + `{"country":"FR","day":"1970-01-01","n":2}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	var many *output.PartitionsError
	f = partitioned(store, "n")
	err := error(nil)
	for n := 0; n <= 10_000 && err == nil; n += 1000 {
		rows := make([]sale, 1000)
		for i := range rows {
			rows[i].n = int64(n + i)
		}
		err = f.Write(ctx, salesBlock(rows))
	}
	if !errors.As(err, &many) || err.Error() != "table t cannot be split: more than 10000 partitions by n in one batch" {
		t.Errorf("%v", err)
	}
	f.Drop(ctx)

	f = partitioned(store, "more")
	if err := f.Write(ctx, wider); !errors.As(err, &many) || many.Reason != "column more is bool" {
		t.Errorf("%v", err)
	}
	f = partitioned(store, "gone")
	if err := f.Write(ctx, wider); !errors.As(err, &many) || many.Reason != "it has no column gone" {
		t.Errorf("%v", err)
	}
}
