package record_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"batcher/column"
	"batcher/localdev"
	"batcher/record"
	"batcher/schema"
)

// bzip2Bomb is 64 MiB of newlines.
const bzip2Bomb = "QlpoOTFBWSZTWStxu3EBX45AAIAQAAggADCATUZCoCWpCoCXMUFZJlNZiLN1OACidcAAwBAACCAAIKU0GY41RUQmxUVEJ4u5IpwoSG8oAe0A"

func unbase64(text string) string {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// window makes a zstd frame that demands so much memory of its reader.
func window(t *testing.T, size int, text string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(size), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // so that its size is not known at the beginning
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// many joins n records.
func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, strings.ReplaceAll(format, "%d", "%[1]d")+"\n", i)
	}
	return b.String()
}

// TestHostileInputHasItsOutcome holds each kind of input that is made to break
// readers to what becomes of it, which stands in docs/FORMATS.md. Values of what
// becomes a row are held against encoding/json.
func TestHostileInputHasItsOutcome(t *testing.T) {
	deep := strings.Repeat("[", 10_000)
	bomb := strings.Repeat("\n", 64<<20)
	long := `{"a":%d,"pad":"` + strings.Repeat("x", 80) + `"}` // more than what types are learned from first
	lines, object := `{"a":1}`+"\n", "o.json"
	var doc strings.Builder
	doc.WriteString("| input | what comes of it |\n|---|---|\n")
	for _, c := range []struct {
		input, name, body, want string
	}{
		{"a byte that is not UTF-8, in JSON", object, lines + "{\"a\":\"\xff\"}", "1 rows, 1 invalid_utf8: a:int64"},
		{"the same in a row of CSV", "o.csv", "a\nx\n\xff\n", "1 rows, 1 invalid_utf8: a:string"},
		{"the same in a line of text", "o.log", "x\n\xff\n", "1 rows, 1 invalid_utf8: line:string"},
		{"half of a surrogate pair", object, lines + `{"a":"\ud800"}` + "\n" + `{"a":"\udc00\ud800"}`, "1 rows, 2 lone_surrogate: a:int64"},
		{"a whole number of 19 digits", object, `{"a":9223372036854775807}`, "1 rows: a:int64"},
		{"of 19 digits, beyond int64", object, `{"a":9223372036854775808}`, "1 rows: a:decimal(38,0)"},
		{"of 20 digits", object, `{"a":18446744073709551616}`, "1 rows: a:decimal(38,0)"},
		{"of 40 digits", object, `{"a":1234567890123456789012345678901234567890}`, "1 rows: a:string"},
		{"19, 20 and 40 digits in one column", object, `{"a":9223372036854775807}` + "\n" + `{"a":18446744073709551616}` + "\n" + `{"a":1234567890123456789012345678901234567890}`, "3 rows: a:string"},
		{"1e400 and -1e400", object, `{"a":1e400}` + "\n" + `{"a":-1e400}`, "2 rows: a:string"},
		{"1e400 among doubles", object, `{"a":1.5}` + "\n" + `{"a":1e400}`, "2 rows: a:string"},
		{"1e-400, which a double makes 0", object, `{"a":1e-400}`, "1 rows: a:string"},
		{"NaN, Infinity, -Infinity", object, lines + `{"a":NaN}` + "\n" + `{"a":Infinity}` + "\n" + `{"a":-Infinity}`, "1 rows, 3 syntax: a:int64"},
		{"NaN and Infinity as cells", "o.csv", "a\n1.5\nNaN\nInfinity\n", "3 rows: a:float64"},
		{"a key twice in a record", object, lines + `{"a":1,"a":2}`, "1 rows, 1 duplicate_key: a:int64"},
		{"a key twice inside of what stays JSON text", object, `{"a":{"b":1,"b":2}}`, "1 rows: a:json"},
		{"keys that differ in case", object, `{"id":1,"Id":2,"ID":3}`, "1 rows: id:int64,id_2:int64,id_3:int64"},
		{"columns that differ in case", "o.csv", "id,Id,ID\n1,2,3\n", "1 rows: id:int64,id_2:int64,id_3:int64"},
		{"10,000 nested brackets", object, lines + `{"a":` + deep + strings.Repeat("]", 10_000) + "}", "1 rows, 1 too_deep: a:int64"},
		{"10,000 brackets that do not close", object, lines + `{"a":` + deep, "1 rows, 1 too_deep: a:int64"},
		{"10,000 nested objects", object, lines + strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), "1 rows, 1 too_deep: a:int64"},
		{"5,000 keys in one record", object, "{" + strings.Trim(strings.ReplaceAll(many(5000, `"k%d":%d,`), "\n", ""), ",") + "}", "1 rows, 2955 values rescued: 2045 columns"},
		{"5,000 keys in 500 records, all different", object, strings.ReplaceAll(many(500, `{"k%d0":1,"k%d1":1,"k%d2":1,"k%d3":1,"k%d4":1,"k%d5":1,"k%d6":1,"k%d7":1,"k%d8":1,"k%d9":1}`), "k", "key"), "500 rows, 2955 values rescued: 2045 columns"},
		{"5,000 columns of CSV", "o.csv", strings.Trim(strings.ReplaceAll(many(5000, "k%d,"), "\n", ""), ",") + "\n" + strings.Trim(strings.ReplaceAll(many(5000, "%d,"), "\n", ""), ","), "1 rows, 2955 values rescued: 2045 columns"},
		{"two schemas that alternate", object, many(5000, `{"a":%d}`+"\n"+`{"b":"%d","c":[%d]}`), "10000 rows: a:int64,b:string,c:list<int64>"},
		{"10,000 nulls, then values", object, strings.Repeat(`{"a":null,"b":null}`+"\n", 10_000) + `{"a":1.5,"b":{"x":1}}`, "10001 rows: a:float64,b:json"},
		{"60,000 integers, then a fraction", object, many(60_000, long) + `{"a":0.5}`, "60001 rows: a:float64,pad:string"},
		{"60,000 integers, then a text", object, many(60_000, long) + `{"a":"x"}`, "60001 rows: a:string,pad:string"},
		{"text, object and list under one key", object, many(100, `{"a":"%d"}`+"\n"+`{"a":{"b":%d}}`+"\n"+`{"a":[%d]}`), "300 rows: a:json"},
		{"dates in the years 0 and 50,000", object, `{"a":"0000-01-01"}` + "\n" + `{"a":"50000-01-01"}` + "\n" + `{"a":"2024-02-29"}`, "3 rows: a:string"},
		{"instants in the years 0 and 50,000", object, `{"a":"0000-01-01T00:00:00Z"}` + "\n" + `{"a":"50000-01-01T00:00:00Z"}` + "\n" + `{"a":"2024-02-29T00:00:00Z"}`, "3 rows: a:string"},
		{"instants in the years 1 and 9999", object, `{"a":"0001-01-01T00:00:00Z"}` + "\n" + `{"a":"9999-12-31T23:59:59.999999Z"}`, "2 rows: a:timestamp"},
		{"a gzip bomb", object, gzipped(t, bomb), "too large: more than 1000 decoded bytes for each stored byte, counted from 4194304 on (source.files.limits.ratio)"},
		{"a zstd bomb", object, zstded(t, bomb), "too large: more than 1000 decoded bytes for each stored byte, counted from 4194304 on (source.files.limits.ratio)"},
		{"a bzip2 bomb", object, unbase64(bzip2Bomb), "too large: more than 1000 decoded bytes for each stored byte, counted from 4194304 on (source.files.limits.ratio)"},
		{"a bomb in a bomb", object, gzipped(t, gzipped(t, bomb)), "broken: binary data, not text: gzip inside of another compression: unpack it once"},
		{"zstd that demands a window of 32 MiB", object, window(t, 32<<20, lines), "2 rows: a:int64"},
		{"zstd that demands a window of 64 MiB", object, window(t, 64<<20, lines), "too large: zstd with a window of 67108864 bytes, more than 33554432 (source.files.limits.window_bytes)"},
	} {
		s := look(t, &truth{key: c.input, name: c.name, body: c.body}, record.Options{Format: record.Format{Kind: record.Auto}, Limits: record.Limits{RatioFrom: 4 << 20}})
		got := s.String()
		if s.broken == nil {
			got += rescues(s) + ": " + columns(s.schema)
			if n := len(s.schema.Fields) - 3; n > 100 {
				got = s.String() + rescues(s) + fmt.Sprintf(": %d columns", n)
			}
			if c.name == object {
				if err := checkBatch(s.outcome, strings.TrimSpace(c.body)); err != nil && s.results[0].Container == "plain" {
					t.Errorf("%s: %.300v", c.input, err)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %.300s, want %s", c.input, got, c.want)
		}
		fmt.Fprintf(&doc, "| %s | %s |\n", c.input, c.want)
	}
	holdDoc(t, "hostile", doc.String())
}

// rescues counts the values that stand in _rescued.
func rescues(s *seen) string {
	var n int64
	for _, m := range s.notes.Misfits {
		n += m.Count
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d values rescued", n)
}

// TestHostile_YearsBeyondAColumnOfTimesAreRescued sends years that neither a
// date nor a timestamp holds into columns that are published as such.
func TestHostile_YearsBeyondAColumnOfTimesAreRescued(t *testing.T) {
	table := published(t, field(17, "d", `"date"`)+","+field(18, "t", `"timestamp"`))
	text := `{"d":"2024-02-29","t":"2024-02-29T00:00:00Z"}` + "\n" + `{"d":"0000-01-01","t":"0000-01-01T00:00:00Z"}` + "\n" + `{"d":"50000-01-01","t":"50000-01-01T00:00:00Z"}`
	out := decode(t, record.Options{Table: table}, input{"o", text})
	if err := checkBatch(out, text); err != nil {
		t.Fatal(err)
	}
	if len(out.rows) != 3 || len(out.notes.Misfits) != 2 || out.notes.Misfits[0].Count != 2 || out.notes.Misfits[1].Count != 2 {
		t.Errorf("%d rows, misfits %+v", len(out.rows), out.notes.Misfits)
	}
}

// TestEveryDayOfTheCalendarIsADate holds dates against package time, for each of
// the years that a column takes.
func TestEveryDayOfTheCalendarIsADate(t *testing.T) {
	rng := random(t)
	var text strings.Builder
	days := 0
	for day := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 10000; day = day.AddDate(0, 0, 1+rng.IntN(300)) {
		fmt.Fprintf(&text, "{\"d\":%q,\"t\":%q}\n", day.Format(time.DateOnly), day.Add(time.Duration(rng.Int64N(int64(24*time.Hour)))).Format("2006-01-02T15:04:05.999999Z07:00"))
		days++
	}
	out := decode(t, record.Options{}, input{"o", text.String()})
	if got := columns(out.schema); got != "d:date,t:timestamp" || len(out.rows) != days {
		t.Errorf("columns %s, %d rows of %d", got, len(out.rows), days)
	}
	if err := checkBatch(out, text.String()); err != nil {
		t.Error(err)
	}
}

// endless gives a head, n letters and a tail, and watches the memory meanwhile.
type endless struct {
	parts []io.Reader
	peak  uint64
	read  int64
	step  int64 // how often it looks, in bytes
	next  int64
}

func newEndless(head string, n int64, tail string) *endless {
	return &endless{parts: []io.Reader{strings.NewReader(head), io.LimitReader(xs{}, n), strings.NewReader(tail)}, step: 4 << 20}
}

type xs struct{}

func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func (e *endless) Read(p []byte) (int, error) {
	if e.read >= e.next {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		e.peak, e.next = max(e.peak, m.HeapAlloc), e.next+e.step
	}
	for len(e.parts) > 0 {
		n, err := e.parts[0].Read(p)
		if err == io.EOF {
			e.parts = e.parts[1:]
		}
		if n > 0 {
			e.read += int64(n)
			return n, nil
		}
	}
	return 0, io.EOF
}

// TestHostile_ALineOfAGigabyteIsOneDeadLetterInLittleMemory reads a record that
// is longer than any memory would be, in each format of text.
func TestHostile_ALineOfAGigabyteIsOneDeadLetterInLittleMemory(t *testing.T) {
	const most = 64 << 20
	for _, c := range []struct {
		kind             record.Kind
		size             int64
		head, tail, code string
		rows             int
	}{
		{record.NDJSON, 1 << 30, `{"a":1}` + "\n" + `{"a":"`, `"}` + "\n" + `{"a":2}`, "length/too_long", 2},
		{record.JSON, 256 << 20, `[{"a":1},{"a":"`, `"},{"a":2}]`, "length/too_long", 2},
		{record.Lines, 256 << 20, "one\n", "\nthree", "length/too_long", 2},
		{record.CSV, 256 << 20, "a\none\n", "\nthree", "length/too_long", 2},
	} {
		out := &outcome{}
		d := record.NewDecoder(out.collect(t, record.Options{Table: schema.New(), Format: record.Format{Kind: c.kind}}))
		runtime.GC()
		var before runtime.MemStats
		runtime.ReadMemStats(&before)
		in := newEndless(c.head, c.size, c.tail)
		res, err := d.Decode(context.Background(), record.Object{Source: "o"}, in)
		if err == nil {
			err = d.Flush()
		}
		if err != nil || len(out.rows) != c.rows || codes(out) != c.code || res.Records != int64(c.rows+1) {
			t.Errorf("%s: %v, %d rows, dead %s", c.kind, err, len(out.rows), codes(out))
			continue
		}
		if dead := out.dead[0]; dead.Length < c.size || len(dead.Raw) != record.KeptBytes {
			t.Errorf("%s: a dead letter of %d bytes with %d kept", c.kind, dead.Length, len(dead.Raw))
		}
		used := in.peak - min(in.peak, before.HeapAlloc)
		if used > most {
			t.Errorf("%s: %d MiB of memory for a record of %d MiB", c.kind, used>>20, c.size>>20)
		}
		figure := fmt.Sprintf("%d MiB of memory for a record of %d MiB", used>>20, c.size>>20)
		t.Logf("%s: %s", c.kind, figure)
		localdev.Figure("a record that is too long, "+string(c.kind), figure)
	}
}

// TestHostile_MillionsOfTinyRecordsTakeLittleMemory reads records of which there are
// as many as an object of a few megabytes can hold.
func TestHostile_MillionsOfTinyRecordsTakeLittleMemory(t *testing.T) {
	const most, records = 64 << 20, 2_000_000
	for _, c := range []struct {
		name  string
		kind  record.Kind
		head  string
		piece string
		dead  int
	}{
		{"empty objects", record.NDJSON, "", "{}\n", 0},
		{"objects in an array", record.JSON, "[{}", ",{}", 0},
		{"lines", record.Lines, "", "a\n", 0},
		{"rows of csv", record.CSV, "a\n", "1\n", 0},
		{"dead letters", record.NDJSON, "", "x\n", records},
		{"nulls of avro", record.Avro, avroHead(`{"type":"record","name":"r","fields":[{"name":"a","type":"null"}]}`), long(100) + text("") + avroMarker, 0},
	} {
		rows, dead := 0, 0
		d := record.NewDecoder(record.Options{
			Table: schema.New(), Format: record.Format{Kind: c.kind},
			Block: func(b *column.Block) (*column.Block, error) { rows += b.Rows; return b, nil },
			Dead:  func(record.DeadLetter) error { dead++; return nil },
		})
		runtime.GC()
		var before runtime.MemStats
		runtime.ReadMemStats(&before)
		pieces := records
		if c.kind == record.Avro {
			pieces /= 100
		}
		in := &endless{parts: []io.Reader{strings.NewReader(c.head), &repeated{c.piece, len(c.piece) * pieces, 0}}, step: 64 << 10}
		if c.kind == record.JSON {
			in.parts = append(in.parts, strings.NewReader("]"))
		}
		res, err := d.Decode(context.Background(), record.Object{Source: "o"}, in)
		if err == nil {
			err = d.Flush()
		}
		if err != nil || dead != c.dead || int64(rows+dead) != res.Records || res.Records < records {
			t.Errorf("%s: %v, %d rows, %d dead of %d records", c.name, err, rows, dead, res.Records)
			continue
		}
		used := in.peak - min(in.peak, before.HeapAlloc)
		if used > most {
			t.Errorf("%s: %d MiB of memory for records of a few bytes", c.name, used>>20)
		}
		figure := fmt.Sprintf("%d MiB of memory for %d records", used>>20, res.Records)
		t.Logf("%s: %s", c.name, figure)
		localdev.Figure("tiny records, "+c.name, figure)
	}
}

// repeated gives a piece of text again and again, size bytes of it.
type repeated struct {
	piece string
	size  int
	at    int // in the piece
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.size == 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), r.size)]
	for n := 0; n < len(p); {
		k := copy(p[n:], r.piece[r.at:])
		n, r.at = n+k, (r.at+k)%len(r.piece)
	}
	r.size -= len(p)
	return len(p), nil
}
