package datafile_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"batcher/column"
	"batcher/datafile"
	"batcher/schema"
)

// events is a flat table as event streams have them.
func events() *schema.Schema {
	return table(
		field(1, "_source", schema.String),
		field(2, "_offset", schema.Int64),
		field(17, "event_id", schema.String),
		field(18, "at", schema.Timestamp),
		field(19, "kind", schema.String),
		field(20, "user_id", schema.Int64),
		field(21, "country", schema.String),
		field(22, "url", schema.String),
		field(23, "amount", schema.Float64),
		field(24, "ok", schema.Bool),
		field(25, "note", schema.String),
	)
}

// eventRows are n rows of events from a seed, cut into blocks.
func eventRows(n, block int) []*column.Block {
	rng := rand.New(rand.NewPCG(1, 2))
	kinds := []string{"view", "click", "purchase", "login", "logout"}
	lands := []string{"DE", "FR", "GB", "US", "JP", "BR", "IN"}
	var out []*column.Block
	offset, at := int64(0), int64(1_700_000_000_000_000)
	for len(out)*block < n {
		rows := make([]row, block)
		for i := range rows {
			at += rng.Int64N(50_000)
			rows[i] = row{
				"_source": fmt.Sprintf("events/part-%03d.json.gz", len(out)/4), "_offset": offset,
				"event_id": fmt.Sprintf("%016x-%016x", rng.Uint64(), rng.Uint64()), "at": at,
				"kind": kinds[rng.IntN(len(kinds))], "user_id": rng.Int64N(100_000), "country": lands[rng.IntN(len(lands))],
				"url":    fmt.Sprintf("https://shop.example.org/item/%d?ref=%d", rng.IntN(50_000), rng.IntN(20)),
				"amount": float64(rng.IntN(100_000)) / 100, "ok": rng.IntN(10) > 0,
			}
			if rng.IntN(4) == 0 {
				rows[i]["note"] = fmt.Sprintf("seen %d times by crawler %d", rng.IntN(100), rng.IntN(10))
			}
			offset += 400 + rng.Int64N(60)
		}
		out = append(out, shred(events(), rows))
	}
	return out
}

// plainBytes is the size of the values of blocks.
func plainBytes(blocks []*column.Block) int64 {
	n := int64(0)
	for _, b := range blocks {
		for _, v := range b.Columns {
			n += int64(len(v.Plain))
		}
	}
	return n
}

func BenchmarkWrite(b *testing.B) {
	blocks := eventRows(120_000, 2_500)
	for _, c := range []datafile.Compression{datafile.Zstd, datafile.Snappy, datafile.Uncompressed} {
		b.Run(string(c), func(b *testing.B) {
			b.SetBytes(plainBytes(blocks))
			b.ReportAllocs()
			var size int64
			for b.Loop() {
				w := datafile.NewWriter(io.Discard, datafile.Options{Compression: c})
				for _, block := range blocks {
					if err := w.Write(block); err != nil {
						b.Fatal(err)
					}
				}
				f, err := w.Close()
				if err != nil {
					b.Fatal(err)
				}
				size = f.Size
			}
			b.ReportMetric(float64(size)/120_000, "file-B/row")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	blocks := eventRows(120_000, 2_500)
	file, _ := write(b, datafile.Options{}, blocks...)
	b.SetBytes(plainBytes(blocks))
	b.ReportAllocs()
	for b.Loop() {
		r, err := datafile.Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			b.Fatal(err)
		}
		rows := 0
		for block, err := range r.Blocks(events()) {
			if err != nil {
				b.Fatal(err)
			}
			rows += block.Rows
		}
		if rows != 120_000 {
			b.Fatalf("%d rows", rows)
		}
	}
}

// BenchmarkHashRows is what verify does with each row.
func BenchmarkHashRows(b *testing.B) {
	blocks := eventRows(10_000, 2_500)
	b.SetBytes(plainBytes(blocks))
	b.ReportAllocs()
	var sum byte
	for b.Loop() {
		for _, block := range blocks {
			for c := column.NewCursor(block); c.Next(); {
				h := c.Hash()
				sum += h[0]
			}
		}
	}
	_ = sum
}
