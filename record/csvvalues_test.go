package record_test

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
)

// TestCSVNumbersAreWhatPrintsTheSame infers the type of a column of one cell.
func TestCSVNumbersAreWhatPrintsTheSame(t *testing.T) {
	for _, c := range []struct{ typ, cells string }{
		{"int64", "0 7 -7 10 100 9007199254740993 -9223372036854775808 9223372036854775807 999999999999999999"},
		{"float64", "0.5 -0.5 1.5 1.25 0.001 100.5 3.141592653589793 4503599627370495.5 1. .5 -.5 1.0 1.10 0.10 -0.0 -0 1e5 1E5 1e-5 1e22 0.1000000000000000055511151231257827"},
		{"string", "007 00 -00 -007 007.5 +1 +1.5 0x10 1_000 1,000 ١ NaN NULL NA None inf -Infinity - -- 1- 1.2.3 $1 5% . -. e5 1e 1e+ .e5 1e400 1e-400 yes t F"},
		{"bool", "true false True FALSE"},
		{"date", "2024-02-29"},
		{"timestamp", "2024-02-29T12:00:00Z 2024-02-29T12:00:00.123456+02:00 2024-02-29T12:00Z 2024-02-29T12:00:00z"},
		{"string", "2024-02-30 2024-13-01 24-01-01 12:00 01/02/2024 2024-2-9 2024-02-29T12:00:00 2024-02-29T12:00"},
		{"decimal(38,18)", "9007199254740993.5"},
		{"decimal(38,20)", "0.12345678901234567891"},
		{"decimal(20,0)", "18446744073709551615 10000000000000000000"},
		{"decimal(38,0)", strings.Repeat("9", 38)},
		{"string", strings.Repeat("9", 40) + " -" + strings.Repeat("9", 39)},
	} {
		for cell := range strings.FieldsSeq(c.cells) {
			out := decode(t, csvOptions(record.Dialect{Delimiter: ';'}), input{"o", "a\n" + cell + "\n"})
			typ, _, _ := strings.Cut(strings.TrimPrefix(columns(out.schema), "a:"), " ")
			value := strings.Trim(strings.TrimSuffix(strings.TrimPrefix(user(out.rows[0]), `{"a":`), "}"), `"`)
			if c.typ == "decimal(20,0)" {
				typ = c.typ
			}
			if c.typ == "decimal(38,18)" {
				value = strings.TrimRight(value, "0")
			}
			got, _ := strconv.ParseFloat(value, 64)
			want, _ := strconv.ParseFloat(cell, 64)
			as := value == cell || c.typ == "float64" && got == want && math.Signbit(got) == math.Signbit(want) || c.typ == "timestamp" || c.typ == "bool" && strings.EqualFold(value, cell)
			if typ != c.typ || !as {
				t.Errorf("%q became %s %s, want %s", cell, typ, user(out.rows[0]), c.typ)
			}
		}
	}
}

// TestCSVNumbersAreExact prints what became of random numbers in all spellings.
func TestCSVNumbersAreExact(t *testing.T) {
	rng := random(t)
	for range 300 {
		var b strings.Builder
		b.WriteString("a\n")
		var cells []string
		for range 1 + rng.IntN(20) {
			var cell string
			switch rng.IntN(6) {
			case 0:
				cell = strconv.FormatFloat(math.Float64frombits(rng.Uint64()), 'f', -1, 64)
			case 1:
				cell = strconv.FormatFloat(rng.NormFloat64(), 'f', rng.IntN(22), 64)
			case 2:
				cell = strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 10) + strings.Repeat("0", rng.IntN(3))
			case 3:
				cell = strconv.FormatInt(1<<53+rng.Int64N(5)-2, 10)
			case 4:
				cell = strconv.FormatFloat(float64(rng.Int64N(1<<54))/float64(int(1)<<rng.IntN(12)), 'f', -1, 64)
			default:
				cell = strconv.Itoa(rng.IntN(100))
			}
			if len(cell) > 100 {
				continue
			}
			cells = append(cells, cell)
			b.WriteString(cell + "\n")
		}
		out := decode(t, csvOptions(record.Dialect{Delimiter: ','}), input{"o", b.String()})
		if len(out.rows) != len(cells) {
			t.Fatalf("%d rows of %d", len(out.rows), len(cells))
		}
		for i, row := range out.rows {
			got := strings.Trim(strings.TrimSuffix(strings.TrimPrefix(user(row), `{"a":`), "}"), `"`)
			switch typ := columns(out.schema); {
			case typ == "a:float64":
				f, _ := strconv.ParseFloat(got, 64)
				_, fraction, _ := strings.Cut(cells[i], ".")
				got = strconv.FormatFloat(f, 'f', len(fraction), 64)
			case strings.HasPrefix(typ, "a:decimal") && equalNumbers(got, cells[i]):
				got = cells[i]
			}
			if got != cells[i] {
				t.Fatalf("%s became %s in %s", cells[i], user(row), columns(out.schema))
			}
		}
	}
}

// equalNumbers says whether two texts are the same decimal number.
func equalNumbers(a, b string) bool {
	x, ok := new(big.Rat).SetString(a)
	y, ok2 := new(big.Rat).SetString(b)
	return ok && ok2 && x.Cmp(y) == 0
}

func TestCSVDecimalCommaInWholeNumbers(t *testing.T) {
	opt := csvOptions(record.Dialect{Decimal: ',', Delimiter: ';'})
	opt.Table = published(t, field(17, "i", `"int64"`)+","+field(18, "d", `"decimal(9,0)"`)+","+field(19, "w", `"int32"`))
	out := decode(t, opt, input{"o", "i;d;w\n1.000;1.000;1.000\n7,0;7,0;7,0\n 8;8 ;+8\n;NA;\"\"\n70e-1;7,5;7e0\n"})
	want := `{"_rescued":"{\"i\":\"1.000\",\"d\":\"1.000\",\"w\":\"1.000\"}","i":null,"d":null,"w":null}
{"i":7,"d":7,"w":7}
{"_rescued":"{\"w\":\"+8\"}","i":8,"d":8,"w":null}
{"i":null,"d":null,"w":null}
{"_rescued":"{\"d\":\"7,5\"}","i":7,"d":null,"w":7}`
	if got := users(out); got != want {
		t.Errorf("rows\n%s\nwant\n%s", got, want)
	}
}

func TestCSVDecimalComma(t *testing.T) {
	opt := csvOptions(record.Dialect{Decimal: ','})
	out := decode(t, opt, input{"o", "a;b;c\n1,5;1.234;x,5\n-0,25;1.5;1,50\n7;2,5;3\n"})
	if got, want := columns(out.schema), "a:float64,b:string,c:string"; got != want {
		t.Fatalf("columns %s", got)
	}
	if got, want := users(out), `{"a":1.5,"b":"1.234","c":"x,5"}
{"a":-0.25,"b":"1.5","c":"1,50"}
{"a":7,"b":"2,5","c":"3"}`; got != want {
		t.Fatalf("rows %s", got)
	}
	opt.Table = published(t, field(17, "f", `"float64"`)+","+field(18, "d", `"decimal(5,2)"`)+","+field(19, "s", `"string"`))
	out = decode(t, opt, input{"o", "f;d;s;u\n1.5;1.5;1.5;1,5\n1,5;1,50;1,5;\n1,50;1,505;;\n"})
	if got, want := users(out), `{"_rescued":"{\"f\":\"1.5\",\"d\":\"1.5\"}","f":null,"d":null,"s":"1.5","u":1.5}
{"f":1.5,"d":1.50,"s":"1,5","u":null}
{"_rescued":"{\"d\":\"1,505\"}","f":1.5,"d":null,"s":null,"u":null}`; got != want {
		t.Fatalf("rows %s", got)
	}
}

// TestD1_CSVTypesWiden lets text follow numbers, before and after the column's
// type was decided, and after it was published.
func TestD1_CSVTypesWiden(t *testing.T) {
	body := "a,b\n1,1\n2,\n3,true\nx,2.5\n4,\n"
	for _, prime := range []int{1, 1 << 20} {
		opt := csvOptions(record.Dialect{})
		opt.Limits = record.Limits{PrimeBytes: prime, BlockRows: 1}
		out := decode(t, opt, input{"o", body})
		if got := columns(out.schema); got != "a:string,b:string" || prime == 1 && out.tries < 2 {
			t.Errorf("columns %s after %d tries", got, out.tries)
		}
		if got, want := users(out), `{"a":"1","b":"1"}
{"a":"2","b":null}
{"a":"3","b":"true"}
{"a":"x","b":"2.5"}
{"a":"4","b":null}`; got != want {
			t.Errorf("rows %s", got)
		}
	}
	opt := csvOptions(record.Dialect{})
	opt.Table = published(t, field(17, "a", `"int64"`)+","+field(18, "b", `"float64"`))
	out := decode(t, opt, input{"o", body})
	if got, want := users(out), `{"a":1,"b":1}
{"a":2,"b":null}
{"_rescued":"{\"b\":\"true\"}","a":3,"b":null}
{"_rescued":"{\"a\":\"x\"}","a":null,"b":2.5}
{"a":4,"b":null}`; got != want || len(out.notes.Misfits) != 2 {
		t.Fatalf("rows %s, notes %+v", got, out.notes)
	}
	if m := out.notes.Misfits[1]; m.Column != "a" || m.Type != "int64" || m.Count != 1 || m.Example != `"x"` || m.Offset != 18 || m.Cure != "batcher schema widen a string" {
		t.Errorf("misfit %+v", m)
	}
}

func TestCSVUnderAPublishedSchema(t *testing.T) {
	opt := csvOptions(record.Dialect{})
	opt.Table = published(t, strings.Join([]string{
		field(17, "i", `"int32"`), field(18, "d", `"decimal(6,2)"`), field(19, "t", `"timestamp"`), field(20, "day", `"date"`), field(21, "j", `"json"`),
		field(22, "b", `"bool"`), field(23, "y", `"bytes"`),
		field(24, "o", `{"struct":[{"id":30,"name":"x","key":"x","type":"int64"}]}`),
		field(25, "l", `{"list":{"id":31,"type":"int64"}}`),
	}, ","))
	out := decode(t, opt, input{"o", `i,d,t,day,j,b,y,o,l
7,1.5,2024-01-01T00:00:00Z,2024-01-01,"{""a"": [1]}",true,abc,"{""x"":1}","[1,2]"
-7,10,2024-01-01T00:00:00.1234567Z,,null,false,"","{""x"":""q"",""z"":2}",null
2147483648,1.505,noon,today,{,yes,,[1],x
,,,,,,,,
`})
	want := `{"i":7,"d":1.50,"t":"2024-01-01T00:00:00.000000Z","day":"2024-01-01","j":{"a": [1]},"b":true,"y":"YWJj","o":{"x":1},"l":[1,2]}
{"_rescued":"{\"t\":\"2024-01-01T00:00:00.1234567Z\",\"o.x\":\"q\",\"o[\\\"z\\\"]\":2}","i":-7,"d":10.00,"t":"2024-01-01T00:00:00.123456Z","day":null,"j":null,"b":false,"y":"","o":{"x":null},"l":null}
{"_rescued":"{\"i\":\"2147483648\",\"d\":\"1.505\",\"t\":\"noon\",\"day\":\"today\",\"j\":\"{\",\"b\":\"yes\",\"o\":[1],\"l\":\"x\"}","i":null,"d":null,"t":null,"day":null,"j":null,"b":null,"y":null,"o":null,"l":null}
{"i":null,"d":null,"t":null,"day":null,"j":null,"b":null,"y":null,"o":null,"l":null}`
	if users(out) != want || len(out.dead) > 0 {
		t.Fatalf("rows\n%s\nwant\n%s\ndead %v", users(out), want, letters(out))
	}
}

// TestCSVColumnsAreMatchedByName reads objects with other orders of columns,
// missing ones and new ones.
func TestCSVColumnsAreMatchedByName(t *testing.T) {
	objects := []input{
		{"1", "a,b\n1,x\n"}, {"2", "b,a\ny,2\n"}, {"3", "c,b\n2024-01-01,z\n"}, {"4", "b;c;a\nw;;4\n"}, {"5", "a\n"}, {"6", ""},
	}
	want := `{"a":1,"b":"x","c":null}
{"a":2,"b":"y","c":null}
{"a":null,"b":"z","c":"2024-01-01"}
{"a":4,"b":"w","c":null}`
	whole := decode(t, csvOptions(record.Dialect{}), objects...)
	if users(whole) != want || columns(whole.schema) != "a:int64,b:string,c:date" {
		t.Fatalf("rows %s, columns %s", users(whole), columns(whole.schema))
	}
	opt := csvOptions(record.Dialect{})
	opt.Table = schema.New()
	for i, o := range objects {
		out := decode(t, opt, o)
		if opt.Table = out.schema; i >= 3 && columns(out.schema) != "a:int64,b:string,c:date" {
			t.Fatalf("columns %s after object %d", columns(out.schema), i)
		}
	}
}

func TestCSVOf5000Columns(t *testing.T) {
	const n = 5000
	var head, row []string
	for i := range n {
		head, row = append(head, fmt.Sprintf("c%d", i)), append(row, strconv.Itoa(i))
	}
	body := strings.Join(head, ",") + "\n" + strings.Repeat(strings.Join(row, ",")+"\n", 20)
	opt := csvOptions(record.Dialect{})
	out := decode(t, opt, input{"o", body})
	if len(out.rows) != 20 || len(out.schema.Fields) > 2048 {
		t.Fatalf("%d rows, %d columns, dead %v", len(out.rows), len(out.schema.Fields), letters(out))
	}
	for i := range n {
		inRow := strings.Contains(out.rows[19], fmt.Sprintf(`"c%d":%d`, i, i))
		rescued := strings.Contains(out.rows[19], fmt.Sprintf(`[\"c%d\"]`, i)) || strings.Contains(out.rows[19], fmt.Sprintf(`[\\\"c%d\\\"]\":\"%d\"`, i, i))
		if inRow == rescued {
			t.Fatalf("column %d stands in a column: %v, is rescued: %v", i, inRow, rescued)
		}
	}
	opt.Limits.MaxColumns = 6000
	if out = decode(t, opt, input{"o", body}); len(out.rows) != 20 || len(out.schema.Fields) != n+3 || len(out.notes.Misfits) > 0 {
		t.Fatalf("%d rows, %d columns", len(out.rows), len(out.schema.Fields))
	}
}

func TestCSVDelimitersAreFoundOut(t *testing.T) {
	for name, c := range map[string]struct{ object, body, keys string }{
		"comma":                         {"o.csv", "a,b\n1,2\n", "a b"},
		"semicolon":                     {"o.csv", "a;b\n1;2\n", "a b"},
		"tab":                           {"o.csv", "a\tb\n1\t2\n", "a b"},
		"bar":                           {"o.csv", "a|b\n1|2\n", "a b"},
		"colon":                         {"o.csv", "a:b\n1:2\n", "a b"},
		"semicolon, decimal comma":      {"o.csv", "a;b;c\n1,5;2,5;3,5\n1,5;2,5;3,5\n", "a b c"},
		"comma, times":                  {"o.csv", "a,b\n2024-01-01 12:00:00,x\n2024-01-01 13:00:00,y\n", "a b"},
		"comma, ragged":                 {"o.csv", "a,b,c\n1,2\n1,2,3\n1,2,3,4\n", "a b c"},
		"comma in some":                 {"o.csv", "a;b\nx, y;1\nz;2\n", "a b"},
		"semicolons in quotes":          {"o.csv", "a,b\n\"x;y\",\"1;2\"\n\"z;w\",\"3;4\"\n", "a b"},
		"quoted newlines":               {"o.csv", "\"a\n,;\";b\n\"x\n,y\n,z\";1\n", "a___ b"},
		"quoted header of other":        {"o.csv", "\"a,b\";\"c,d\"\n1;2\n", "a_b c_d"},
		"one column":                    {"o.csv", "a\nx\ny\n", "a"},
		"one column, commas in quotes":  {"o.csv", "a\n\"x,y\"\n", "a"},
		"name goes first":               {"o.tsv", "a,b\tc\n1,2\t3\n", "a_b c"},
		"name behind compression":       {"o.tab.GZ", "a,b\tc\n1,2\t3\n", "a_b c"},
		"bars by name":                  {"o.psv", "a,b|c\n1,2|3\n", "a_b c"},
		"header only":                   {"o.csv", "a;b;c\n", "a b c"},
		"many rows":                     {"o.csv", "a;b,c\n" + strings.Repeat("1;2,3\n", 30000), "a b_c"},
		"long first rows":               {"o.csv", strings.Repeat("a,", 50000) + "a\n", ""},
		"open quote":                    {"o.csv", "a;b\n1;\"2\n", "a b"},
		"comments are not counted":      {"o.csv", "#,,,\na;b\n#,,\n1;2\n", "a b"},
		"CRLF":                          {"o.csv", "a;b\r\n1;2\r\n", "a b"},
		"CR":                            {"o.csv", "a;b\r1;2\r", "a b"},
		"CRs in quotes":                 {"o.csv", "a;b\n1;\"x\ry\rz\rw\"\n", "a b"},
		"newlines in quotes":            {"o.csv", "a;b\r1;\"x\ny\nz\nw\"\r", "a b"},
		"many commas, bars in the text": {"o.csv", "a,b,c|d,e\n1,2,3|4,5\n", "a b c_d e"},
	} {
		t.Run(name, func(t *testing.T) {
			out := decode(t, csvOptions(record.Dialect{Comment: '#'}), input{c.object, c.body})
			var keys []string
			for _, f := range out.schema.Fields[3:] {
				keys = append(keys, f.Name)
			}
			if len(out.dead) > 0 && strings.Contains(name, "s in quotes") {
				t.Errorf("dead: %v", out.dead)
			}
			if len(out.rows) == 0 { // names are learned from values
				return
			}
			if got := strings.Join(keys, " "); got != c.keys {
				t.Errorf("columns %q, want %q", got, c.keys)
			}
		})
	}
	// Behind skipped lines, which are not looked at.
	out := decode(t, csvOptions(record.Dialect{Skip: 2}), input{"o.csv", "a,b,c\nd,e,f\na;b\n1;2\n"})
	if columns(out.schema) != "a:int64,b:int64" {
		t.Errorf("columns %s", columns(out.schema))
	}
}
