package record_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"batcher/column"
	"batcher/record"
	"batcher/schema"
)

// flatLines are records of about 450 bytes in 16 columns.
func flatLines(n int) string {
	rng := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"ts":"2024-05-%02dT%02d:%02d:%02d.%06dZ","event_id":"%016x%016x","user_id":%d,"session":"%08x","event":"%s","page":"/products/%d/details","referrer":"https://www.example.com/search?q=%d","status":%d,"duration_ms":%.3f,"bytes":%d,"price":%.2f,"currency":"EUR","ok":%t,"agent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/%d.0 Safari/537.36","country":"%s","retries":null}`+"\n",
			1+i%28, i%24, i%60, (i*7)%60, rng.IntN(1e6), rng.Uint64(), rng.Uint64(), rng.IntN(1e6), rng.Uint32(), [...]string{"view", "click", "buy", "scroll"}[rng.IntN(4)],
			rng.IntN(5000), rng.IntN(100000), 200+rng.IntN(300), rng.Float64()*1000, rng.IntN(1e6), rng.Float64()*100, rng.IntN(2) == 0, 90+rng.IntN(40), [...]string{"DE", "FR", "NL", "US"}[rng.IntN(4)])
	}
	return b.String()
}

// shortLines are records of about 135 bytes in 8 columns.
func shortLines(n int) string {
	rng := rand.New(rand.NewPCG(3, 3))
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":%d,"ts":"2026-01-%02dT%02d:%02d:00Z","user":"u%d","amount":%.2f,"qty":%d,"country":"%s","flag":%t,"note":"some words %d"}`+"\n",
			i, 1+i%28, i%24, i%60, rng.IntN(50000), rng.Float64()*1000, rng.IntN(40), [...]string{"DE", "FR", "NL", "US"}[rng.IntN(4)], rng.IntN(2) == 0, i%100)
	}
	return b.String()
}

// nestedLines are records of about 1.7 KB with structs and lists of structs.
func nestedLines(n int) string {
	rng := rand.New(rand.NewPCG(2, 2))
	user := func() string {
		return fmt.Sprintf(`{"id":%d,"login":"user-%d","node_id":"MDQ6VXNlcj%08x","avatar_url":"https://avatars.example.com/u/%d?v=4","type":"User","site_admin":false}`,
			rng.IntN(1e8), rng.IntN(1e5), rng.Uint32(), rng.IntN(1e8))
	}
	var b strings.Builder
	for i := range n {
		var items []string
		for range 1 + rng.IntN(5) {
			items = append(items, fmt.Sprintf(`{"sku":"%08x","quantity":%d,"price":%.2f,"tags":["a","b%d"],"added":"2024-01-%02dT00:00:00Z"}`, rng.Uint32(), rng.IntN(10), rng.Float64()*100, rng.IntN(9), 1+rng.IntN(28)))
		}
		fmt.Fprintf(&b, `{"id":"%d","type":"IssueCommentEvent","actor":%s,"repo":{"id":%d,"name":"org/repo-%d","url":"https://api.example.com/repos/org/repo-%d","owner":%s},"order":{"number":%d,"items":[%s],"note":"%s","assignee":null,"state":"open"},"public":true,"created_at":"2024-05-%02dT10:%02d:00Z"}`+"\n",
			i, user(), rng.IntN(1e8), i%100, i%100, user(), i, strings.Join(items, ","), strings.Repeat("some longer text of a comment ", 10)+`with an \"escape\"`, 1+i%28, i%60)
	}
	return b.String()
}

func BenchmarkDecode(b *testing.B) {
	for name, text := range map[string]string{"short": shortLines(400000), "flat": flatLines(150000), "nested": nestedLines(50000)} {
		for kind, body := range map[string]string{"plain": text, "gzip": gzipped(b, text)} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				rows := 0
				for b.Loop() {
					rows = decodeRows(b, body)
				}
				b.ReportMetric(float64(rows), "rows/op")
			})
		}
	}
}

func decodeRows(t testing.TB, body string) int {
	rows := 0
	d := record.NewDecoder(record.Options{
		Table: schema.New(),
		Block: func(b *column.Block) (*column.Block, error) { rows += b.Rows; return b, nil },
		Dead:  func(l record.DeadLetter) error { return fmt.Errorf("%s: %s", l.Code, l.Message) },
	})
	if _, err := d.Decode(context.Background(), record.Object{Source: "app/2024/05/01/events.ndjson"}, strings.NewReader(body)); err != nil {
		t.Fatal(err)
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestNoAllocationPerRecord compares batches of different length behind the
// prime: what more records cost must be nothing.
func TestNoAllocationPerRecord(t *testing.T) {
	for name, lines := range map[string]func(int) string{"flat": flatLines, "nested": nestedLines} {
		short, long := lines(15000), lines(45000)
		few := testing.AllocsPerRun(1, func() { decodeRows(t, short) })
		many := testing.AllocsPerRun(1, func() { decodeRows(t, long) })
		if perRecord := (many - few) / 30000; perRecord > 0.01 {
			t.Errorf("%s: %.3f allocations per record (%v for 15000 records, %v for 45000)", name, perRecord, few, many)
		}
	}
}
