package record_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"batcher/localdev"
	"batcher/record"
)

// csvOptions are those of a dialect.
func csvOptions(d record.Dialect) record.Options {
	return record.Options{Format: record.Format{Kind: record.CSV, CSV: d}}
}

func TestD15_CSVHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		body, rows string
		dialect    record.Dialect
	}{
		"plain":                   {"a,b\n1,x\n", `{"a":1,"b":"x"}`, record.Dialect{}},
		"D15_mark":                {"\ufeffa,b\n1,x\n", `{"a":1,"b":"x"}`, record.Dialect{}},
		"D15_mark twice":          {"\ufeff\ufeffa,b\n1,x\n", `{"a":1,"b":"x"}`, record.Dialect{}},
		"D15_mark, quoted header": {"\ufeff\"a\",\"b\"\n1,x\n", `{"a":1,"b":"x"}`, record.Dialect{}},
		"quoted over lines":       {"\"a\nb\",c\n1,x\n", `{"a_b":1,"c":"x"}`, record.Dialect{}},
		"twice":                   {"a,a,a\n1,2,3\n", `{"a":1,"a_2":2,"a_3":3}`, record.Dialect{}},
		"twice, and its number":   {"a,a,a_2,a\n1,2,3,4\n", `{"a":1,"a_2":3,"a_3":2,"a_4":4}`, record.Dialect{}},
		"empty":                   {"a,,\n1,2,3\n", `{"a":1,"column_2":2,"column_3":3}`, record.Dialect{}},
		"empty, name is taken":    {",column_1,column_1_2\n1,2,3\n", `{"column_1":2,"column_1_2":3,"column_1_3":1}`, record.Dialect{}},
		"case":                    {"id,Id\n1,2\n", `{"id":1,"id_2":2}`, record.Dialect{}},
		"reserved":                {"_source,_offset\n1,2\n", `{"_offset_2":2,"_source_2":1}`, record.Dialect{}},
		"spaces":                  {" a ,b c,\" \",a\t\n1,2,3,4\n", `{"a":1,"a_2":4,"b_c":2,"column_3":3}`, record.Dialect{}},
		"none":                    {"1,x\n2,y\n", `{"column_1":1,"column_2":"x"}` + "\n" + `{"column_1":2,"column_2":"y"}`, record.Dialect{Header: record.Numbered}},
		"none, one row":           {"1,x", `{"column_1":1,"column_2":"x"}`, record.Dialect{Header: record.Numbered}},
		"behind lines":            {"Report\n\"2024\n\na,b\n1,x\n", `{"a":1,"b":"x"}`, record.Dialect{Skip: 3}},
		"behind comments":         {"# one, two, three\n\n#\na,b\n#1,y\n1,x\n", `{"a":1,"b":"x"}`, record.Dialect{Comment: '#'}},
		"trailing delimiter":      {"a,b,\n1,x,\n", `{"a":1,"b":"x"}`, record.Dialect{}},
		"one column":              {"a\n1\n\n2\n\n", "{\"a\":1}\n{\"a\":null}\n{\"a\":2}", record.Dialect{}},
		"found to be none":        {"1,x\n2,y\n", `{"column_1":1,"column_2":"x"}` + "\n" + `{"column_1":2,"column_2":"y"}`, record.Dialect{}},
		"found, after gaps":       {"\"\"\n7\n8\n", "{\"column_1\":null}\n{\"column_1\":7}\n{\"column_1\":8}", record.Dialect{}},
		"declared":                {"1,x\n2,y\n", `{"n":1,"s":"x"}` + "\n" + `{"n":2,"s":"y"}`, record.Dialect{Columns: []string{"n", "s"}}},
		"declared over a header":  {"a,b\n1,x\n", `{"n":1,"s":"x"}`, record.Dialect{Columns: []string{"n", "s"}, Header: record.Named}},
	} {
		t.Run(name, func(t *testing.T) {
			out := decode(t, csvOptions(c.dialect), input{"o.csv", c.body})
			if users(out) != c.rows || len(out.dead) > 0 {
				t.Errorf("rows %s, dead %v, want %s", users(out), letters(out), c.rows)
			}
		})
	}
}

func TestD17_CSVWithoutRows(t *testing.T) {
	for name, c := range map[string]struct {
		body    string
		dialect record.Dialect
	}{
		"empty": {"", record.Dialect{}}, "newlines": {"\n\r\n\n", record.Dialect{}}, "mark": {"\ufeff", record.Dialect{}},
		"header only": {"a,b\n", record.Dialect{}}, "header without newline": {"a,b", record.Dialect{}}, "header and blank lines": {"a,b\r\n\r\n", record.Dialect{}},
		"quoted header": {"\"a\",\"b\"", record.Dialect{}}, "skipped": {"a,b\n1,2\n", record.Dialect{Skip: 7}}, "comments": {"#\n#", record.Dialect{Comment: '#'}},
	} {
		out := decode(t, csvOptions(c.dialect), input{"o", c.body})
		r := out.results[0]
		if out.blocks != 0 || r.Records != 0 || !r.Last || int(r.To) != len(c.body) || len(out.dead) > 0 || r.Content.IsZero() {
			t.Errorf("%s: %d blocks, dead %s, result %+v", name, out.blocks, codes(out), r)
		}
	}
}

// TestCSVWithoutKeys says that an object whose first row cannot be read is
// broken: what its cells mean is not known. Where rows have no header it is a dead letter.
func TestCSVWithoutKeys(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct{ body, reason string }{
		"open quote":   {"a,\"b\n1,2\n", "the first row cannot be read: a quoted cell does not end"},
		"bad quote":    {"\"a\"b,c\n1,2\n", "the first row cannot be read: something follows a closing quote, at byte 3"},
		"invalid utf8": {"a,\xff\n1,2\n", "the first row cannot be read: invalid UTF-8 at byte 2"},
		"long":         {long + ",b\n1,2\n", "too large: the first row; source.files.limits.record_bytes is 200"},
		"many lines":   {"a,\"" + strings.Repeat("x\n", 150) + "\"\n1,2\n", "the first row cannot be read: a quoted cell does not end"},
	} {
		opt := csvOptions(record.Dialect{Header: record.Named})
		opt.Limits.MaxRecordBytes = 200
		_, err := try(t, opt, input{"o", c.body})
		var broken *record.BrokenError
		if !errors.As(err, &broken) || broken.Reason != c.reason {
			t.Errorf("%s: got %v, want %s", name, err, c.reason)
		}
		for _, d := range []record.Dialect{{Header: record.Numbered}, {Columns: []string{"column_1", "column_2"}}} {
			if opt.Format.CSV = d; len(d.Columns) == 0 && strings.HasSuffix(c.reason, "does not end") {
				continue // no row of the head ends
			}
			out := decode(t, opt, input{"o", c.body})
			if !strings.HasSuffix(users(out), `{"column_1":1,"column_2":2}`) || len(out.dead) == 0 || out.dead[0].Offset != 0 {
				t.Errorf("%s, no header: rows %s, dead %v", name, users(out), letters(out))
			}
		}
	}
}

// TestCSVRowsThatAreLongerThanTheHead have their cells counted where they end.
func TestCSVRowsThatAreLongerThanTheHead(t *testing.T) {
	row := strings.Repeat("1234567;", 10_000) + "x\n"
	for _, d := range []record.Dialect{{Header: record.Numbered}, {}} {
		out := decode(t, csvOptions(d), input{"o", row + row + row})
		if len(out.rows) != 3 || len(out.dead) > 0 || !strings.Contains(users(out), `"column_1":1234567`) {
			t.Errorf("header %q: %d rows, dead %.200v", d.Header, len(out.rows), letters(out))
		}
	}
}

func TestCSVRows(t *testing.T) {
	for name, c := range map[string]struct {
		body, rows, codes string
		dialect           record.Dialect
	}{
		"quotes":               {"a,b\n\"x,\"\"y\"\"\",\"\n\"\n", `{"a":"x,\"y\"","b":"\u000a"}`, "", record.Dialect{}},
		"CRLF":                 {"a,b\r\nx,y\r\n\r\n\"z\",\"w\"\r\n", "{\"a\":\"x\",\"b\":\"y\"}\n{\"a\":\"z\",\"b\":\"w\"}", "", record.Dialect{}},
		"CRLF inside is kept":  {"a,b\r\nx,\"y\r\nz\"\r\n", `{"a":"x","b":"y\u000d\u000az"}`, "", record.Dialect{}},
		"CR alone":             {"a,b\rx,y\r\r\"z\rz\",w", "{\"a\":\"x\",\"b\":\"y\"}\n{\"a\":\"z\\u000dz\",\"b\":\"w\"}", "", record.Dialect{}},
		"CR CR LF":             {"a,b\r\r\nx,1\r\r\n\r\r\n\"y\",\"2\"\r\r\n", "{\"a\":\"x\",\"b\":1}\n{\"a\":\"y\",\"b\":2}", "", record.Dialect{}},
		"CR CR LF, one column": {"a\r\r\nx\r\r\ny\r\r\n", "{\"a\":\"x\"}\n{\"a\":\"y\"}", "", record.Dialect{}},
		"CR, then LF":          {"a,b\r1,x\n2,y\n\"3\",\"z\"\n4,w", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n{\"a\":3,\"b\":\"z\"}\n{\"a\":4,\"b\":\"w\"}", "", record.Dialect{}},
		"LF among CR":          {"a\rx\r\ny\nz\n\n\"v\nv\"\rw\r\rx\r", "{\"a\":\"x\"}\n{\"a\":\"y\"}\n{\"a\":\"z\"}\n{\"a\":null}\n{\"a\":\"v\\u000av\"}\n{\"a\":\"w\"}\n{\"a\":null}\n{\"a\":\"x\"}", "", record.Dialect{}},
		"CR is text beside LF": {"a,b\nx\ry,z\n", `{"a":"x\u000dy","b":"z"}`, "", record.Dialect{}},
		"bare quotes":          {"a,b\nx\"y\",5\"\n", `{"a":"x\"y\"","b":"5\""}`, "", record.Dialect{}},
		"space before a quote": {"a,b\nx, \"y\"\n", `{"a":"x","b":" \"y\""}`, "", record.Dialect{}},
		"spaces are kept":      {"a,b\n x , y\n", `{"a":" x ","b":" y"}`, "", record.Dialect{}},
		"escapes":              {"a,b\n\"x\\\"y\\\\\",\"a\\nb\"\n", `{"a":"x\"y\\","b":"anb"}`, "", record.Dialect{Escape: '\\'}},
		"escaped and doubled":  {"a,b\n\"\\\"\"\"\",\"\\\n\"\n", `{"a":"\"\"","b":"\u000a"}`, "", record.Dialect{Escape: '\\'}},
		"escape outside":       {"a,b\nx\\,y\n", `{"a":"x\\","b":"y"}`, "", record.Dialect{Escape: '\\'}},
		"quote is its escape":  {"a,b\n\"x\"\"y\",z\n", `{"a":"x\"y","b":"z"}`, "", record.Dialect{Escape: '"'}},
		"other quote":          {"a,b\n'x,''y',\"z\"\n", `{"a":"x,'y","b":"\"z\""}`, "", record.Dialect{Quote: '\''}},
		"no quote":             {"a,b\n\"x,y\"\n", `{"a":"\"x","b":"y\""}`, "", record.Dialect{Quote: record.NoQuote}},
		"comments":             {"a,b\n#x,y\nx,#\n", `{"a":"x","b":"#"}`, "", record.Dialect{Comment: '#'}},
		"comment in quotes":    {"a,b\n\"\n#x\",y\n", `{"a":"\u000a#x","b":"y"}`, "", record.Dialect{Comment: '#'}},
		"null texts":           {"a,b\nx,y\nNA,\"NA\"\nnull,\n", "{\"a\":\"x\",\"b\":\"y\"}\n{\"a\":null,\"b\":\"NA\"}\n{\"a\":\"null\",\"b\":\"\"}", "", record.Dialect{Null: []string{"NA"}}},
		"no null":              {"a,b\n,x\n", `{"a":"","b":"x"}`, "", record.Dialect{Null: []string{}}},
		"empty and null":       {"a,b\n\"\",\n,\"\"\n", "{\"a\":\"\",\"b\":null}\n{\"a\":null,\"b\":\"\"}", "", record.Dialect{}},
		"ragged":               {"a,b\n1\n1,2\n1,2,3\n1,2,\n", `{"a":1,"b":2}`, "syntax/ragged syntax/ragged syntax/ragged", record.Dialect{}},
		"a short first row":    {"1\n1,x\n2,y\n", "{\"column_1\":1,\"column_2\":\"x\"}\n{\"column_1\":2,\"column_2\":\"y\"}", "syntax/ragged", record.Dialect{Header: record.Numbered}},
		"a short one, padded":  {"1\n1,x\n2\n", "{\"column_1\":1,\"column_2\":null}\n{\"column_1\":1,\"column_2\":\"x\"}\n{\"column_1\":2,\"column_2\":null}", "", record.Dialect{Header: record.Numbered, Pad: true}},
		"junk":                 {"a,b\n\"x\"y,z\n1,2\n\"x\" ,z\n", `{"a":1,"b":2}`, "syntax/bad_quote syntax/bad_quote", record.Dialect{}},
		"junk over lines":      {"a,b\n\"x\"y,\"z\nz\"\n1,2\n", `{"a":1,"b":2}`, "syntax/bad_quote", record.Dialect{}},
		"open":                 {"a,b\n1,\"x\n1,2\n3,4\n", "{\"a\":1,\"b\":2}\n{\"a\":3,\"b\":4}", "syntax/open_quote", record.Dialect{}},
		"open at the end":      {"a,b\n1,2\n1,\"x", `{"a":1,"b":2}`, "syntax/open_quote", record.Dialect{}},
		"D12_invalid":          {"a,b\n1,\xff\n1,2\n", `{"a":1,"b":2}`, "utf8/invalid_utf8", record.Dialect{}},
	} {
		for _, prime := range []int{1, 1 << 20} {
			t.Run(fmt.Sprint(name, "/prime ", prime), func(t *testing.T) {
				opt := csvOptions(c.dialect)
				opt.Format.CSV.Delimiter, opt.Limits.PrimeBytes = ',', prime
				out := decode(t, opt, input{"o", c.body})
				if users(out) != c.rows || codes(out) != c.codes {
					t.Errorf("rows %s, dead %v; want %s, %s", users(out), letters(out), c.rows, c.codes)
				}
				checkPartition(t, out, c.body)
			})
		}
	}
}

// TestCSVDeadLetters says what a dead letter of a row is.
func TestCSVDeadLetters(t *testing.T) {
	body := "a,b\r\n1,2,3\r\n\"x\"y,z\r\n1,\"open\r\n\xff,2\r\n\"" + strings.Repeat("x", 100<<10) + "\",2\r\n1,2\r\n"
	opt := csvOptions(record.Dialect{})
	opt.Limits.MaxRecordBytes = 90 << 10
	out := decode(t, opt, input{"o", body})
	if users(out) != `{"a":1,"b":2}` || len(out.dead) != 5 {
		t.Fatalf("rows %s, %d dead letters: %s", users(out), len(out.dead), codes(out))
	}
	pos := 5
	for i, want := range []struct{ raw, code, message string }{
		{"1,2,3\r", "ragged", "3 cells under a header of 2"},
		{"\"x\"y,z\r", "bad_quote", "something follows a closing quote, at byte 3"},
		{"1,\"open\r", "open_quote", "a quoted cell does not end"},
		{"\xff,2\r", "invalid_utf8", "invalid UTF-8 at byte 0"},
		{"\"" + strings.Repeat("x", 100<<10) + "\",2\r", "too_long", "102405 bytes, more than the 92160 that source.files.limits.record_bytes allows"},
	} {
		d := out.dead[i]
		if d.Code != want.code || d.Message != want.message || d.Offset != int64(pos) || d.Length != int64(len(want.raw)) || string(d.Raw) != want.raw[:min(len(want.raw), record.KeptBytes)] {
			t.Errorf("%s: at %d, length %d, %s, %.80q", d.Code, d.Offset, d.Length, d.Message, d.Raw)
		}
		pos += len(want.raw) + 1
	}
}

// forever gives a text again and again, up to a size.
type forever struct {
	head, text, tail string
	size, at         int
}

func (f *forever) Read(p []byte) (int, error) {
	if f.head != "" {
		n := copy(p, f.head)
		f.head = f.head[n:]
		return n, nil
	}
	if f.at < f.size {
		n := copy(p[:min(len(p), f.size-f.at)], f.text[f.at%len(f.text):])
		f.at += n
		return n, nil
	}
	n := copy(p, f.tail)
	if f.tail = f.tail[n:]; n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestD11_EndlessRecordsOfAnyFormatAreNeverHeld reads records of up to 1 GB within
// the memory that a record may take.
func TestD11_EndlessRecordsOfAnyFormatAreNeverHeld(t *testing.T) {
	for name, c := range map[string]struct {
		format           record.Format
		head, text, tail string
		dead, rows       int
	}{
		"csv line":       {record.Format{Kind: record.CSV}, "a,b\n1,2\n", strings.Repeat("x,", 2000), "\n1,2\n", 1, 2},
		"csv quoted":     {record.Format{Kind: record.CSV}, "a,b\n1,2\n\"", strings.Repeat("x,", 2000), "\"\n1,2\n", 1, 2},
		"csv header":     {record.Format{Kind: record.CSV}, "", strings.Repeat("x,", 2000), "\n1,2\n", 0, 0},
		"line":           {record.Format{Kind: record.Lines}, "x\n", strings.Repeat("x", 4000), "\nx\n", 1, 2},
		"element":        {record.Format{Kind: record.JSON}, "[{},{\"a\":\"", strings.Repeat(`\"]}`, 1000), "\"},{}]", 1, 2},
		"array":          {record.Format{Kind: record.JSON}, "[{},", strings.Repeat(`[`, 4000), "", 0, 0},
		"number":         {record.Format{Kind: record.JSON}, "[{},", strings.Repeat(`1`, 4000), ",{}]", 1, 2},
		"key":            {record.Format{Kind: record.JSON, Unnest: []string{"R"}}, `{"`, strings.Repeat(`\\"`[:2], 2000), `":1,"R":[{},{}]}`, 0, 2},
		"member":         {record.Format{Kind: record.JSON, Unnest: []string{"R"}}, `{"x":[`, strings.Repeat(`{"a":"b"},`, 400), `1],"R":[{},{}]}`, 0, 2},
		"poor envelope":  {record.Format{Kind: record.JSON, Unnest: []string{"R"}}, `{"R":[{}]}{"x":[`, strings.Repeat(`{"a":"b"},`, 400), `1]}{"R":[{}]}`, 1, 2},
		"white space":    {record.Format{Kind: record.JSON}, "[{}", strings.Repeat(" \n", 2000), ",{}]", 0, 2},
		"junk":           {record.Format{Kind: record.JSON}, "{}", strings.Repeat("junk ", 800), "\n{}", 1, 2},
		"csv open quote": {record.Format{Kind: record.CSV}, "a,b\n1,\"\n", strings.Repeat("1,2\n", 1000), "", 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			rows, dead := 0, 0
			opt := record.Options{
				Format: c.format, Table: published(t, field(17, "a", `"int64"`)+","+field(18, "b", `"int64"`)),
				Limits: record.Limits{MaxRecordBytes: 1 << 20, MaxRatio: 1 << 40}, Dead: func(record.DeadLetter) error { dead++; return nil },
			}
			opt.Block = counting(&rows)
			n := 32 << 20
			if name == "csv line" || name == "csv quoted" {
				n = 1 << 30
			}
			n -= n % len(c.text)
			d := record.NewDecoder(opt)
			before := heap()
			_, err := d.Decode(context.Background(), record.Object{Source: "o"}, &forever{head: c.head, text: c.text, tail: c.tail, size: n})
			if err == nil {
				err = d.Flush()
			}
			var broken *record.BrokenError
			if wantErr := c.rows == 0; errors.As(err, &broken) != wantErr || !wantErr && err != nil {
				t.Fatalf("got %v", err)
			}
			if c.rows > 2 {
				c.rows = n / 4
			}
			if c.rows > 0 && (rows != c.rows || dead != c.dead) {
				t.Errorf("%d rows, %d dead; want %d, %d", rows, dead, c.rows, c.dead)
			}
			if grown := heap() - before; grown > 32<<20 {
				t.Errorf("%d bytes are held", grown)
			}
		})
	}
}

// standard reads CSV with encoding/csv; ok is false if that refuses it.
func standard(text string, comma byte) (rows [][]string, ok bool) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord = rune(comma), -1
	rows, err := r.ReadAll()
	return rows, err == nil
}

// checkStandard compares with encoding/csv what both accept. These differences
// are wanted: a line feed behind a carriage return inside of quotes is kept with
// it, and rows of other length than the header are dead letters.
func checkStandard(t *testing.T, text string) {
	t.Helper()
	rows, ok := standard(text, ',')
	if !ok || strings.ContainsRune(text, 0) || len(rows) == 0 || len(rows[0]) > 50 || strings.HasPrefix(text, "\ufeff") || !strings.ContainsRune(text, '\n') {
		return
	}
	outside := ""
	for i, part := range strings.Split(text, "\"") {
		if i%2 == 0 {
			outside += strings.ReplaceAll(part, "\r\n", "\n") + " "
		}
	}
	returns, newlines := strings.Count(outside, "\r"), strings.Count(outside, "\n")
	if first, _, _ := strings.Cut(outside, "\n"); strings.Contains(first, "\r") || returns > newlines || strings.Contains(outside, "\r\n") || strings.Contains(outside, "\r\r") {
		return // lines end with CR, or with CR CR LF
	}
	var want []string
	short, width, times := 0, 0, map[int]int{}
	for _, row := range rows {
		times[len(row)]++
	}
	for _, row := range rows {
		if times[len(row)] > times[width] {
			width = len(row)
		}
	}
	if unix := strings.ReplaceAll(text, "\r\n", "\n"); width == 1 && strings.Contains(unix, "\n\n") {
		return // a blank line is a row of a table of one column
	}
	for _, row := range rows {
		if len(row) != width {
			short++
			continue
		}
		want = append(want, fmt.Sprintf("%q", row))
	}
	opt := csvOptions(record.Dialect{Delimiter: ',', Header: record.Numbered, Trailing: record.Cell, Null: []string{}})
	opt.Format.Invalid = record.Replace
	var fields []string
	for i := range width {
		fields = append(fields, field(17+i, fmt.Sprintf("column_%d", i+1), `"string"`))
	}
	opt.Table = published(t, strings.Join(fields, ","))
	out, err := try(t, opt, input{"o", text})
	var broken *record.BrokenError
	if errors.As(err, &broken) && strings.Contains(broken.Reason, "UTF") {
		return
	}
	if err != nil {
		t.Fatalf("%v\n%q", err, text)
	}
	var got []string
	for _, row := range out.rows {
		var cells map[string]*string
		if err := json.Unmarshal([]byte(user(row)), &cells); err != nil {
			t.Fatal(err)
		}
		list := make([]string, len(cells))
		for i := range list {
			list[i] = strings.ReplaceAll(*cells[fmt.Sprintf("column_%d", i+1)], "\r\n", "\n")
		}
		got = append(got, fmt.Sprintf("%q", list))
	}
	for i := range want {
		want[i] = strings.ToValidUTF8(want[i], "\ufffd")
	}
	if len(out.dead) != short || strings.Join(got, "\n") != strings.Join(replaced(want), "\n") {
		t.Fatalf("%q: rows %s, %d dead letters %v; encoding/csv says %s and %d ragged", text, got, len(out.dead), letters(out), want, short)
	}
}

// replaced spells invalid bytes of quoted text as the policy replace does: runs
// of them become one U+FFFD.
func replaced(rows []string) []string {
	for i, row := range rows {
		var b strings.Builder
		for len(row) > 0 {
			n := 0
			for strings.HasPrefix(row, `\x`) && len(row) >= 4 && row[2] >= '8' {
				row, n = row[4:], n+1
			}
			if n > 0 {
				b.WriteString("�")
				continue
			}
			size := 1
			if row[0] == '\\' && len(row) > 1 {
				size = 2
			}
			b.WriteString(row[:size])
			row = row[size:]
		}
		rows[i] = b.String()
	}
	return rows
}

// TestCSVAgreesWithTheStandardLibrary compares random texts of few signs.
func TestCSVAgreesWithTheStandardLibrary(t *testing.T) {
	rng := random(t)
	accepted := 0
	for range 30000 {
		var b strings.Builder
		for range 1 + rng.IntN(30) {
			b.WriteString([...]string{",", ",", "\n", "\n", "\r\n", "\"", "\"", "\"\"", "a", "1", " ", "\r", "é"}[rng.IntN(13)])
		}
		if _, ok := standard(b.String(), ','); ok {
			accepted++
		}
		checkStandard(t, b.String())
	}
	if accepted < 1000 {
		t.Fatalf("only %d texts were compared", accepted)
	}
	localdev.Figure("random CSV texts on which encoding/csv agrees", accepted)
}

// TestCSVWrittenByTheStandardLibraryIsReadBack writes random cells.
func TestCSVWrittenByTheStandardLibraryIsReadBack(t *testing.T) {
	rng := random(t)
	for range 300 {
		width := 1 + rng.IntN(6)
		comma := ",;\t|"[rng.IntN(4)]
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.Comma, w.UseCRLF = rune(comma), rng.IntN(2) == 0
		head := make([]string, width)
		for i := range head {
			head[i] = fmt.Sprintf("k%d", i)
		}
		rows := [][]string{head}
		for range 1 + rng.IntN(20) {
			row := make([]string, width)
			for i := range row {
				for range rng.IntN(8) {
					row[i] += [...]string{",", ";", "\t", "|", "\n", "\"", "'", "x", "é", " ", "#", "."}[rng.IntN(12)]
				}
				if row[i] == "" {
					row[i] = "x"
				}
			}
			rows = append(rows, row)
		}
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		opt := csvOptions(record.Dialect{})
		if width == 1 {
			opt.Format.CSV.Delimiter = comma
		}
		out := decode(t, opt, input{"o", b.String()})
		if len(out.rows) != len(rows)-1 {
			t.Fatalf("%d rows of %d, dead %v, columns %s\n%q", len(out.rows), len(rows)-1, letters(out), columns(out.schema), b.String())
		}
		for i, row := range out.rows {
			var got map[string]string
			if err := json.Unmarshal([]byte(user(row)), &got); err != nil {
				t.Fatal(err)
			}
			for k, key := range head {
				if want := rows[i+1][k]; strings.ReplaceAll(got[key], "\r\n", "\n") != want {
					t.Fatalf("%q became %q", want, got[key])
				}
			}
		}
	}
}
