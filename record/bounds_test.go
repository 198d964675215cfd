package record_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"batcher/localdev"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
)

// texts are generators of objects of each text format, with records of every
// sort in them: good, bad, too long, of several lines.
var texts = map[string]struct {
	format record.Format
	text   func(*rand.Rand, int) string
}{
	"ndjson":    {record.Format{Kind: record.NDJSON}, mixed},
	"lines":     {record.Format{Kind: record.Lines}, mixed},
	"csv":       {record.Format{Kind: record.CSV}, randomRows},
	"no header": {record.Format{Kind: record.CSV, CSV: record.Dialect{Header: record.Numbered, Delimiter: ',', Comment: '#'}}, randomRows},
	"document":  {record.Format{Kind: record.JSON}, randomDocument},
	"envelopes": {record.Format{Kind: record.JSON, Unnest: []string{"d", "R"}}, randomEnvelopes},
}

// randomRows makes CSV whose first row is good.
func randomRows(rng *rand.Rand, n int) string {
	end := [...]string{"\n", "\r\n", "\r"}[rng.IntN(3)]
	var b strings.Builder
	if rng.IntN(2) == 0 {
		b.WriteString("\ufeff")
	}
	b.WriteString("a,b,\"c\"\"\"" + end)
	for range n {
		switch rng.IntN(14) {
		case 0:
			b.WriteString(end)
		case 1:
			b.WriteString("#,,")
		case 2:
			b.WriteString("1,2")
		case 3:
			b.WriteString("1,\"x\"y,3")
		case 4:
			b.WriteString("1,\"\xff\",3")
		case 5:
			b.WriteString("1,\"" + strings.Repeat("long ", 60) + "\",3")
		case 6:
			b.WriteString("1,\"" + strings.Repeat("long"+end, 60) + "\",3")
		case 7:
			if rng.IntN(8) == 0 {
				b.WriteString("1,\"open")
			}
		default:
			fmt.Fprintf(&b, "%d,\"é%s\"\"\",%s", rng.IntN(100), strings.Repeat(end, rng.IntN(3)), randomCell(rng))
		}
		b.WriteString(end)
	}
	text := b.String()
	if rng.IntN(2) == 0 {
		text = strings.TrimSuffix(text, end)
	}
	return text
}

func randomCell(rng *rand.Rand) string {
	return [...]string{"", `""`, "x", "7", "007", "1.5", "true", "2024-01-01", "a\"b", "𝄞"}[rng.IntN(10)]
}

// randomDocument makes arrays and values one after another, all of which can be
// cut.
func randomDocument(rng *rand.Rand, n int) string {
	var b strings.Builder
	if rng.IntN(2) == 0 {
		b.WriteString("\ufeff")
	}
	gap := func() { b.WriteString([...]string{"", " ", "\n", "\r\n\t"}[rng.IntN(4)]) }
	for n > 0 {
		gap()
		if rng.IntN(3) > 0 {
			b.WriteString(randomElement(rng) + " ")
			n--
			continue
		}
		b.WriteByte('[')
		for i := range rng.IntN(5) {
			if gap(); i > 0 {
				b.WriteByte(',')
			}
			gap()
			b.WriteString(randomElement(rng))
			n--
		}
		gap()
		b.WriteByte(']')
		n--
	}
	switch rng.IntN(4) {
	case 0:
		b.WriteString(`{"a":"open`)
	case 1:
		b.WriteString("junk, \"more\"\n")
	}
	return b.String()
}

func randomElement(rng *rand.Rand) string {
	switch rng.IntN(10) {
	case 0:
		return [...]string{"1", "null", `"]"`, "[{}]", "-", "truth"}[rng.IntN(6)]
	case 1:
		return `{"a":}`
	case 2:
		return "{\"a\":\"\xff\"}"
	case 3:
		return `{"a":"` + strings.Repeat(`x\"`, 80) + `"}`
	}
	return fmt.Sprintf(`{"a":"é}\"\\","b":%d,%s"c":{"d":[1,"["]}}`, rng.IntN(100), [...]string{"", "\n", "\r\n  "}[rng.IntN(3)])
}

// randomEnvelopes makes envelopes with records under d.R.
func randomEnvelopes(rng *rand.Rand, n int) string {
	var b strings.Builder
	for n > 0 {
		var elements []string
		for range rng.IntN(5) {
			elements = append(elements, randomElement(rng))
			n--
		}
		records := "[" + strings.Join(elements, " , ") + "]"
		switch n--; rng.IntN(7) {
		case 0:
			fmt.Fprintf(&b, `{"d":{"R":%q},"R":[{}]}`, "[")
		case 1:
			b.WriteString([...]string{"7", "junk \"", `{"e":1}`, `{"d":{"R":null}}`, "{\"\xff\":{}}"}[rng.IntN(5)] + "\n")
		case 2:
			fmt.Fprintf(&b, "[{\"\\u0064\":{\"R\":%s}}\n,{\"d\":[]}, 7 ]", records)
		case 3:
			fmt.Fprintf(&b, `{"d":{"R":%s,"x":{"R":[7]},"R":%s}}`, records, records)
		default:
			fmt.Fprintf(&b, "{\"n\":[{\"d\":1}], \"d\" : {\"x\":\"}\",\"R\": %s }, \"z\":null}\n", records)
		}
	}
	return b.String()
}

// written returns text in an encoding; what is invalid stays so.
func written(text, encoding string) string {
	var b []byte
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		valid := size > 1 || r < utf8.RuneSelf
		switch text = text[size:]; encoding {
		case "utf-16le", "utf-16be":
			units := []uint16{0xdc00}
			if valid {
				units = utf16.Encode([]rune{r})
			}
			for _, u := range units {
				if encoding == "utf-16le" {
					b = append(b, byte(u), byte(u>>8))
				} else {
					b = append(b, byte(u>>8), byte(u))
				}
			}
		case "windows-1257": // it has bytes that are no letter, as 0xa1
			c, ok := charmap.Windows1257.EncodeRune(r)
			switch {
			case !valid:
				b = append(b, 0xa1)
			case ok:
				b = append(b, c)
			case r != '\ufeff':
				b = append(b, '?')
			}
		}
	}
	return string(b)
}

// TestIDsDoNotDependOnBatchBoundsInAnyFormat cuts objects of every text format
// and encoding into ranges of random sizes: together they give the rows, dead
// letters and ids of the whole.
func TestIDsDoNotDependOnBatchBoundsInAnyFormat(t *testing.T) {
	rng := random(t)
	objects, ranges := 0, 0
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		c := texts[name]
		for _, encoding := range []string{"", "utf-16le", "utf-16be", "windows-1257"} {
			t.Run(name+" "+encoding, func(t *testing.T) {
				for range 25 {
					opt := record.Options{Format: c.format, Limits: record.Limits{MaxRecordBytes: 200}}
					text := c.text(rng, 1+rng.IntN(30))
					body := text
					if encoding != "" {
						opt.Format.Encoding, body = encoding, written(text, encoding)
					}
					stored := body
					if rng.IntN(3) == 0 {
						stored = gzipped(t, body)
					}
					opt.Table = decode(t, opt, input{"o", stored}).schema
					whole := decode(t, opt, input{"o", stored})
					checkPartition(t, whole, body)
					objects, ranges = objects+1, ranges+checkParts(t, rng, opt, stored, whole)
				}
			})
		}
	}
	localdev.Figure("random objects of text, and the random ranges that gave the records of the whole", fmt.Sprint(objects, ", ", ranges))
}

// checkPartition says that the records of a whole object stand one behind the
// other, and each is a row or a dead letter.
func checkPartition(t *testing.T, out *outcome, body string) {
	t.Helper()
	res := out.results[0]
	if int64(len(out.rows)+len(out.dead)) != res.Records || int(res.Bytes) != len(body) || int(res.To) != len(body) || !res.Last {
		t.Fatalf("%d rows, %d dead of %+v\n%q", len(out.rows), len(out.dead), res, body)
	}
	rows, dead := offsets(t, out)
	all := map[int64]bool{}
	for _, list := range [][]int64{rows, dead} {
		last := int64(-1)
		for _, pos := range list {
			if pos <= last || pos >= int64(len(body)) || all[pos] {
				t.Fatalf("position %d behind %d in %d bytes\n%q", pos, last, len(body), body)
			}
			all[pos], last = true, pos
		}
	}
	checkSum(t, out)
}

// offsets says where rows and dead letters stand.
func offsets(t *testing.T, out *outcome) (rows, dead []int64) {
	t.Helper()
	for _, row := range out.rows {
		var head struct {
			Offset int64 `json:"_offset"`
		}
		if err := json.Unmarshal([]byte(row), &head); err != nil {
			t.Fatalf("%v: %s", err, row)
		}
		rows = append(rows, head.Offset)
	}
	for _, d := range out.dead {
		dead = append(dead, d.Offset)
	}
	return rows, dead
}

// checkParts decodes an object in ranges and returns how many they were.
func checkParts(t *testing.T, rng *rand.Rand, opt record.Options, stored string, whole *outcome) (ranges int) {
	t.Helper()
	parts := &outcome{}
	var from source.Position
	var sum source.Hash
	var records, size int64
	for last := false; !last; ranges++ {
		o := record.Object{Source: "o", From: from}
		switch rng.IntN(3) {
		case 0:
			o.MaxBytes = 1 + rng.Int64N(400)
		case 1:
			o.MaxRecords = 1 + rng.Int64N(4)
		case 2:
			o.To = from + 1 + source.Position(rng.Int64N(400))
		}
		d := record.NewDecoder(parts.collect(t, opt))
		res, err := d.Decode(context.Background(), o, strings.NewReader(stored))
		if err == nil {
			err = d.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		if res.To <= from && !res.Last || o.MaxRecords > 0 && res.Records > o.MaxRecords || int64(res.To-from) != res.Bytes {
			t.Fatalf("%+v came to %+v", o, res)
		}
		from, last = res.To, res.Last
		sum, records, size = sum.Add(res.IDSum), records+res.Records, size+res.Bytes
		if last && res.Content != whole.results[0].Content {
			t.Fatal("content differs")
		}
	}
	want := whole.results[0]
	if sum != want.IDSum || records != want.Records || from != want.To || size != want.Bytes {
		t.Fatalf("parts come to %d records, %d bytes, up to %d, the whole to %+v", records, size, from, want)
	}
	if got, want := strings.Join(parts.rows, "\n"), strings.Join(whole.rows, "\n"); got != want {
		t.Fatalf("rows of the parts\n%s\nof the whole\n%s", got, want)
	}
	if got, want := letters(parts), letters(whole); !slices.Equal(got, want) {
		t.Fatalf("dead letters of the parts\n%s\nof the whole\n%s", got, want)
	}
	return ranges
}

// letters says all about each dead letter.
func letters(out *outcome) []string {
	var all []string
	for _, d := range out.dead {
		all = append(all, fmt.Sprintf("%s %d %d %s %q", d.Code, d.Offset, d.Length, d.Message, d.Raw))
	}
	return all
}

// TestIDsDoNotDependOnWhatIsInMemory cuts objects that are larger than what is
// read at once, with records around the longest allowed.
func TestIDsDoNotDependOnWhatIsInMemory(t *testing.T) {
	rng := random(t)
	const longest = 3000
	around := func() int { return longest - 40 + rng.IntN(80) }
	forms := map[string]struct {
		format     record.Format
		head, tail string
		one        func() string
	}{
		"csv": {record.Format{Kind: record.CSV}, "a,b\n", "1,2", func() string {
			return "1,\"" + strings.Repeat("ééééééééé\n", around()/19) + strings.Repeat("x", rng.IntN(3)) + "\"" + [...]string{"\n", "\r\n"}[rng.IntN(2)]
		}},
		"csv, one line": {record.Format{Kind: record.CSV}, "a,b\n", "1,2", func() string {
			return "1," + strings.Repeat("x", around()) + [...]string{"\n", "\r\n"}[rng.IntN(2)]
		}},
		"lines":    {record.Format{Kind: record.Lines}, "", "x", func() string { return strings.Repeat("x", around()) + "\r\n" }},
		"document": {record.Format{Kind: record.JSON}, "[1", "]", func() string { return ",\n{\"a\":\"" + strings.Repeat(`\\`, around()/2) + `"}` }},
		"envelopes": {record.Format{Kind: record.JSON, Unnest: []string{"R"}}, "", " ", func() string {
			return `{"x":"` + strings.Repeat("é", around()/2) + `","R":[{"a":"` + strings.Repeat("é", around()/2) + `"}]}{"S":1}`
		}},
	}
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		c := forms[name]
		for _, encoding := range []string{"", "utf-16le", "windows-1257"} {
			t.Run(name+" "+encoding, func(t *testing.T) {
				var b strings.Builder
				b.WriteString(c.head)
				for b.Len() < 3<<18 {
					b.WriteString(c.one())
				}
				b.WriteString(c.tail)
				opt := record.Options{Format: c.format, Limits: record.Limits{MaxRecordBytes: longest}}
				body := b.String()
				if encoding != "" {
					opt.Format.Encoding, body = encoding, written(body, encoding)
				}
				opt.Table = decode(t, opt, input{"o", body}).schema
				whole := decode(t, opt, input{"o", body})
				checkPartition(t, whole, body)
				if len(whole.rows) < 30 || len(whole.dead) < 30 {
					t.Fatalf("%d rows and %d dead letters test nothing", len(whole.rows), len(whole.dead))
				}
				rows, dead := offsets(t, whole)
				for range 5 {
					list := [][]int64{rows, dead}[rng.IntN(2)]
					checkFrom(t, opt, body, whole, list[rng.IntN(len(list))])
				}
			})
		}
	}
}

// checkFrom decodes an object from a position on.
func checkFrom(t *testing.T, opt record.Options, body string, whole *outcome, from int64) {
	t.Helper()
	out := &outcome{}
	d := record.NewDecoder(out.collect(t, opt))
	if _, err := d.Decode(context.Background(), record.Object{Source: "o", From: source.Position(from)}, strings.NewReader(body)); err != nil {
		t.Fatal(err)
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	wantRows, wantDead := offsets(t, whole)
	firstRow, _ := slices.BinarySearch(wantRows, from)
	firstDead, _ := slices.BinarySearch(wantDead, from)
	if !slices.Equal(out.rows, whole.rows[firstRow:]) || !slices.Equal(letters(out), letters(whole)[firstDead:]) {
		t.Fatalf("from %d on %d rows and %d dead letters are read, of %d and %d", from, len(out.rows), len(out.dead), len(whole.rows)-firstRow, len(whole.dead)-firstDead)
	}
}

// TestTheSameBatchOfAnyFormatGivesTheSameBlocks decodes batches of several
// objects twice.
func TestTheSameBatchOfAnyFormatGivesTheSameBlocks(t *testing.T) {
	rng := random(t)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		c := texts[name]
		var objects []input
		for i := range 5 {
			objects = append(objects, input{fmt.Sprintf("o%d", i), c.text(rng, 50)})
		}
		opt := record.Options{Format: c.format, Table: schema.New(), Limits: record.Limits{MaxRecordBytes: 200, PrimeBytes: 1000, BlockBytes: 700}}
		first, second := decode(t, opt, objects...), decode(t, opt, objects...)
		if strings.Join(first.rows, "\n") != strings.Join(second.rows, "\n") || !first.schema.Equal(second.schema) || first.blocks != second.blocks {
			t.Errorf("%s: two tries differ", name)
		}
		if len(first.rows) == 0 || len(first.dead) == 0 {
			t.Errorf("%s: %d rows, %d dead letters", name, len(first.rows), len(first.dead))
		}
	}
}
