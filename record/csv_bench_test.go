package record_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"batcher/column"
	"batcher/record"
	"batcher/schema"
)

// flatRows are rows of about 300 bytes in 16 columns, of the same values as
// flatLines; every tenth one has quotes.
func flatRows(n int) string {
	rng := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	b.WriteString("ts,event_id,user_id,session,event,page,referrer,status,duration_ms,bytes,price,currency,ok,agent,country,retries\r\n")
	for i := range n {
		agent := fmt.Sprintf("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/%d.0 Safari/537.36", 90+rng.IntN(40))
		if i%10 == 0 {
			agent = `"Mozilla/5.0 (X11, ""Linux"" x86_64) AppleWebKit/537.36, like Gecko"`
		}
		fmt.Fprintf(&b, "2024-05-%02dT%02d:%02d:%02d.%06dZ,%016x%016x,%d,%08x,%s,/products/%d/details,https://www.example.com/search?q=%d,%d,%d.%03d,%d,%d.%d5,EUR,%t,%s,%s,\r\n",
			1+i%28, i%24, i%60, (i*7)%60, rng.IntN(1e6), rng.Uint64(), rng.Uint64(), rng.IntN(1e6), rng.Uint32()|1<<31, [...]string{"view", "click", "buy", "scroll"}[rng.IntN(4)],
			rng.IntN(5000), rng.IntN(100000), 200+rng.IntN(300), rng.IntN(1000), 1+2*rng.IntN(400), rng.IntN(1e6), rng.IntN(100), rng.IntN(10), rng.IntN(2) == 0, agent, [...]string{"DE", "FR", "NL", "US"}[rng.IntN(4)])
	}
	return b.String()
}

// flatArray is one document, an array of the objects of flatLines.
func flatArray(n int) string {
	return "[" + strings.ReplaceAll(strings.TrimSpace(flatLines(n)), "\n", ",\n") + "]"
}

// envelopes are documents of 100 records each under a key.
func envelopes(n int) string { return envelopesOf(n, 100) }

// singles are envelopes of one record each.
func singles(n int) string { return envelopesOf(n, 1) }

func envelopesOf(n, each int) string {
	var b strings.Builder
	lines := strings.Split(strings.TrimSpace(flatLines(n)), "\n")
	for len(lines) > 0 {
		k := min(each, len(lines))
		fmt.Fprintf(&b, "{\"owner\":\"a\",\"detail\":{\"Records\":[%s]}}", strings.Join(lines[:k], ","))
		lines = lines[k:]
	}
	return b.String()
}

// shapes are the text formats whose speed and allocations are watched.
var shapes = map[string]struct {
	format record.Format
	text   func(int) string
}{
	"csv":       {record.Format{Kind: record.CSV}, flatRows},
	"array":     {record.Format{Kind: record.JSON}, flatArray},
	"envelopes": {record.Format{Kind: record.JSON, Unnest: []string{"detail", "Records"}}, envelopes},
	"singles":   {record.Format{Kind: record.JSON, Unnest: []string{"detail", "Records"}}, singles},
	"lines":     {record.Format{Kind: record.Lines}, flatLines},
}

func decodeAs(t testing.TB, f record.Format, body string) int {
	rows := 0
	d := record.NewDecoder(record.Options{
		Format: f, Table: schema.New(),
		Block: func(b *column.Block) (*column.Block, error) { rows += b.Rows; return b, nil },
		Dead:  func(l record.DeadLetter) error { return fmt.Errorf("%s: %s", l.Code, l.Message) },
	})
	if _, err := d.Decode(context.Background(), record.Object{Source: "app/2024/05/01/events"}, strings.NewReader(body)); err != nil {
		t.Fatal(err)
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func BenchmarkFormats(b *testing.B) {
	for name, s := range shapes {
		text := s.text(300000) // so that finding out the types counts little
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			rows := 0
			for b.Loop() {
				rows = decodeAs(b, s.format, text)
			}
			b.ReportMetric(float64(rows), "rows/op")
		})
	}
}

// TestNoAllocationPerRecordOfAnyText compares batches of different length
// behind the prime, as TestNoAllocationPerRecord does.
func TestNoAllocationPerRecordOfAnyText(t *testing.T) {
	for name, s := range shapes {
		short, long := s.text(15000), s.text(45000)
		few := testing.AllocsPerRun(1, func() { decodeAs(t, s.format, short) })
		many := testing.AllocsPerRun(1, func() { decodeAs(t, s.format, long) })
		if perRecord := (many - few) / 30000; perRecord > 0.01 {
			t.Errorf("%s: %.3f allocations per record (%v for 15000 records, %v for 45000)", name, perRecord, few, many)
		}
	}
}

// counting returns a taker of blocks that counts rows.
func counting(rows *int) func(*column.Block) (*column.Block, error) {
	return func(b *column.Block) (*column.Block, error) { *rows += b.Rows; return b, nil }
}

// heap says how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
