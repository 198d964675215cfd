package bench_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"testing"

	"batcher/bench"
	"batcher/column"
	"batcher/datafile"
	"batcher/localdev"
	"batcher/manifest"
	"batcher/object/memstore"
	"batcher/output"
	"batcher/record"
	"batcher/schema"
)

// drawn are about size bytes of events.
func drawn(tb testing.TB, shape bench.Shape, size int64) []byte {
	tb.Helper()
	var b bytes.Buffer
	if _, err := bench.Write(&b, shape, 42, size); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestEventsAreWellFormed: what is measured must be what it claims to be.
func TestEventsAreWellFormed(t *testing.T) {
	for shape, least := range map[bench.Shape]int{bench.Flat: 440, bench.Nested: 1600} {
		lines := bytes.Split(bytes.TrimSpace(drawn(t, shape, 1<<20)), []byte("\n"))
		for _, line := range lines {
			if !json.Valid(line) {
				t.Fatalf("%s: no JSON: %s", shape, line)
			}
		}
		if mean := 1 << 20 / len(lines); mean < least || mean > least*6/5 {
			t.Errorf("%s: %d bytes a record", shape, mean)
		}
	}
	rows, err := csv.NewReader(bytes.NewReader(drawn(t, bench.CSV, 1<<20))).ReadAll()
	if err != nil || len(rows) < 1000 {
		t.Errorf("%d rows of CSV, %v", len(rows), err)
	}
	if a, b := drawn(t, bench.Nested, 1<<20), drawn(t, bench.Nested, 1<<20); !bytes.Equal(a, b) {
		t.Error("a seed does not fix the events")
	}
}

// reserved is the schema of a table without columns of its own.
func reserved() *schema.Schema {
	field := func(id int32, name string, kind schema.Kind) schema.Field {
		return schema.Field{ID: id, Name: name, Type: schema.Type{Kind: kind}}
	}
	return &schema.Schema{LastID: 16, Fields: []schema.Field{
		field(schema.SourceID, "_source", schema.String), field(schema.OffsetID, "_offset", schema.Int64), field(schema.RescuedID, "_rescued", schema.JSON),
	}}
}

// decode decodes events and returns how many became rows.
func decode(tb testing.TB, kind record.Kind, body []byte, sink func(*column.Block) (*column.Block, error)) (rows int64) {
	tb.Helper()
	d := record.NewDecoder(record.Options{Table: reserved(), Format: record.Format{Kind: kind}, Block: func(b *column.Block) (*column.Block, error) {
		rows += int64(b.Rows)
		return sink(b)
	}})
	if _, err := d.Decode(context.Background(), record.Object{Source: "events"}, bytes.NewReader(body)); err != nil {
		tb.Fatal(err)
	}
	if err := d.Flush(); err != nil {
		tb.Fatal(err)
	}
	return rows
}

func back(b *column.Block) (*column.Block, error) { return b, nil }

// whole decodes, encodes and uploads, side by side, as a run does.
func whole(tb testing.TB, kind record.Kind, body []byte) (rows, size int64) {
	tb.Helper()
	f := output.New(output.Options{Store: memstore.New(), Table: "t", Next: new(int), Bytes: 1 << 30, Attempt: manifest.Attempt{1}})
	behind := output.NewBacklog()
	defer behind.Stop()
	rows = decode(tb, kind, body, func(b *column.Block) (*column.Block, error) { return behind.Write(tb.Context(), f, b) })
	if err := behind.Settle(); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return rows, f.Done()[0].Size
}

// BenchmarkStages measures the steps of the data path by the bytes of the input:
// cutting lines and hashing the input, the same with scanning, encoding, the same
// with compressing, and all together side by side.
func BenchmarkStages(b *testing.B) {
	for _, shape := range []bench.Shape{bench.Flat, bench.Nested, bench.CSV} {
		kind := record.NDJSON
		if shape == bench.CSV {
			kind = record.CSV
		}
		body := drawn(b, shape, 64<<20)
		var blocks []*column.Block
		decode(b, kind, body, func(x *column.Block) (*column.Block, error) {
			blocks = append(blocks, x)
			return nil, nil
		})
		encode := func(c datafile.Compression) {
			w := datafile.NewWriter(io.Discard, datafile.Options{Compression: c})
			for _, x := range blocks {
				if err := w.Write(x); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := w.Close(); err != nil {
				b.Fatal(err)
			}
		}
		for _, stage := range []struct {
			name string
			run  func()
		}{
			{"cut", func() { decode(b, record.Lines, body, back) }},
			{"scan", func() { decode(b, kind, body, back) }},
			{"encode", func() { encode(datafile.Uncompressed) }},
			{"compress", func() { encode(datafile.Zstd) }},
			{"whole", func() { whole(b, kind, body) }},
		} {
			b.Run(fmt.Sprintf("%s/%s", shape, stage.name), func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					stage.run()
				}
			})
		}
	}
}

// TestNoAllocationPerRecord counts what twice as many records allocate more, from
// the bytes of the input to the bytes of the file. What is left belongs to blocks
// and pages, of which nested records, large and of many columns, need more.
func TestNoAllocationPerRecord(t *testing.T) {
	for shape, most := range map[bench.Shape]float64{bench.Flat: 0.05, bench.Nested: 0.5, bench.CSV: 0.05} {
		kind := record.NDJSON
		if shape == bench.CSV {
			kind = record.CSV
		}
		count := func(size int64) (rows int64, allocations uint64) {
			body := drawn(t, shape, size)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			rows, _ = whole(t, kind, body)
			runtime.ReadMemStats(&after)
			return rows, after.Mallocs - before.Mallocs
		}
		few, a := count(16 << 20)
		many, b := count(32 << 20)
		each := (float64(b) - float64(a)) / float64(many-few)
		t.Logf("%s: %.4f allocations a record", shape, each)
		localdev.Figure("allocations per record, whole data path, "+string(shape), fmt.Sprintf("%.3f", each))
		if each > most {
			t.Errorf("%s: %.3f allocations a record: %d for %d records, %d for %d", shape, each, a, few, b, many)
		}
	}
}
