package record_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
	"batcher/source"
)

// mixed makes lines of every sort: good, bad, blank, with CRLF, too long.
func mixed(rng *rand.Rand, n int) string {
	var b strings.Builder
	if rng.IntN(2) == 0 {
		b.WriteString("\ufeff")
	}
	for i := range n {
		switch rng.IntN(8) {
		case 0:
			b.WriteString("  ")
		case 1:
			b.WriteString("{\"a\":")
		case 2:
			b.WriteString("{\"a\":\"\xff\"}")
		case 3:
			fmt.Fprintf(&b, `{"a":"%s"}`, strings.Repeat("x", 300))
		default:
			fmt.Fprintf(&b, `{"a":"é%d","b":%d}`, i, i)
		}
		if rng.IntN(4) == 0 {
			b.WriteString("\r")
		}
		if i < n-1 || rng.IntN(2) == 0 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// ids says the id of each record, good or bad, in order.
func ids(out *outcome) map[string]bool {
	all := map[string]bool{}
	for _, r := range out.rows {
		id, _, _ := strings.Cut(r, `,"_rescued"`)
		all[id] = true
	}
	for _, d := range out.dead {
		all[fmt.Sprintf(`{"_source":%q,"_offset":%d`, d.Source, d.Offset)] = true
	}
	return all
}

func TestIDsDoNotDependOnBatchBounds(t *testing.T) {
	rng := random(t)
	opt := record.Options{Table: schema.New(), Limits: record.Limits{MaxRecordBytes: 200}}
	for range 60 {
		text := mixed(rng, 1+rng.IntN(40))
		body, kind := text, rng.IntN(3)
		switch kind {
		case 1:
			body = gzipped(t, text[:len(text)/2], text[len(text)/2:])
		case 2:
			body = zstded(t, text)
		}
		whole := decode(t, opt, input{"o", body})
		parts := &outcome{}
		var from source.Position
		var sum source.Hash
		var records, size int64
		for last := false; !last; {
			o := record.Object{Source: "o", From: from, MaxBytes: rng.Int64N(100), MaxRecords: rng.Int64N(4)}
			d := record.NewDecoder(parts.collect(t, opt))
			res, err := d.Decode(context.Background(), o, strings.NewReader(body))
			if err == nil {
				err = d.Flush()
			}
			if err != nil {
				t.Fatal(err)
			}
			checkBounds(t, o, res, text)
			from, last = res.To, res.Last
			sum, records, size = sum.Add(res.IDSum), records+res.Records, size+res.Bytes
			if last && res.Content != whole.results[0].Content {
				t.Fatal("content differs")
			}
		}
		want := whole.results[0]
		if sum != want.IDSum || records != want.Records || from != want.To || size != want.Bytes || size != int64(len(text)) {
			t.Fatalf("parts come to %d records up to %d, the whole to %+v", records, from, want)
		}
		if int64(len(parts.rows)+len(parts.dead)) != records || fmt.Sprint(ids(parts)) != fmt.Sprint(ids(whole)) {
			t.Fatalf("ids of the parts differ: %d rows, %d dead of %d", len(parts.rows), len(parts.dead), records)
		}
		checkSum(t, whole)
	}
}

// checkBounds says that a range ends at the first record boundary at or after
// its limit.
func checkBounds(t *testing.T, o record.Object, res record.Result, text string) {
	t.Helper()
	if res.To <= o.From && len(text) > 0 && !res.Last {
		t.Fatalf("no progress: %+v after %+v", res, o)
	}
	if res.Last != (int(res.To) == len(text)) {
		t.Fatalf("last is %v at %d of %d", res.Last, res.To, len(text))
	}
	if !res.Last && text[res.To-1] != '\n' {
		t.Fatalf("%d is no boundary", res.To)
	}
	if o.MaxRecords > 0 && res.Records > o.MaxRecords {
		t.Fatalf("%d records, %d allowed", res.Records, o.MaxRecords)
	}
	if line := strings.LastIndexByte(text[:max(res.To-1, 0)], '\n') + 1; o.MaxBytes > 0 && int64(line)-int64(o.From) >= o.MaxBytes && res.Records > 1 && len(strings.TrimSpace(text[line:res.To])) > 0 {
		t.Fatalf("the record at %d begins behind the limit of %d from %d", line, o.MaxBytes, o.From)
	}
}

// checkSum computes the sum of ids anew from rows and dead letters.
func checkSum(t *testing.T, out *outcome) {
	t.Helper()
	var sum source.Hash
	for id := range ids(out) {
		var offset int64
		_, after, _ := strings.Cut(id, `"_offset":`)
		if _, err := fmt.Sscanf(after, "%d", &offset); err != nil {
			t.Fatal(err)
		}
		sum = sum.Add(record.IDHash("o", offset))
	}
	if sum != out.results[0].IDSum {
		t.Fatalf("ids sum up to %s, the result says %s", sum, out.results[0].IDSum)
	}
}

func TestIDHashIsFixed(t *testing.T) {
	if got, want := record.IDHash("app/2024/x.ndjson", 4711).String(), "a7fdf45f13ddbbe47a362c5edb7f62da"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

func TestAPositionBehindTheEndIsRefused(t *testing.T) {
	d := record.NewDecoder(record.Options{Format: ndjson, Table: schema.New()})
	_, err := d.Decode(context.Background(), record.Object{Source: "o", From: 9}, strings.NewReader("{\"a\":1}\n"))
	var broken *record.BrokenError
	if err == nil || errors.As(err, &broken) {
		t.Fatalf("got %v", err)
	}
}

// TestTheSameBatchGivesTheSameBlocks decodes a batch of several objects twice,
// and once with its objects cut into many calls.
func TestTheSameBatchGivesTheSameBlocks(t *testing.T) {
	rng := random(t)
	var objects []input
	for i := range 5 {
		objects = append(objects, input{fmt.Sprintf("o%d", i), mixed(rng, 50)})
	}
	opt := record.Options{Limits: record.Limits{MaxRecordBytes: 200, PrimeBytes: 1000, BlockBytes: 700}}
	first, second := decode(t, opt, objects...), decode(t, opt, objects...)
	if strings.Join(first.rows, "\n") != strings.Join(second.rows, "\n") || !first.schema.Equal(second.schema) || first.blocks != second.blocks {
		t.Fatal("two tries differ")
	}
}
